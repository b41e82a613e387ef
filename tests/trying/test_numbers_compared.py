"""What is told of the losses of two runs, of which not every step was measured."""

from __future__ import annotations

from math import nan
from types import SimpleNamespace
from typing import Any

import pytest

from gradscope.trying.numbers import numbers


def run(losses: dict[int, float]) -> Any:
    site = SimpleNamespace(id=1, user=SimpleNamespace(location=lambda: ("train.py", 3)))
    trace = SimpleNamespace(
        of=lambda kind: [SimpleNamespace(site=site)],
        numbers=lambda name, sites=None: list(losses.items()),
        parameters=[],
    )
    return SimpleNamespace(trace=trace)


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ({1: 2.0, 9: 1.0}, {1: 2.0, 9: 1.0}, " up to step 9: 2 → 1, the same with the fix"),
        ({1: 2.0, 9: 1.0, 12: 0.5}, {1: 2.0, 9: 1.0, 13: 0.4}, " up to step 9: 2 → 1, the same with the fix"),
        ({1: 2.0, 9: 1.0}, {1: 2.0, 9: 0.5}, " up to step 9: 2 → 1 before, 2 → 0.5 with the fix"),
        ({1: 2.0, 9: nan}, {1: 2.0, 9: 0.5}, " up to step 9: 2 → nan before, 2 → 0.5 with the fix"),
        ({1: 2.0}, {1: 2.0}, ": 2, the same with the fix"),
        (
            {1: 2.0, 9: 1.0, 12: nan, 14: nan},
            {1: 2.0, 9: 1.0, 13: 0.4, 20: 0.1},
            " up to step 9: 2 → 1, the same with the fix; then nan at step 12 before, 0.1 at step 20 with the fix",
        ),
        (
            {1: 2.0, 9: nan, 1431: nan},
            {1: 2.0, 9: 0.7, 1477: 0.1},
            " up to step 9: 2 → nan before, 2 → 0.7 with the fix; then nan at step 1,431 before, 0.1 at step 1,477"
            " with the fix",
        ),
        (
            {1: 2.0, 9: 1.0, 12: nan},
            {1: 2.0, 9: 1.0},
            " up to step 9: 2 → 1, the same with the fix; then nan at step 12 before",
        ),
    ],
)
def test_a_loss_that_ends_in_nan_is_never_the_same(
    before: dict[int, float], after: dict[int, float], said: str
) -> None:
    lines = SimpleNamespace(now=lambda place: {place})
    compared: Any = SimpleNamespace(before=run(before), after=run(after), lines=lines)
    assert numbers(compared, []) == [f"loss{said}"]
