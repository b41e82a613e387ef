from __future__ import annotations

import torch
from torch import nn

import gradscope


def found(read: bool) -> set[str]:
    """What is told of a loop whose last passes are lost, beside a leaf that requires a gradient."""
    torch.manual_seed(0)
    cell, head = nn.LSTMCell(3, 4), nn.Linear(4, 1)
    opt = torch.optim.SGD([*cell.parameters(), *head.parameters()], lr=0.1)
    with gradscope.watch() as scope:
        for _ in range(4):
            opt.zero_grad()
            for i in range(10):
                start = torch.zeros(1, 4).requires_grad_()
                head(cell(torch.randn(1, 3), (start, torch.zeros(1, 4)))[0]).pow(2).mean().backward()
                if read:
                    print(start.grad)
                if i % 4 == 3:
                    opt.step()
                    opt.zero_grad()
    return {finding.code for finding in scope.findings}


def test_a_gradient_that_nobody_reads_hides_no_lost_passes() -> None:
    assert {"GS215", "GS601"} <= found(read=False)


def test_one_that_is_read_is_not_told() -> None:
    assert "GS601" not in found(read=True)
