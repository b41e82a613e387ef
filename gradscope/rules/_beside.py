"""What stands beside a call of a model: other parts of it, and the steps of a training function."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from gradscope.model import Site
from gradscope.rules._calls import Call, Calls
from gradscope.rules._common import numbers
from gradscope.store import Trace

PHASE = re.compile(r"(is_)?(train|trn|training|Train|TRAIN)(_?mode)?")


def bare_layer(known: Calls, call: Call) -> bool:
    """Whether a layer without parameters was called by a method of its model other than `forward`."""
    event = call.event
    return known.called(event) != event.data["module"] and not known.parameters(event)


def beside(known: Calls, call: Call) -> list[Call]:
    """The calls of parts of the same model in the same block."""
    event, region = call.event, known.region(call.event)
    return [
        c
        for c in known.all
        if c.event.data["module"] == event.data["module"]
        and c.event.graph == event.graph
        and known.called(c.event) != event.data["module"]
        and known.region(c.event) == region
    ]


def inside_step(known: Calls, call: Call) -> bool:
    """Whether the call stands between `zero_grad()` and `step()` of the function that
    trains: whatever its result is for, it is no evaluation."""
    event = call.event
    near = [
        e
        for e in known.trace.of("zero_grad", "step")
        if e.segment == event.segment and e.site.user.function == event.site.user.function
    ]
    cleared = any(e.kind == "zero_grad" and e.position <= event.position for e in near)
    return cleared and any(e.kind == "step" and e.position >= event.position for e in near)


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
    return later and not call.itself and asks_the_phase(known, call)


def asks_the_phase(known: Calls, call: Call) -> bool:
    """Whether the function of the call backwards only `if phase == "train"`: the other turns of the same
    loop are its evaluation."""
    entry = call.entry
    file = known.trace.source_file(entry.path)
    for event in known.paths.backwards:
        site = event.site.user
        if (site.path, site.function) != (entry.path, entry.function):
            continue
        above: ast.AST | None = file.at(site)
        while above is not None and not isinstance(above, (ast.FunctionDef, ast.Module)):
            if isinstance(above, ast.If) and entry.line < above.lineno and _is_phase(above.test):
                return True
            above = file.parent.get(id(above))
    return False


def _is_phase(test: ast.expr) -> bool:
    if isinstance(test, ast.Compare):
        texts = [n.value for n in test.comparators if isinstance(n, ast.Constant)]
        return any(isinstance(text, str) and PHASE.fullmatch(text) for text in texts)
    name = test.attr if isinstance(test, ast.Attribute) else getattr(test, "id", "")
    return bool(PHASE.fullmatch(name))


def kept(known: Calls, call: Call) -> bool:
    """Whether the result is given a name or passed on after training began: not so for a
    shape probe, or a forward that only refreshes running statistics."""
    entry, first = call.entry, known.paths.first_pass
    if first is None or call.event.segment < first:
        return False
    lines = known.trace.lines(entry.path)
    before = lines[entry.line - 1][: entry.column - 1].strip() if 0 < entry.line <= len(lines) else ""
    return bool(before) and not before.endswith((":", ";")) and not re.match(r"_\w*\s*=$", before)


def trained_at(known: Calls, call: Call) -> Site | None:
    """The line that calls the same model to train it, in another function."""
    return next(
        (
            other.entry
            for other in known.all
            if other.trains
            and other.direct
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


def measured(trace: Trace, data: dict[str, object]) -> Iterator[str]:
    """What the call moved or dropped: running statistics, a part of its input."""
    stats = data.get("stats")
    for row in stats if isinstance(stats, list) else ():
        module = trace.modules.get(row["module"])
        path = module.path if module is not None and module.path else "batch norm"
        yield f"`{path}.{row['name']}` moved from {numbers(row['before'])} to {numbers(row['after'])}"
    layers = data.get("train_layers")
    for event in trace.of("dropout"):
        number = event.data["module"]
        if isinstance(layers, list) and number in layers and "zeroed" in event.data:
            module = trace.modules.get(number)
            path = module.path if module is not None and module.path else "dropout"
            yield f"`{path}` set {event.data['zeroed']:.0%} of its input to zero"
            return
