"""Losses that compare a network's prediction with a target made of its own estimate, with its graph."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from observed import Observed, observed, optimizer
from torch import nn
from torch.nn import functional as F

from gradscope.analysis.bootstraps import Bootstrap, bootstraps, squared, sums
from gradscope.analysis.calls import calls
from gradscope.analysis.reach import paths

Loss = Callable[[nn.Module, nn.Module], torch.Tensor]


def trained(loss: Loss, steps: int = 2) -> Observed:
    """Steps of a value network that has a copy beside it."""

    def program() -> None:
        value, other = nn.Linear(4, 1), nn.Linear(4, 1)
        opt = optimizer(value)
        for _ in range(steps):
            opt.zero_grad()
            loss(value, other).backward()
            opt.step()

    return observed(program)


def found(loss: Loss) -> tuple[Observed, list[Bootstrap]]:
    run = trained(loss)
    return run, [one for _, one in bootstraps(run.trace, calls(run.trace))]


def plain(value: nn.Module, other: nn.Module) -> torch.Tensor:
    target = torch.randn(8, 1) + 0.9 * value(torch.randn(8, 4))
    return F.mse_loss(value(torch.zeros(8, 4)), target)


def by_a_difference(value: nn.Module, other: nn.Module) -> torch.Tensor:
    target = torch.randn(8, 1) + 0.9 * value(torch.randn(8, 4))
    difference = target - value(torch.zeros(8, 4))
    return difference.pow(2).mean()


def added_up(value: nn.Module, other: nn.Module) -> torch.Tensor:
    total = torch.zeros(8, 1)
    for _ in range(2):
        target = torch.randn(8, 1) + 0.9 * value(torch.randn(8, 4))
        total = total + (target - value(torch.zeros(8, 4)))
    return total.square().mean()


def written_in_parts(value: nn.Module, other: nn.Module) -> torch.Tensor:
    target = torch.zeros(2, 1)
    for i in range(2):
        target[i] = torch.ones(1) + 0.9 * value(torch.randn(4))
    return F.mse_loss(value(torch.zeros(2, 4)), target)


TARGET = "torch.randn(8, 1) + 0.9 * value(torch.randn(8, 4))"


@pytest.mark.parametrize("loss", [plain, by_a_difference, added_up], ids=lambda loss: loss.__name__)
def test_a_target_of_the_network_s_own_estimate_is_told(loss: Loss) -> None:
    run, (one,) = found(loss)
    assert run.text(one.made.site.user) == TARGET
    assert run.text(one.call.entry) == "value(torch.randn(8, 4))"
    assert run.names(one.shared) == {"weight", "bias"} and one.times == 2
    assert one.made.site.user.location() in one.way and one.call.entry.location() in one.way
    assert (one.total is not None) == (loss is added_up)


def test_a_target_that_is_written_in_parts_is_told() -> None:
    run, (one,) = found(written_in_parts)
    assert run.text(one.made.site.user) == "torch.ones(1) + 0.9 * value(torch.randn(4))"


def test_what_gives_the_network_s_part_in_the_target_is_the_operand() -> None:
    run, (one,) = found(plain)
    assert one.operand is not None and run.text(one.operand.site.user) == "0.9 * value(torch.randn(8, 4))"


def in_no_grad(value: nn.Module, other: nn.Module) -> torch.Tensor:
    with torch.no_grad():
        target = torch.randn(8, 1) + 0.9 * value(torch.randn(8, 4))
    return F.mse_loss(value(torch.zeros(8, 4)), target)


def not_discounted(value: nn.Module, other: nn.Module) -> torch.Tensor:
    return F.mse_loss(value(torch.zeros(8, 4)), torch.randn(8, 1) + value(torch.randn(8, 4)))


def one_expression(value: nn.Module, other: nn.Module) -> torch.Tensor:
    """The residual, which is written as one difference of both."""
    return (torch.randn(8, 1) + 0.9 * value(torch.randn(8, 4)) - value(torch.zeros(8, 4))).pow(2).mean()


SILENT: list[Loss] = [
    in_no_grad,
    not_discounted,
    one_expression,
    lambda value, other: F.mse_loss(
        value(torch.zeros(8, 4)), torch.randn(8, 1) + 0.9 * other(torch.randn(8, 4))
    ),
    lambda value, other: F.mse_loss(
        value(torch.zeros(8, 4)), torch.randn(8, 1) + 0.9 * value(torch.randn(8, 4)).detach()
    ),
    lambda value, other: F.mse_loss(value(torch.zeros(8, 4)), 0.9 * value(torch.randn(8, 4))),
    lambda value, other: (value(torch.zeros(8, 4)) - torch.randn(8, 1)).pow(2).mean(),
]


@pytest.mark.parametrize("loss", SILENT, ids=range(len(SILENT)))
def test_a_target_of_data_of_another_network_or_without_a_graph_is_silent(loss: Loss) -> None:
    assert not found(loss)[1]


def test_a_network_that_no_step_trains_bootstraps_nothing() -> None:
    def program() -> None:
        value, head = nn.Linear(4, 1), nn.Linear(1, 1)
        opt = optimizer(head)
        for _ in range(2):
            opt.zero_grad()
            head(plain(value, value).view(1)).sum().backward()
            opt.step()

    run = observed(program)
    assert not list(bootstraps(run.trace, calls(run.trace)))


def test_two_networks_with_one_weight_are_one() -> None:
    """The copy is a tied one: what it estimates is the network's own."""

    def program() -> None:
        value, tied = nn.Linear(4, 1, bias=False), nn.Linear(4, 1, bias=False)
        tied.weight = value.weight
        opt = optimizer(value)
        for _ in range(2):
            opt.zero_grad()
            target = torch.randn(8, 1) + 0.9 * tied(torch.randn(8, 4))
            F.mse_loss(value(torch.zeros(8, 4)), target).backward()
            opt.step()

    run = observed(program)
    told = [one for _, one in bootstraps(run.trace, calls(run.trace))]
    assert [run.text(one.made.site.user) for one in told] == [
        "torch.randn(8, 1) + 0.9 * tied(torch.randn(8, 4))"
    ]


def test_a_target_without_a_graph_is_a_sum_of_data_and_an_estimate() -> None:
    run = trained(in_no_grad)
    known = paths(run.trace)
    made = list(sums(known))
    assert {run.text(one.made.site.user) for one in made} == {TARGET}
    for one in made:
        assert run.names(known.fed_by(one.estimate)) == {"weight", "bias"} and not known.fed_by(one.data)
        assert known.value(one.prediction).requires_grad
    assert not list(sums(paths(trained(plain).trace))), "that one has a graph"


def test_a_difference_is_squared_also_after_it_was_added_up() -> None:
    for loss, text, expected in (
        (by_a_difference, "target - value(torch.zeros(8, 4))", True),
        (added_up, "target - value(torch.zeros(8, 4))", True),
        (lambda value, other: (value(torch.zeros(8, 4)) - 1).mean(), "value(torch.zeros(8, 4)) - 1", False),
        (
            lambda value, other: (value(torch.zeros(8, 4)) - 1).abs().mean(),
            "value(torch.zeros(8, 4)) - 1",
            True,
        ),
    ):
        run = trained(loss)
        op = run.op(text)
        assert squared(paths(run.trace), op) == expected
