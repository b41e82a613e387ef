"""Losses that compare a network's prediction with a target made of its own estimate, with its graph."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from gradscope.analysis.calls import Call, Calls
from gradscope.analysis.memo import once
from gradscope.analysis.ops import (
    ADDITIONS,
    ALIASES,
    COMPARING_LOSSES,
    PASSING,
    POWERS,
    SCALES,
    SUBTRACTIONS,
    SUMS,
    WRITES_OF_PARTS,
)
from gradscope.analysis.reach import Key, Paths
from gradscope.analysis.writes import memory_root
from gradscope.model import Graph, Op
from gradscope.store import Trace

CARRY = (
    SUMS | SCALES | WRITES_OF_PARTS | {"stack", "cat", "view", "reshape", "squeeze", "unsqueeze", "flatten"}
)
MAX_HOPS = 200
DEEP = 20  # forms between a loss and the sum that makes its target


@dataclass
class Bootstrap:
    """A loss that compares a prediction with a target made by the same network."""

    loss: Op
    made: Op  # the sum that makes the target
    call: Call
    shared: frozenset[int]
    way: frozenset[tuple[str, int]]  # lines that made what the target has of the network
    serves: bool  # more than the target comes from the call's line: the prediction, it may be
    operand: Op | None  # gives the network's part in the statement that makes the target
    total: int | None  # value that such differences were added up to, where the loss takes that
    times: int


class Sum(NamedTuple):
    """The sum that makes a loss's target: of data and of what a network estimates."""

    made: Op
    data: Key
    estimate: Key
    prediction: Key  # what the loss compares with the target


def sums(known: Paths, *, with_graph: bool = False, of_data: bool = True) -> Iterator[Sum]:
    """The targets without a graph that are sums of data and of a network's estimate, or those that have one, too.
    of_data: what is added has nothing of a network; where a program keeps what it did, a reward comes of its actions.
    """
    for op, sources, prediction in added(known, with_graph=with_graph):
        for estimate, data in (sources, sources[::-1]):
            if known.fed_by(estimate) and not (of_data and known.fed_by(data)):
                yield Sum(op, data, estimate, prediction)


def added(known: Paths, *, with_graph: bool = False) -> Iterator[tuple[Op, list[Key], Key]]:
    """The sums of two values outside of modules that losses take for their targets: both, and the prediction."""
    for number in known.graph_ids:
        graph = known.graph(number)
        for op in graph.called(COMPARING_LOSSES | SUBTRACTIONS):
            sides = [
                (target, prediction)
                for target, prediction in ((op.inputs[1::-1], op.inputs[:2]) if len(op.inputs) > 1 else ())
                if graph.values[prediction].requires_grad
                and (with_graph or not graph.values[target].requires_grad)
            ]
            if sides and (op.name in COMPARING_LOSSES or squared(known, op)):
                for target, prediction in sides:
                    for made, sources in _added(known, (number, target)):
                        yield made, sources, (number, prediction)


def _added(known: Paths, target: Key) -> Iterator[tuple[Op, list[Key]]]:
    key: Key | None = target
    for _ in range(DEEP):
        sources, op = known.sources(key) if key is not None else ([], None)
        if op is not None and op.name in ADDITIONS:
            if op.module is None and len(sources) == 2:
                yield op, sources
            return
        if op is not None and op.name == "where":  # the reward alone where an episode has ended
            sources = [source for source in sources if known.fed_by(source)]
            sources = sources if len(sources) == 1 else []
        elif op is not None and op.name not in PASSING | ALIASES:
            return
        key = sources[0] if sources else None


def bootstraps(trace: Trace, known: Calls) -> Iterator[tuple[Graph, Bootstrap]]:
    """Losses whose target was bootstrapped from the trained network, once per line."""
    told: set[tuple[str, int]] = set()
    for number in known.paths.graph_ids:
        graph = known.paths.graph(number)
        for op in graph.called(COMPARING_LOSSES | SUBTRACTIONS):
            found = _bootstraps(trace, known, graph, op)
            if found is not None and found.made.site.user.location() not in told:
                told.add(found.made.site.user.location())
                yield graph, found


def _bootstraps(trace: Trace, known: Calls, graph: Graph, op: Op) -> Bootstrap | None:
    if len(op.inputs) < 2 or not op.outputs or (graph.id, op.outputs[0]) not in known.paths.used.order:
        return None
    named = op.name in COMPARING_LOSSES
    sides = op.inputs[:2]
    if not all(graph.values[i].requires_grad and not graph.values[i].is_leaf for i in sides):
        return None
    for target, prediction in (sides[::-1], sides):
        made = _sum_with_data(graph, target)
        if made is None or not (named or squared(known.paths, op)):
            continue
        if not named and not _stands_alone(trace, made, op) and not _steers(known, graph, op):
            continue
        call = _call_behind(known, graph, made)
        if call is None or _its_own_mean(graph, target, prediction, call):
            continue
        paths = known.paths
        own = paths.reach([(graph.id, target)]).parameters
        shared = own & paths.reach([(graph.id, prediction)]).parameters & known.trained
        bootstrapped = own & {p.id for p in known.parameters(call.event)} & known.trained
        if shared and bootstrapped <= shared:
            return Bootstrap(
                op,
                made,
                call,
                frozenset(shared),
                _way(graph, target, call),
                _serves(known, graph, made, call),
                _operand(trace, graph, made),
                None if named else _total(paths, graph, op),
                paths.times_through(graph.id, op.nodes) or graph.count,
            )
    return None


def _serves(known: Calls, graph: Graph, made: Op, call: Call) -> bool:
    """Whether the passes come to the results of the call's line on a way that does not lead through the target."""
    roots = [(e.graph, root) for e in known.paths.backwards if e.graph == graph.id for root in e.roots]
    line = made.site.user.location()  # a loop over the steps of a sequence makes one target of the other
    target = {(graph.id, n) for op in graph.ops if op.site.user.location() == line for n in op.nodes}
    past = known.paths.reach(roots, stop=target).nodes
    return any(
        not _nodes(graph, other).isdisjoint(past)
        for other in known.all
        if other.event.graph == graph.id and other.entry.location() == call.entry.location()
    )


def _nodes(graph: Graph, call: Call) -> set[tuple[int, int]]:
    values = (graph.values[i] for i in call.event.outputs if i < len(graph.values))
    return {(graph.id, value.node) for value in values if value.node is not None}


def _operand(trace: Trace, graph: Graph, made: Op) -> Op | None:
    """The first op of the target's own statement that has a graph from before it: all behind it is the network's."""
    site, found = made.site.user, None
    file = trace.source_file(site.path)
    statement, op = file.statement(site), made
    while True:
        tracked = [i for i in op.inputs if graph.values[i].requires_grad]
        made_by = graph.maker(tracked[0]) if len(tracked) == 1 else None
        inner = made_by.site.user if made_by is not None else None
        if made_by is None or inner is None or inner.path != site.path or made_by.module is not None:
            return found
        if inner.function != site.function or file.statement(inner) is not statement:
            return found
        found = op = made_by


def _total(paths: Paths, graph: Graph, difference: Op) -> int | None:
    """What the difference is added up to with others of its line, where that is squared."""
    place = difference.site.user.location()
    for value in _carries(graph, difference.outputs[0]):
        if any(squares(reader) for reader in graph.consumers.get(value, ())):
            reached = paths.reach([(graph.id, value)]).nodes
            alike = (
                op for op in graph.ops if op.name == difference.name and op.site.user.location() == place
            )
            within = sum(any((graph.id, node) in reached for node in op.nodes) for op in alike)
            return value if within > 1 else None
    return None


def _its_own_mean(graph: Graph, target: int, prediction: int, call: Call) -> bool:
    """Whether the target was computed from the prediction itself, and from no other call of the network."""
    return prediction in graph.upstream(target) and not set(call.event.outputs).isdisjoint(
        graph.upstream(prediction)
    )


def squared(known: Paths, op: Op) -> bool:
    """Whether the difference is squared or made absolute, as a loss does; what it is added up to, too
    (an advantage estimated over several steps)."""
    answers, graph = _squared(known.trace), known.graph(op.graph)
    key = op.graph, op.index
    if key not in answers:
        carried = _carries(graph, op.outputs[0])
        answers[key] = any(squares(r) for value in carried for r in graph.consumers.get(value, ()))
    return answers[key]


@once
def _squared(trace: Trace) -> dict[Key, bool]:
    """What was answered already: many rules ask."""
    return {}


def squares(op: Op) -> bool:
    """Whether it squares a value, or makes it absolute."""
    return op.name in POWERS | {"abs"} or (
        op.name in SCALES and len(op.inputs) == 2 and len(set(op.inputs)) == 1
    )


def _stands_alone(trace: Trace, made: Op, difference: Op) -> bool:
    """Whether a statement of its own makes the target, before it is compared: who means the residual writes
    one difference of both."""
    one, other = made.site.user, difference.site.user
    if one.path != other.path or one.function != other.function:
        return True
    file = trace.source_file(one.path)
    return file.statement(one) is not file.statement(other)


def _steers(known: Calls, graph: Graph, difference: Op) -> bool:
    """Whether a loss also takes the difference without its graph, as an actor takes its advantage."""
    return any(
        reader.cut in ("detach", "data") and (graph.id, reader.outputs[0]) in known.paths.used.order
        for value in _carries(graph, difference.outputs[0])
        for reader in graph.consumers.get(value, ())
    )


def _carries(graph: Graph, value: int) -> Iterator[int]:
    """The value, and what it was added to, scaled with or written into."""
    todo, seen = [value], {value}
    for current in todo:  # grows while it is walked
        if len(seen) >= MAX_HOPS:
            return
        yield current
        for op in graph.consumers.get(current, ()):
            if op.module is None and op.name in CARRY and len(set(op.inputs)) == len(op.inputs):
                new = [i for i in op.outputs or op.written if i not in seen]
                seen.update(new)
                todo += new


def _sum_with_data(graph: Graph, target: int) -> Op | None:
    """The op outside all modules that added data to what a network gave, discounted before."""
    made, scaled = None, False
    todo, seen = [target], {target}
    while todo and len(seen) < MAX_HOPS:
        value = graph.values[todo.pop(0)]
        op = graph.ops[value.op] if value.op is not None else None
        if op is None or op.module is not None:
            continue
        tracked = [i for i in op.inputs if graph.values[i].requires_grad and not graph.values[i].is_leaf]
        data = [
            i for i in op.inputs if not graph.values[i].requires_grad and graph.values[i].kind != "parameter"
        ]
        if op.name in SUMS and len(tracked) == 1 and data and made is None:
            made = op
        scaled = scaled or (made is not None and op.name in SCALES and len(tracked) == 1)
        for index in (*tracked, *_put_into(graph, value.index)):
            if index not in seen:
                seen.add(index)
                todo.append(index)
    return made if scaled else None


def _put_into(graph: Graph, value: int) -> Iterator[int]:
    """What with a graph was written into the memory of a value, as in `target[i] = reward + …`."""
    memory = memory_root(graph, value)
    for op in graph.called(WRITES_OF_PARTS):
        if any(memory_root(graph, w) == memory for w in op.writes):
            yield from (i for i in op.inputs if graph.values[i].requires_grad and i not in op.writes)


def _call_behind(known: Calls, graph: Graph, made: Op) -> Call | None:
    """The last module call before the target through whose output its gradient goes: what only chose the data,
    as a policy chooses its actions, has no part in it."""
    reached = known.paths.reach([(graph.id, made.outputs[0])]).nodes
    for call in reversed(known.all):
        event = call.event
        if event.graph == graph.id and event.position < made.index and _nodes(graph, call) & reached:
            return call
    return None


def _way(graph: Graph, target: int, call: Call) -> frozenset[tuple[str, int]]:
    """The lines between the network's call and the target."""
    after = (graph.values[i].op for i in graph.upstream(target) if graph.values[i].requires_grad)
    ops = (graph.ops[i] for i in after if i is not None and i >= call.event.position)
    return frozenset({op.site.user.location() for op in ops} | {call.entry.location()})
