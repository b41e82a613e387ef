"""What is measured of each backward pass."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path

import pytest
import torch
from torch import nn

import gradscope
from gradscope.answers import why
from gradscope.check import examine
from gradscope.events import Backward
from gradscope.hooks.measures import numbers
from gradscope.hooks.sampling import sampling
from gradscope.render import write_report
from gradscope.render.answer import render


def _train(steps: int, sample: bool = True) -> tuple[gradscope.Trace, list[float], list[float]]:
    torch.manual_seed(0)
    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    losses, norms = [], []
    with gradscope.watch(sample=sample) as scope:
        for _ in range(steps):
            opt.zero_grad()
            loss = model(torch.randn(4, 3)).pow(2).mean()
            loss.backward()
            assert model.weight.grad is not None
            losses.append(loss.item())
            norms.append(float(model.weight.grad.norm()))
            opt.step()
    return scope.trace, losses, norms


def _id(trace: gradscope.Trace, name: str) -> int:
    return next(p.id for p in trace.parameters if p.name == name)


def test_loss_and_gradient_norms_of_each_pass_are_read_by_step() -> None:
    trace, losses, norms = _train(5)
    measured = trace.numbers("grad_norm", _id(trace, "weight"))
    assert [step for step, _ in measured] == [1, 2, 3, 4, 5]
    assert all(math.isclose(a, b, rel_tol=1e-4) for (_, a), b in zip(measured, norms, strict=True))
    assert all(
        math.isclose(a, b, rel_tol=1e-6) for (_, a), b in zip(trace.numbers("loss"), losses, strict=True)
    )


@pytest.mark.nightly
def test_a_long_run_keeps_fewer_numbers_than_passes() -> None:
    trace, _, norms = _train(1500, sample=False)
    measured = trace.numbers("grad_norm", _id(trace, "weight"))
    assert [step for step, _ in measured[:128]] == list(range(1, 129))
    assert len(measured) < 600
    assert all(math.isclose(value, norms[step - 1], rel_tol=1e-4) for step, value in measured)


def test_each_line_of_a_loop_has_late_passes_that_are_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numbers, "SHARE", 0.0)  # as where time allows none
    monkeypatch.setattr(sampling, "BUDGET", 1e-9)  # looking costs too much at once
    models = [nn.Linear(3, 1) for _ in range(3)]
    optimizers = [torch.optim.SGD(model.parameters(), lr=0.1) for model in models]
    with gradscope.watch() as scope:
        for _ in range(40):
            for opt in optimizers:
                opt.zero_grad()
            models[0](torch.randn(4, 3)).pow(2).mean().backward()
            optimizers[0].step()
            models[1](torch.randn(4, 3)).pow(2).mean().backward()
            optimizers[1].step()
            models[2](torch.randn(4, 3)).pow(2).mean().backward()
            optimizers[2].step()
    lines: dict[int, set[int]] = {}
    for event in scope.trace.of(Backward):
        lines.setdefault(event.site.user.line, set()).add(event.site.id)
    assert len(lines) == 3
    for sites in lines.values():
        steps = [step for step, _ in scope.trace.numbers("loss", None, sites)]
        for step, following in itertools.pairwise([*steps, 3 * 40]):
            assert following <= step + step // numbers.SURE + 3


def test_numbers_may_be_not_finite_and_come_without_steps() -> None:
    w = torch.ones(2, requires_grad=True)
    with gradscope.watch() as scope:
        for _ in range(2):
            (w * float("nan")).sum().backward()
    assert [step for step, _ in scope.trace.numbers("loss")] == [1, 2]
    assert all(math.isnan(value) for _, value in scope.trace.numbers("loss"))


def test_sparse_half_and_complex_gradients_are_measured() -> None:
    embedding = nn.Embedding(5, 2, sparse=True)
    half = torch.full((4,), 40_000.0, dtype=torch.float16, requires_grad=True)
    turn = torch.ones(2, dtype=torch.complex64, requires_grad=True)
    with gradscope.watch() as scope:
        loss = embedding(torch.tensor([1, 1])).sum() + (half.float() * 40_000).sum() + turn.abs().sum()
        loss.backward()
    trace = scope.trace
    found = {p.shape: trace.numbers("grad_norm", p.id) for p in trace.parameters}
    assert math.isclose(found[(5, 2)][0][1], math.sqrt(8), rel_tol=1e-4)
    assert math.isclose(found[(4,)][0][1], 80_000, rel_tol=1e-2)
    assert math.isclose(found[(2,)][0][1], math.sqrt(2), rel_tol=1e-4)


def test_a_norm_whose_squares_overflow_is_a_number_all_the_same() -> None:
    w = torch.ones(4, requires_grad=True)
    with gradscope.watch() as scope:
        (w * 1e30).sum().backward()
    ((_, norm),) = scope.trace.numbers("grad_norm", scope.trace.parameters[0].id)
    assert math.isclose(norm, 2e30, rel_tol=1e-4)


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_numbers_that_are_not_finite_are_shown_wherever_others_are(number: float, tmp_path: Path) -> None:
    """They come back from the trace as numbers: whatever formats, sorts or adds those can go on."""
    model = nn.Linear(2, 1)
    opt = torch.optim.SGD([{"params": [model.weight]}, {"params": [model.bias], "lr": math.inf}], lr=0.1)
    with gradscope.watch() as scope:
        for step in range(3):
            opt.zero_grad()
            loss = model(torch.full((4, 2), number if step == 2 else 1.0)).sum()
            loss.backward()
            if step < 2:
                opt.step()
    trace = scope.trace
    assert trace.optimizers[0].groups[1]["lr"] == math.inf
    norm = trace.parameter(_id(trace, "weight")).grad_norm
    assert norm is not None and str(norm) == str(abs(number))
    assert f"the last gradient measured has norm {abs(number)}" in render(trace, why(trace, "weight"))
    for suffix in (".txt", ".md", ".json", ".sarif"):
        write_report(examine(trace), tmp_path / f"report{suffix}")
    json.loads((tmp_path / "report.json").read_text(), parse_constant=lambda text: 1 / 0)


def test_norm_of_a_finite_gradient_is_finite_in_half() -> None:
    w = torch.ones(4, dtype=torch.float16, requires_grad=True)
    with gradscope.watch() as scope:
        (w * 40_000.0).sum().backward()
    assert scope.trace.parameters[0].grad_norm == 2 * 40_000
