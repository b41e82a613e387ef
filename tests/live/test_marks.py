"""`gradscope.mark`: findings say since when in the words of the program."""

from __future__ import annotations

import json

import torch
from torch import nn

import gradscope
from gradscope.render import json as as_json
from gradscope.scope import Scope


def train(steps: int, per_epoch: int, cut_from: int, passes: int = 1, first: int = 0) -> None:
    """Steps of a training whose encoder is cut off from one step on; its own numbers count passes from `first`."""
    one, two = nn.Linear(3, 3), nn.Linear(3, 1)
    optimizer = torch.optim.SGD([*one.parameters(), *two.parameters()], lr=0.1)
    for step in range(steps):
        gradscope.mark(f"epoch {step // per_epoch}", batch=first + step * passes)
        for _ in range(passes):
            hidden = one(torch.ones(4, 3))
            two(hidden.detach() if step >= cut_from else hidden).sum().backward()
        optimizer.step()
        optimizer.zero_grad()


def since(scope: Scope) -> list[str]:
    return [str(finding.since) for finding in scope.findings if finding.code == "GS301"]


def test_a_finding_says_since_when_as_the_program_counts() -> None:
    with gradscope.watch() as scope:
        train(24, 5, cut_from=12)
    assert since(scope) == ["since step 13 (epoch 2, batch 12)"]
    assert "(epoch 2, batch 12)" in scope.report()
    (found,) = json.loads(as_json.render(scope._examined))["findings"]
    assert (found["since"], found["since_called"]) == (13, "epoch 2, batch 12")


def test_a_number_that_does_not_go_up_with_the_steps_is_left_out() -> None:
    with gradscope.watch() as scope:
        train(24, 5, cut_from=12, passes=2)
    assert since(scope) == ["since step 13 (epoch 2)"]


def test_a_watch_within_another_has_the_names_of_its_part() -> None:
    with gradscope.watch() as outer:
        train(7, 5, cut_from=99)
        with gradscope.watch() as inner:
            train(24, 5, cut_from=12, first=100)
    assert since(inner) == ["since step 13 (epoch 2, batch 112)"]
    assert since(outer) == ["since step 20 (epoch 2, batch 112)"]


def test_without_a_watch_it_does_nothing() -> None:
    gradscope.mark("epoch 1", step=3)
