"""Which way a loss goes with what it is made of: measured by the gradient that torch computes."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from observed import Observed, observed
from torch import nn
from torch.nn import functional as F

from gradscope.analysis.reach import paths
from gradscope.analysis.senses import Part, divergences, plain_factor, senses, site_in, sole_part
from gradscope.events import Backward
from gradscope.model import Op

Loss = Callable[[torch.Tensor], torch.Tensor]


def of_core(loss: Loss, sense: float | None = None) -> tuple[Observed, list[float]]:
    """A loss made of what `core` gives; and the slope of that loss as torch has it."""
    slopes: list[float] = []

    def program() -> None:
        a = torch.full((3,), 0.3, requires_grad=True)
        core = torch.sin(a)
        core.retain_grad()
        made = loss(core)
        if sense is None:
            made.backward()
        else:
            made.backward(torch.tensor(sense))
        assert core.grad is not None
        slopes.append(core.grad.sum().item())

    return observed(program), slopes


def part(run: Observed) -> Part | None:
    (event,) = paths(run.trace).backwards
    return sole_part(paths(run.trace), event, lambda op: op.name == "sin")


TURNS: list[Loss] = [
    lambda x: x.mean(),
    lambda x: -x.mean(),
    lambda x: x.neg().neg().sum(),
    lambda x: (1 - x).mean(),
    lambda x: (x - 1).mean(),
    lambda x: torch.rsub(x, 2).mean(),
    lambda x: (2 - (3 - x)).sum(),
    lambda x: (x * -0.5).mean(),
    lambda x: (-2 * x).mean(),
    lambda x: (x / -4).mean(),
    lambda x: (x / 4).mean(),
    lambda x: (x * 2 + 1).exp().mean(),
    lambda x: -(x + 2).log().mean(),
    lambda x: x.view(3, 1).squeeze().double().sum(),
    lambda x: -torch.stack([x, torch.zeros(3)]).sum(),
    lambda x: (5 - x.sigmoid()).sum(),
]


@pytest.mark.parametrize("loss", TURNS, ids=range(len(TURNS)))
def test_a_loss_rises_or_falls_with_its_one_part_as_torch_s_gradient_says(loss: Loss) -> None:
    run, (slope,) = of_core(loss)
    found = part(run)
    assert found is not None and found.op.name == "sin"
    assert (found.sign > 0) == (slope > 0)
    assert (found.turned is None) <= (found.sign == 1)


def test_the_first_call_that_turns_it_round_is_the_one_next_to_the_loss() -> None:
    run, _ = of_core(lambda x: (1 - (-x)).mean())
    found = part(run)
    assert found is not None and found.sign == 1
    assert found.turned is not None and run.text(found.turned.site.user) == "1 - (-x)"


@pytest.mark.parametrize(
    ("loss", "name"),
    [
        (lambda x: (x + x.exp()).sum(), "add"),
        (lambda x: (x * x).sum(), "mul"),
        (lambda x: x.cos().mean(), "cos"),
        (lambda x: (x * torch.tensor(-2.0)).mean(), "mul"),
    ],
)
def test_what_is_added_up_or_goes_no_known_way_is_the_part_itself(loss: Loss, name: str) -> None:
    found = part(of_core(loss)[0])
    assert found is not None and found.op.name == name


def test_a_pass_with_weights_or_a_sign_of_its_own_is_not_told() -> None:
    assert part(of_core(lambda x: x.mean(), sense=1.0)[0]) is not None
    assert part(of_core(lambda x: x.mean(), sense=-1.0)[0]) is None

    def program() -> None:
        a = torch.full((3,), 0.3, requires_grad=True)
        x = torch.sin(a)
        torch.autograd.backward([x.sum(), x.mean()])

    assert part(observed(program)) is None


def test_a_part_carried_over_from_the_step_before_is_followed() -> None:
    def program() -> None:
        a, b = nn.Parameter(torch.full((3,), 0.3)), nn.Parameter(torch.ones(1))
        opt = torch.optim.SGD([b], lr=0.1)
        x = torch.sin(a)
        (x.sum() * b).sum().backward(retain_graph=True)
        opt.step()
        (-x).sum().backward()

    run = observed(program)
    known = paths(run.trace)
    found = sole_part(known, known.backwards[-1], lambda op: op.name == "sin")
    assert found is not None and (found.op.name, found.sign) == ("sin", -1)


def test_a_subtraction_rises_with_its_first_and_falls_with_its_second() -> None:
    def program() -> None:
        a, b = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
        ((a - b) + torch.sub(b, a) + torch.rsub(a, b) + a * b).sum().backward()

    run = observed(program)

    def of(text: str) -> list[int] | None:
        op = run.op(text)
        return senses(run.trace, op, [(op.graph, i) for i in dict.fromkeys(op.inputs)])

    assert of("a - b") == [1, -1] and of("torch.sub(b, a)") == [1, -1]
    assert of("torch.rsub(a, b)") == [-1, 1], "b - a"
    assert of("a * b") is None


@pytest.mark.parametrize(
    ("make", "factor"),
    [
        (lambda x: x * 3, 3),
        (lambda x: -2 * x, -2),
        (lambda x: x / 4, 0.25),
        (lambda x: x * -0.5, -0.5),
        (lambda x: x * 0, None),
        (lambda x: x * len(x), None),
        (lambda x: x.mul(3), None),
    ],
)
def test_a_factor_is_known_as_it_is_written(make: Loss, factor: float | None) -> None:
    def program() -> None:
        make(torch.ones(2, requires_grad=True).exp()).sum().backward()

    run = observed(program)
    (op,) = (op for op in run.trace.ops if op.name in ("mul", "div", "__rmul__"))
    assert plain_factor(run.trace, op) == factor


def told(loss: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]) -> list[tuple[str, int, Op | None]]:
    """The divergences of a loss of means and logarithms of variances."""

    def program() -> None:
        m, v = torch.randn(4, requires_grad=True).sin(), torch.randn(4, requires_grad=True).sin()
        loss(m, v).backward()

    run = observed(program)
    (event,) = paths(run.trace).backwards
    assert isinstance(event, Backward)
    return [(one.form, one.sign, one.turned) for one in divergences(paths(run.trace), event)]


@pytest.mark.parametrize(
    ("loss", "sign"),
    [
        (lambda m, v: -0.5 * (1 + v - m.pow(2) - v.exp()).sum(), 1),
        (lambda m, v: 0.5 * (v.exp() + m.pow(2) - 1 - v).sum(), 1),
        (lambda m, v: 0.5 * (1 + v - m.pow(2) - v.exp()).sum(), -1),
        (lambda m, v: m.abs().sum() - (-0.5 * (1 + v - m * m - v.exp())).mean(), -1),
    ],
)
def test_a_divergence_of_a_normal_distribution_has_the_sign_that_the_loss_gives_it(
    loss: Callable[[torch.Tensor, torch.Tensor], torch.Tensor], sign: int
) -> None:
    ((form, found, turned),) = told(loss)
    assert form.startswith("a normal distribution") and found == sign
    assert (turned is not None) >= (sign == -1 and "sub" not in str(turned))


def test_an_exponential_without_its_other_terms_is_no_divergence() -> None:
    assert not told(lambda m, v: v.exp().sum() + m.pow(2).sum())
    assert not told(lambda m, v: (v.exp() + m.pow(2) + v).sum())


def test_a_divergence_of_probabilities_from_a_constant_is_told() -> None:
    def of(loss: Loss) -> list[int]:
        return [sign for form, sign, _ in told(lambda m, v: loss(m)) if form.startswith("probabilities")]

    prior = torch.tensor(0.25).log().item()
    assert of(lambda x: (x.softmax(0) * (x.log_softmax(0) - prior)).sum()) == [1]
    assert of(lambda x: (x.softmax(0) * (prior - x.log_softmax(0))).sum()) == [], (
        "turned inside: another form"
    )
    assert of(lambda x: -(x.softmax(0) * (x.log_softmax(0) - prior)).sum()) == [-1]
    assert of(lambda x: (x.softmax(0) * x.log_softmax(0)).sum()) == [], "an entropy, of either sign"


def test_the_place_of_a_part_is_the_line_of_the_function_that_makes_the_pass() -> None:
    def core(a: torch.Tensor) -> torch.Tensor:
        return F.relu(torch.sin(a))

    def program() -> None:
        a = torch.full((3,), 0.3, requires_grad=True)
        loss = -core(a).mean()
        loss.backward()

    run = observed(program)
    found, (event,) = part(run), paths(run.trace).backwards
    assert found is not None
    assert run.text(found.op.site.user) == "torch.sin(a)" and run.text(site_in(found, event)) == "core(a)"
