"""States that a call takes and gives again and again, and that no backward pass of the run goes through."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from gradscope.analysis.loop import settled
from gradscope.analysis.names import names_of
from gradscope.analysis.reach import Paths, paths
from gradscope.analysis.text import site_of
from gradscope.events import Backward, ModuleCall
from gradscope.model import Graph, Site, Value
from gradscope.source import FUNCTIONS, called_name
from gradscope.store import Trace

FEW = 20  # calls in a row
LINKED = 3  # of them whose inputs and outputs are known


class Carried(NamedTuple):
    """One such state: the line of the call, what the program names it there ("" where that is several
    tensors), how many calls made it in a row, and the nodes that it held after the second and the last.

    `rounds` is how many steps had such a row, `on` whether each began with the state of the one before."""

    site: Site
    name: str
    calls: int
    nodes: tuple[int, int]
    rounds: int = 1
    on: bool = False
    kept: Kept | None = None


class Kept(NamedTuple):
    """Where the text takes the state of a call into the next one: the name that stands there."""

    site: Site
    name: str


def carried_for_nothing(trace: Trace) -> Iterator[Carried]:
    """The states whose graph gets longer with each call of a module, and that nothing goes back through."""
    if trace.program.get("exception") is not None:
        return
    by_line: dict[int, list[ModuleCall]] = {}
    for event in trace.of(ModuleCall):
        if event.graph >= 0 and event.grad:
            by_line.setdefault(event.site.id, []).append(event)
    if trace.of(Backward):
        yield from _beside_training(trace, list(by_line.values()))
        return
    for events in by_line.values():
        found = _followed(trace, events)
        if found is not None:
            yield found


def _beside_training(trace: Trace, lines: list[list[ModuleCall]]) -> Iterator[Carried]:
    """The same in a run that trains: no pass of it goes through any of these calls."""
    known = paths(trace)
    if not settled(trace) or not known.reached.complete:
        return
    for events in lines:
        graphs: dict[int, list[ModuleCall]] = {}
        for event in events:
            graphs.setdefault(event.graph, []).append(event)
        if any(_reached(known, event) for event in events):
            continue
        on = [number for number, own in graphs.items() if _continues(trace, own[0], events)]
        found = [
            (one, number)
            for number, own in graphs.items()
            if (one := _followed(trace, own, LINKED if number in on else FEW)) is not None
        ]
        if not found:
            continue
        longest, _ = max(found, key=lambda one: one[0].calls)
        rounds = sum(trace.graph(number).count for _, number in found)
        calls = sum(one.calls * trace.graph(number).count for one, number in found) if on else longest.calls
        yield longest._replace(calls=calls, rounds=rounds, on=bool(on), kept=_kept(trace, longest.site))


def _reached(known: Paths, event: ModuleCall) -> bool:
    """Whether a pass goes through what a call gave."""
    values = known.graph(event.graph).values
    return any((event.graph, values[i].node) in known.reached.nodes for i in event.outputs)


def _continues(trace: Trace, first: ModuleCall, events: list[ModuleCall]) -> bool:
    """Whether the first call of a step is given a state with its graph that the same line made in an earlier one."""
    values = trace.graph(first.graph).values
    for index in first.inputs:
        value = values[index]
        if value.kind == "carried" and value.requires_grad and value.origin is not None:
            made = trace.graph(value.origin[0]).maker(value.origin[1])
            if made is not None and events[0].site.id in {frame.id for frame in made.site.stack}:
                return True
    return False


def _kept(trace: Trace, site: Site) -> Kept | None:
    """Where the text keeps what the call gives as its state, for its next call."""
    file = trace.source_file(site.path)
    call, statement = file.at(site), file.statement(site)
    if not isinstance(call, ast.Call) or not isinstance(statement, ast.Assign):
        return None
    target = statement.targets[0]
    given = [ast.unparse(n) for n in call.args]
    last = target.elts[-1] if isinstance(target, ast.Tuple) else target
    if not isinstance(last, ast.Name):
        return None
    scope = file.scope(site)
    later = [n for n in ast.walk(scope) if isinstance(n, ast.stmt) and n.lineno > statement.lineno]
    for node in later:
        if isinstance(node, ast.Assign) and _is(node.value, last.id):
            if ast.unparse(node.targets[0]) in given or not isinstance(node.targets[0], ast.Name):
                return _kept_at(site, node.value, last.id)
    for node in later:
        inner = node.value if isinstance(node, ast.Expr) else None
        if isinstance(inner, ast.Call) and any(_is(argument, last.id) for argument in inner.args):
            place = [_is(argument, last.id) for argument in inner.args].index(True)
            stored = _stored_by(trace, site, called_name(inner), place, isinstance(inner.func, ast.Attribute))
            if stored is not None:
                return stored
    return None


def _stored_by(trace: Trace, site: Site, name: str, place: int, method: bool) -> Kept | None:
    """Where a function of the same file writes what it is given into an attribute or a container."""
    for function in trace.source_file(site.path).nodes:
        if not isinstance(function, FUNCTIONS) or function.name != name:
            continue
        names = [argument.arg for argument in function.args.args]
        names = names[1:] if method and names[:1] == ["self"] else names
        for node in ast.walk(function):
            if isinstance(node, ast.Assign) and place < len(names) and _is(node.value, names[place]):
                if isinstance(node.targets[0], (ast.Attribute, ast.Subscript)):
                    return _kept_at(site, node.value, names[place])
    return None


def _is(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _kept_at(site: Site, node: ast.expr, name: str) -> Kept:
    return Kept(site_of(site.path, site.function, node), name)


def _followed(trace: Trace, events: list[ModuleCall], least: int = FEW) -> Carried | None:
    links = [
        (first, [i for i in second.inputs if i in first.outputs])
        for first, second in pairwise(events)
        if first.graph == second.graph
    ]
    graph = trace.graph(events[0].graph)
    live = [(first, [i for i in given if graph.values[i].requires_grad]) for first, given in links]
    if len(live) < LINKED or any(first.graph != graph.id or not given for first, given in live[1:]):
        return None
    first, given = live[-1]
    state = graph.values[given[-1]]
    calls, last = _in_a_row(graph, state)
    if calls < least:
        return None
    begun = graph.values[live[1][1][-1]]
    site = events[0].site.user
    targets = (names_of(trace).assigned(site) or "").split(", ")
    whole = len(targets) == len(first.outputs) and len(given) == 1  # else one name may hold several tensors
    name = targets[first.outputs.index(state.index)] if whole else ""
    return Carried(site, name, calls, (_nodes(graph, begun), _nodes(graph, last)))


def _in_a_row(graph: Graph, state: Value) -> tuple[int, Value]:
    """How often the call that made this state was made of its own result, all in all, and the last one."""
    made = graph.ops[state.op] if state.op is not None else None
    if made is None:
        return 0, state
    last, longest = state, 0
    lengths: dict[int, int] = {}  # value → calls behind it
    for op in graph.ops:
        again = op.site.id == made.site.id and op.name == made.name
        length = max((lengths.get(i, 0) for i in op.inputs), default=0) + again
        live = [i for i in (*op.outputs, *op.written) if graph.values[i].requires_grad]
        lengths.update((i, length) for i in live if length)
        if again and live and length > longest:
            longest = length
            last = graph.values[op.outputs[min(state.position, len(op.outputs) - 1)]]
    return longest, last


def _nodes(graph: Graph, value: Value) -> int:
    return len(graph.reachable(value.node)) if value.node is not None else 0
