"""Programs for GS457."""

from __future__ import annotations


def bad_deep() -> None:
    import torch
    from torch import nn

    class Bottleneck(nn.Module):
        def __init__(self, channels: int) -> None:
            super().__init__()
            self.one = nn.Conv2d(channels, 4, 1)
            self.two = nn.Conv2d(4, channels, 3, padding=1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            """A block."""
            identity = x  # cause: GS457
            out = self.one(x)
            x = self.two(torch.relu(out))
            return x  # noqa: RET504  # effect: GS457

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.blocks = nn.ModuleList([Bottleneck(8) for _ in range(3)])
            self.head = nn.Linear(8, 2)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            for block in self.blocks:
                x = torch.relu(block(x))
            return self.head(x.mean((2, 3)))

    net = Net()
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(3):
        loss = nn.functional.cross_entropy(net(torch.randn(8, 8, 6, 6)), torch.randint(2, (8,)))
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_added_by_the_caller() -> None:
    import torch
    from torch import nn

    class Branch(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.one, self.two = nn.Linear(8, 8), nn.Linear(8, 8)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            before = x
            x = torch.relu(self.one(x))
            x = self.two(x)
            return x  # noqa: RET504

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.branches = nn.ModuleList([Branch() for _ in range(3)])
            self.head = nn.Linear(8, 1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            for branch in self.branches:
                x = x + branch(x)
            return self.head(x)

    net = Net()
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        (net(torch.randn(16, 8)) - 1).pow(2).mean().backward()
        opt.step()


def good_read_under_a_condition() -> None:
    import torch
    from torch import nn

    class Block(nn.Module):
        def __init__(self, short: bool) -> None:
            super().__init__()
            self.one, self.two, self.short = nn.Linear(8, 8), nn.Linear(8, 8), short

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            skip = x
            x = torch.relu(self.one(x))
            x = torch.relu(self.two(x))
            if self.short:
                x = x + skip
            return x

    model = nn.Sequential(Block(False), nn.Linear(8, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        (model(torch.randn(16, 8)) - 1).pow(2).mean().backward()
        opt.step()


def bad_gate_takes_the_normalised() -> None:
    import torch
    from torch import nn

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm, self.one, self.gate = nn.LayerNorm(8), nn.Linear(8, 8), nn.Linear(8, 8)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            residual = x  # effect: GS457
            x = self.norm(x)
            gate = torch.sigmoid(self.gate(x))
            return gate * torch.relu(self.one(x)) + (1 - gate) * x  # cause: GS457

    model = nn.Sequential(nn.Linear(8, 8), Block(), Block(), nn.Linear(8, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        opt.zero_grad()
        (model(torch.randn(16, 8)) - 1).pow(2).mean().backward()
        opt.step()


def good_gate_takes_what_was_kept() -> None:
    import torch
    from torch import nn

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm, self.one, self.gate = nn.LayerNorm(8), nn.Linear(8, 8), nn.Linear(8, 8)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            residual = x
            x = self.norm(x)
            gate = torch.sigmoid(self.gate(x))
            return gate * torch.relu(self.one(x)) + (1 - gate) * residual

    model = nn.Sequential(nn.Linear(8, 8), Block(), Block(), nn.Linear(8, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        opt.zero_grad()
        (model(torch.randn(16, 8)) - 1).pow(2).mean().backward()
        opt.step()


def good_sum_of_the_normalised_alone() -> None:
    import torch
    from torch import nn

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm, self.one = nn.LayerNorm(8), nn.Linear(8, 8)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            x = self.norm(x)
            return torch.relu(self.one(x)) + x

    model = nn.Sequential(nn.Linear(8, 8), Block(), Block(), nn.Linear(8, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        opt.zero_grad()
        (model(torch.randn(16, 8)) - 1).pow(2).mean().backward()
        opt.step()


def good_added_under_its_old_name() -> None:
    import torch
    from torch import nn

    class Added(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm, self.f = nn.LayerNorm(8), nn.Linear(8, 8)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            residual = x
            x = x + nn.functional.gelu(self.f(self.norm(x)))
            return x  # noqa: RET504

    class Mixed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.f, self.g = nn.Linear(8, 8), nn.Linear(8, 8)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            shortcut = x
            x = torch.lerp(x, self.f(x).relu(), torch.sigmoid(self.g(x) - 1))
            return x  # noqa: RET504

    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 8), Added(), Mixed(), nn.Linear(8, 2))
    opt = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(8):
        x = torch.randn(32, 4)
        opt.zero_grad()
        nn.functional.cross_entropy(net(x), (x[:, 0] > 0).long()).backward()
        opt.step()
