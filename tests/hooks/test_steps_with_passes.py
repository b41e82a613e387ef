"""Optimizers of the program's own that run backward passes in their step, as a line search does."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

import gradscope


class Descents(torch.optim.Optimizer):
    """A few steps of gradient descent at each call."""

    def __init__(self, params: Any, lr: float):
        super().__init__(params, {"lr": lr})

    def step(self, closure: Any = None) -> Any:
        return self._descend(closure)

    @torch.no_grad()
    def _descend(self, closure: Any) -> Any:
        loss = None
        for _ in range(3):
            with torch.enable_grad():
                loss = closure()
                self.zero_grad()
                loss.backward()
            for group in self.param_groups:
                for p in group["params"]:
                    if p.grad is not None:
                        p.add_(p.grad, alpha=-group["lr"])
        return loss


class Steps(Descents):
    """The same with a pass that the program makes before."""

    def step(self, closure: Any = None) -> Any:
        for p in self.param_groups[0]["params"]:
            p.data.add_(p.grad, alpha=-self.param_groups[0]["lr"])


def test_passes_of_a_step_are_seen() -> None:
    torch.manual_seed(0)
    net, x = nn.Linear(4, 1), torch.randn(32, 4)
    optimizer = Descents(net.parameters(), 0.01)
    with gradscope.watch() as scope:
        for _ in range(5):
            optimizer.step(lambda: (net(x) - x.sum(1, keepdim=True)).square().mean())
    assert not scope.faults
    assert not scope.findings
    assert scope.trace.summary["passes"] == 15
    assert scope.trace.summary["steps"] == 0, "what is seen is what it does"


def test_a_mistake_in_a_closure_is_told() -> None:
    torch.manual_seed(0)
    net, x = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1)), torch.randn(32, 4)
    optimizer = Descents(net.parameters(), 0.01)
    with gradscope.watch() as scope:
        for _ in range(5):
            optimizer.step(lambda: (net[2](net[:2](x).detach()) - x.sum(1, keepdim=True)).square().mean())
    assert "GS301" in {finding.code for finding in scope.findings}


def test_the_step_that_only_steps_is_one() -> None:
    torch.manual_seed(0)
    net, x = nn.Linear(4, 1), torch.randn(32, 4)
    optimizer = Steps(net.parameters(), 0.01)
    with gradscope.watch() as scope:
        for _ in range(5):
            optimizer.zero_grad()
            net(x).square().mean().backward()
            optimizer.step()
    assert scope.trace.summary["steps"] == 5
