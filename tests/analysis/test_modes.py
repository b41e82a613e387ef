"""Calls of modules in a mode that an earlier line has left on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from observed import Observed, observed, optimizer, written
from torch import nn

from gradscope.analysis.calls import calls
from gradscope.analysis.modes import (
    TrainedInEval,
    as_statement,
    left_off,
    outlived,
    region_of,
    relied_on,
    steps_in_eval,
    switched_back,
    times_asked,
    trained_in_eval,
)
from gradscope.events import Mode, ModuleCall


def net() -> nn.Sequential:
    return nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.5), nn.BatchNorm1d(3))


def loop(
    turns: int,
    before: Callable[[nn.Module, int], object] = lambda model, turn: None,
    after: Callable[[nn.Module, int], object] = lambda model, turn: None,
) -> Observed:
    """Steps of a model, with something done to it before each forward and after each step."""

    def program() -> None:
        model = net()
        opt = optimizer(model)
        for turn in range(turns):
            before(model, turn)
            opt.zero_grad()
            model(torch.randn(4, 3)).pow(2).mean().backward()
            opt.step()
            after(model, turn)

    return observed(program)


def evaluate(model: nn.Module, *, back: bool) -> None:
    model.eval()
    with torch.no_grad():
        model(torch.zeros(4, 3)).argmax().item()
    if back:
        model.train()


def found(run: Observed) -> list[TrainedInEval]:
    return list(trained_in_eval(calls(run.trace)))


def test_an_eval_that_nothing_takes_back_is_trained_in() -> None:
    run = loop(5, after=lambda model, turn: evaluate(model, back=False) if turn == 1 else None)
    (one,) = found(run)
    assert one.mode is not None and run.text(one.mode.site.user) == "model.eval()"
    assert run.text(one.call.entry) == "model(torch.randn(4, 3))"
    assert steps_in_eval(calls(run.trace), one) == 3
    assert switched_back(calls(run.trace), one.mode) is None


@pytest.mark.parametrize(
    "after",
    [
        lambda model, turn: None,
        lambda model, turn: evaluate(model, back=True),
        lambda model, turn: evaluate(model, back=False) if turn == 4 else None,
    ],
    ids=["never", "back", "at the end"],
)
def test_training_in_training_mode_is_silent(after: Callable[[nn.Module, int], object]) -> None:
    assert not found(loop(5, after=after))


def test_train_called_at_the_start_of_each_turn_takes_it_back() -> None:
    run = loop(
        4, before=lambda model, turn: model.train(), after=lambda model, turn: evaluate(model, back=False)
    )
    assert not found(run)
    mode = next(event for event in run.trace.of(Mode) if not event.training)
    back = switched_back(calls(run.trace), mode)
    assert back is not None and run.text(back.site.user) == "model.train()"


def test_a_model_without_layers_that_the_mode_changes_is_silent() -> None:
    def program() -> None:
        model = nn.Linear(3, 3).eval()
        opt = optimizer(model)
        for _ in range(3):
            opt.zero_grad()
            model(torch.randn(4, 3)).pow(2).mean().backward()
            opt.step()

    assert not found(observed(program))


def test_gradients_that_no_step_uses_were_trained_by_none() -> None:
    def program() -> None:
        model = net().eval()
        opt = optimizer(model)
        for _ in range(3):
            model(torch.randn(4, 3)).pow(2).mean().backward()
            opt.zero_grad()
            opt.step()

    assert not found(observed(program))


def test_of_a_gan_only_the_network_whose_step_uses_them_is_told() -> None:
    def program() -> None:
        maker, judge = net(), net()
        judge.eval()
        opt, own = optimizer(maker), optimizer(judge)
        for _ in range(3):
            own.zero_grad()
            opt.zero_grad()
            judge(maker(torch.randn(4, 3))).pow(2).mean().backward()
            opt.step()

    assert not found(observed(program)), "the judge is asked in evaluation mode, and not stepped"


def test_a_part_left_in_evaluation_mode_is_told_though_the_whole_says_training() -> None:
    def program() -> None:
        model = nn.Sequential(net(), nn.Linear(3, 1))
        opt = optimizer(model)
        for turn in range(4):
            opt.zero_grad()
            model(torch.randn(4, 3)).pow(2).mean().backward()
            opt.step()
            if turn == 1:
                model[0].eval()
                with torch.no_grad():
                    model[0](torch.zeros(4, 3)).argmax().item()

    run = observed(program)
    (one,) = found(run)
    assert one.mode is not None and run.text(one.mode.site.user) == "model[0].eval()"


# -- relying on a mode ----------------------------------------------------------------------


@pytest.mark.parametrize(("switches", "relies"), [(True, False), (False, True)])
def test_an_evaluation_after_training_relies_on_an_eval_of_its_own(switches: bool, relies: bool) -> None:
    def after(model: nn.Module, turn: int) -> None:
        if switches or turn == 0:
            model.eval()
        with torch.no_grad():
            model(torch.zeros(4, 3))
        if switches:
            model.train()

    run = loop(3, after=after)
    known = calls(run.trace)
    assert relied_on(known, known.all[0].event.called) == relies


def test_calls_in_a_row_have_no_pass_between_them() -> None:
    def program(twice: bool) -> Observed:
        def run() -> None:
            model = net()
            opt = optimizer(model)
            for _ in range(3):
                opt.zero_grad()
                outputs = [model(torch.randn(4, 3)) for _ in range(2 if twice else 1)]
                torch.stack(outputs).pow(2).mean().backward()
                opt.step()

        return observed(run)

    for twice in (True, False):
        run = program(twice)
        sites = {event.site.id for event in run.trace.of(ModuleCall)}
        assert set(times_asked(run.trace, sites)) == {2 if twice else 1}
        assert not list(times_asked(run.trace, set()))


# -- gradients left off ---------------------------------------------------------------------

LOOP = """
model = nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.5))
opt = torch.optim.SGD(model.parameters(), lr=0.1)

def train():
    model.train()
    for _ in range(2):
        opt.zero_grad()
        loss = model(torch.randn(4, 3)).pow(2).mean()
        if loss.requires_grad:
            loss.backward()
        opt.step()

def evaluate():
    model.eval()
    {}

for _ in range(3):
    train()
    evaluate()
torch.set_grad_enabled(True)
"""

WITH = "with torch.no_grad():\n        model(torch.zeros(4, 3))"
OFF = "torch.set_grad_enabled(False)\n    model(torch.zeros(4, 3))"


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (WITH, False),
        (OFF, True),
        (OFF + "\n    torch.set_grad_enabled(True)", False),
        ("mode = torch.no_grad()\n    mode.__enter__()\n    model(torch.zeros(4, 3))", True),
    ],
    ids=["with", "off", "on again", "entered"],
)
def test_a_statement_that_turns_gradients_off_for_good_is_told(body: str, told: bool, tmp_path: Path) -> None:
    run = written(tmp_path, LOOP.format(body))
    left = list(left_off(run.trace))
    assert bool(left) == told
    for one in left:
        assert one.trains
        assert one.region.site.user.line == run.line(
            "set_grad_enabled(False)" if "False" in body else "__enter__"
        )
        assert run.text(one.call.site.user) == "model(torch.randn(4, 3))"


def test_an_evaluation_with_its_own_block_is_not_left_off() -> None:
    assert not list(left_off(loop(3, after=lambda model, turn: evaluate(model, back=True)).trace))


@pytest.mark.parametrize(
    ("text", "statement"),
    [
        ("torch.set_grad_enabled(False)\ny = a * 2\n", True),
        ("with torch.set_grad_enabled(False):\n    y = a * 2\n", False),
        ("@torch.no_grad()\ndef f():\n    return a * 2\nf()\n", False),
    ],
)
def test_a_mode_is_a_statement_s_or_a_block_s(text: str, statement: bool, tmp_path: Path) -> None:
    head, tail = (
        "a = torch.ones(1, requires_grad=True)\n",
        "torch.set_grad_enabled(True)\n(a * 3).backward()\n",
    )
    run = written(tmp_path, head + text + tail)
    op = run.op("a * 2")
    region = region_of(run.trace, run.trace.graph(op.graph), run.trace.graph(op.graph).values[op.outputs[0]])
    assert region is not None
    assert as_statement(run.trace, region) == statement
    assert outlived(run.trace, region, run.op("a * 3").site) == statement
    other = run.op("a * 3")
    graph = run.trace.graph(other.graph)
    assert region_of(run.trace, graph, graph.values[other.outputs[0]]) is None


def test_what_turns_gradients_on_again_is_no_mode_without_them() -> None:
    def program() -> None:
        a = nn.Parameter(torch.ones(2))
        with torch.no_grad():
            y = a * 2
            with torch.enable_grad():
                z = a * 3
        (z * y).sum().backward()

    run = observed(program)
    graphs = [run.trace.graph(run.op(text).graph) for text in ("a * 2", "a * 3", "z * y")]
    places = [run.key(text)[1] for text in ("a * 2", "a * 3", "z * y")]
    kinds = [region_of(run.trace, graph, graph.values[at]) for graph, at in zip(graphs, places, strict=True)]
    assert [region.kind if region is not None else "" for region in kinds] == ["no_grad", "", ""]
    assert run.trace.regions[run.op("a * 3").region].kind == "enable_grad"  # type: ignore[index]
