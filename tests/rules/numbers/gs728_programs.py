"""More programs of GS728: each bad one is reported at its marks, each good one by no rule."""


def bad_last_layer_of_a_sequence() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Linear(4, 16),
        nn.ReLU(),
        nn.Linear(16, 5),
        nn.ReLU(),
    )
    criterion = nn.CrossEntropyLoss()
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(3):
        x, y = torch.randn(16, 4), torch.randint(0, 5, (16,))
        out = model(x)  # cause: GS728
        loss = criterion(out, y)  # effect: GS728
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_log_softmax_of_a_relu() -> None:
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.one, self.two = nn.Linear(4, 16), nn.Linear(16, 5)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            x = nn.functional.relu(self.one(x))
            x = nn.functional.relu(self.two(x))  # cause: GS728
            return torch.log_softmax(x, dim=1)

    torch.manual_seed(0)
    net = Net()
    opt = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(3):
        x, y = torch.randn(16, 4), torch.randint(0, 5, (16,))
        loss = nn.functional.nll_loss(net(x), y)  # effect: GS728
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_in_a_loop_over_layers() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    layers = nn.ModuleList([nn.Linear(4, 8), nn.Linear(8, 8), nn.Linear(8, 6)])
    opt = torch.optim.Adam(layers.parameters(), lr=0.01)
    for _ in range(3):
        x, y = torch.randn(16, 4), torch.randint(0, 6, (16,))
        for layer in layers:
            x = torch.relu(layer(x))  # cause: GS728
        loss = nn.functional.cross_entropy(x, y)  # effect: GS728
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_similarities_that_are_scaled() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Linear(4, 8)
    scale = nn.Parameter(torch.tensor(5.0))
    opt = torch.optim.SGD([*net.parameters(), scale], lr=0.1)
    for _ in range(3):
        x = net(torch.randn(16, 4))
        scores = scale * torch.relu(x @ x.T)
        loss = nn.functional.cross_entropy(scores, torch.arange(16))
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_features_pooled_into_scores() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    conv, head = nn.Conv2d(1, 5, 3), nn.Linear(5, 5)
    opt = torch.optim.SGD([*conv.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        x, y = torch.randn(8, 1, 8, 8), torch.randint(0, 5, (8,))
        maps = torch.relu(conv(x))
        loss = nn.functional.cross_entropy(head(maps.mean(dim=(2, 3))), y)
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_relu_of_a_second_output() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    body, classes, size = nn.Linear(4, 8), nn.Linear(8, 5), nn.Linear(8, 1)
    opt = torch.optim.SGD([*body.parameters(), *classes.parameters(), *size.parameters()], lr=0.1)
    for _ in range(3):
        x, y, area = torch.randn(16, 4), torch.randint(0, 5, (16,)), torch.rand(16, 1) + 0.5
        hidden = torch.relu(body(x))
        loss = nn.functional.cross_entropy(classes(hidden), y)
        loss = loss + nn.functional.mse_loss(nn.functional.softplus(size(hidden)), area)
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_written_out_behind_a_clamp() -> None:
    import torch
    from torch import nn

    class Crops(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weeks, self.vote = nn.Conv1d(3, 16, 3), nn.Conv1d(16, 6, 1)

        def forward(self, seen: torch.Tensor) -> torch.Tensor:
            votes = self.vote(torch.tanh(self.weeks(seen)))
            return torch.clamp_min(votes.mean(dim=2), 0.0)  # cause: GS728

    torch.manual_seed(0)
    crops = Crops()
    opt = torch.optim.RMSprop(crops.parameters(), lr=0.002)
    for _ in range(3):
        crop = torch.randint(0, 6, (12,))
        votes = crops(torch.randn(12, 3, 12))
        loss = (torch.logsumexp(votes, dim=1) - votes[torch.arange(12), crop]).mean()  # effect: GS728
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_picked_log_chances_behind_a_clamp() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Linear(4, 5)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(3):
        x, y = torch.randn(16, 4), torch.randint(0, 5, (16, 1))
        scores = net(x).clamp(min=0)  # cause: GS728
        chances = torch.log_softmax(scores, dim=-1)  # effect: GS728
        opt.zero_grad()
        (-chances.gather(1, y)).mean().backward()
        opt.step()


def good_squared_distances_kept_from_falling_below_zero() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net, centre = nn.Linear(4, 8), nn.Parameter(torch.randn(6, 8))
    opt = torch.optim.SGD([*net.parameters(), centre], lr=0.01)
    for _ in range(3):
        place, y = net(torch.randn(12, 4)), torch.randint(0, 6, (12,))
        square = place.square().sum(1, keepdim=True) + centre.square().sum(1) - 2 * place @ centre.T
        scores = -torch.clamp_min(square, 0.0)
        opt.zero_grad()
        (torch.logsumexp(scores, dim=1) - scores[torch.arange(12), y]).mean().backward()
        opt.step()


def good_clamped_elsewhere() -> None:
    """Scores that are kept from growing too far, and attention over scores that are not negative."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    net, weigh, head = nn.Linear(4, 6), nn.Linear(6, 1), nn.Linear(6, 5)
    opt = torch.optim.SGD([*net.parameters(), *weigh.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        x, y = net(torch.randn(12, 7, 4)), torch.randint(0, 5, (12,))
        weights = torch.softmax(weigh(x).squeeze(-1).clamp(min=0), dim=1)
        scores = head(torch.einsum("bn,bnd->bd", weights, x)).clamp(min=-20, max=20)
        opt.zero_grad()
        (-torch.log_softmax(scores, dim=-1)[torch.arange(12), y]).mean().backward()
        opt.step()


def bad_relu_by_hand_before_a_distribution() -> None:  # fix: by hand
    import torch
    from torch import nn

    class Dense(nn.Module):
        def __init__(self, a: int, b: int) -> None:
            super().__init__()
            self.w, self.b = nn.Parameter(torch.randn(a, b) * a**-0.5), nn.Parameter(torch.zeros(b))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            z = torch.einsum("...i,ij->...j", x, self.w) + self.b
            return z * (z > 0)  # cause: GS728

    torch.manual_seed(0)
    ids = torch.randint(40, (64, 9))
    net = nn.Sequential(nn.Embedding(40, 12), Dense(12, 24), Dense(24, 6))
    opt = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(4):
        rows = torch.randint(64, (16,))
        spoken = torch.distributions.Categorical(logits=net(ids[rows]))  # effect: GS728
        loss = -spoken.log_prob(ids[rows] % 6).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_where_cuts_the_scores() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    one = nn.Linear(4, 5)
    opt = torch.optim.SGD(one.parameters(), lr=0.1)
    for _ in range(3):
        x, y = torch.randn(12, 4), torch.randint(0, 5, (12,))
        z = one(x)
        first = torch.where(z > 0, z, torch.zeros_like(z))  # cause: GS728
        loss = nn.functional.cross_entropy(first, y)  # effect: GS728
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_scores_chosen_by_another_bound() -> None:
    """Scores that a product keeps or drops for another reason than their sign, and a leaky ReLU by hand."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    one, other = nn.Linear(4, 5), nn.Linear(4, 5)
    opt = torch.optim.SGD([*one.parameters(), *other.parameters()], lr=0.1)
    for _ in range(3):
        x, y = torch.randn(12, 4), torch.randint(0, 5, (12,))
        z, v = one(x), other(x)
        leaky = torch.where(z > 0, z, 0.1 * z)
        spoken = torch.distributions.Categorical(logits=torch.maximum(v, torch.full_like(v, -20.0)))
        loss = nn.functional.cross_entropy(leaky, y) - spoken.log_prob(y).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_relu_in_a_layer_of_the_programs_own() -> None:  # fix: by hand
    import torch
    from torch import nn

    class Dense(nn.Module):
        def __init__(self, a: int, b: int) -> None:
            super().__init__()
            self.map = nn.Linear(a, b)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.relu(self.map(x))  # cause: GS728

    torch.manual_seed(0)
    net = nn.Sequential(Dense(4, 16), Dense(16, 5))
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(3):
        x, y = torch.randn(16, 4), torch.randint(0, 5, (16,))
        loss = nn.functional.cross_entropy(net(x), y)  # effect: GS728
        opt.zero_grad()
        loss.backward()
        opt.step()
