"""Steps of optimizers that are none of torch's: fastai's, written here as fastai writes them."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest
import torch
from torch import nn

import gradscope


class Optimizer:
    def __init__(self, params: Any, lr: float):
        self.param_lists, self.hypers, self.state = [list(params)], [{"lr": lr}], defaultdict[Any, Any](dict)

    @property
    def param_groups(self) -> list[dict[str, Any]]:
        return [{"params": p, **hyper} for p, hyper in zip(self.param_lists, self.hypers, strict=True)]

    def step(self, closure: Any = None) -> None:
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    p.data.add_(p.grad.data, alpha=-group["lr"])

    def zero_grad(self) -> None:
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    p.grad.detach_()
                    p.grad.zero_()


@pytest.fixture(autouse=True)
def fastai(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    module = ModuleType("fastai.optimizer")
    module.Optimizer = Optimizer  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "fastai.optimizer", module)
    real = Optimizer.step, Optimizer.zero_grad
    yield
    assert (Optimizer.step, Optimizer.zero_grad) == real, "as it was"


def train(clears: bool = True, steps: int = 6) -> None:
    torch.manual_seed(0)
    net = nn.Linear(4, 1)
    optimizer = Optimizer(net.parameters(), 0.1)
    for _ in range(steps):
        net(torch.randn(8, 4)).square().mean().backward()
        optimizer.step()
        if clears:
            optimizer.zero_grad()


@pytest.mark.parametrize("clears", [True, False])
def test_steps_and_clearing_are_seen(clears: bool) -> None:
    with gradscope.watch() as scope:
        train(clears)
    assert scope.trace.summary["steps"] == 6 and scope.faults == []
    assert [f.code for f in scope.findings if f.severity != "note"] == ([] if clears else ["GS201"])


def test_it_is_told_of_while_it_runs() -> None:
    told = []
    with gradscope.watch(on_finding=told.append) as scope:
        looks = scope._session.recorder.looks  # type: ignore[union-attr]
        calls: list[int] = []
        looks.append(lambda: calls.append(1))
        train(clears=False)
    assert len(calls) == 6 and [f.code for f in told] == ["GS201"]
