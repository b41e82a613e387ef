"""What is watched around a step: clips, schedules, scalers and the values before and after."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from time import perf_counter

import torch
from needs import skip_where_lacking
from torch import nn
from torch.nn.utils import clip_grad_norm_, clip_grad_value_
from torch.optim.lr_scheduler import LRScheduler, OneCycleLR, SequentialLR, StepLR

import gradscope
from gradscope.events import Backward, CallTime, PassTime, Step
from gradscope.model import Finding


def train(steps: int = 4) -> list[torch.Tensor]:
    """A loop with everything that is watched, by names that were imported before the watch."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
    opt = torch.optim.Adam(model.parameters(), lr=0.1)
    schedule = SequentialLR(opt, [StepLR(opt, 1), OneCycleLR(opt, 0.1, total_steps=9)], milestones=[2])
    scaler = torch.amp.GradScaler("cpu", init_scale=64.0)
    for _ in range(steps):
        opt.zero_grad()
        scaler.scale(model(torch.randn(8, 3)).pow(2).mean()).backward()
        scaler.unscale_(opt)
        clip_grad_norm_(model.parameters(), 0.1)
        clip_grad_value_(model.parameters(), 0.05)
        scaler.step(opt)
        scaler.update()
        schedule.step()
    rates = torch.tensor([float(group["lr"]) for group in opt.param_groups])
    return [*(p.detach().clone() for p in model.parameters()), rates]


def findings(program: Callable[[], object]) -> dict[str, Finding]:
    skip_where_lacking(program)
    with gradscope.watch() as scope:
        program()
    return {finding.code: finding for finding in scope.findings}


def test_what_is_trained_is_the_same_under_watch_and_nothing_is_found() -> None:
    skip_where_lacking(train)
    plain = train()
    with gradscope.watch() as scope:
        watched = train()
    assert all(torch.equal(a, b) for a, b in zip(plain, watched, strict=True))
    assert not scope.findings
    kinds = [event.kind for event in scope.trace.events for _ in range(event.count)]
    assert kinds.count("clip") == 8 and kinds.count("schedule") == 4
    assert not scope.trace.meta["faults"]


def test_torch_is_as_before_after_the_watch() -> None:
    skip_where_lacking(train)
    watched: list[type] = [torch.amp.GradScaler, torch.optim.Optimizer]
    todo: list[type] = [LRScheduler]
    while todo:
        watched.append(todo[-1])
        todo += todo.pop().__subclasses__()
    before = [dict(vars(cls)) for cls in watched]
    with gradscope.watch():
        train()
    for cls, members in zip(watched, before, strict=True):
        for name in ("__init__", "step", "scale", "update", "unscale_"):
            assert vars(cls).get(name) is members.get(name), f"{cls.__name__}.{name}"


def test_a_stale_gradient_is_measured_with_and_without_the_old_part() -> None:
    norms: list[tuple[float, float]] = []

    def program() -> None:
        torch.manual_seed(0)
        model = nn.Linear(3, 1)
        opt = torch.optim.SGD(model.parameters(), lr=0.1)
        for step in range(3):
            loss = model(torch.randn(8, 3)).pow(2).mean()
            (new,) = torch.autograd.grad(loss, [model.weight], retain_graph=True)
            loss.backward()
            if step == 1:
                with torch.no_grad():
                    assert model.weight.grad is not None
                    norms.append((float(model.weight.grad.norm()), float(new.norm())))
            opt.step()

    said = " ".join(findings(program)["GS201"].seen)
    found = [float(number) for number in re.findall(r": ([\d.]+)", said)]
    assert [f"{x:.3g}" for x in found] == [f"{x:.3g}" for x in norms[0]]


def test_a_bug_is_told_after_two_steps() -> None:
    def loop(order: str) -> Callable[[], None]:
        def program() -> None:
            model = nn.Linear(3, 1)
            opt = torch.optim.SGD(model.parameters(), lr=0.0 if order == "rate" else 0.1)
            for _ in range(2):
                opt.zero_grad()
                model(torch.randn(8, 3)).pow(2).mean().backward()
                if order != "clip last":
                    clip_grad_norm_(model.parameters(), 1.0)
                opt.step()
                if order == "clip last":
                    clip_grad_norm_(model.parameters(), 1.0)

        return program

    assert findings(loop("clip last")).keys() == {"GS209"}
    assert findings(loop("rate")).keys() == {"GS212"}
    assert not findings(loop("right"))


def test_a_weight_that_is_initialised_long_after_it_was_made_has_not_changed() -> None:
    with gradscope.watch() as scope:
        layer = nn.Linear(3, 3)
        assert scope._session is not None
        scope._session.checkpoint(norms=False)  # as comes by itself, once a second
        nn.init.normal_(layer.weight)
        for _ in range(2):
            layer(torch.randn(2, 3)).sum().backward()
    assert [p.changed for p in scope.trace.parameters] == [False, False]


def test_a_scaled_gradient_is_told_with_the_scale_as_it_was() -> None:
    def program() -> None:
        model = nn.Linear(3, 1)
        opt = torch.optim.SGD(model.parameters(), lr=1e-6)
        grad_scaler = torch.amp.GradScaler("cpu", init_scale=512.0)
        for _ in range(2):
            opt.zero_grad()
            grad_scaler.scale(model(torch.randn(8, 3)).pow(2).mean()).backward()
            opt.step()

    finding = findings(program)["GS211"]
    assert "512" in finding.message and "grad_scaler.step(opt)" in finding.fix


def test_times_are_of_the_calls_and_passes_there_were() -> None:
    model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    began = perf_counter()
    with gradscope.watch(sample=False) as scope:
        for _ in range(10):
            opt.zero_grad()
            model(torch.randn(8, 3)).pow(2).mean().backward()
            opt.step()
        with torch.no_grad():
            model(torch.randn(8, 3))
    whole = perf_counter() - began
    (calls,) = scope.trace.of(CallTime)  # the one under no_grad builds nothing
    (passes,) = scope.trace.of(PassTime)
    assert calls.data["calls"] == passes.data["passes"] == 10
    assert 0 < calls.data["seconds"] + passes.data["seconds"] < whole
    assert 0 < passes.data["early"] < whole and 0 < passes.data["late"] < whole


class SharpnessAware(torch.optim.Optimizer):
    """SAM, whose step makes the second pass itself."""

    def __init__(self, params: Iterable[nn.Parameter], clears: bool, **settings: float) -> None:
        super().__init__(params, settings)
        self.clears = clears
        self.base = torch.optim.SGD(self.param_groups, **settings)
        self.param_groups = self.base.param_groups

    def step(self, loss: Callable[[], torch.Tensor]) -> None:  # type: ignore[override]
        held = [p for group in self.param_groups for p in group["params"]]
        with torch.no_grad():
            moves = [p.grad * 0.05 for p in held]
            for p, move in zip(held, moves, strict=True):
                p.add_(move)
        if self.clears:
            self.zero_grad()
        loss().backward()
        with torch.no_grad():
            for p, move in zip(held, moves, strict=True):
                p.sub_(move)
        self.base.step()
        self.base.zero_grad()


def sharp(clears: bool) -> None:
    torch.manual_seed(0)
    x = torch.randn(8, 3)
    model = nn.Linear(3, 1)
    optimizer = SharpnessAware(model.parameters(), clears, lr=0.1)
    schedule = StepLR(optimizer, 2)
    for _ in range(4):
        model(x).pow(2).mean().backward()
        optimizer.step(lambda: model(x).pow(2).mean())
        schedule.step()


def test_a_pass_within_the_step_of_the_programs_own_optimizer_is_counted() -> None:
    skip_where_lacking(sharp)
    with gradscope.watch() as scope:
        sharp(clears=True)
    assert not scope.findings and not scope.trace.meta["faults"]
    assert sum(event.count for event in scope.trace.of(Backward)) == 8
    steps = [event for event in scope.trace.of(Step) for _ in range(event.count)]
    assert len(steps) == 4 and len({event.optimizer for event in steps}) == 1
    assert not any(event.states.get("none") for event in steps)


def test_a_pass_within_a_step_that_adds_to_gradients_that_were_used_is_told() -> None:
    found = findings(lambda: sharp(clears=False))
    assert list(found) == ["GS201"] and found["GS201"].severity == "error"
