"""Models that no optimizer holds, behind one that trains."""

import pytest
import torch
from torch import nn

import gradscope


class Solver:
    def __init__(self) -> None:
        self.body, self.head = (
            nn.Linear(6, 12),
            nn.Sequential(nn.Linear(12, 8), nn.LayerNorm(8), nn.Linear(8, 1)),
        )
        self.opt = torch.optim.SGD(self.body.parameters(), lr=0.01)

    def step(self) -> None:
        self.opt.zero_grad()
        self.head(self.body(torch.randn(4, 6))).pow(2).mean().backward()
        self.opt.step()


def test_a_head_of_random_weights_that_no_step_changes_is_a_warning() -> None:
    with gradscope.watch() as scope:
        solver = Solver()
        for _ in range(4):
            solver.step()
    assert [(f.code, f.severity) for f in scope.findings] == [("GS206", "warning")]


@pytest.mark.parametrize("how", ["constant", "copied", "loaded"])
def test_a_model_whose_weights_were_chosen_may_judge(how: str) -> None:
    with gradscope.watch() as scope:
        net, judge = nn.Linear(4, 4), nn.Linear(4, 1)
        if how == "constant":
            nn.init.constant_(judge.weight, 0.25)
        elif how == "copied":
            with torch.no_grad():
                judge.weight.copy_(torch.tensor([[1.0, -1.0, 1.0, -1.0]]))
        else:
            judge.load_state_dict(nn.Linear(4, 1).state_dict())
        opt = torch.optim.SGD(net.parameters(), lr=0.01)
        for _ in range(4):
            opt.zero_grad()
            judge(net(torch.randn(2, 4))).pow(2).mean().backward()
            opt.step()
    assert {f.severity for f in scope.findings} == {"note"}
