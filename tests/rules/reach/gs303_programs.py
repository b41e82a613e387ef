"""More programs of GS303: each bad one is reported at its marks, each good one by no rule."""


def bad_no_grad() -> None:  # fix: by hand
    import torch

    x = torch.ones(3, requires_grad=True)
    with torch.no_grad():  # cause: GS303
        w = (x * 2).sum()
    w.backward()  # effect: GS303


def bad_all_frozen() -> None:  # fix: by hand
    import torch
    from torch import nn

    model = nn.Linear(4, 1)
    model.requires_grad_(False)  # cause: GS303
    loss = model(torch.randn(8, 4)).pow(2).mean()
    loss.backward()  # effect: GS303


def bad_accuracy_as_loss() -> None:  # fix: by hand
    import torch
    from torch import nn

    model = nn.Linear(4, 3)
    scores = model(torch.randn(8, 4))
    guess = scores.argmax(dim=1)  # cause: GS303
    loss = (guess.float() - 1).abs().mean()
    loss.backward()  # effect: GS303


def bad_numbers_in_a_buffer() -> None:  # fix: by hand
    import torch
    from torch import nn

    class Buffer:
        def __init__(self) -> None:
            self.scores: list[float] = []

        def add(self, score: torch.Tensor) -> None:
            self.scores.append(score.item())  # cause: GS303

    policy, buffer = nn.Linear(4, 1), Buffer()
    for _ in range(6):
        buffer.add(policy(torch.randn(4)).sum())
    rewards = torch.rand(6)
    loss = -(torch.tensor(buffer.scores) * rewards).mean()
    loss.backward()  # effect: GS303


def bad_penalty_alone() -> None:
    import torch
    from torch import nn

    critic = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
    x = torch.randn(8, 3, requires_grad=True)
    (slope,) = torch.autograd.grad(critic(x).sum(), x)  # cause: GS303
    (slope.norm(dim=1) - 1).pow(2).mean().backward()  # effect: GS303


def bad_derivative_that_is_constant() -> None:  # fix: by hand
    """The second derivative of a linear function: `create_graph=True` is there already."""
    import torch

    x = torch.ones(3, requires_grad=True)
    y = (2 * x).sum()
    (slope,) = torch.autograd.grad(y, x, create_graph=True)  # cause: GS303
    torch.autograd.grad(slope.sum(), x)  # effect: GS303


def bad_numbers_of_tensors_in_a_new_one() -> None:
    import torch

    angle = torch.zeros((), requires_grad=True)
    turn = torch.tensor([[angle.cos(), -angle.sin()], [angle.sin(), angle.cos()]])  # cause: GS303
    (turn @ torch.ones(2)).pow(2).sum().backward()  # effect: GS303


def bad_closure_called_where_gradients_are_off() -> None:
    import torch
    from torch import nn

    class Plain(torch.optim.Optimizer):
        def __init__(self, params):
            super().__init__(params, {"lr": 0.1})

        @torch.no_grad()
        def step(self, closure=None):
            loss = closure()  # cause: GS303
            for p in self.param_groups[0]["params"]:
                p.sub_(0.1 * p.grad)
            return loss

    model = nn.Linear(4, 1)
    opt = Plain(model.parameters())

    def closure():
        opt.zero_grad()
        loss = model(torch.randn(8, 4)).pow(2).mean()
        loss.backward()  # effect: GS303
        return loss

    opt.step(closure)


def good_closure_called_with_gradients_on() -> None:
    import torch
    from torch import nn

    class Plain(torch.optim.Optimizer):
        def __init__(self, params):
            super().__init__(params, {"lr": 0.1})

        @torch.no_grad()
        def step(self, closure=None):
            with torch.enable_grad():
                loss = closure()
            for p in self.param_groups[0]["params"]:
                p.sub_(0.1 * p.grad)
            return loss

    model = nn.Linear(4, 1)
    opt = Plain(model.parameters())

    def closure():
        opt.zero_grad()
        loss = model(torch.randn(8, 4)).pow(2).mean()
        loss.backward()
        return loss

    for _ in range(3):
        opt.step(closure)


def bad_empty_batch() -> None:
    import torch
    from torch import nn

    def loss_of(scores: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        known = labels >= 0
        if known.any():
            loss = nn.functional.cross_entropy(scores[known], labels[known])
        else:
            loss = torch.tensor(0.0)  # cause: GS303
        return loss

    model = nn.Linear(4, 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for labels in ([0, 1, 2, -1], [1, -1, 0, 2], [-1, -1, -1, -1], [0, 1, 2, 0]):
        opt.zero_grad()
        loss = loss_of(model(torch.randn(4, 4)), torch.tensor(labels))
        loss.backward()  # effect: GS303
        opt.step()


def good_empty_batch_with_its_graph() -> None:
    import torch
    from torch import nn

    def loss_of(scores: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        known = labels >= 0
        if known.any():
            loss = nn.functional.cross_entropy(scores[known], labels[known])
        else:
            loss = scores.sum() * 0
        return loss

    model = nn.Linear(4, 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for labels in ([0, 1, 2, -1], [1, -1, 0, 2], [-1, -1, -1, -1], [0, 1, 2, 0]):
        opt.zero_grad()
        loss = loss_of(model(torch.randn(4, 4)), torch.tensor(labels))
        loss.backward()
        opt.step()


def bad_loss_of_the_data_themselves() -> None:
    import torch
    from torch import nn

    class Coder(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.down, self.up = nn.Linear(6, 2), nn.Linear(2, 6)

        def forward(self, rows: torch.Tensor) -> torch.Tensor:
            code = torch.relu(self.down(rows))
            return self.up(code)  # type: ignore[no-any-return]

    coder = Coder()
    opt = torch.optim.SGD(coder.parameters(), lr=0.1)
    wanted = torch.randn(8, 6)
    for _ in range(2):
        rows = torch.randn(8, 6)
        opt.zero_grad()
        rebuilt = coder(rows)
        miss = nn.functional.mse_loss(rows, wanted)  # cause: GS303
        miss.backward()  # effect: GS303
        opt.step()


def bad_number_over_a_tensor() -> None:
    import torch
    from torch import nn

    rows = torch.randn(8, 4)
    layer = nn.Linear(4, 1)
    opt = torch.optim.SGD(layer.parameters(), lr=0.1)
    count = torch.tensor(8)
    each = layer(rows).sub(1).pow(2)
    mean = each.sum().item() / count.float()  # cause: GS303
    mean.backward()  # effect: GS303
    opt.step()


def bad_number_by_its_name() -> None:
    import torch
    from torch import nn

    rows = torch.randn(8, 4)
    layer = nn.Linear(4, 1)
    opt = torch.optim.SGD(layer.parameters(), lr=0.1)
    scale = torch.ones(())
    squares = layer(rows).sub(1).pow(2).mean()
    plain = squares.item()  # cause: GS303
    scaled = scale * plain
    scaled.backward()  # effect: GS303
    opt.step()


def bad_computed_by_numpy() -> None:
    import numpy as np
    import torch

    torch.manual_seed(0)
    wanted = torch.randn(6, 5)
    left = torch.randn(6, 2)
    right = torch.randn(2, 5)
    for _ in range(3):
        made = torch.tensor(np.dot(left, right))  # cause: GS303
        loss = (made - wanted).pow(2).mean()
        loss.backward()  # effect: GS303
        with torch.no_grad():
            assert left.grad is not None and right.grad is not None
            left -= 0.1 * left.grad
            right -= 0.1 * right.grad
            left.grad = right.grad = None


def bad_data_computed_by_numpy() -> None:  # fix: by hand
    """What is handed to numpy is data: nothing reads a gradient of it."""
    import numpy as np
    import torch

    torch.manual_seed(0)
    x = torch.randn(6, 5)
    scaled = torch.tensor(np.exp(x.numpy()))
    loss = scaled.pow(2).mean()  # cause: GS303
    loss.backward()  # effect: GS303


def bad_overlap_of_thresholded_masks() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 6), nn.Sigmoid())
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(3):
        x = torch.randn(16, 4)
        wanted = (x @ torch.ones(4, 6) > 0).float()
        out = model(x)
        found = torch.where(out < 0.5, 0, 1)  # cause: GS303
        both = torch.logical_and(found, wanted).sum(-1)
        either = torch.logical_or(found, wanted).sum(-1)
        loss = 1 - ((both + 1) / (either + 1)).mean()
        opt.zero_grad()
        loss.backward()  # effect: GS303
        opt.step()


def bad_scores_above_a_threshold() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 6)
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(3):
        x = torch.randn(16, 4)
        wanted = x @ torch.ones(4, 6) > 0
        found = model(x) > 0.5  # cause: GS303
        both = found & wanted
        loss = 1 - both.sum() / wanted.sum()
        opt.zero_grad()
        loss.backward()  # effect: GS303
        opt.step()


def bad_sorted_out_and_compared() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 6)
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(3):
        x = torch.randn(16, 4)
        out = model(x)
        found = out > out.mean(1, keepdim=True)  # cause: GS303
        loss = 1 - (found == (x[:, :1] > 0)).float().mean()
        opt.zero_grad()
        loss.backward()  # effect: GS303
        opt.step()


def bad_features_by_numpy() -> None:
    """q2924: what is looked for requires a gradient, and its features are made by numpy."""
    import numpy as np
    import torch
    from torch import nn

    def features(points: torch.Tensor) -> torch.Tensor:
        values = points.detach().numpy()  # cause: GS303
        a, b = values[..., 0], values[..., 1]
        made = np.stack([a, b, a * b, a**2 + b**2], axis=-1)
        return torch.tensor(made, dtype=torch.float32)

    model = nn.Linear(4, 1)
    for p in model.parameters():
        p.requires_grad_(False)
    points = torch.rand(8, 2, requires_grad=True)
    opt = torch.optim.Adam([points], lr=0.05)
    for _ in range(3):
        opt.zero_grad()
        loss = -model(features(points)).sum()
        loss.backward()  # effect: GS303
        opt.step()


def bad_features_by_a_library() -> None:  # fix: by hand
    """The same, by what torch has no function for under that name."""
    import numpy as np
    import torch

    def features(points: torch.Tensor) -> torch.Tensor:
        values = points.detach().numpy()  # cause: GS303
        waves = np.sinc(values)
        return torch.tensor(np.concatenate([values, waves], axis=1))

    points = torch.rand(8, 2, requires_grad=True)
    opt = torch.optim.Adam([points], lr=0.05)
    for _ in range(3):
        opt.zero_grad()
        loss = features(points).pow(2).sum()
        loss.backward()  # effect: GS303
        opt.step()


def bad_where_between_ones_and_zeros() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Sequential(nn.EmbeddingBag(20, 8), nn.Tanh(), nn.Linear(8, 3))
    opt = torch.optim.AdamW(net.parameters(), lr=0.003)
    words = torch.randint(0, 20, (32, 6))
    tags = torch.stack([(words % 3 == k).sum(1) > 2 for k in range(3)], 1).float()
    for _ in range(3):
        chance = net(words).sigmoid()
        chosen = torch.where(chance >= 0.5, torch.ones_like(chance), torch.zeros_like(chance))  # cause: GS303
        hit = torch.einsum("nt,nt->t", chosen, tags)
        loss = 1 - (2 * hit / (chosen.sum(0) + tags.sum(0) + 1e-6)).mean()
        opt.zero_grad()
        loss.backward()  # effect: GS303
        opt.step()


def bad_where_between_two_values() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Linear(4, 1)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(3):
        x, y = torch.randn(8, 4), torch.randn(8, 1)
        p = net(x).sigmoid()
        loss = (torch.where(p < 0.5, y + 1, 2 * y) - y).pow(2).mean()  # cause: GS303
        opt.zero_grad()
        loss.backward()  # effect: GS303
        opt.step()


def bad_head_that_was_not_loaded_is_frozen() -> None:
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body = nn.Sequential(nn.Linear(6, 8), nn.ReLU())
            self.head = nn.Linear(8, 3)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            scores: torch.Tensor = self.head(self.body(x))
            return scores

    torch.manual_seed(0)
    trained = Net()
    net = Net()
    state = {k: v.clone() for k, v in trained.state_dict().items() if k.startswith("body")}
    net.load_state_dict(state, strict=False)
    for p in net.parameters():
        p.requires_grad = False  # cause: GS303
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        loss = nn.functional.cross_entropy(net(torch.randn(8, 6)), torch.randint(3, (8,)))
        loss.backward()  # effect: GS303
        opt.step()


def bad_head_of_the_optimizer_is_frozen() -> None:
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body = nn.Sequential(nn.Linear(6, 8), nn.ReLU())
            self.head = nn.Linear(8, 3)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            scores: torch.Tensor = self.head(self.body(x))
            return scores

    torch.manual_seed(0)
    trained = Net()
    net = Net()
    net.load_state_dict({k: v.clone() for k, v in trained.state_dict().items()})
    net.requires_grad_(False)  # cause: GS303
    opt = torch.optim.SGD(net.head.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        loss = nn.functional.cross_entropy(net(torch.randn(8, 6)), torch.randint(3, (8,)))
        loss.backward()  # effect: GS303
        opt.step()


def good_body_that_was_loaded_is_frozen() -> None:
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body = nn.Sequential(nn.Linear(6, 8), nn.ReLU())
            self.head = nn.Linear(8, 3)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            scores: torch.Tensor = self.head(self.body(x))
            return scores

    torch.manual_seed(0)
    trained = Net()
    net = Net()
    state = {k: v.clone() for k, v in trained.state_dict().items() if k.startswith("body")}
    net.load_state_dict(state, strict=False)
    for p in net.body.parameters():
        p.requires_grad = False
    opt = torch.optim.SGD(net.head.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        loss = nn.functional.cross_entropy(net(torch.randn(8, 6)), torch.randint(3, (8,)))
        loss.backward()
        opt.step()


def good_head_is_switched_on_again() -> None:
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body = nn.Sequential(nn.Linear(6, 8), nn.ReLU())
            self.head = nn.Linear(8, 3)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            scores: torch.Tensor = self.head(self.body(x))
            return scores

    torch.manual_seed(0)
    trained = Net()
    net = Net()
    state = {k: v.clone() for k, v in trained.state_dict().items() if k.startswith("body")}
    net.load_state_dict(state, strict=False)
    net.requires_grad_(False)
    net.head.requires_grad_(True)
    opt = torch.optim.SGD(net.head.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        loss = nn.functional.cross_entropy(net(torch.randn(8, 6)), torch.randint(3, (8,)))
        loss.backward()
        opt.step()


def bad_bound_anew_with_a_gradient_and_a_loss_without() -> None:  # fix: by hand
    """The weights that each step makes are asked for a gradient: the loss has lost its graph by itself."""
    import torch

    torch.manual_seed(0)
    x = torch.randn(32, 3)
    w = torch.ones(3, requires_grad=True)
    for turn in range(3):
        with torch.set_grad_enabled(turn < 2):  # cause: GS303
            loss = (x @ w - x.sum(1)).pow(2).mean()
        loss.backward()  # effect: GS303
        with torch.no_grad():
            w = w - 0.1 * w.grad  # type: ignore[operator]
        w.requires_grad_()
