"""What the tables of the page and the terminal say that the program did in each stretch of its run."""

from __future__ import annotations

import torch
from observed import observed, optimizer
from torch import nn

from gradscope.analysis.stretches import did, told_stretches


def test_a_loss_is_no_model() -> None:
    def program() -> None:
        class Net(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.inner = nn.Sequential(nn.Linear(3, 1))

            def forward(self, x: torch.Tensor) -> torch.Tensor:
                out: torch.Tensor = self.inner(x)
                return out

        net, criterion = Net(), nn.MSELoss()
        opt = optimizer(*net.parameters())
        for _ in range(3):
            opt.zero_grad()
            criterion(net(torch.randn(4, 3)), torch.zeros(4, 1)).backward()
            opt.step()

    run = observed(program)
    steps = [one for one in told_stretches(run.trace) if one.segment.is_step]
    assert len(steps) == 3 and all("model called, backward, step" in did(one.kinds) for one in steps)
