"""Labels that mark one class of each sample, in the ways that programs write them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch.nn import functional as F

import gradscope
from gradscope.analysis.one_hots import one_hot
from gradscope.analysis.reach import paths

Y = torch.tensor([1, 0, 2, 3, 1])


def set_at() -> torch.Tensor:
    labels = torch.zeros(5, 4)
    labels[torch.arange(5), Y] = 1
    return labels


def rows_marked() -> torch.Tensor:
    labels = torch.zeros(5, 4)
    labels[torch.arange(3), torch.arange(3)] = 1
    return labels


def found(make: Callable[[], torch.Tensor], smoothed: bool) -> int | None:
    """The axis that is found to be the one of the classes."""
    weight = torch.randn(5, 4, requires_grad=True)
    with gradscope.watch() as scope:
        labels = make()
        (weight * labels).sum().backward()
    known = paths(scope.trace)
    (product,) = (op for _, op in known.used_calls({"mul"}) if len(op.inputs) == 2)
    marked = one_hot(known, (product.graph, product.inputs[1]), smoothed=smoothed)
    return marked.axis if marked is not None else None


@pytest.mark.parametrize(
    "make",
    [
        lambda: F.one_hot(Y, 4).float(),
        lambda: torch.eye(4)[Y],
        lambda: torch.zeros(5, 4).scatter_(1, Y.unsqueeze(1), 1.0),
        lambda: torch.zeros(5, 4).scatter(-1, Y[:, None], 1.0),
        set_at,
        lambda: (Y[:, None] == torch.arange(4)).float(),
        lambda: (torch.arange(4)[None] == Y.view(-1, 1)).double(),
    ],
)
def test_labels_of_each_row_are_known(make: Callable[[], torch.Tensor]) -> None:
    assert torch.equal(make().float(), F.one_hot(Y, 4).float())
    assert found(make, False) == 1 == found(make, True)


@pytest.mark.parametrize(
    "make",
    [
        lambda: F.one_hot(Y, 4) * 0.9 + 0.1 / 4,
        lambda: torch.full((5, 4), 0.025).scatter_(1, Y[:, None], 0.925),
    ],
)
def test_smoothed_labels_are_known_where_they_are_asked_for(make: Callable[[], torch.Tensor]) -> None:
    assert found(make, False) is None and found(make, True) == 1


@pytest.mark.parametrize(
    "make",
    [
        lambda: torch.rand(5, 4),
        lambda: torch.rand(5, 4)[Y],
        rows_marked,
        lambda: torch.cat([F.one_hot(Y[:3], 4), torch.zeros(2, 4)]),
        lambda: (Y[:, None] == Y[None, :4]).float(),
    ],
)
def test_other_tensors_are_none(make: Callable[[], torch.Tensor]) -> None:
    assert found(make, True) is None
