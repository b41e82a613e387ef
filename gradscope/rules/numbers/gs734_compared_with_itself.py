"""A term of the loss compares a value with itself: it is the same number whatever the model does.

Why: the distance of a value from itself is zero, and so is its gradient. A distillation whose two sides are both made
of the teacher's scores trains nobody; the other terms of the loss do all the work.

Fix: make one side of what should be compared with the other: the output of the model that is trained.

The same holds for a triplet whose positive is its anchor: it only pushes the negative away.

Measured: in all passes both arguments of the call were the same tensor, or were made by the same calls, written out
twice, of the same tensors; where these calls stand in a function that was called twice, that they were the same
numbers, too; of a difference that is squared, that one side was a view of all of the other; of a triplet, that anchor
and positive were the same numbers in all calls.
Silent on: two calls of a network, which may draw other numbers; the same line run twice, with other numbers each
time; a value beside its own detached self.
"""

import ast
from collections.abc import Iterator

from gradscope.analysis.counted import is_at_least
from gradscope.analysis.names import names_of
from gradscope.analysis.ops import (
    ALIASES,
    COMPARING_LOSSES,
    NORMS,
    PASSING,
    SUBTRACTIONS,
)
from gradscope.analysis.reach import Paths, passes, paths
from gradscope.analysis.words import code, located, plural
from gradscope.analysis.written_twice import Made, both_made, written_twice
from gradscope.events import Twins
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding, Graph, Op
from gradscope.rules import rule
from gradscope.source import names_in
from gradscope.store import Trace

ENOUGH = 5  # passes
FEW = 3  # of one tensor, which no number has to show
EVEN = NORMS | {"pow", "square", "abs", "norm"}  # what makes a distance of a difference
TWINS = {"triplet_margin_loss", "triplet_margin_with_distance_loss", "pairwise_distance"}
_WHOLE = {"__getitem__", "narrow", "view", "view_as", "reshape"}  # may show all of what they are given
_UNSET = {"softmax", "log_softmax", "sigmoid", "tanh", "relu"}  # give the same of the same


def bad() -> None:
    import torch
    from torch import nn

    teacher, student = nn.Linear(4, 3), nn.Linear(4, 3)
    opt = torch.optim.SGD(student.parameters(), lr=0.1)
    for _ in range(6):
        x, target = torch.randn(16, 4), torch.randint(0, 3, (16,))
        with torch.no_grad():
            wanted = teacher(x)
        output = student(x)
        soft_targets = nn.functional.log_softmax(wanted / 2, dim=-1)
        soft = nn.functional.log_softmax(wanted / 2, dim=-1)  # cause: GS734
        like = nn.functional.kl_div(soft, soft_targets, log_target=True)  # effect: GS734
        loss = 0.9 * like + 0.1 * nn.functional.cross_entropy(output, target)
        opt.zero_grad()
        loss.backward()
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    teacher, student = nn.Linear(4, 3), nn.Linear(4, 3)
    opt = torch.optim.SGD(student.parameters(), lr=0.1)
    for _ in range(6):
        x, target = torch.randn(16, 4), torch.randint(0, 3, (16,))
        with torch.no_grad():
            wanted = teacher(x)
        output = student(x)
        soft_targets = nn.functional.log_softmax(wanted / 2, dim=-1)
        soft = nn.functional.log_softmax(output / 2, dim=-1)
        like = nn.functional.kl_div(soft, soft_targets, log_target=True)
        loss = 0.9 * like + 0.1 * nn.functional.cross_entropy(output, target)
        opt.zero_grad()
        loss.backward()
        opt.step()


@rule("GS734", name="compared-with-itself", severity="warning")
def compared_with_itself(trace: Trace) -> Iterator[Finding]:
    known = paths(trace)
    lines: dict[tuple[str, int], list[Op]] = {}
    for _, op in known.used_calls(COMPARING_LOSSES | {"kl_div"}):
        if op.site.kind == "user" or op.site.user.kind == "user":
            lines.setdefault(op.site.user.location(), []).append(op)
    for ops in lines.values():
        if all(_with_itself(known, op) for op in ops):
            count = sum(graph.count for graph in trace.graphs if graph.id in {op.graph for op in ops})
            if count >= ENOUGH:
                yield _finding(trace, known, ops[0], count)
    yield from _differences(trace, known)
    yield from _views(trace, known)
    yield from _twins(trace, known)


def _differences(trace: Trace, known: Paths) -> Iterator[Finding]:
    """Distances that are written out, or losses of two values, whose two sides one function made of the same values
    with the same numbers."""
    equal = {event.site.id: event.calls for event in trace.of(Twins) if event.calls >= ENOUGH}
    told: set[tuple[str, int]] = set()
    for _, op in known.used_calls(SUBTRACTIONS | COMPARING_LOSSES) if equal else ():
        graph, place = known.graph(op.graph), op.site.user
        if op.site.id not in equal or len(op.inputs) < 2 or place.location() in told:
            continue
        one, other = op.inputs[:2]
        readers = [
            reader.name for _, reader in graph.readers_behind(op.outputs, lambda op: op.name in PASSING)
        ]
        if op.name in SUBTRACTIONS and EVEN.isdisjoint(readers):
            continue
        alike = graph.values[one].requires_grad == graph.values[other].requires_grad
        if alike and not _with_itself(known, op) and written_twice(trace, graph, one, other, deep=True):
            told.add(place.location())
            yield _finding(trace, known, op, equal[op.site.id], deep=True)


def _views(trace: Trace, known: Paths) -> Iterator[Finding]:
    """Distances that are written out, of a tensor without a graph from what shows all of it once more."""
    used = {
        op.site.user.location(): op for _, op in known.used_calls(SUBTRACTIONS) if _shown_again(known, op)
    }
    for place, op in used.items():
        ran = [o for g in trace.graphs for o in g.called(SUBTRACTIONS) if o.site.user.location() == place]
        count = sum(graph.count for graph in trace.graphs if graph.id in {o.graph for o in ran})
        first = _shown_again(known, op)
        if first is None or count < FEW or not all(_shown_again(known, o) for o in ran):
            continue
        event, shown = known.loss_of((op.graph, op.outputs[0])), first.site.user
        yield Finding(
            message=f"both sides of {code(trace, op.site.user, 'the difference')} are one tensor: the term is 0,"
            " whatever the model does",
            cause=shown,
            cause_label="shows the whole of what it is compared with",
            effect=op.site.user,
            effect_label="subtracts it from itself",
            related=((event.site.user, "gets no gradient from it"),) if event is not None else (),
            seen=(f"in all {passes(count)} both sides had the same memory, and no graph",),
            fix=f"make one of the two of what should be compared, in place of {located(trace, shown)}",
            count=count,
            subjects=frozenset({("term", *op.site.user.location())}),
        )


def _shown_again(known: Paths, op: Op) -> Op | None:
    """The call that made one side of a difference a view of all of the other, where neither has a graph."""
    graph = known.graph(op.graph)
    readers = (reader.name for _, reader in graph.readers_behind(op.outputs, lambda op: op.name in PASSING))
    if len(op.inputs) != 2 or any(graph.values[i].requires_grad for i in op.inputs):
        return None
    if EVEN.isdisjoint(readers):
        return None
    for view, whole in (op.inputs, op.inputs[::-1]):
        made = graph.maker(view)
        if made is not None and made.name in _WHOLE and made.inputs[0] == whole:
            same = graph.values[view].shape == graph.values[whole].shape
            return made if same and known.memory(graph.id, view) == known.memory(graph.id, whole) else None
    return None


def _twins(trace: Trace, known: Paths) -> Iterator[Finding]:
    """Distances whose two sides were the same numbers in all calls."""
    for event in trace.of(Twins):
        place = event.site.user
        if event.name not in TWINS:
            continue
        used = [op for _, op in known.used_calls({event.name}) if op.site.user.span() == place.span()]
        if not used or event.calls < ENOUGH:
            continue
        triplet = event.name.startswith("triplet")
        loss = known.loss_of((used[0].graph, used[0].outputs[0]))
        yield Finding(
            message=f"{code(trace, place, 'the loss')} is given"
            f" {'a positive that is the anchor itself' if triplet else 'the same numbers as both sides'}:"
            f" their distance is 0, and trains nothing",
            cause=place,
            cause_label="the positive is the anchor" if triplet else "both sides are the same",
            effect=loss.site.user if loss is not None else None,
            effect_label="gets no gradient from that distance",
            seen=(
                f"in all {event.calls} calls looked at the two were equal to the last bit, {plural(event.rows, 'row')}"
                " in all",
            ),
            fix=f"give {located(trace, place)} "
            + (
                "another sample of the anchor's class as its positive"
                if triplet
                else "what is to be compared"
            ),
            count=event.calls,
            subjects=frozenset({("term", *place.location())}),
        )


def _with_itself(known: Paths, op: Op) -> bool:
    graph = known.graph(op.graph)
    if len(op.inputs) < 2 or (op.name == "kl_div" and graph.values[op.outputs[0]].requires_grad):
        return False  # of a divergence's arguments one may be taken for a logarithm, the other not
    first, second = op.inputs[:2]
    if first == second:
        call = known.trace.source_file(op.site.user.path).at(op.site.user)
        given = [ast.unparse(a) for a in call.args[:2]] if isinstance(call, ast.Call) else []
        return len(given) == 2 and given[0] == given[1]
    return written_twice(known.trace, graph, first, second) or _of_one_constant(graph, first, second)


def _of_one_constant(graph: Graph, first: int, second: int) -> bool:
    """Whether both are the same functions of one value without a graph, one of them perhaps of its detached self."""
    if graph.values[first].requires_grad or graph.values[second].requires_grad:
        return False
    return _plain_way(graph, first) == _plain_way(graph, second)


def _plain_way(graph: Graph, value: int) -> tuple[list[str], int]:
    """The functions without a setting that a value is the result of, the last one first, and what they were given;
    aliases left out."""
    names: list[str] = []
    while (op := graph.maker(value)) is not None and len(op.inputs) == 1 and not op.writes:
        if op.name not in _UNSET | ALIASES:
            break
        names += [op.name] if op.name in _UNSET else []
        value = op.inputs[0]
    return names, value


def _finding(trace: Trace, known: Paths, op: Op, count: int, deep: bool = False) -> Finding:
    graph, place = known.graph(op.graph), op.site.user
    event = known.loss_of((op.graph, op.outputs[0]))
    differ = op.inputs[0] != op.inputs[1]
    made, again = both_made(trace, graph, op.inputs[0], op.inputs[1], deep) if differ else (None, None)
    trained = known.reach([(op.graph, op.outputs[0])]).parameters
    instead = _instead(trace, graph, op, made)
    here = Source(trace, place.path)
    edits: Edits = ()
    what = code(trace, place, "the loss")
    if made is not None and again is not None:
        shown = code(trace, made.site, "this")
        fix = f"make one of the two of what should be compared: {located(trace, made.site, shown)}"
        if instead is not None:
            old, new = instead
            fix = f"make it of `{new}`, which has the same shape and a graph: {located(trace, made.site, shown)}"
            names = [n for n in ast.walk(made.node) if isinstance(n, ast.Name) and n.id == old]
            edits = here.replace(names[0], new) if len(names) == 1 else ()
    else:
        fix = f"give {what} what the value should be compared with, as one of the two"
    both = (
        "both sides are the same tensor"
        if made is None
        else "both sides are made by the same calls of the same values"
    )
    return Finding(
        message=f"{what} compares a value with itself: the term trains nothing",
        cause=made.site if made is not None else place,
        cause_label="makes again what it is compared with" if made is not None else both,
        effect=place if made is not None else event.site.user if event is not None else None,
        effect_label="compares both" if made is not None else "gets no gradient from it",
        related=((again.site, "the same, once more"),) if again is not None else (),
        seen=(f"in all {passes(count)}{' looked at' if is_at_least(trace, count) else ''} {both}",)
        + (() if trained else ("the term has no graph, no gradient comes back from it",)),
        fix=fix,
        edits=edits,
        count=count,
        subjects=frozenset({("term", *place.location())}),
    )


def _instead(trace: Trace, graph: Graph, op: Op, made: Made | None) -> tuple[str, str] | None:
    """The name that one side reads, and that of the only value of its form with a graph which is there by then."""
    if made is None or len(made.given) != 1:
        return None
    names, old = names_of(trace), graph.values[made.given[0]]
    found = set()
    for value in graph.values:
        maker = graph.maker(value.index)
        if maker is None or maker.index > op.index or not value.requires_grad or value.shape != old.shape:
            continue
        name = names.name(graph, value.index)
        if maker.site.user.kind == "user" and name and name.isidentifier():
            inside = list(maker.site.frames_in(made.site))
            if inside and inside[0].line < made.node.lineno:
                found.add(name)
    read = names.name(graph, old.index) or ""
    return (read, found.pop()) if len(found) == 1 and read in names_in(made.node) else None
