"""What the model of a run knows of each gradient: filled by which passes, used by which step, cleared, left."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import nn

import gradscope
from gradscope.analysis.gradients import Gradients, gradients, thrown_away
from gradscope.analysis.loop import in_order
from gradscope.analysis.scales import Scales
from gradscope.events import Clip, Update
from gradscope.store import Trace


def watched(program: Callable[[], object]) -> Trace:
    torch.manual_seed(0)
    with gradscope.watch(sample=False) as scope:
        program()
    return scope.trace


def named(trace: Trace, ids: frozenset[int] | set[int]) -> set[str]:
    return {trace.parameter(id).name for id in ids}


def passes_of_turns(model: Gradients) -> list[int]:
    """How many passes each step used, for every step that the program made."""
    return [sum(fill.times for fill in turn.fills) for turn in model.turns for _ in range(turn.times)]


def step(model: nn.Module, opt: torch.optim.Optimizer) -> None:
    opt.zero_grad()
    loss_of(model).backward()
    opt.step()


def loss_of(model: nn.Module) -> torch.Tensor:
    loss: torch.Tensor = model(torch.randn(8, 3)).pow(2).mean()
    return loss


def test_each_step_of_a_plain_loop_uses_the_pass_before_it() -> None:
    def program() -> None:
        model = nn.Linear(3, 1)
        opt = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(5):
            step(model, opt)

    trace = watched(program)
    model = gradients(trace)
    assert passes_of_turns(model) == [1] * 5
    for fill in model.fills:
        assert named(trace, fill.used) == {"weight", "bias"}
        assert not fill.cleared and not fill.waiting


def test_a_step_uses_all_passes_that_accumulated_for_it() -> None:
    def program() -> None:
        model = nn.Linear(3, 1)
        opt = torch.optim.SGD(model.parameters(), lr=0.1)
        for i in range(12):
            (loss_of(model) / 4).backward()
            if i % 4 == 3:
                opt.step()
                opt.zero_grad()

    model = gradients(watched(program))
    assert passes_of_turns(model) == [4, 4, 4]
    assert not any(fill.cleared or fill.waiting for fill in model.fills)


def test_passes_cleared_before_the_step_are_not_its_own() -> None:
    def program() -> None:
        model = nn.Linear(3, 1)
        opt = torch.optim.SGD(model.parameters(), lr=0.1)
        for i in range(9):
            opt.zero_grad()
            loss_of(model).backward()
            if i % 3 == 2:
                opt.step()

    model = gradients(watched(program))
    assert passes_of_turns(model) == [1, 1, 1]
    cleared = [fill for fill in model.fills if fill.cleared]
    assert all(fill.cleared == fill.parameters and not fill.uses for fill in cleared)
    assert sum(fill.times for fill in cleared) == 6


def test_the_generator_s_pass_of_a_gan_is_used_by_its_step_and_cleared_in_the_discriminator() -> None:
    def program() -> None:
        maker, judge = nn.Linear(2, 3), nn.Linear(3, 1)
        opt_m = torch.optim.SGD(maker.parameters(), lr=0.1)
        opt_j = torch.optim.SGD(judge.parameters(), lr=0.1)
        for _ in range(4):
            opt_j.zero_grad()
            judge(maker(torch.randn(8, 2)).detach()).mean().backward()
            opt_j.step()
            opt_m.zero_grad()
            judge(maker(torch.randn(8, 2))).mean().neg().backward()
            opt_m.step()
        opt_j.zero_grad()

    trace = watched(program)
    model = gradients(trace)
    judged = {p.id for p in trace.parameters if tuple(p.shape) in ((1, 3), (1,))}
    through = [fill for fill in model.fills if fill.parameters - judged]
    assert through and all(fill.used == fill.parameters - judged for fill in through)
    assert all(fill.cleared == judged for fill in through)
    alone = [fill for fill in model.fills if not fill.parameters - judged]
    assert alone and all(fill.used == judged for fill in alone)
    assert passes_of_turns(model) == [1] * 8


def test_gradients_cleared_before_the_step_reach_no_step() -> None:
    def program() -> None:
        model = nn.Linear(3, 1)
        opt = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(4):
            loss_of(model).backward()
            opt.zero_grad()
            opt.step()

    trace = watched(program)
    model = gradients(trace)
    assert passes_of_turns(model) == [0] * 4
    assert all(fill.cleared == fill.parameters for fill in model.fills)


def test_an_update_by_hand_uses_the_gradient() -> None:
    def program() -> None:
        model = nn.Linear(3, 1)
        for _ in range(4):
            loss_of(model).backward()
            with torch.no_grad():
                for p in model.parameters():
                    assert p.grad is not None
                    p -= 0.1 * p.grad
                    p.grad = None

    trace = watched(program)
    model = gradients(trace)
    assert not model.turns
    used = [fill for fill in model.fills if fill.uses]
    assert used and all(isinstance(use, Update) for fill in used for use, _ in fill.uses)
    assert all(named(trace, fill.used) == {"weight", "bias"} for fill in used)
    assert not any(fill.waiting for fill in model.fills)


def test_the_passes_of_a_closure_belong_to_its_step() -> None:
    def program() -> None:
        model = nn.Linear(3, 1)
        data = torch.randn(8, 3)
        opt = torch.optim.LBFGS(model.parameters(), max_iter=3)

        def closure() -> torch.Tensor:
            opt.zero_grad()
            loss: torch.Tensor = model(data).pow(2).mean()
            loss.backward()
            return loss

        for _ in range(3):
            opt.step(closure)

    model = gradients(watched(program))
    assert all(turn.step.closure for turn in model.turns)
    assert all(turn.fills for turn in model.turns)


def test_what_nothing_used_or_cleared_waits_at_the_end() -> None:
    def program() -> None:
        model = nn.Linear(3, 1)
        opt = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(3):
            step(model, opt)
        opt.zero_grad()
        loss_of(model).backward()
        loss_of(model).backward()

    trace = watched(program)
    model = gradients(trace)
    left = [fill for fill in model.fills if fill.waiting]
    assert sum(fill.times for fill in left) == 2
    assert all(named(trace, fill.waiting) == {"weight", "bias"} for fill in left)
    assert passes_of_turns(model) == [1, 1, 1]


def test_a_weight_that_is_clamped_keeps_its_gradient_for_the_step() -> None:
    def program() -> None:
        model = nn.Linear(3, 1)
        opt = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(4):
            opt.zero_grad()
            loss_of(model).backward()
            for p in model.parameters():
                p.data.clamp_(-0.5, 0.5)
            opt.step()

    model = gradients(watched(program))
    assert passes_of_turns(model) == [1] * 4
    assert not any(isinstance(use, Update) for fill in model.fills for use, _ in fill.uses)


def test_what_ended_each_gradient_and_which_passes_it_had_come_from() -> None:
    def program() -> None:
        model = nn.Linear(3, 1)
        opt = torch.optim.SGD(model.parameters(), lr=0.1)
        loss_of(model).backward()
        loss_of(model).backward()
        opt.step()
        opt.zero_grad()
        loss_of(model).backward()
        opt.zero_grad()
        loss_of(model).backward()

    trace = watched(program)
    model = gradients(trace)
    for p in trace.parameters:
        ended = [(end.kind, sum(fill.times for fill in fills)) for end, fills in model.ended[p.id]]
        assert ended == [("step", 2), ("zero_grad", 1)]
        assert len(model.waiting[p.id]) == 1


def test_gradients_of_a_line_are_thrown_away_where_no_pass_of_it_was_ever_used() -> None:
    def program() -> None:
        body, head = nn.Linear(3, 3), nn.Linear(3, 1)
        opt = torch.optim.SGD(head.parameters(), lr=0.1)
        for _ in range(4):
            opt.zero_grad()
            body.zero_grad()
            head(body(torch.randn(8, 3))).pow(2).mean().backward()
            opt.step()

    trace = watched(program)
    body = {p.id for p in trace.parameters if tuple(p.shape) in ((3, 3), (3,))}
    assert list(thrown_away(trace).values()) == [body]


def test_the_factor_of_a_scaler_is_carried_from_the_pass_to_unscale() -> None:
    def program() -> None:
        model = nn.Linear(3, 1)
        opt = torch.optim.SGD(model.parameters(), lr=0.1)
        scaler = torch.amp.GradScaler("cpu", init_scale=8.0)
        for _ in range(3):
            opt.zero_grad()
            scaler.scale(loss_of(model)).backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            scaler.unscale_(opt)
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            scaler.step(opt)
            scaler.update()

    trace = watched(program)
    scales, carried = Scales(trace), []
    for times, event in in_order(trace):
        if isinstance(event, Clip):
            carried += [len(scales.scaled)] * times
        scales.follow(event)
    assert carried == [2, 0] * 3 and scales.scale == 8.0
