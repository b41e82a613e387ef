"""NaN and infinity are traced to where they begin, also while sampling sleeps."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

import gradscope


def _run(
    loss_of: Callable[[Tensor, Tensor, bool], Tensor], first: int, **options: bool
) -> list[gradscope.Finding]:
    """Findings of GS701 in a run whose loss is `bad` from step `first` on."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3))
    opt = torch.optim.SGD(model.parameters(), lr=0.01)
    with gradscope.watch(**options) as scope:
        for step in range(first + 3):
            opt.zero_grad()
            loss_of(model(torch.randn(8, 4)), torch.randn(8, 3), step >= first).backward()
            opt.step()
    return [f for f in scope.findings if f.code == "GS701"]


def _log(out: Tensor, y: Tensor, bad: bool) -> Tensor:
    chance = torch.softmax(out * (1000 if bad else 1), 1)
    return -(torch.ones(()) * torch.log(chance)).sum()  # origin


def _exp(out: Tensor, y: Tensor, bad: bool) -> Tensor:
    size = torch.exp(-out.abs() * (-1e4 if bad else 1))  # origin
    return size.mean()


def _divide(out: Tensor, y: Tensor, bad: bool) -> Tensor:
    weight = torch.zeros(8, 1) if bad else torch.ones(8, 1)
    return (out * weight).sum() / weight.sum()  # origin


def _target(out: Tensor, y: Tensor, bad: bool) -> Tensor:
    y = y * float("nan") if bad else y
    return F.mse_loss(out, y)  # origin


def _line(function: Callable[..., Tensor]) -> int:
    import inspect

    lines, first = inspect.getsourcelines(function)
    return first + next(i for i, line in enumerate(lines) if "# origin" in line)


@pytest.mark.parametrize("loss_of", [_log, _exp, _divide])
@pytest.mark.parametrize("first", [1, 200])
def test_the_first_op_is_named(loss_of: Callable[..., Tensor], first: int) -> None:
    found = _run(loss_of, first)
    assert [f.locations[0].line for f in found] == [_line(loss_of)]
    assert found[0].severity == "error"


def test_data_that_went_bad_while_nobody_looked_is_told_from_the_model() -> None:
    (found,) = _run(_target, 200)
    assert "input" in found.message and found.locations[0].line == _line(_target)


def test_a_derivative_that_is_infinite_is_found_though_the_loss_is_finite() -> None:
    def distance(out: Tensor, y: Tensor, bad: bool) -> Tensor:
        squares = (out - (out.detach() if bad else y)).pow(2).sum(1)
        return torch.sqrt(squares).mean()  # origin

    (found,) = _run(distance, 2)
    assert found.locations[0].line == _line(distance) and "the loss was finite" in found.seen
    (late,) = _run(distance, 200)  # at least the likeliest call
    assert late.locations[0].line == _line(distance)


def test_of_the_powers_of_a_model_only_a_root_is_suspected() -> None:
    def _root(out: Tensor, y: Tensor, bad: bool) -> Tensor:
        distance = (out - y) ** 2
        return torch.pow(distance * (not bad), 0.5).mean() + out.pow(2).mean()  # origin

    (finding,) = _run(_root, 200)
    assert "torch.pow(distance * (not bad), 0.5)" in finding.message
    assert finding.locations[0].line == _line(_root)


def test_gradients_that_are_cleaned_before_the_step_are_no_finding() -> None:
    w = torch.ones(3, requires_grad=True)
    opt = torch.optim.SGD([w], lr=0.1)
    with gradscope.watch() as scope:
        for _ in range(3):
            opt.zero_grad()
            torch.sqrt(w * 0).sum().backward()
            assert w.grad is not None
            w.grad.nan_to_num_(0.0, 0.0, 0.0)
            opt.step()
    assert not [f for f in scope.findings if f.code == "GS701"]


def test_looking_changes_no_gradient_and_keeps_no_graph() -> None:
    def run() -> list[Tensor]:
        torch.manual_seed(0)
        w = torch.rand(5, requires_grad=True)
        grads = []
        for _ in range(3):
            (torch.sqrt(w) / w.sum()).log().sum().backward()
            assert w.grad is not None
            grads.append(w.grad.clone())
        return grads

    plain = run()
    with gradscope.watch():
        watched = run()
    assert all(torch.equal(a, b) for a, b in zip(plain, watched, strict=True))


def test_an_infinity_of_the_data_is_traced_to_the_op_that_made_it() -> None:
    """Also where what the data is made of was looked at apart from the pass."""
    torch.manual_seed(0)
    net = nn.Linear(4, 2)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    with gradscope.watch(sample=False) as scope:
        for step in range(4):
            sizes = torch.rand(8, 2)
            sizes[step, 1] = 0
            target = torch.log(sizes)
            optimizer.zero_grad()
            loss = nn.functional.smooth_l1_loss(net(torch.randn(6, 4)), target.narrow(0, 0, 6))
            loss.backward()
            optimizer.step()
    (found,) = (finding for finding in scope.findings if finding.code == "GS701")
    assert "torch.log(sizes)" in found.message


@pytest.mark.parametrize(
    ("labelled", "severity", "of"),
    [(0, "error", "all 40 passes"), (2, "warning", "38 of 40 passes"), (20, "note", "")],
)
def test_batches_without_a_label_are_counted(labelled: int, severity: str, of: str) -> None:
    """Also while sampling sleeps: one may be left out, all of them are a mistake in making the labels."""
    torch.manual_seed(0)
    net = nn.Linear(4, 3)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    with gradscope.watch() as scope:
        for step in range(40):
            labels = torch.randint(0, 3, (8,))
            if step >= labelled:
                labels[:] = -100
            optimizer.zero_grad()
            F.cross_entropy(net(torch.randn(8, 4)), labels).backward()
            optimizer.step()
    (found,) = (finding for finding in scope.findings if finding.code == "GS701")
    assert found.severity == severity
    assert f"no label counts in {of}:" in found.message if of else "a batch has no label" in found.message
    assert ("leave such a batch out" in found.fix) == (severity == "note")
