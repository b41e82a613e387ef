"""Data that are made by tens of thousands of small operations: noted up to a number, and the training as a whole."""

from __future__ import annotations

import torch
from torch import nn

import gradscope
from gradscope.check import examine
from gradscope.hooks.recorder.ops import PREPARED


def trained(rows: int, late: bool) -> torch.Tensor:
    """The last weights; `late`: a gradient is lost after the data were made."""
    torch.manual_seed(0)
    table = torch.zeros(rows, 4)
    for row in range(rows):
        table[row] = torch.rand(4) * 2 - 1  # four operations
    body, head = nn.Linear(4, 4), nn.Linear(4, 1)
    opt = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=0.1)
    for start in range(0, 32, 8):
        opt.zero_grad()
        hidden = body(table[start : start + 8])
        head(hidden.detach() if late else hidden).sub(1).pow(2).mean().backward()
        opt.step()
    return head.weight.detach().clone()


def test_what_makes_data_is_noted_up_to_a_number_and_the_training_whole() -> None:
    rows = PREPARED // 2
    plain = trained(rows, late=True)
    with gradscope.watch() as scope:
        watched = trained(rows, late=True)
    assert torch.equal(plain, watched)
    trace = scope.trace
    made = [op for op in trace.ops if not op.nodes]
    assert len(made) < PREPARED + 100
    (found,) = examine(trace).findings
    assert (found.code, found.severity) == ("GS301", "error")
    assert {op.name for op in trace.ops if op.nodes} >= {"linear", "pow", "mean"}
