"""What is said to keep a computation finite."""

from __future__ import annotations

import torch
from torch import nn

import gradscope


def test_no_bound_is_offered_for_a_logarithm_of_what_should_never_be_negative() -> None:
    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    with gradscope.watch() as scope:
        action = torch.tanh(model(4 * torch.randn(32, 4))) * 2.0
        (-torch.log(1 - action.pow(2) + 1e-6).mean()).backward()
        opt.step()
    (found,) = (finding for finding in scope.findings if finding.code == "GS701")
    assert "clamp" not in found.fix and "takes a `tanh` out of -1 to 1" in found.fix
