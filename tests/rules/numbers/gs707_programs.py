"""More programs of GS707: each bad one is reported at its marks, each good one by no rule."""


def bad_relu_at_the_end() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    opt = torch.optim.SGD(model.parameters(), lr=1.0)
    x = torch.rand(16, 4)
    y = torch.zeros(16, 1)
    y[0] = 1
    for _ in range(60):
        opt.zero_grad()
        scores = torch.relu(model(x))  # cause: GS707
        loss = nn.functional.mse_loss(scores, y)
        loss.backward()  # effect: GS707
        opt.step()


def bad_weights_that_begin_too_large() -> None:  # fix: by hand
    import torch
    from torch import nn

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.w = nn.Parameter(torch.empty(12, 20).uniform_(0, 1))
            self.w2 = nn.Parameter(torch.empty(20, 1).uniform_(0, 1))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.sigmoid(x @ self.w @ self.w2)  # cause: GS707

    torch.manual_seed(0)
    model = Model()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(5):
        opt.zero_grad()
        loss = nn.functional.mse_loss(model(torch.rand(8, 12)), torch.randint(0, 2, (8, 1)).float())
        loss.backward()  # effect: GS707
        opt.step()


def good_margin_that_is_kept() -> None:
    """A hinge loss of zero: there is nothing left to learn."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(2, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.5)
    x = torch.tensor([[1.0, 1.0], [-1.0, -1.0]])
    y = torch.tensor([[1.0], [-1.0]])
    for _ in range(40):
        opt.zero_grad()
        torch.relu(1 - y * model(x)).mean().backward()
        opt.step()


def good_gradients_that_come_again() -> None:
    """A batch without a violated margin now and then."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(2, 2)
    opt = torch.optim.SGD(model.parameters(), lr=0.05)
    for step in range(40):
        opt.zero_grad()
        margin = 0.0 if step % 3 else 2.0
        (1 + torch.relu(margin - model(torch.rand(4, 2)).pow(2)).mean()).backward()
        opt.step()


def good_penalty_that_ends() -> None:
    """The penalty of one network has nothing to say; the other part of the loss trains it."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(20):
        opt.zero_grad()
        out = model(torch.rand(8, 3))
        (torch.relu(-100 - out).mean() + (out - 1).pow(2).mean()).backward()
        opt.step()


def bad_margin_that_all_is_within() -> None:  # fix: by hand
    import torch
    from torch import nn

    net = nn.Linear(6, 4)
    opt = torch.optim.Adam(net.parameters(), lr=1e-2)
    for _ in range(12):
        out = nn.functional.normalize(net(torch.randn(8, 6)))
        apart = torch.cdist(out, out).masked_fill(torch.eye(8, dtype=torch.bool), float("inf"))
        near = (out - out.roll(1, 0)).pow(2).sum(1)
        loss = torch.relu(near - apart.max(1).values + 0.5).mean()  # cause: GS707
        opt.zero_grad()
        loss.backward()  # effect: GS707
        opt.step()


def good_term_without_weight() -> None:
    """A penalty that is switched off, beside the loss that teaches."""
    import torch
    from torch import nn

    net = nn.Linear(6, 1)
    opt = torch.optim.SGD(net.parameters(), lr=1e-2)
    for _ in range(6):
        x = torch.randn(8, 6)
        opt.zero_grad()
        nn.functional.mse_loss(net(x), x.sum(1, keepdim=True)).backward()
        (0.0 * net.weight.pow(2).sum()).backward()
        opt.step()


def bad_actor_at_its_bound_behind_a_critic() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    actor, inner, outer = nn.Linear(2, 1), nn.Linear(3, 16), nn.Linear(16, 1)
    with torch.no_grad():
        actor.weight.mul_(1e-3)
        actor.bias.fill_(40.0)
    acting = torch.optim.SGD(actor.parameters(), lr=0.1)
    judging = torch.optim.SGD([*inner.parameters(), *outer.parameters()], lr=0.01)
    for _ in range(12):
        state = torch.randn(16, 2)
        action = torch.tanh(actor(state))  # cause: GS707
        valued = outer(torch.relu(inner(torch.cat([state, action], 1))))
        acting.zero_grad()
        (-valued.mean()).backward()  # effect: GS707
        acting.step()
        judging.zero_grad()
        again = outer(torch.relu(inner(torch.cat([state, action.detach()], 1))))
        (again - state.sum(1, keepdim=True)).pow(2).mean().backward()
        judging.step()


def bad_threshold_before_the_loss() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(10):
        x = torch.randn(16, 4)
        y = (x[:, :1] > 0).float()
        out = torch.softmax(model(x), 1)[:, 0:1] + 0.0
        out[out >= 0.5] = 1.0  # cause: GS707
        out[out < 0.5] = 0.0
        overlap = (out * y).sum()
        loss = 1 - (2 * overlap + 1) / (out.sum() + y.sum() + 1)
        opt.zero_grad()
        loss.backward()  # effect: GS707
        opt.step()


def bad_all_filled_with_constants() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(10):
        x = torch.randn(16, 4)
        out = model(x)
        low = out < 0
        out = out.masked_fill(low, -1.0)  # cause: GS707
        out = torch.where(low, out, 1.0)
        opt.zero_grad()
        nn.functional.mse_loss(out, x[:, :1]).backward()  # effect: GS707
        opt.step()


def good_part_is_set_to_a_constant() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(10):
        x = torch.randn(16, 4)
        y = (x[:, :1] > 0).float()
        out = torch.softmax(model(x), 1)[:, 0:1] + 0.0
        out[out >= 0.9] = 1.0
        out[out < 0.1] = 0.0
        opt.zero_grad()
        nn.functional.mse_loss(out, y).backward()
        opt.step()


def bad_sigmoid_that_is_steep() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    model, weight = nn.Linear(4, 1), torch.zeros(16, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(6):
        x = torch.randn(16, 4)
        out = torch.sigmoid(model(x))
        wrong = nn.functional.binary_cross_entropy(out, (x[:, :1] > 0).float(), reduction="none")
        loss = 1 + (wrong * weight).sum()
        opt.zero_grad()
        loss.backward()  # cause: GS707
        opt.step()


def bad_embedding_of_zeros() -> None:
    import torch
    from torch import nn

    class Scorer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed, self.hidden = nn.Embedding(30, 8), nn.Linear(8, 16, bias=False)
            self.out = nn.Linear(16, 1, bias=False)
            nn.init.zeros_(self.embed.weight)  # cause: GS707

        def forward(self, words: torch.Tensor) -> torch.Tensor:
            return self.out(torch.relu(self.hidden(self.embed(words).mean(1)))).squeeze(1)

    torch.manual_seed(0)
    model = Scorer()
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(12):
        words = torch.randint(0, 30, (16, 5))
        loss = (model(words) - words.float().mean(1)).pow(2).mean()
        opt.zero_grad()
        loss.backward()  # effect: GS707
        opt.step()


def good_layer_of_zeros_with_a_bias() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    first, last = nn.Linear(8, 16), nn.Linear(16, 1)
    nn.init.zeros_(last.weight)
    opt = torch.optim.Adam([*first.parameters(), *last.parameters()], lr=0.01)
    for _ in range(12):
        x = torch.randn(16, 8)
        loss = (last(torch.relu(first(x))).squeeze(1) - x[:, 0]).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_maximum_with_zeros_at_the_end() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(6, 24), nn.Tanh(), nn.Linear(24, 1))
    nn.init.constant_(net[2].bias, -30.0)
    opt = torch.optim.SGD(net.parameters(), lr=0.01)
    for _ in range(6):
        x = torch.rand(32, 6)
        amount = net(x)
        amount = torch.maximum(amount, torch.zeros_like(amount))  # cause: GS707
        loss = (amount - 8 * x[:, :1]).square().mean()
        opt.zero_grad()
        loss.backward()  # effect: GS707
        opt.step()
