"""Programs for GS466."""

from __future__ import annotations


def bad_several() -> None:
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.one, self.two, self.three = nn.Conv2d(1, 4, 3), nn.Conv2d(4, 4, 3), nn.Linear(4, 2)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            first = self.one(x)
            first_out = torch.relu(first)  # cause: GS466
            second = self.two(first)  # effect: GS466
            second_out = nn.functional.gelu(second)  # related: GS466
            return self.three(second.mean((2, 3)))

    model = Net()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        loss = nn.functional.cross_entropy(model(torch.randn(8, 1, 8, 8)), torch.randint(2, (8,)))
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_left_over_probabilities() -> None:
    import torch
    from torch import nn

    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        x = torch.randn(16, 4)
        scores = model(x)
        chances = torch.sigmoid(scores)
        loss = nn.functional.binary_cross_entropy_with_logits(scores, (x[:, :1] > 0).float())
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_in_place() -> None:
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.one, self.act, self.two = nn.Linear(4, 16), nn.ReLU(inplace=True), nn.Linear(16, 1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            hidden = self.one(x)
            bent = self.act(hidden)
            shown: torch.Tensor = self.two(hidden)
            return shown

    model = Net()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        opt.zero_grad()
        (model(torch.randn(16, 4)) - 1).pow(2).mean().backward()
        opt.step()
