"""`watch(on_finding=…)`: findings are told to the program while it runs, and change nothing else in it."""

from __future__ import annotations

import logging
import random
import time
import warnings
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

import pytest
import torch
from torch import nn

import gradscope

PATIENCE = 60  # seconds: the rules run beside, on a busy machine


def training(late: Callable[[], bool], **options: object) -> tuple[gradscope.watch, list[float], int]:  # type: ignore[valid-type]
    """A training in which, from step 21 on, a part gets no gradient. Ends when `late()`, or after a while."""
    torch.manual_seed(0)
    random.seed(0)
    body, head = nn.Linear(4, 4), nn.Linear(4, 1)
    optimizer = torch.optim.SGD([*body.parameters(), *head.parameters()], 0.01)
    losses, end = [], time.monotonic() + PATIENCE
    with gradscope.watch(**options) as scope:  # type: ignore[arg-type]
        step = 0
        while not late() and time.monotonic() < end:
            hidden = body(torch.randn(8, 4))
            if step >= 20:
                hidden = hidden.detach()
            optimizer.zero_grad()
            loss = head(hidden).square().mean()
            loss.backward()
            optimizer.step()
            losses.append(loss.item() + random.random())
            time.sleep(0.01)
            step += 1
    return scope, losses, step


@pytest.mark.slow
def test_a_finding_is_told_while_the_program_runs(caplog: pytest.LogCaptureFixture) -> None:
    told: list[gradscope.Finding] = []

    def listen(finding: gradscope.Finding) -> None:
        told.append(finding)
        torch.randn(3), random.random()  # what it draws is none of the program's
        raise ValueError("of the listener")

    with caplog.at_level(logging.INFO, logger="gradscope.live"):
        scope, losses, steps = training(lambda: bool(told), on_finding=listen)
    assert [finding.code for finding in told] == ["GS301"], "once"
    assert str(told[0].since) == "since step 21" and "detach" in told[0].locations[0].source
    assert scope.faults == ["`on_finding` raised ValueError: of the listener"]
    _, plain, _ = training(iter([*[False] * steps, True]).__next__)
    assert losses == plain
    record = caplog.records[0]
    assert record.levelname == "WARNING" and "since step 21" in record.getMessage()
    assert record.finding.code == "GS301"  # type: ignore[attr-defined]


def corrupt() -> None:
    a = torch.ones(3, requires_grad=True)
    b = a * 2
    loss = (b * b).sum()
    b.data.zero_()
    loss.backward()


@pytest.mark.parametrize("within", [False, True])
def test_a_short_block_is_told_at_its_end(within: bool, capsys: pytest.CaptureFixture[str]) -> None:
    told: list[str] = []
    with (
        gradscope.watch() if within else nullcontext(),
        gradscope.watch(on_finding=lambda finding: told.append(finding.code)),
    ):
        corrupt()
    assert told == ["GS101"] and capsys.readouterr().err == ""


def test_as_warnings_and_to_a_logger(caplog: pytest.LogCaptureFixture) -> None:
    with (
        pytest.warns(gradscope.FindingWarning, match="error GS101") as issued,
        gradscope.watch(on_finding="warn"),
    ):
        corrupt()
    (own,) = (one for one in issued if one.category is gradscope.FindingWarning)
    assert Path(own.filename).name == "test_telling.py"
    assert own.lineno == corrupt.__code__.co_firstlineno + 4
    with caplog.at_level(logging.WARNING, logger="gradscope.live"), gradscope.watch(on_finding="log"):
        corrupt()
    assert "test_telling.py" in caplog.messages[-1] and caplog.records[-1].levelname == "ERROR"
    with pytest.raises(gradscope.GradscopeError, match="on_finding is"):
        gradscope.watch(on_finding="tell")  # type: ignore[arg-type]


def test_a_filter_may_make_an_error_of_it_but_not_of_another(capsys: pytest.CaptureFixture[str]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", gradscope.FindingWarning)
        with pytest.raises(gradscope.FindingWarning), gradscope.watch(on_finding="warn"):
            corrupt()
        with pytest.raises(ZeroDivisionError), gradscope.watch(on_finding="warn"):
            corrupt()
            _ = 1 / 0


def test_a_listener_that_fails_is_told_of_once(capsys: pytest.CaptureFixture[str]) -> None:
    def listen(finding: gradscope.Finding) -> None:
        raise ValueError("no")

    with gradscope.watch(on_finding=listen) as scope:
        corrupt()
    assert capsys.readouterr().err == "gradscope: `on_finding` raised ValueError: no\n"
    assert [finding.code for finding in scope.findings] == ["GS101"]
    with pytest.raises(KeyboardInterrupt), gradscope.watch(on_finding=_interrupt):
        corrupt()


def _interrupt(finding: gradscope.Finding) -> None:
    raise KeyboardInterrupt
