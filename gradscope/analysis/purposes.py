"""What a call of a model is for, where its mode does not say so: an evaluation, a turn of the training that skips,
a look at running statistics."""

from __future__ import annotations

import ast

from gradscope.analysis.calls import Call, Calls
from gradscope.analysis.loop import in_order
from gradscope.analysis.never_read import read_again
from gradscope.events import ModuleCall, Step, ZeroGrad
from gradscope.model import Site
from gradscope.source import LOOPS, SourceFile


def in_both_modes(known: Calls, call: Call) -> bool:
    """Whether each evaluation from this line is made once more in evaluation mode, of the same input, before a step:
    the two modes are compared. One that trains on behind it was not switched."""
    given = _given(known, call.event)
    again, open_ = False, False
    for _, event in in_order(known.trace):
        if isinstance(event, Step) and open_:
            return False
        if (
            not isinstance(event, ModuleCall)
            or event.graph < 0
            or known.called(event) != known.called(call.event)
        ):
            continue
        if event.training:
            open_ = open_ or (
                event.site.user.location() == call.event.site.user.location() and not event.grad
            )
        elif open_ and not event.train_layers and given and _given(known, event) == given:
            again, open_ = True, False
    return again and not open_


def _given(known: Calls, event: ModuleCall) -> set[tuple[int, int]]:
    """What a call was given, as it was made."""
    size = len(known.paths.graph(event.graph).values)
    return {known.paths.made((event.graph, i)) for i in event.inputs if i < size}


def bare_layer(known: Calls, call: Call) -> bool:
    """Whether a layer without parameters was called by a method of its model other than `forward`."""
    event = call.event
    return known.called(event) != event.module and not known.parameters(event)


def beside(known: Calls, call: Call) -> list[Call]:
    """The calls of parts of the same model in the same block."""
    event, region = call.event, known.region(call.event)
    return [
        c
        for c in known.all
        if c.event.module == event.module
        and c.event.graph == event.graph
        and known.called(c.event) != event.module
        and known.region(c.event) == region
    ]


def inside_step(known: Calls, call: Call) -> bool:
    """Whether the call stands between `zero_grad()` and `step()` of the function that
    trains: whatever its result is for, it is no evaluation."""
    event = call.event
    near = [
        e
        for e in known.trace.of(ZeroGrad, Step)
        if e.segment == event.segment and e.site.user.function == event.site.user.function
    ]
    cleared = any(isinstance(e, ZeroGrad) and e.position <= event.position for e in near)
    return cleared and any(isinstance(e, Step) and e.position >= event.position for e in near)


def trains_at(known: Calls, call: Call) -> list[Call]:
    """The calls of the same line that train."""
    return [c for c in known.all if c.trains and c.entry.location() == call.entry.location()]


def callers(call: Call) -> tuple[tuple[str, int], ...]:
    """The user's lines that led to the call, with its own."""
    return tuple(frame.location() for frame in call.entry.stack if frame.kind == "user")


def evaluates_by_turns(known: Calls, call: Call) -> bool:
    """Whether one loop trains and evaluates, and this call comes before one that trains and trains nothing."""
    after = [c for c in trains_at(known, call) if c.event.graph == call.event.graph and c.itself]
    later = any(c.event.position > call.event.position for c in after)
    return later and not call.itself and turns_are_told_apart(known, call)


def turns_are_told_apart(known: Calls, call: Call) -> bool:
    """Whether the function of the call backwards only in some turns, by what none of them computes (`if phase ==
    "train"`, `if training`): the others are its evaluation. `if loss.isfinite()` skips a pass, no more."""
    entry = call.entry
    file = known.trace.source_file(entry.path)
    for event in known.paths.backwards:
        site = event.site.user
        if (site.path, site.function) != (entry.path, entry.function):
            continue
        above: ast.AST | None = file.at(site)
        while above is not None and not isinstance(above, (ast.FunctionDef, ast.Module)):
            if isinstance(above, ast.If) and entry.line < above.lineno and _is_a_turn(file, above):
                return True
            above = file.parent.get(id(above))
    return False


def _is_a_turn(file: SourceFile, branch: ast.If) -> bool:
    """Whether it compares with a text, or asks for a switch that the loop around it does not set."""
    test = branch.test
    if isinstance(test, ast.Compare):
        return any(isinstance(n, ast.Constant) and isinstance(n.value, str) for n in test.comparators)
    if not isinstance(test, (ast.Name, ast.Attribute)):
        return False
    above = file.parent.get(id(branch))
    while above is not None and not isinstance(above, (*LOOPS, ast.FunctionDef, ast.Module)):
        above = file.parent.get(id(above))
    set_here = (n for n in ast.walk(above or branch) if isinstance(getattr(n, "ctx", None), ast.Store))
    return not isinstance(above, LOOPS) or ast.unparse(test) not in {ast.unparse(n) for n in set_here}


def kept(known: Calls, call: Call) -> bool:
    """Whether the result is given a name that is read or passed on, after training began: not so for a
    shape probe, or a forward that only refreshes running statistics."""
    entry, first = call.entry, known.paths.first_pass
    if first is None or call.event.segment < first:
        return False
    lines = known.trace.lines(entry.path)
    before = lines[entry.line - 1][: entry.column - 1].strip() if 0 < entry.line <= len(lines) else ""
    file = known.trace.source_file(entry.path)
    statement = file.statement(entry)
    if isinstance(statement, ast.Assign) and statement.value is file.at(entry):
        (target, *others) = statement.targets
        if isinstance(target, ast.Name) and not others:
            return read_again(file, statement, target.id)
    return bool(before) and not before.endswith((":", ";"))


def trained_at(known: Calls, call: Call) -> Site | None:
    """The line that calls the same model to train it, in another function."""
    return next(
        (
            other.entry
            for other in known.all
            if other.trains
            and other.entry.function != call.entry.function
            and known.called(other.event) == known.called(call.event)
        ),
        None,
    )


def own_line(known: Calls, call: Call) -> Site:
    """The line that only the evaluation takes, where it shares the model's call with the training."""
    trained = {place for other in trains_at(known, call) for place in callers(other)}
    frames = [f for f in call.entry.stack if f.kind == "user" and f.location() not in trained]
    return frames[-1] if trained and frames else call.entry


def caller(site: Site) -> Site:
    """The user's line that called the function in which `site` stands."""
    return next((frame for frame in site.stack[-2::-1] if frame.kind == "user"), site)
