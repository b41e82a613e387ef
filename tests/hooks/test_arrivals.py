"""Numbers that are asked for: at once on the CPU, as they were when they were asked for."""

from __future__ import annotations

import sys

import torch

from gradscope.hooks.recorder.arrivals import NOT_HERE, Arrivals, Arriving, hold, let_go
from gradscope.hooks.recorder.values import can_be_asked


def _fault(where: str, error: BaseException) -> None:
    raise error


def test_on_the_cpu_the_answer_is_there_at_once_outside_of_the_graph() -> None:
    weight = torch.ones(3, requires_grad=True)
    seen: list[tuple[list[float], bool, bool]] = []
    Arrivals(_fault).when_here(
        (weight, weight * 2),
        lambda one, other: seen.append(
            ((one + other).tolist(), (one + other).requires_grad, torch.is_grad_enabled())
        ),
    )
    assert seen == [([3.0, 3.0, 3.0], False, False)] and torch.is_grad_enabled()


def test_what_is_kept_until_it_arrives_is_let_go_once() -> None:
    host = torch.zeros(2)
    before = sys.getrefcount(host)
    hold(host)
    assert sys.getrefcount(host) == before + 1
    let_go(host)
    assert sys.getrefcount(host) == before


def test_of_a_device_that_has_failed_only_what_is_known_to_have_come_counts() -> None:
    came, lost, floats = torch.tensor([3, 9]), torch.tensor([3, NOT_HERE]), torch.tensor([1.0])
    event = object()  # has not passed
    assert Arriving(came, event).was_sent()
    assert not Arriving(lost, event).was_sent() and not Arriving(floats, event).was_sent()
    assert Arriving(floats, None).was_sent()


def test_what_has_no_numbers_here_is_not_asked() -> None:
    assert can_be_asked(torch.zeros(3), 3) and not can_be_asked(torch.zeros(4), 3)
    assert not can_be_asked(torch.zeros(0), 3) and not can_be_asked(torch.zeros(3, device="meta"), 3)
    assert not can_be_asked(torch.zeros(3).to_sparse(), 3) and not can_be_asked(None, 3)
