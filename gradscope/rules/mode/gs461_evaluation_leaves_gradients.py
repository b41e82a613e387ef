"""An evaluation computes gradients, and nobody clears them: the next step of the training uses them as well.

Why: `backward()` adds to `.grad` whatever the mode of the model is, and whoever called it. Where the gradients are
cleared behind each step only, those of all batches of an evaluation are still there when the training goes on: its
first step goes by the sum of them all, many times as long as any other, and the model is fitted to data that it is to
be measured on.

Fix: no `backward()` in the evaluation, which runs under `torch.no_grad()`; or clear the gradients before the training
goes on.

Measured: between `eval()` and the next `train()` of a model passes filled its gradients, and no step came; the first
step behind that `train()` used them with its own, most steps had only their own. A note where the evaluation made one
pass alone. Silent on: gradients that are cleared before the next step.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

from gradscope.analysis.calls import Calls, calls
from gradscope.analysis.gradients import Fill, gradients
from gradscope.analysis.loop import in_order
from gradscope.analysis.stacks import beside_each_other
from gradscope.analysis.words import code, located, parameter_subjects, plural
from gradscope.events import Backward, Mode
from gradscope.fixes.blocks import without_training
from gradscope.fixes.source import Edits, Source
from gradscope.fixes.statements import taken_away, under_no_grad
from gradscope.model import Finding, Site
from gradscope.rules import rule
from gradscope.source import stands_in
from gradscope.store import Trace

ENOUGH = 3  # steps that used their own passes alone


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x, y, x_val, y_val = torch.randn(32, 4), torch.randn(32, 1), torch.randn(32, 4), torch.randn(32, 1)
    net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
    opt = torch.optim.SGD(net.parameters(), lr=0.05)
    for _ in range(3):
        net.train()
        for at in torch.randperm(32).split(8):
            nn.functional.mse_loss(net(x[at]), y[at]).backward()
            opt.step()  # effect: GS461
            opt.zero_grad()
        net.eval()
        total = 0.0
        for at in torch.arange(32).split(8):
            loss = nn.functional.mse_loss(net(x_val[at]), y_val[at])
            loss.backward()  # cause: GS461
            total += loss.item()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x, y, x_val, y_val = torch.randn(32, 4), torch.randn(32, 1), torch.randn(32, 4), torch.randn(32, 1)
    net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
    opt = torch.optim.SGD(net.parameters(), lr=0.05)
    for _ in range(3):
        net.train()
        for at in torch.randperm(32).split(8):
            nn.functional.mse_loss(net(x[at]), y[at]).backward()
            opt.step()
            opt.zero_grad()
        net.eval()
        total = 0.0
        with torch.no_grad():
            for at in torch.arange(32).split(8):
                loss = nn.functional.mse_loss(net(x_val[at]), y_val[at])
                total += loss.item()


@dataclass
class _Left:
    """Passes in evaluation mode that steps of the training used."""

    fill: Fill  # the first of them
    own: Fill  # a pass of the training
    step: Site
    parameters: set[int] = field(default_factory=set)
    steps: int = 0  # that used some
    passes: int = 0  # used by them, in evaluation mode
    most: int = 0  # by one of them
    others: int = 0  # steps that used none


@rule("GS461", name="evaluation-leaves-gradients", severity="warning", needs=Mode)
def evaluation_leaves_gradients(trace: Trace) -> Iterator[Finding]:
    known = calls(trace)
    switched: dict[int, set[bool]] = {}
    for event in trace.of(Mode):
        switched.setdefault(event.module, set()).add(event.training)
    told: set[tuple[str, int]] = set()
    for module, modes in switched.items():
        if len(modes) < 2:
            continue
        for left in _left(known, module):
            if left.fill.line not in told:
                told.add(left.fill.line)
                yield _finding(known, module, left)


def _left(known: Calls, module: int) -> Iterator[_Left]:
    """By optimizer, what its steps used of passes that came between `eval()` and `train()` of a module."""
    trace, held = known.trace, {p.id for p in known.parameters_of(module)}
    evaluated = _in_evaluation(trace, module)
    found: dict[int, _Left] = {}
    others: dict[int, int] = {}
    broken: set[int] = set()
    for turn in gradients(trace).turns:
        number = turn.step.optimizer
        mine = [fill for fill, ids in turn.fills.items() if ids & held]
        late = [fill for fill in mine if fill.number in evaluated]
        own = [fill for fill in mine if fill.number not in evaluated]
        if mine and not own:
            broken.add(number)  # it trains in evaluation mode
        elif late:
            left = found.setdefault(number, _Left(late[0], own[0], turn.step.site))
            passes = sum(fill.times for fill in late)
            left.parameters |= {id for fill in late for id in turn.fills[fill] & held}
            left.steps += turn.times
            left.passes += passes * turn.times
            left.most = max(left.most, passes)
        elif own:
            others[number] = others.get(number, 0) + turn.times
    for number, left in found.items():
        left.others = others.get(number, 0)
        if number not in broken and left.others >= max(ENOUGH, left.steps + 1):
            if left.most > 1 or not _beside_the_step(trace, left):
                yield left


def _beside_the_step(trace: Trace, left: _Left) -> bool:
    """Whether the pass is made in the loop of the step itself: a term that some of its turns have."""
    late, step = beside_each_other(left.fill.event.site, left.step)
    return late.path == step.path and _loop(trace, late) is _loop(trace, step)


def _in_evaluation(trace: Trace, module: int) -> set[int]:
    """The numbers of the passes that filled gradients while the module was in evaluation mode."""
    evaluates, number, found = False, 0, set()
    for _, event in in_order(trace):
        if isinstance(event, Mode) and event.module == module:
            evaluates = not event.training
        elif isinstance(event, Backward) and event.filled:
            found |= {number} if evaluates else set()
            number += 1
    return found


def _finding(known: Calls, module: int, left: _Left) -> Finding:
    trace, name = known.trace, known.name_of(module)
    line, step = left.fill.event.site.user, left.step.user
    here, there = beside_each_other(left.fill.event.site, left.own.event.site)
    shared = line.location() == left.own.event.site.user.location() and here.location() != there.location()
    fix, edits = _repair(trace, left, here if shared else None)
    return Finding(
        message=f"the evaluation of {name} leaves gradients: the next step of the training uses them, too",
        cause=line,
        cause_label="adds to the gradients in evaluation mode as well, and nothing clears them",
        effect=here if shared else step,
        effect_label="the evaluation, which comes here" if shared else "uses them with its own",
        related=((step, "uses them with its own"),) if shared else (),
        seen=(
            f"{plural(left.steps, 'step')} used the gradients of up to {plural(left.most, 'pass')} in evaluation mode"
            f" with those of the training; {plural(left.others, 'other step')} had none of them",
        ),
        severity="" if left.most > 1 else "note",
        fix=fix,
        edits=edits,
        count=left.steps,
        subjects=parameter_subjects(left.parameters),
    )


def _repair(trace: Trace, left: _Left, entry: Site | None) -> tuple[str, Edits]:
    """`entry`: the line that has the evaluation done by the lines that train as well."""
    line, step = left.fill.event.site.user, left.step.user
    if entry is None:
        fix = f"leave {located(trace, line)} out: an evaluation needs no gradients, and runs under `torch.no_grad()`"
        loop = _loop(trace, line)
        if loop is None or (line.path == step.path and stands_in(loop, step)):
            return fix, taken_away(trace, line)
        return fix, without_training(trace, loop, [line])
    quiet = f"{located(trace, entry)} under `torch.no_grad()`"
    inner = _into_the_branch(trace, line, step)
    if inner:
        around = under_no_grad(trace, entry)
        fix = f"call {code(trace, line)} in the branch of {located(trace, step)} alone, and have {quiet}"
        return fix, (*inner, *around) if around else ()
    return f"have no `backward()` in the evaluation, and {quiet}; or clear the gradients behind it", ()


def _loop(trace: Trace, site: Site) -> ast.stmt | None:
    file = trace.source_file(site.path)
    statement = file.statement(site)
    return file.loop_of(statement) if statement is not None else None


def _into_the_branch(trace: Trace, line: Site, step: Site) -> Edits:
    """A pass that stands right before the branch in which its step does, at the beginning of that branch."""
    here = Source(trace, line.path)
    statement, stepping = here.file.statement(line), here.file.statement(step)
    if line.path != step.path or not isinstance(statement, ast.Expr) or stepping is None:
        return ()
    branch = here.file.after(statement)
    if not isinstance(branch, ast.If) or branch.orelse or stepping not in branch.body:
        return ()
    return here.move(statement, branch.body[0])
