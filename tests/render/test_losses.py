"""The report shows how each loss went, by the line that goes back from it."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import nn

import gradscope
from gradscope.check import examine
from gradscope.config import Config
from gradscope.render.text import render


def report(steps: int, pull: Callable[[torch.Tensor, int], torch.Tensor]) -> list[str]:
    """The rows about losses of a training with two of them."""
    torch.manual_seed(0)
    model, critic = nn.Linear(3, 1), nn.Linear(1, 1)
    optimizer = torch.optim.SGD([*model.parameters(), *critic.parameters()], lr=0.1)
    with gradscope.watch() as scope:
        for step in range(steps):
            optimizer.zero_grad()
            out = model(torch.ones(4, 3))
            fit = pull((out - 1).square().mean(), step)
            fit.backward()
            (critic(out.detach()) - 2).square().mean().backward()
            optimizer.step()
    text = render(examine(scope.trace, Config()))
    rows = text.partition(" loss: ")[2].partition(" cost: ")[0].strip().splitlines()
    return [row.strip() for row in rows]


def test_each_line_has_its_loss_by_the_programs_name_with_first_and_last() -> None:
    fit, other = report(60, lambda loss, step: loss)
    name, first, bars, last, place = fit.split(maxsplit=4)
    assert name == "`fit`" and "test_losses.py" in place
    assert float(first) > 10 * float(last) and bars[0] > bars[-1], "it fell"
    assert other.startswith("the loss ")


def test_a_loss_that_is_not_finite_any_more_is_seen() -> None:
    fit, _ = report(40, lambda loss, step: loss if step < 20 else loss * float("nan"))
    assert " nan (" in fit and "!" in fit


def test_of_a_few_passes_nothing_is_said() -> None:
    assert report(5, lambda loss, step: loss) == []
