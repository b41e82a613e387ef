"""A long run is followed by expectation: what is counted stays right, what changes is seen."""

from __future__ import annotations

import copy
import io
import itertools
from collections.abc import Callable, Iterator

import pytest
import torch
from torch import nn

import gradscope
from gradscope import session
from gradscope.analysis.loop import timeline
from gradscope.check import check
from gradscope.events import Scheduled, Step
from gradscope.hooks.measures import numbers
from gradscope.hooks.recorder.replay import Replay
from gradscope.hooks.sampling import sampling

STEPS = 700


def small() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(*(nn.Linear(8, 8) for _ in range(12)))


def training(change: Callable[[int, nn.Module, torch.optim.Optimizer], bool]) -> gradscope.Scope:
    """Trains; `change` may do something before a step, and says whether to zero the gradients."""
    with gradscope.watch() as scope:
        model = small()
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
        for step in range(STEPS):
            if change(step, model, optimizer):
                optimizer.zero_grad()
            model(torch.ones(4, 8)).pow(2).mean().backward()
            optimizer.step()
    assert not scope.faults
    return scope


@pytest.fixture(autouse=True)
def no_hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """What has just begun is written at once for a second, and nothing is expected then: on a fast machine all of a
    run here."""
    monkeypatch.setattr(session, "_HURRY", 0.0)


@pytest.fixture
def replays(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many cycles each replay was meant for."""
    begun: list[int] = []
    begin = Replay.begin

    def noted(replay: Replay, cycle: object, times: int) -> None:
        begun.append(times)
        begin(replay, cycle, times)  # type: ignore[arg-type]

    monkeypatch.setattr(Replay, "begin", noted)
    return begun


def test_counts_are_those_of_every_step(replays: list[int]) -> None:
    scope = training(lambda step, model, optimizer: True)
    assert sum(replays) > STEPS / 4
    assert not [f for f in scope.findings if f.severity != "note"]
    for p in scope.trace.parameters:
        assert (p.passes, p.steps) == (STEPS, STEPS)
    assert sum(s.repeat for s in scope.trace.segments if s.is_step) == STEPS


def test_passes_are_measured_however_long_their_bookkeeping_takes(
    replays: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        sampling, "REPLAY_BUDGET", 1e-6
    )  # as where each step takes as long as one that is looked at
    monkeypatch.setattr(numbers, "SHARE", 0.0)
    scope = training(lambda step, model, optimizer: True)
    assert replays
    measured = [step for step, _ in scope.trace.numbers("loss")]
    late = [step for step in measured if step > measured[0] + 8]
    assert late
    for step, following in itertools.pairwise(late):
        assert following <= step + step // numbers.SURE + 1


def test_gradients_that_are_no_longer_cleared_are_found(replays: list[int]) -> None:
    scope = training(lambda step, model, optimizer: step < STEPS - 50)
    assert replays
    assert "GS201" in {f.code for f in scope.findings}


@pytest.mark.parametrize("steps", [60, STEPS])
def test_a_layer_that_is_thawed_and_in_no_optimizer_is_found(steps: int, replays: list[int]) -> None:
    with gradscope.watch() as scope:
        model = small()
        model[0].requires_grad_(False)
        optimizer = torch.optim.SGD(model[1:].parameters(), lr=1e-4)
        for step in range(steps):
            if step == steps - 30:
                model[0].requires_grad_(True)
            optimizer.zero_grad()
            model(torch.ones(4, 8)).pow(2).mean().backward()
            optimizer.step()
    assert not scope.faults
    assert replays
    (told,) = [f for f in scope.findings if f.code == "GS206"]
    assert told.since is not None and 0 <= told.since.step - (steps - 29) <= 3


def test_a_layer_that_stays_frozen_changes_nothing(replays: list[int]) -> None:
    with gradscope.watch() as scope:
        model = small()
        model[:6].requires_grad_(False)
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
        for _ in range(STEPS):
            optimizer.zero_grad()
            model(torch.ones(4, 8)).pow(2).mean().backward()
            optimizer.step()
    assert not scope.faults
    assert sum(replays) > STEPS / 4


def test_a_copy_that_takes_the_place_of_the_model_is_found(replays: list[int]) -> None:
    with gradscope.watch() as scope:
        model = small()
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
        for step in range(STEPS):
            if step == STEPS - 50:
                model = copy.deepcopy(model)
            optimizer.zero_grad()
            model(torch.ones(4, 8)).pow(2).mean().backward()
            optimizer.step()
    assert not scope.faults
    assert replays
    assert "GS207" in {f.code for f in scope.findings}


def in_a_block(model: nn.Module) -> None:
    with torch.no_grad():
        model(torch.ones(4, 8)).argmax(dim=1).tolist()


def by_statement(model: nn.Module) -> None:
    torch.set_grad_enabled(False)
    model(torch.ones(4, 8)).argmax(dim=1).tolist()
    torch.set_grad_enabled(True)


@torch.inference_mode()
def decorated(model: nn.Module) -> None:
    model(torch.ones(4, 8)).argmax(dim=1).tolist()


@torch.no_grad()
def generator(model: nn.Module) -> Iterator[list[int]]:
    yield model(torch.ones(4, 8)).argmax(dim=1).tolist()


@pytest.mark.parametrize(
    "evaluation", [in_a_block, by_statement, decorated, lambda model: next(generator(model))]
)
def test_an_evaluation_between_is_seen(replays: list[int], evaluation: Callable[[nn.Module], None]) -> None:
    def evaluate(step: int, model: nn.Module, optimizer: object) -> bool:
        if step == STEPS - 50:
            model.append(nn.Dropout(0.5))
            evaluation(model)
        return True

    scope = training(evaluate)
    assert replays
    assert "GS401" in {f.code for f in scope.findings}


@pytest.mark.parametrize("when", [STEPS - 50, STEPS - 49, STEPS - 48])
def test_a_step_left_out_alarms_nobody(replays: list[int], when: int) -> None:
    def skip(step: int, model: nn.Module, optimizer: torch.optim.Optimizer) -> bool:
        if step == when:
            optimizer.zero_grad()
            model(torch.ones(4, 8)).mean().backward()  # two losses, one step
        return step != when

    scope = training(skip)
    assert replays
    assert not [f for f in scope.findings if f.severity != "note"]


@pytest.mark.nightly
def test_two_optimizers_in_turn(replays: list[int]) -> None:
    with gradscope.watch() as scope:
        one, two = small(), small()
        first, second = (torch.optim.SGD(m.parameters(), lr=1e-4) for m in (one, two))
        for _ in range(STEPS):
            first.zero_grad()
            one(torch.ones(4, 8)).pow(2).mean().backward()
            first.step()
            second.zero_grad()
            two(one(torch.ones(4, 8))).pow(2).mean().backward()
            second.step()
    assert sum(replays) > STEPS / 4
    assert not scope.faults
    assert not [f for f in scope.findings if f.severity != "note"]
    assert {p.steps for p in scope.trace.parameters} == {STEPS}


def test_an_evaluation_without_eval_and_no_grad_is_seen_while_sampling_sleeps() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 16), nn.Dropout(), nn.Linear(16, 2))
    opt = torch.optim.SGD(model.parameters(), lr=0.01)

    def train() -> None:
        for _ in range(60):
            opt.zero_grad()
            nn.functional.cross_entropy(model(torch.randn(4, 8)), torch.zeros(4, dtype=torch.long)).backward()
            opt.step()

    def hits() -> float:
        right = 0.0
        for _ in range(3):
            right += (model(torch.randn(4, 8)).argmax(1) == 0).sum().item()
        return right

    with gradscope.watch() as scope:
        train()
        hits()
        train()
    found = [finding for finding in check(scope.trace) if finding.code == "GS401"]
    assert [finding.locations[0].function.rpartition(".")[2] for finding in found] == ["hits"]
    assert "__call__" not in vars(nn.Sequential)


def test_gradients_used_by_hand_are_not_taken_for_dropped_while_sampling_sleeps() -> None:
    """Sharpness-aware steps: the first pass moves the parameters, the second one is stepped."""
    with gradscope.watch() as scope:
        model = small()
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
        for _ in range(40):
            model(torch.ones(4, 8)).pow(2).mean().backward()
            before = [p.detach().clone() for p in model.parameters()]
            with torch.no_grad():
                for p in model.parameters():
                    p.add_(p.grad, alpha=0.05)  # type: ignore[arg-type]
            optimizer.zero_grad()
            model(torch.ones(4, 8)).pow(2).mean().backward()
            with torch.no_grad():
                for p, old in zip(model.parameters(), before, strict=True):
                    p.copy_(old)
            optimizer.step()
            optimizer.zero_grad()
    assert not scope.faults
    assert any(s.graph is None for s in scope.trace.segments if s.is_step)
    assert not [f.code for f in scope.findings if f.severity != "note"]


@pytest.mark.parametrize("sample", [True, False])
@pytest.mark.parametrize("loaded", [True, False])
def test_the_line_that_copied_or_loaded_a_model_is_shown(loaded: bool, sample: bool) -> None:
    with gradscope.watch(sample=sample) as scope:
        model = small()
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
        for step in range(40):
            if step == 20 and loaded:
                torch.save(model, file := io.BytesIO())
                file.seek(0)
                model = torch.load(file, weights_only=False)
            elif step == 20:
                model = copy.deepcopy(model)
            optimizer.zero_grad()
            model(torch.ones(4, 8)).pow(2).mean().backward()
            optimizer.step()
    assert not scope.faults
    (told,) = [f for f in scope.findings if f.code == "GS207"]
    (made,) = [place for place in told.locations if place.role == "related"]
    line = scope.trace.lines(__file__)[made.line - 1]
    assert ("torch.load(" if loaded else "copy.deepcopy(model)") in line


def test_a_schedule_between_expected_steps_stays_between_them(
    replays: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that ends an expectation after a single step of it."""
    monkeypatch.setattr(sampling, "REPLAY_BUDGET", 1e-9)  # expects all that it can
    with gradscope.watch() as scope:
        model = small()
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
        schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.999)
        for epoch in range(60):
            for _ in range(10 if epoch < 3 else 3 + epoch % 7):
                optimizer.zero_grad()
                model(torch.ones(4, 8)).pow(2).mean().backward()
                optimizer.step()
            schedule.step()
    assert len(replays) > 10 and not scope.faults
    made = [
        type(event)
        for repeat, events in timeline(scope.trace)
        for event in repeat * [event for event in events if isinstance(event, Scheduled | Step)]
    ]
    assert made.count(Scheduled) == 60
    assert all(Step in pair for pair in itertools.pairwise(made))
