"""Attributes that freeze nothing, set when training has gone on for a while."""

from __future__ import annotations

import copy

import torch
from torch import nn

import gradscope


def train(model: nn.Module, steps: int) -> None:
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(steps):
        optimizer.zero_grad()
        model(torch.ones(2, 3)).sum().backward()
        optimizer.step()


def test_a_model_that_comes_late_is_looked_at_in_the_end() -> None:
    with gradscope.watch() as scope:
        first = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 1))
        train(first, 4)
        second = copy.deepcopy(first)
        second[1].requires_grad = False  # type: ignore[assignment]
        train(second, 4)
    (found,) = [finding for finding in scope.findings if finding.code == "GS308"]
    assert found.message.startswith("`second[1].requires_grad = False` freezes nothing")


def test_it_is_not_looked_for_where_no_pass_was() -> None:
    with gradscope.watch() as scope:
        model = nn.Linear(3, 3)
        model.requires_grad = False  # type: ignore[assignment]
        model(torch.ones(2, 3))
    assert scope.findings == []
