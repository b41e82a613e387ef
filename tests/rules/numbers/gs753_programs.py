"""More programs of GS753: each bad one is reported at its marks, each good one by no rule."""


def bad_embeddings_divided_by_the_norm_of_all() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Embedder(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.projection = nn.Linear(4, 8)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            x = self.projection(x)
            return x / torch.norm(x)  # cause: GS753

    net = Embedder()
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(4):
        one, other = net(torch.randn(16, 4)), net(torch.randn(16, 4))
        opt.zero_grad()
        (one @ other.t()).diagonal().mean().backward()  # effect: GS753
        opt.step()


def bad_features_divided_by_the_mean_of_all() -> None:
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.stage = nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.ReLU())
            self.head = nn.Linear(64, 3)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            found = self.stage(x)
            size = torch.mean(torch.pow(found, 2))  # cause: GS753
            out: torch.Tensor = self.head(torch.div(found, size).flatten(1))
            return out

    torch.manual_seed(0)
    net = Net()
    opt = torch.optim.SGD(net.parameters(), lr=0.05)
    for _ in range(4):
        x, y = torch.rand(8, 1, 4, 4), torch.randint(0, 3, (8,))
        loss = nn.functional.cross_entropy(net(x), y)
        opt.zero_grad()
        loss.backward()  # effect: GS753
        opt.step()


def good_features_divided_by_their_own_mean() -> None:
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.stage, self.head = nn.Linear(4, 8), nn.Linear(8, 3)
            self.scale = nn.Parameter(torch.ones(8, 8))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            found = self.stage(x).relu()
            found = found / found.pow(2).mean(1, keepdim=True)
            weight = torch.tanh(self.scale)
            out: torch.Tensor = self.head(((weight / weight.abs().mean()) @ found.T).T)
            return out

    torch.manual_seed(0)
    net = Net()
    opt = torch.optim.SGD(net.parameters(), lr=0.05)
    for _ in range(4):
        loss = nn.functional.cross_entropy(net(torch.rand(8, 4)), torch.randint(0, 3, (8,)))
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_embeddings_of_length_one() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Embedder(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.projection = nn.Linear(4, 8)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            x = self.projection(x) / self.projection.weight.norm()
            return x / x.norm(dim=1, keepdim=True)

    net = Embedder()
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(4):
        one, other = net(torch.randn(16, 4)), net(torch.randn(16, 4))
        opt.zero_grad()
        (one @ other.t()).diagonal().mean().backward()
        opt.step()


def bad_difference_in_parentheses_of_a_function() -> None:
    import torch
    from torch import nn

    class Dueling(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body = nn.Linear(4, 8)
            self.value, self.advantage = nn.Linear(8, 1), nn.Linear(8, 3)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            hidden = torch.relu(self.body(x))
            a = self.advantage(hidden)
            return self.value(hidden) + (a - torch.mean(a))  # cause: GS753

    torch.manual_seed(0)
    net = Dueling()
    opt = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(4):
        x, action = torch.randn(16, 4), torch.randint(0, 3, (16, 1))
        loss = (net(x).gather(1, action) - x.sum(1, keepdim=True)).pow(2).mean()
        opt.zero_grad()
        loss.backward()  # effect: GS753
        opt.step()


def good_correlation_that_is_a_module() -> None:
    import torch
    from torch import nn

    class Correlation(nn.Module):
        def forward(self, one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
            one, other = one - one.mean(), other - other.mean()
            return 1 - (one * other).sum() / (one.norm() * other.norm() + 1e-8)

    torch.manual_seed(0)
    model, criterion = nn.Linear(4, 2), Correlation()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        x = torch.randn(16, 4)
        loss = criterion(model(x), x[:, :2] * 2)
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_inputs_centred() -> None:
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fc = nn.Linear(4, 2)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.fc(x - x.mean())

    torch.manual_seed(0)
    net = Net()
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(4):
        loss = (net(torch.randn(16, 4)) - 1).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_scores_centred_outside_of_the_model() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    net = nn.Linear(4, 3)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(4):
        x = torch.randn(16, 4)
        scores = net(x)
        loss = (scores - scores.mean()).pow(2).mean() + (scores.mean() - 1) ** 2
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_normalised_over_the_batch_by_column() -> None:
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fc = nn.Linear(4, 2)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            out = self.fc(x)
            return out - out.mean(dim=-1, keepdim=True)

    torch.manual_seed(0)
    net = Net()
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(4):
        x = torch.randn(16, 4)
        loss = (net(x) - x[:, :2]).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_features_times_the_inverse_root_of_all() -> None:
    import torch
    from torch import nn

    class Scaled(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.up, self.down = nn.Linear(6, 8), nn.Linear(8, 1)
            self.gain = nn.Parameter(torch.ones(8))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            h = torch.relu(self.up(x))
            power = torch.mean(torch.square(h))  # cause: GS753
            out: torch.Tensor = self.down(self.gain * h * torch.rsqrt(power + 1e-6))
            return out

    torch.manual_seed(0)
    net = Scaled()
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(4):
        x = torch.randn(16, 6)
        loss = (net(x).squeeze(1) - x[:, 0]).abs().mean()
        opt.zero_grad()
        loss.backward()  # effect: GS753
        opt.step()


def bad_length_of_all_by_hand() -> None:
    import torch
    from torch import nn

    class Encoder(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.up = nn.Linear(6, 8)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            h: torch.Tensor = self.up(x)
            length = h.pow(2).sum().sqrt()  # cause: GS753
            return h / (length + 1e-8)

    torch.manual_seed(0)
    net = Encoder()
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(4):
        x = torch.randn(16, 6)
        loss = (net(x).sum(1) - x[:, 0]).pow(2).mean()
        opt.zero_grad()
        loss.backward()  # effect: GS753
        opt.step()


def good_features_times_their_own_inverse_root() -> None:
    import torch
    from torch import nn

    class Scaled(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.up, self.down = nn.Linear(6, 8), nn.Linear(8, 1)
            self.gain = nn.Parameter(torch.ones(8))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            h = torch.relu(self.up(x))
            power = torch.mean(torch.square(h), dim=-1, keepdim=True)
            size = self.gain.square().mean().add(1e-6).rsqrt()  # of weights alone
            out: torch.Tensor = self.down(self.gain * size * h * torch.rsqrt(power + 1e-6))
            return out

    torch.manual_seed(0)
    net = Scaled()
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(4):
        x = torch.randn(16, 6)
        loss = (net(x).squeeze(1) - x[:, 0]).abs().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
