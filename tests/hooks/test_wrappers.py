"""Wrappers for several devices: torch's own, and what a program puts in their place before it is watched."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn
from torch.nn.parallel.data_parallel import DataParallel

import gradscope
from gradscope.check import check


class Own(nn.Module):
    def __init__(self, module: nn.Module) -> None:
        nn.Module.__init__(self)
        self.inner = module

    def forward(self, *given: torch.Tensor) -> Any:
        return self.inner(*given)


def fit(model: nn.Module) -> None:
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        opt.zero_grad()
        model(torch.randn(8, 4)).pow(2).mean().backward()
        opt.step()


def wrapped(owner: Any, name: str) -> gradscope.Scope:
    with gradscope.watch() as scope:
        fit(getattr(owner, name)(nn.Linear(4, 1)))
    return scope


@pytest.mark.parametrize(
    ("owner", "name"), [(nn, "DataParallel"), (nn.parallel, "DistributedDataParallel")], ids=["DP", "DDP"]
)
def test_a_class_of_the_programs_in_their_place_is_left_alone(
    owner: Any, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(owner, name, Own)
    scope = wrapped(owner, name)
    assert not scope.faults and not check(scope.trace)


def test_so_is_torchs_class_that_the_program_makes_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(DataParallel, "__init__", Own.__init__)
    monkeypatch.setattr(DataParallel, "forward", Own.forward)
    assert not wrapped(nn, "DataParallel").faults


@pytest.mark.skipif(torch.cuda.is_available(), reason="it copies to the devices that are there")
def test_without_a_device_nothing_is_told_of_one() -> None:
    assert not check(wrapped(nn, "DataParallel").trace)
