"""Values that take the graph of an earlier step into a later one."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from gradscope.analysis.loop import steps_between
from gradscope.analysis.names import name_of, names_of
from gradscope.analysis.ops import FILLS
from gradscope.analysis.reach import Key, Paths
from gradscope.analysis.text import entered_around, site_of
from gradscope.events import Backward, ErrorRaised, Rooted, Step
from gradscope.model import Graph, Op, Parameter, Site, Value
from gradscope.source import LOOPS
from gradscope.store import Trace

MANY = 5  # passes, each of which goes further back than the one before
CACHES = (
    "get_cached_parametrization"  # torch's function that makes a parametrized tensor, or gives the kept one
)
_VARIABLES = (ast.Name, ast.Attribute, ast.Subscript)


@dataclass
class LongerPasses:
    """Passes of one line, each of which goes through all that the last one went through and what was
    added since, without an optimizer's step between."""

    passes: list[Backward]
    nodes: list[int]  # that each of them visits
    taken_in: Op  # the call that takes the old state in
    state: Value
    updated: bool = False  # by the program's own hand, after each of them


class Carried(NamedTuple):
    """A value with an old graph that a pass went through."""

    value: Value
    readers: list[Op]  # the calls that took it in, on the way of that pass


def all_carried(known: Paths, event: Rooted) -> list[Carried]:
    """The values with an old graph that the pass of `event` went through."""
    if event.graph < 0:
        return []
    graph = known.graph(event.graph)
    roots = event.roots or event.inputs
    nodes = known.reach((event.graph, root) for root in roots).nodes
    found = []
    for value in graph.values:
        if value.kind == "carried" and value.index not in roots and (event.graph, value.node) in nodes:
            readers = [
                op
                for op in graph.consumers.get(value.index, ())
                if any((event.graph, node) in nodes for node in op.nodes)
            ]
            if readers:
                found.append(Carried(value, readers))
    return found


def carried_into(known: Paths, event: Rooted) -> tuple[Value, Op] | None:
    """The first such value, and the call that took it in."""
    return next(((carried.value, carried.readers[0]) for carried in all_carried(known, event)), None)


def longer_passes(known: Paths) -> Iterator[LongerPasses]:
    """Lines whose passes go back ever further, without a step between: they fill gradients, or the
    program changes parameters by hand after each."""
    for number in known.graph_ids:
        lines: dict[tuple[str, int], list[Backward]] = {}
        for event in known.backwards:
            if event.graph == number and event.roots:
                lines.setdefault(event.site.user.location(), []).append(event)
        for passes in lines.values():
            if len(passes) >= MANY:
                updated = _updated_between(known, number, passes[:MANY])
                fills = all(e.call == "backward" for e in passes)
                found = _longer(known, known.graph(number), passes[:MANY]) if fills or updated else None
                if found is not None:
                    yield LongerPasses(passes, *found, updated)


def _updated_between(known: Paths, number: int, passes: list[Backward]) -> bool:
    written = [e.position for e in known.updates if e.graph == number]
    return all(any(a.position <= at <= b.position for at in written) for a, b in pairwise(passes))


def _longer(known: Paths, graph: Graph, passes: list[Backward]) -> tuple[list[int], Op, Value] | None:
    visits = [known.reach((graph.id, root) for root in e.roots).nodes for e in passes]
    shared = [len(a & b) for a, b in pairwise(visits)]
    if any(b <= a for a, b in pairwise(shared)) or not all(e.retain_graph for e in passes[:-1]):
        return None
    last, before = passes[-1], passes[-2].position
    found = None
    for op in graph.ops[before + 1 : last.position + 1]:
        for index in op.inputs:
            state = graph.values[index]
            if state.op is None or state.op > before or state.is_leaf:
                continue
            if (graph.id, state.node) in visits[-1] & visits[-2]:
                return [len(nodes) for nodes in visits], op, state
            if (graph.id, state.node) in visits[-1] and state.op > passes[-3].position:
                found = op, state  # made beside the loss of that step: what takes it last goes on with it
    return ([len(nodes) for nodes in visits], *found) if found is not None else None


# -- what a pass found of an earlier step, whose graph was freed -----------------------


class State(NamedTuple):
    """What each step makes from its own last value."""

    names: tuple[str, ...]
    site: Site  # the user's line that takes it in and keeps its new value
    carried: Carried
    maker: Op


class Made(NamedTuple):
    """A value that an earlier step made."""

    name: str
    site: Site  # where it is kept under that name
    key: Key


class Cached(NamedTuple):
    """What `torch.nn.utils.parametrize.cached()` keeps for several passes."""

    block: Site  # the call that the user's `with` enters
    maker: Op


class Behind(NamedTuple):
    """The leaves that such values were computed from."""

    leaves: list[Parameter]
    needed: list[Parameter]  # whose gradient somebody wants
    resting: bool  # there are such, and none of them is trained any more since the values were made
    complete: bool  # nothing of the way to them is unknown


def carried_from_seen(known: Paths, event: ErrorRaised) -> list[Carried]:
    """The values with an old graph that the failing pass of `event` went through and that were seen being made."""
    return [one for one in all_carried(known, event) if known.maker(_old(known, event, one)) is not None]


def _old(known: Paths, event: ErrorRaised, carried: Carried) -> Key:
    """The value whose graph an earlier pass had been through: it, or what it was computed from."""
    key = known.made((event.graph, carried.value.index))
    return known.nearest(key, _earlier_nodes(known, event)) or key


def _earlier_nodes(known: Paths, event: ErrorRaised) -> frozenset[Key]:
    line = event.site.user.location()
    passes = [e for e in known.backwards if e.segment <= event.segment and e.site.user.location() == line]
    return known.reach((e.graph, root) for e in passes[-1:] for root in e.roots).nodes


def filled_by(trace: Trace, carried: Carried) -> tuple[Op, ast.Call] | None:
    """The call `h.zero_()`, where that is all that takes the old value in: it sets the values anew, and not the
    graph."""
    op = carried.readers[0]
    if len(carried.readers) > 1 or op.name not in FILLS or carried.value.index not in op.writes:
        return None
    call = trace.source_file(op.site.user.path).at(op.site.user)
    named = isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == op.name
    return (op, call) if named and isinstance(call, ast.Call) else None


def cached_by(trace: Trace, known: Paths, event: ErrorRaised, carried: Carried) -> Cached | None:
    """The block that keeps the value, where a parametrization made it and torch gave out the kept one since."""
    maker = known.maker(_old(known, event, carried))
    stack = maker.site.stack if maker is not None else ()
    if maker is None or not any(f.function.endswith(CACHES) and f.kind == "torch" for f in stack):
        return None
    block = entered_around(trace, reversed(event.site.stack), "cached")
    return Cached(block, maker) if block is not None else None


def state_of(trace: Trace, known: Paths, event: ErrorRaised, carried: Carried) -> State | None:
    """The value as a state, where the line that takes it in gives it its next value."""
    maker = known.maker(_old(known, event, carried))
    assert maker is not None, "asked only for what was seen being made"
    own = name_of(trace, known.graph(event.graph), carried.value.index)
    made = {line_of(trace, frame) for frame in maker.site.stack if frame.kind == "user"}
    held = own is not None and own.startswith("self.")  # no argument brings in what a module holds
    for reader in carried.readers:
        for frame in since_apart(reader.site, event.site):
            names = _read_and_kept(trace, frame)
            if held or line_of(trace, frame) not in made:
                names = [name for name in names if name == own]
            if names:
                return State(tuple(names), frame, carried, maker)
    return None


def since_apart(site: Site, other: Site) -> Iterator[Site]:
    """The user's frames of `site`, outermost first, from where its stack leaves that of `other`."""
    shared = {(frame.id, frame.location()) for frame in other.stack}
    return (f for f in site.stack if f.kind == "user" and (f.id, f.location()) not in shared)


def line_of(trace: Trace, site: Site) -> tuple[str, int]:
    """The file and first line of the statement at `site`."""
    statement = trace.source_file(site.path).statement(site)
    return site.path, statement.lineno if statement is not None else site.line


def _read_and_kept(trace: Trace, site: Site) -> list[str]:
    """`h` of `out, h = cell(x, h)`, the statement at `site`; also where the statement after it is what keeps it:
    `self.h, self.c = state` behind `out, state = cell(x, (self.h, self.c))`."""
    file = trace.source_file(site.path)
    statement = file.statement(site)
    if isinstance(statement, ast.AugAssign):
        return [ast.unparse(statement.target)]
    if not isinstance(statement, (ast.Assign, ast.AnnAssign)) or statement.value is None:
        return []
    kept, after = _kept(statement), file.after(statement)
    if isinstance(after, ast.Assign) and isinstance(after.value, ast.Name) and after.value.id in kept:
        kept += _kept(after)
    read = {ast.unparse(n) for n in ast.walk(statement.value) if isinstance(n, _VARIABLES)}
    return [name for name in dict.fromkeys(kept) if name in read]


def kept_behind(trace: Trace, state: State) -> Site | None:
    """The statement behind the one that takes a state in, where that is what keeps its new value."""
    file = trace.source_file(state.site.path)
    statement = file.statement(state.site)
    if not isinstance(statement, (ast.Assign, ast.AnnAssign)) or set(state.names) <= set(_kept(statement)):
        return None
    after = file.after(statement)
    return site_of(state.site.path, state.site.function, after) if after is not None else None


def _kept(statement: ast.Assign | ast.AnnAssign) -> list[str]:
    """The variables and attributes that an assignment gives values to."""
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    return [
        ast.unparse(n)
        for target in targets
        for n in ast.walk(target)
        if isinstance(n, _VARIABLES) and isinstance(n.ctx, ast.Store)
    ]


def times_taken(graph: Graph, reader: Op) -> int:
    """How often the line that takes a state in ran for it in this step."""
    line = reader.site.user
    return sum(
        op.name == reader.name and op.module == reader.module and op.site.user == line for op in graph.ops
    )


def made_again(known: Paths, event: ErrorRaised, carried: Carried) -> bool:
    """Whether the line that made it ran in the failing step too."""
    maker = known.maker(_old(known, event, carried))
    graph = known.graph(event.graph)
    return maker is not None and any(
        op.site.user.location() == maker.site.user.location() for op in graph.ops
    )


def made_by(trace: Trace, known: Paths, event: ErrorRaised, carried: Carried) -> Made:
    """Where the value was made, or what of it an earlier pass had been through."""
    key = number, index = _old(known, event, carried)
    graph = known.graph(number)
    maker = known.maker(key)
    assert maker is not None, "asked only for what was seen being made"
    found = names_of(trace).assignment(graph, maker, graph.values[index])
    effect = event.site.user
    beside_it = maker.site.frames_in(effect)
    itself = known.made((event.graph, carried.value.index)) == key
    name = name_of(trace, *(known.graph(event.graph), carried.value.index) if itself else (graph, index))
    return Made(*found, key) if found is not None else Made(name, next(beside_it, maker.site.entry), key)


def behind(trace: Trace, known: Paths, event: ErrorRaised, made: Sequence[Made]) -> Behind:
    """What these values were computed from, and whether anybody trains it."""
    reach = known.reach(one.key for one in made)
    leaves = {p.id: p for key in reach.leaves if (p := known.parameter_of(key)) is not None}
    leaves |= {id: known.parameters[id] for id in reach.parameters if id in known.parameters}
    needed = [p for p in leaves.values() if _needed(p)]
    resting = bool(needed) and all(_rests(trace, known, event, p, made) for p in needed)
    return Behind(list(leaves.values()), needed, resting, reach.complete)


def _needed(parameter: Parameter) -> bool:
    """Whether somebody wants its gradient: an optimizer, a module, or a line that reads it."""
    held = parameter.optimizers or parameter.module is not None
    return bool(held or parameter.reads or parameter.taken or parameter.handed)


def _rests(
    trace: Trace, known: Paths, event: ErrorRaised, parameter: Parameter, made: Sequence[Made]
) -> bool:
    """Whether only other parameters are trained since these values were made: an optimizer has stepped, and none
    that holds this one, nor does any in the loop around the failing pass."""
    if parameter.reads or parameter.taken or parameter.handed or parameter.updates:
        return False
    numbers = {known.made(one.key)[0] for one in made}
    first = max((s.index for s in trace.segments if s.graph in numbers), default=None)
    if first is None:
        return False
    held = set(parameter.optimizers)
    since = {step.optimizer for _, step in steps_between(trace, first)}
    if not since or since & held or not all(trace.optimizers[number].steps for number in held):
        return False  # one that is still to step may use what this pass gives
    steps = [step for step in trace.of(Step) if step.optimizer in held]
    for frame in event.site.stack:
        loop = trace.source_file(frame.path).outermost_loop(frame) if frame.kind == "user" else None
        if any(_within(loop, frame, other) for step in steps for other in step.site.stack):
            return False
    return True


def _within(loop: ast.stmt | None, frame: Site, other: Site) -> bool:
    """Whether `other` stands in this loop around `frame`, where that is one."""
    span = (loop.lineno, loop.end_lineno or loop.lineno) if isinstance(loop, LOOPS) else (0, 0)
    return other.path == frame.path and span[0] <= other.line <= span[1]
