"""Loaders of datasets and samplers that are built otherwise: nothing of ours fails on them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy
import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, Sampler, random_split

import gradscope


class Slotted:
    __slots__ = ("__weakref__", "rows")

    def __init__(self) -> None:
        self.rows = torch.randn(40, 4)

    def __len__(self) -> int:
        return 40

    def __getitem__(self, i: int) -> Any:
        return self.rows[i]


def slotted() -> Any:
    return Slotted()


class Arrays(Sampler[Any]):
    """Batches of row numbers as numpy has them."""

    def __iter__(self) -> Iterator[Any]:
        yield from numpy.random.default_rng(0).permutation(40).reshape(5, 8)

    def __len__(self) -> int:
        return 5


def of_slots() -> list[Any]:
    parts = random_split(slotted(), [32, 8])
    return [DataLoader(part, batch_size=8) for part in parts]


def of_arrays() -> list[Any]:
    return [DataLoader(slotted(), batch_sampler=Arrays()), DataLoader(slotted(), batch_size=8)]


@pytest.mark.parametrize("loaders", [of_slots, of_arrays])
def test_no_fault(loaders: Any) -> None:
    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.01)
    with gradscope.watch(sample=False) as scope:
        trained, held = loaders()
        for _ in range(2):
            for x in trained:
                opt.zero_grad()
                model(x).pow(2).mean().backward()
                opt.step()
            with torch.no_grad():
                print([model(x).mean().item() for x in held])
    assert not scope.faults
