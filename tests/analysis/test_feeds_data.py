"""Weights that an assignment to `.data` has given: no op shows it, the text does."""

import torch
from torch import nn

import gradscope


class Edges(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(1, 1, 3, bias=False)
        self.conv.weight.data = torch.tensor([[[[1.0, 0, -1], [2, 0, -2], [1, 0, -1]]]])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.conv(x).abs().mean()


def test_weights_that_were_assigned_are_no_random_ones() -> None:
    with gradscope.watch() as scope:
        net, edges = nn.Conv2d(1, 1, 3), Edges()
        opt = torch.optim.SGD(net.parameters(), lr=0.01)
        for _ in range(4):
            opt.zero_grad()
            edges(net(torch.randn(2, 1, 8, 8))).backward()
            opt.step()
    assert [(f.code, f.severity) for f in scope.findings] == [("GS206", "note")]
