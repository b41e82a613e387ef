"""The evaluation trains: behind `eval()`, a loop over other data goes on with `backward()` and `step()`.

Why: `model.eval()` switches dropout and batch norm, and nothing else. A loop that was copied from the training and
still steps fits the model to the data that it is to be measured on: what it counts says how well they were learned, and
nothing of data that the model has not seen.

Fix: leave `backward()`, `step()` and `zero_grad()` out of that loop, and run it under `torch.no_grad()`.

Measured: the steps before that `eval()` took what one `DataLoader` gives, those behind it what another one gives, and
were the last of the run, in which nothing else asks the model without gradients. Or `train()` and `eval()` took turns,
and whatever the model was asked in evaluation mode was trained on; where it has no layer to which the mode matters,
by other lines than those of the training. Silent where any of that is otherwise: GS403 tells
of a training that forgot `train()`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from gradscope.analysis.calls import Calls, calls
from gradscope.analysis.loop import in_order
from gradscope.analysis.modes import TrainedInEval, trained_in_eval
from gradscope.analysis.stacks import beside_each_other
from gradscope.analysis.words import code, listed, located, plural, user, variable
from gradscope.events import Backward, Loader, Mode, ModuleCall, Step, ZeroGrad
from gradscope.fixes.blocks import without_training
from gradscope.fixes.source import Edits, Source
from gradscope.fixes.statements import under_no_grad
from gradscope.model import Finding, Site
from gradscope.rules import rule
from gradscope.source import LOOPS, SourceFile, stands_in
from gradscope.store import Trace


def bad() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    known = DataLoader(TensorDataset(torch.randn(32, 4), torch.randint(2, (32,))), batch_size=8, shuffle=True)
    asked = DataLoader(TensorDataset(torch.randn(16, 4), torch.randint(2, (16,))), batch_size=8)
    net = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.5), nn.Linear(8, 2))
    opt = torch.optim.Adam(net.parameters(), lr=0.01)
    net.train()
    for x, y in known:
        opt.zero_grad()
        nn.functional.cross_entropy(net(x), y).backward()
        opt.step()
    net.eval()  # effect: GS413
    hits = 0
    for x, y in asked:
        opt.zero_grad()
        scores = net(x)
        loss = nn.functional.cross_entropy(scores, y)
        loss.backward()
        opt.step()  # cause: GS413
        hits += int((scores.argmax(1) == y).sum())


def good() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    known = DataLoader(TensorDataset(torch.randn(32, 4), torch.randint(2, (32,))), batch_size=8, shuffle=True)
    asked = DataLoader(TensorDataset(torch.randn(16, 4), torch.randint(2, (16,))), batch_size=8)
    net = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.5), nn.Linear(8, 2))
    opt = torch.optim.Adam(net.parameters(), lr=0.01)
    net.train()
    for x, y in known:
        opt.zero_grad()
        nn.functional.cross_entropy(net(x), y).backward()
        opt.step()
    net.eval()
    hits = 0
    with torch.no_grad():
        for x, y in asked:
            scores = net(x)
            hits += int((scores.argmax(1) == y).sum())


class _Evaluation(NamedTuple):
    """A loop right behind an `eval()` that steps."""

    one: TrainedInEval
    switched: Site
    loop: ast.stmt
    before: int  # steps of the run before it
    inside: int  # steps in it
    loader: str  # what it goes through
    trained: str  # what those before it did


@rule("GS413", name="evaluation-trains", severity="warning", over=("GS403",))
def evaluation_trains(trace: Trace) -> Iterator[Finding]:
    known = calls(trace)
    for one in trained_in_eval(known):
        found = _evaluation(known, one)
        if found is not None:
            yield _finding(known, found)
        elif one.mode is not None and (turns := _turns(known, one, one.mode)) is not None:
            yield _of_turns(known, one, one.mode, turns)
    for one in trained_in_eval(known, without_layers=True):
        turns = _turns(known, one, one.mode) if one.mode is not None else None
        if one.mode is not None and turns is not None and _by_lines_of_their_own(turns):
            yield _of_turns(known, one, one.mode, turns)


def _by_lines_of_their_own(turns: list[_Turn]) -> bool:
    """Whether no step of an evaluation is made by the lines of the training."""
    training = {site for turn in turns if turn.training for site in turn.sites}
    return not any(training & turn.sites.keys() for turn in turns if not turn.training)


@dataclass
class _Turn:
    """What was done between two calls of `train()` or `eval()`."""

    training: bool
    steps: int = 0
    sites: dict[int, Site] = field(default_factory=dict)  # of these
    asked: int = 0  # calls that no step used, before its last step


def _turns(known: Calls, one: TrainedInEval, mode: Mode) -> list[_Turn] | None:
    """Those of the module, where each has steps, and a model in evaluation mode was only ever asked to train it."""
    mine = known.called(one.call.event)
    by_event = {id(call.event): call for call in known.all}
    turns: list[_Turn] = []
    asked = 0  # since the last step
    for repeat, event in in_order(known.trace):
        if isinstance(event, Mode) and event.module == mode.module:
            if not turns or turns[-1].training != event.training:
                turns.append(_Turn(event.training))
                asked = 0
        elif not turns:
            continue
        elif isinstance(event, Step) and event.optimizer == one.step.optimizer:
            turns[-1].steps += repeat
            turns[-1].sites[event.site.id] = event.site
            turns[-1].asked += asked
            asked = 0
        elif isinstance(event, ModuleCall) and known.called(event) == mine:
            call = by_event.get(id(event))
            asked += not event.grad or (call is not None and not call.trains)
    while turns and not turns[-1].steps:
        turns.pop()
    evaluated = [turn for turn in turns if not turn.training]
    if len(evaluated) < 2 or len(turns) - len(evaluated) < 2 or not all(turn.steps for turn in turns):
        return None
    return turns if not any(turn.asked for turn in evaluated) else None


def _of_turns(known: Calls, one: TrainedInEval, mode: Mode, turns: list[_Turn]) -> Finding:
    trace, name = known.trace, known.name(one.call.event)
    step, entry = one.step.site.user, one.call.entry
    evaluated = [turn for turn in turns if not turn.training]
    inside = sum(turn.steps for turn in evaluated)
    before = sum(turn.steps for turn in turns) - inside
    fix, edits = _without_the_loop(known, one, turns) or _in_training_alone(trace, entry, step)
    apart = _handed_in(turns)
    if apart is not None:
        fix += f", and {located(trace, apart)} under `torch.no_grad()`"
        edits = (*edits, *under_no_grad(trace, apart)) if edits else ()
    return Finding(
        message=f"the evaluation of {name} trains it: {plural(inside, 'step')} in evaluation mode",
        cause=step,
        cause_label="steps behind `eval()`, too",
        effect=mode.site.user,
        effect_label="switches dropout and batch norm, and nothing else",
        seen=(
            f"`train()` and `eval()` take turns: {plural(before, 'step')} in training mode,"
            f" {inside:,} in evaluation mode, in {plural(len(evaluated), 'turn')} of it",
            f"whatever {name} was asked in evaluation mode there was trained on",
        ),
        fix=fix,
        edits=edits,
        count=inside,
        subjects=frozenset({("module", known.called(one.call.event)), ("call", entry.location())}),
    )


def _handed_in(turns: list[_Turn]) -> Site | None:
    """The line that has the evaluation done by the lines that train as well, where it is not that of the training."""
    training = [site for turn in turns if turn.training for site in turn.sites.values()]
    evaluated = [site for turn in turns if not turn.training for site in turn.sites.values()]
    here, there = beside_each_other(evaluated[0], training[0])
    lines = {site.location() for site in (evaluated[0].user, training[0].user, there)}
    return here if here.location() not in lines else None


def _without_the_loop(known: Calls, one: TrainedInEval, turns: list[_Turn]) -> tuple[str, Edits] | None:
    """The pass and the step taken out of the loop of the evaluation, where the training has another one."""
    trace, step, entry = known.trace, one.step.site.user, one.call.entry
    file = trace.source_file(step.path)
    statement = file.statement(step)
    loop = file.loop_of(statement) if statement is not None else None
    if loop is None or not _inside(step.path, loop, entry):
        return None
    training = [site.user for turn in turns if turn.training for site in turn.sites.values()]
    evaluated = [site.user for turn in turns if not turn.training for site in turn.sites.values()]
    if any(_inside(step.path, loop, site) for site in training):
        return None
    if not all(_inside(step.path, loop, site) for site in evaluated):
        return None
    lines = _steps_inside(trace, step.path, loop)
    texts = listed([code(trace, site) for site in lines], limit=4)
    fix = f"leave {texts} out of the loop in line {loop.lineno}, and run it under `torch.no_grad()`"
    return fix, without_training(trace, loop, lines)


def _steps_inside(trace: Trace, path: str, loop: ast.stmt) -> list[Site]:
    """The lines of a loop that clear gradients, compute them, or step."""
    made = {
        event.site.user.location(): event.site.user
        for event in trace.of(Backward, Step, ZeroGrad)
        if _inside(path, loop, event.site.user)
    }
    return [made[place] for place in sorted(made)]


def _in_training_alone(trace: Trace, entry: Site, step: Site) -> tuple[str, Edits]:
    """`if model.training:` around the pass and the step."""
    here = Source(trace, step.path)
    call = here.file.at(entry)
    model = here.file.text(call.func) if isinstance(call, ast.Call) else "model"
    passes = [
        e.site.user
        for e in trace.of(Backward)
        if (e.site.user.path, e.site.user.function) == (step.path, step.function)
    ]
    lines = sorted({one.line: one for one in [*passes, step]}.items())
    found = [here.file.statement(site) for _, site in lines]
    statements = [one for one in found if one is not None]
    fix = f"pass and step in training mode alone: `if {model}.training:` before {located(trace, lines[0][1])}"
    if not passes or not statements or (entry.path, entry.function) != (step.path, step.function):
        return fix, ()
    siblings = here.file.siblings(statements[0])
    if statements[-1] not in siblings:
        return fix, ()
    block = siblings[siblings.index(statements[0]) : siblings.index(statements[-1]) + 1]
    if not all(isinstance(one, ast.Expr) for one in block):
        return fix, ()
    return fix, here.together_under(block, f"if {model}.training:")


def _evaluation(known: Calls, one: TrainedInEval) -> _Evaluation | None:
    trace, mode, entry = known.trace, one.mode, one.call.entry
    mine = known.called(one.call.event)
    if mode is None or any(not e.grad and known.called(e) == mine for e in trace.of(ModuleCall)):
        return None
    switched = mode.site.user
    if (switched.path, switched.function) != (entry.path, entry.function):
        return None
    file = trace.source_file(entry.path)
    loop = _next_loop(file, switched)
    if loop is None or not _inside(entry.path, loop, entry):
        return None
    before = inside = 0
    for repeat, step in in_order(trace):
        if isinstance(step, Step) and step.optimizer == one.step.optimizer:
            if _inside(entry.path, loop, step.site.user):
                inside += repeat
            elif inside:
                return None
            else:
                before += repeat
    here, others = _loaders(trace, entry.path, loop)
    if not before or not here or not others or {s.location() for s in here} & {s.location() for s in others}:
        return None
    return _Evaluation(
        one, switched, loop, before, inside, variable(trace, here[0]), variable(trace, others[0])
    )


def _next_loop(file: SourceFile, switched: Site) -> ast.stmt | None:
    """The first loop among the statements that follow, if nothing but names are given before it."""
    statement = file.statement(switched)
    if not isinstance(statement, ast.Expr):
        return None
    siblings = file.siblings(statement)
    for one in siblings[siblings.index(statement) + 1 :]:
        if isinstance(one, LOOPS):
            return one
        if not isinstance(one, (ast.Assign, ast.AnnAssign, ast.Expr)):
            return None
    return None


def _inside(path: str, loop: ast.stmt, site: Site) -> bool:
    return site.path == path and stands_in(loop, site)


def _loaders(trace: Trace, path: str, loop: ast.stmt) -> tuple[list[Site], list[Site]]:
    """Where the loaders that the loop goes through were made, and those that others go through."""
    here: list[Site] = []
    others: list[Site] = []
    for event in trace.of(Loader):
        through = user(trace.site(event.loop))
        inside = through is not None and _inside(path, loop, through)
        (here if inside else others).append(event.site.user)
    return here, others


def _finding(known: Calls, found: _Evaluation) -> Finding:
    trace, one = known.trace, found.one
    step, name = one.step.site.user, known.name(one.call.event)
    data = f"`{found.loader}`" if found.loader else "another loader"
    own = f"the samples of `{found.trained}`" if found.trained else "the samples of another loader"
    lines = _steps_inside(trace, step.path, found.loop)
    texts = listed([code(trace, site) for site in lines], limit=4)
    return Finding(
        message=f"the evaluation of {name} trains it: {plural(found.inside, 'step')} on what {data} gives",
        cause=step,
        cause_label="steps behind `eval()`",
        effect=found.switched,
        effect_label="switches dropout and batch norm, and nothing else",
        seen=(
            f"{plural(found.before, 'step')} on {own}, then {found.inside:,} in evaluation mode on those of {data}, the"
            " last of the run",
            f"nothing asks {name} without gradients: what this loop counts is all that measures it",
        ),
        fix=f"leave {texts} out of the loop in line {found.loop.lineno}, and run it under `torch.no_grad()`; if it is"
        f" to train, call `train()` of {name} before {located(trace, one.call.entry, 'its call')}",
        edits=without_training(trace, found.loop, lines),
        count=found.inside,
        subjects=frozenset({("module", known.called(one.call.event)), ("call", one.call.entry.location())}),
    )
