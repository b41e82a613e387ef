"""What an operation that gave no finite number was computed from, on programs in which torch gave one."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
from observed import Observed, observed, optimizer
from torch import nn

from gradscope.analysis.non_finite import (
    LogOfSoftmax,
    LogOfSum,
    begun_at,
    empty_sum,
    filled_with_infinity,
    infinite_dividend,
    late_mask,
    left_out_by,
    logarithm_of,
    roots_before,
    subjects_of,
)
from gradscope.events import NonFinite

Loss = Callable[[nn.Parameter], torch.Tensor]


def of(loss: Loss, start: list[float] | None = None) -> tuple[Observed, NonFinite]:
    """A step of a loss, or of a gradient, that is not finite; and the first event that tells of it."""
    bad: list[bool] = []

    def program() -> None:
        p = nn.Parameter(torch.tensor(start if start is not None else [1.0, 200.0, 3.0]))
        opt = optimizer(p)
        made = loss(p)
        made.backward()
        assert p.grad is not None
        bad.append(not (made.isfinite().all().item() and p.grad.isfinite().all().item()))
        opt.step()

    run = observed(program)
    assert bad == [True]
    return run, run.trace.of(NonFinite)[0]


def log_of(loss: Loss, start: list[float] | None = None) -> tuple[Observed, LogOfSoftmax | LogOfSum | None]:
    run, event = of(loss, start)
    return run, logarithm_of(run.trace, event, run.trace.site(event.origin))


def picked(p: nn.Parameter) -> torch.Tensor:
    return p.softmax(0)[0].log()


def with_entropy(p: nn.Parameter) -> torch.Tensor:
    q = p.softmax(0)
    return q.log()[0] + q.sum()


@pytest.mark.parametrize(
    ("loss", "alone"),
    [
        (lambda p: p.softmax(0).log().sum(), True),
        (picked, False),
        (with_entropy, False),
    ],
)
def test_the_logarithm_of_a_softmax_is_told_with_whether_that_is_read_by_itself(
    loss: Loss, alone: bool
) -> None:
    _, found = log_of(loss)
    assert isinstance(found, LogOfSoftmax)
    assert (found.softmax.name, found.log.name, found.alone) == ("softmax", "log", alone)


def test_the_logarithm_of_a_sum_of_exponentials_is_told() -> None:
    run, found = log_of(lambda p: p.exp().sum().log(), [-200.0, -300.0])
    assert isinstance(found, LogOfSum) and run.text(found.exponential.site.user) == "p.exp()"


@pytest.mark.parametrize(
    "loss",
    [
        lambda p: (p - 1).log().sum(),
        lambda p: (p.sigmoid() - p.sigmoid()).log().sum(),
        lambda p: (p / 0).sum(),
    ],
)
def test_another_logarithm_or_none_is_not_told(loss: Loss) -> None:
    assert log_of(loss)[1] is None


def test_an_infinity_that_is_divided_is_told_with_the_call_that_put_it_in() -> None:
    def program(loss: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]) -> tuple[Observed, NonFinite]:
        def run() -> None:
            p, t = nn.Parameter(torch.tensor([1.0, 2.0, 3.0])), nn.Parameter(torch.tensor(2.0))
            opt = optimizer(p, t)
            loss(p, t).backward()
            assert t.grad is not None and not t.grad.isfinite().all()
            opt.step()

        found = observed(run)
        return found, found.trace.of(NonFinite)[0]

    mask = torch.tensor([False, False, True])
    run, event = program(lambda p, t: (p.masked_fill(mask, -math.inf) / t).softmax(0)[0])
    found = infinite_dividend(run.trace, event)
    assert found is not None and found.entries == 1
    assert found.fill is not None and run.text(found.fill.site.user) == "p.masked_fill(mask, -math.inf)"
    run, event = program(lambda p, t: (p / (t - 2)).sum())
    assert infinite_dividend(run.trace, event) is None, "that one divides by 0"


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("float('inf')", True),
        ("math.inf", True),
        ("-float('-inf')", True),
        ("-math.inf", False),
        ("1e9", False),
    ],
)
def test_a_mask_that_fills_with_plus_infinity_is_told_with_that_expression(value: str, told: bool) -> None:
    mask = torch.tensor([False, False, True])
    fills: dict[str, Loss] = {
        "float('inf')": lambda p: p.masked_fill(mask, float("inf")).softmax(0)[0],
        "math.inf": lambda p: p.masked_fill(mask, math.inf).softmax(0)[0],
        "-float('-inf')": lambda p: p.masked_fill(mask, -float("-inf")).softmax(0)[0],
        "-math.inf": lambda p: p.masked_fill(mask | True, -math.inf).softmax(0)[0],
        "1e9": lambda p: (p.masked_fill(mask, 1e9).softmax(0)[0]).log(),
    }
    run, event = of(fills[value], [1.0, 2.0, 3.0])
    found = filled_with_infinity(run.trace, event)
    assert (found is not None) == told
    if found is not None:
        assert run.text(found.value).replace('"', "'") == value and found.op.name == "masked_fill"


def test_infinities_put_in_after_the_softmax_are_told_and_before_it_are_not() -> None:
    mask = torch.tensor([False, False, True])
    run, event = of(lambda p: p.softmax(0).masked_fill(mask, -math.inf) @ torch.ones(3), [1.0, 2.0, 3.0])
    late = late_mask(run.trace, event, run.trace.site(event.origin).user)  # type: ignore[union-attr]
    assert late is not None and (late.fill.name, late.softmax.name) == ("masked_fill", "softmax")
    run, event = of(
        lambda p: p.masked_fill(mask | True, -math.inf).softmax(0) @ torch.ones(3), [1.0, 2.0, 3.0]
    )
    assert late_mask(run.trace, event, run.trace.site(event.origin)) is None


def test_a_division_by_the_sum_of_an_empty_mask_is_told() -> None:
    mask, whole = torch.zeros(3), torch.zeros(3, dtype=torch.bool)
    run, event = of(lambda p: p.sum() / mask.sum())
    found = empty_sum(run.trace, event)
    assert found is not None and run.text(found.site.user) == "mask.sum()"
    run, event = of(lambda p: p.sum() / whole.sum().float())
    found = empty_sum(run.trace, event)
    assert found is not None and run.text(found.site.user) == "whole.sum()"


@pytest.mark.parametrize(
    "loss",
    [
        lambda p: p.sum() / (p - p).sum(),
        lambda p: (p * 0).sum() / torch.zeros(3).sum(),
        lambda p: p.sum() / 0,
    ],
)
def test_a_division_by_another_zero_is_no_empty_sum(loss: Loss) -> None:
    run, event = of(loss)
    assert empty_sum(run.trace, event) is None


def test_square_roots_behind_the_one_that_made_it_infinite_are_told_once_a_place() -> None:
    run, event = of(lambda p: p.sqrt().sqrt().sum(), [0.0, 1.0, 2.0])
    assert run.texts(roots_before(run.trace, event)) == ["p.sqrt()"]
    run, event = of(lambda p: torch.stack([p, p]).abs().sqrt().sum(), [0.0, 1.0, 2.0])
    assert not roots_before(run.trace, event)

    def twice(p: torch.Tensor) -> torch.Tensor:
        for _ in range(2):
            p = p.abs().sqrt()
        return p

    run, event = of(lambda p: twice(p).sqrt().sum(), [0.0, 1.0, 2.0])
    assert run.texts(roots_before(run.trace, event)) == ["p.abs().sqrt()"]


def test_a_branch_that_where_leaves_out_is_told_by_that_call() -> None:
    run, event = of(lambda p: torch.where(p > 0, p.sqrt(), p * 0).sum(), [0.0, 1.0, 2.0])
    found = left_out_by(run.trace, event)
    assert found is not None and run.text(found.site.user) == "torch.where(p > 0, p.sqrt(), p * 0)"
    run, event = of(lambda p: p.sqrt().sum(), [0.0, 1.0, 2.0])
    assert left_out_by(run.trace, event) is None


def test_what_a_finding_is_about_are_the_parameters_or_else_the_line_of_the_loss() -> None:
    _, event = of(lambda p: p.sqrt().sum(), [0.0, 1.0])
    line = ("loss", event.site.user.location())
    assert event.parameters and line not in subjects_of(event) and len(subjects_of(event)) == 1
    _, event = of(lambda p: p.sum() + torch.tensor(math.inf))
    assert not event.parameters
    assert subjects_of(event) == {("loss", event.site.user.location())}


def test_what_began_with_a_call_is_found_by_the_place_of_that_call() -> None:
    run, event = of(lambda p: (p - 1).log().sum())
    assert begun_at(run.trace, run.op("(p - 1).log()").site.user) == event
    other = run.op("made.isfinite()").site.user
    assert (
        other.location() != run.op("(p - 1).log()").site.user.location()
        and begun_at(run.trace, other) is None
    )
