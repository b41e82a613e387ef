"""Terms of a loss that were taken out of the graph: they change its number, and train less than they were made of."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Set
from functools import partial
from typing import NamedTuple

from gradscope.analysis.cuts import Cut, cut_kind, cuts, differentiates, nearest
from gradscope.analysis.gradients import gradients
from gradscope.analysis.loop import steps_between
from gradscope.analysis.memo import once
from gradscope.analysis.names import names_of
from gradscope.analysis.numbers import entered, real, taken_out, without_past
from gradscope.analysis.ops import ARRAYS, PASSING, SCALES, SUMS, WRITES_OF_PARTS, ZERO_GRADIENT
from gradscope.analysis.own_writes import kept_up
from gradscope.analysis.policies import is_part_of
from gradscope.analysis.reach import Key, Paths, paths
from gradscope.analysis.terms import terms
from gradscope.analysis.words import holds
from gradscope.events import Backward
from gradscope.model import Graph, Op, Site
from gradscope.source import SourceFile, names_in
from gradscope.store import Trace

KINDS = ("detach", "no_grad", "inference_mode", "grad")
MAX_DEEP = 60  # sums that are followed from a loss back to its terms


class Constant(NamedTuple):
    """A term that was cut from parameters which the other terms of its loss train, or would, without a cut of their
    own."""

    cut: Op
    kind: str  # as `Cut.kind`; "grad": without `create_graph`; "number": one is added; "numpy": of an array
    site: Site  # the cut, or the block that makes it
    added: Site  # where it is added
    loss: Backward
    parameters: frozenset[int]  # that it was computed from, and does not train
    idle: frozenset[int]  # that it gives gradients which the next step does not use
    name: str  # the user's, of the term; "" where it has none
    lines: frozenset[tuple[str, int]]  # where its graph was built, which no pass goes through
    back: tuple[Site, ...] = ()  # where its numbers came back as new tensors
    also: tuple[Site, ...] = ()  # further `detach()` that it was cut by
    elsewhere: Site | None = None  # what cuts the other terms from these parameters, if anything does


def constants(known: Paths) -> Iterator[Constant]:
    """Once per line of a cut."""
    told: set[tuple[str, int]] = set()
    used, whole = used_in_passes(known.trace), _lines_seen_whole(known)
    for root, events in known.roots.items():
        stepped = frozenset().union(*(used.get((event.graph, event.roots), ()) for event in events))
        trained = known.reach([root], ZERO_GRADIENT).parameters & stepped
        if not trained or not whole or not known.reach([root]).complete:
            continue
        gone = _cut_from(known, events[0])
        for found in (
            *_tensors(known, root, events[0], trained, gone),
            *_arrays(known, root, events[0], trained),
            *_numbers(known, root, events[0], trained),
        ):
            if found.site.location() not in told:
                told.add(found.site.location())
                yield found


def _lines_seen_whole(known: Paths) -> bool:
    """Whether the way of each pass was seen to its end, or that of another one that did the same: where sampling
    wakes in the middle of a step, the graph before it was not seen."""
    seen: dict[bool, set[tuple[object, ...]]] = {True: set(), False: set()}
    if known.reached.complete:
        return True
    for root, events in known.roots.items():
        complete = known.reach([root]).complete
        seen[complete].update((e.site.user.location(), frozenset(e.filled)) for e in events)
    return seen[False] <= seen[True]


@once
def used_in_passes(trace: Trace) -> dict[tuple[int, tuple[int, ...]], set[int]]:
    """Graph and roots of a pass → parameters whose gradients from it a step, or an update by hand, used."""
    found: dict[tuple[int, tuple[int, ...]], set[int]] = {}
    for fill in gradients(trace).fills:
        found.setdefault((fill.event.graph, fill.event.roots), set()).update(fill.used)
    return found


def _cut_from(known: Paths, loss: Backward) -> dict[int, Cut]:
    """The parameters that no pass reaches since something cuts them from this one's loss, with what does."""
    line, held = loss.site.user.location(), kept_up(known.trace)
    return {
        p.id: cut
        for cut in cuts(known.trace)
        if cut.known is known and cut.loss is not None and cut.loss.site.user.location() == line
        for p in cut.parameters
        if p.id not in held
    }


def _tensors(
    known: Paths, root: Key, loss: Backward, trained: frozenset[int], gone: dict[int, Cut]
) -> Iterator[Constant]:
    parts = terms(known, root, of_samples=True)
    if len(parts) < 2 or not is_cut(known, root):
        return
    for part in parts:
        if known.parameter_of(part) is not None or _of_before(known, part, parts):
            continue
        found = [
            (cut, output, "grad" if differentiates(cut) else cut_kind(known.trace, known, cut, output))
            for cut, output in nearest(known, part, partial(_ends, known))
        ]
        if not found or any(kind not in KINDS for _, _, kind in found):
            continue
        reached_at_all = known.reach([part]).parameters
        if reached_at_all and reached_at_all <= trained and all(kind != "grad" for _, _, kind in found):
            continue  # nothing of it is idle: asked first, as what stands before each cut may be all of a step
        if _meant_for_others(known, part, found, trained):
            continue  # what was meant to carry the gradient may be cut there, beside a weight that is detached
        own = {cut.site.user.location() for cut, _, _ in found} | {
            _site(known, cut, kind).location() for cut, _, kind in found
        }
        beside = {id: other for id, other in gone.items() if own.isdisjoint(_lines(other))}
        for cut, output, kind in found:
            reached = reached_at_all - (_asked(known, cut) if kind == "grad" else set())
            if _by(known, cut, kind).kind == "torch" and kind != "grad":
                continue
            before = list(known.flow((output[0], i) for i in cut.inputs).order)
            behind = known.parameters_in(before)
            lost = (behind & trained) - reached or (behind & beside.keys()) - reached
            if not lost or (reached & trained) - behind or not set(parts).isdisjoint(before):
                continue
            if (
                _added_back(known, output, before)
                or _kept(known, output)
                or _of_older(known, cut, loss, lost)
            ):
                continue
            if kind != "grad" and any(_learned(known, (output[0], i)) for i in cut.inputs):
                continue
            idle = frozenset(reached - trained)
            if idle and not any(known.trace.parameter(id).optimizers for id in idle):
                continue  # nothing trains them at all, which is another matter
            if not reached or (idle and idle & _between(known, output, part)):
                site = _site(known, cut, kind)
                name = names_of(known.trace).name(known.graph(part[0]), part[1]) or ""
                other = next((beside[id].site for id in sorted(lost - trained)), None)
                places = {one.site.user.span(): one.site.user for one, _, again in found if again == kind}
                also = [one for span, one in sorted(places.items()) if span != site.span()]
                yield Constant(
                    cut, kind, site, _added(known, part), loss, frozenset(lost), idle, name, frozenset(),
                    also=tuple(also) if kind == "detach" else (), elsewhere=other,
                )  # fmt: skip


def _of_before(known: Paths, part: Key, parts: Iterable[Key]) -> bool:
    """Whether this is the log-probability that a distribution of before gave, and the loss has one with its graph
    beside it: the estimate of how far the two are apart."""
    given = [
        maker is not None and is_part_of(maker.site, "log_prob")
        for maker in (known.maker_behind(key, PASSING) for key in (part, *parts))
    ]
    return given[0] and any(
        log and known.value(other).requires_grad for log, other in zip(given[1:], parts, strict=True)
    )


def _of_older(known: Paths, cut: Op, loss: Backward, ids: Set[int]) -> bool:
    """Whether these parameters were stepped between the cut and the last pass: what was kept of them is a constant by
    then, with a graph or without."""
    if cut.graph == loss.graph:
        return False
    last = max(
        (s for s in known.trace.segments if s.graph == loss.graph), key=lambda s: s.index, default=None
    )
    if last is None:
        return False
    ran = (s.index for s in known.trace.segments if s.graph == cut.graph and s.index <= last.index)
    steps = steps_between(known.trace, max(ran, default=last.index), last.index + (last.repeat > 1))
    return any(ids & step.fresh for _, step in steps)


def _lines(cut: Cut) -> set[tuple[str, int]]:
    return {cut.site.location(), *(op.site.user.location() for op in (*cut.ends.values(), *cut.also))}


def _asked(known: Paths, cut: Op) -> set[int]:
    """What a derivative is taken with respect to, where these are data: a term may hold them too."""
    asked = (known.parameter_of((cut.graph, index)) for index in cut.inputs[1:])
    return {p.id for p in asked if p is not None and not p.optimizers}


def _arrays(known: Paths, root: Key, loss: Backward, trained: frozenset[int]) -> Iterator[Constant]:
    """Terms without any graph, made of tensors that the text makes of the arrays of values with one."""
    graph = known.graph(root[0])
    exits = [(op, cut) for op, cut in taken_out(graph) if op.name in ARRAYS]
    parts = terms(known, root, of_samples=True) if exits else []
    for part in parts if len(parts) > 1 else ():
        if part[0] != graph.id or graph.values[part[1]].requires_grad:
            continue
        back = [
            (value.site.user, op, cut)
            for number, index in known.flow([part]).order
            if number == graph.id and without_past(graph, index) and real(graph.values[index].dtype)
            if (value := graph.values[index]).site is not None
            for op, cut in exits
            if op.index < entered(graph, index) and _made_of(known, value.site.user, op)
        ]
        values = [(graph.id, i) for _, _, cut in back for i in cut.inputs]
        before = known.flow(values).order
        lost = frozenset(known.parameters_in(before) & trained)
        if not lost or not before.keys().isdisjoint(parts) or any(_learned(known, key) for key in values):
            continue
        op, name = back[0][1], names_of(known.trace).name(graph, part[1]) or ""
        yield Constant(
            op, "numpy", op.site.user, _added(known, part), loss, lost, frozenset(), name, _built(known, before),
            tuple({site.span(): site for site, _, _ in back}.values()),
        )  # fmt: skip


def _made_of(known: Paths, made: Site, exit: Op) -> bool:
    """Whether the expression that made a tensor holds the call that gave the array, or reads the array's name."""
    place = exit.site.user
    if holds(made, place):
        return True
    if (made.path, made.function) != (place.path, place.function):
        return False
    file = known.trace.source_file(made.path)
    name, node = file.variable(place), file.at(made)
    read = names_in(node) if node is not None else set()
    return name in read


def _meant_for_others(
    known: Paths, part: Key, found: list[tuple[Op, Key, str]], trained: frozenset[int]
) -> bool:
    """Whether the term would train other parameters, which no pass reaches since another cut on its way takes them
    out: it is that one which leaves the term a constant."""
    here, before = {(cut.graph, cut.index) for cut, _, _ in found}, known.flow([part]).order
    return any(
        cut.output in before
        and (cut.op.graph, cut.op.index) not in here
        and not trained & {p.id for p in cut.parameters}
        for cut in cuts(known.trace)
    )


def is_cut(known: Paths, root: Key) -> bool:
    """Whether a way back from a loss ends anywhere although something before requires a gradient."""
    for number, index in known.flow([root]).order:
        graph = known.graph(number)
        maker = graph.maker(index) if not graph.values[index].requires_grad else None
        if maker is not None and any(graph.values[i].requires_grad for i in maker.inputs):
            return True
    return False


def _ends(known: Paths, op: Op, key: Key, tracked: list[Key]) -> bool:
    """Whether the way back ends at this op, although something before it requires a gradient."""
    return bool(tracked) and not known.value(key).requires_grad


def _added_back(known: Paths, output: Key, before: list[Key]) -> bool:
    """Whether the cut value is added to one that it was computed from: a straight-through estimator."""
    graph = known.graph(output[0])
    readers = [op for op in graph.consumers.get(output[1], ()) if op.name in SUMS]
    return any((graph.id, i) in before for op in readers for i in op.inputs)


def _kept(known: Paths, output: Key) -> bool:
    """Whether the cut value, or a part of it, is written into a tensor that outlives the step (a memory bank): with its
    graph it would bring that into the next one."""
    graph = known.graph(output[0])
    for index, op in graph.readers_behind([output[1]], lambda op: op.name in PASSING):
        if op.name in WRITES_OF_PARTS and op.writes and op.writes[0] != index:
            held = known.memory(graph.id, op.writes[0])
            if graph.values[held].op is None or (graph.id, held) in _carried_on(known.trace):
                return True
    return False


@once
def _carried_on(trace: Trace) -> set[Key]:
    """What later steps know of the values of earlier ones, by the first value of their memory."""
    known = paths(trace)
    origins = (value.origin for number in known.graph_ids for value in known.graph(number).values)
    return {(origin[0], known.memory(*origin)) for origin in origins if origin is not None}


def _learned(known: Paths, key: Key) -> bool:
    """Whether a single number is itself a part of what some pass goes through."""
    value = known.value(key)
    return not value.shape and value.node is not None and (key[0], value.node) in known.reached.nodes


def _between(known: Paths, output: Key, part: Key) -> set[int]:
    """The parameters that the way from a cut value to its term meets."""
    own = set(known.flow([part]).order)
    found: set[int] = set()
    todo, seen = [output], {output}
    while todo:
        for target, op in known.used.feeds.get(todo.pop(), ()):
            if target in own and target not in seen:
                seen.add(target)
                todo.append(target)
                for i in op.inputs if op is not None else ():
                    if (p := known.parameter_of((target[0], i))) is not None:
                        found.add(p.id)
    return found


def _site(known: Paths, cut: Op, kind: str) -> Site:
    return _by(known, cut, kind).user


def _by(known: Paths, cut: Op, kind: str) -> Site:
    """The call that cuts, or that of the block in which nothing has a graph."""
    if kind in ("detach", "grad") or cut.region is None:
        return cut.site
    region = known.trace.regions.get(cut.region)
    return region.site if region is not None else cut.site


def _added(known: Paths, part: Key) -> Site:
    value = known.value(part)
    return value.site.entry if value.site is not None else known.graph(part[0]).ops[value.op or 0].site.user


def _numbers(known: Paths, root: Key, loss: Backward, trained: frozenset[int]) -> Iterator[Constant]:
    """Plain numbers of values that no pass goes through, added to the loss."""
    graph = known.graph(root[0])
    exits: dict[tuple[str, int], list[tuple[Op, Op]]] = {}
    for op, cut in taken_out(graph):
        if (
            op.name in ("item", "__float__")
            and op.site.user.kind == "user"
            and not _passed(known, graph, cut)
        ):
            exits.setdefault(op.site.user.location(), []).append((op, cut))
    sums = list(_sums(known, root)) if exits else []
    for line in exits.values():
        (last, cut), values = line[-1], [(graph.id, i) for _, cut in line for i in cut.inputs]
        before = known.flow(values).order
        behind = known.parameters_in(before)
        added = next((op for op in sums if op.index > last.index and _takes(known, graph, last, op)), None)
        if behind & trained and added is not None:
            place, lost, lines = last.site.user, frozenset(behind & trained), _built(known, before)
            yield Constant(cut, "number", place, added.site.user, loss, lost, frozenset(), "", lines)


def _built(known: Paths, values: Iterable[Key]) -> frozenset[tuple[str, int]]:
    """The user's lines that built graph which no pass goes through, among what made these values."""
    sites = set()
    for number, index in values:
        value = known.graph(number).values[index]
        if value.node is not None and value.site is not None:
            if (number, value.node) not in known.reached.nodes:
                sites.add(value.site)
    return frozenset(f.location() for site in sites for f in site.stack if f.kind == "user")


def _passed(known: Paths, graph: Graph, cut: Op) -> bool:
    """Whether some pass goes through the node of what leaves torch here."""
    nodes = (graph.values[i].node for i in cut.inputs)
    return any(node is None or (graph.id, node) in known.reached.nodes for node in nodes)


def _sums(known: Paths, root: Key) -> Iterator[Op]:
    """The additions of a plain number to a single one, on the way from a loss back to its terms."""
    todo, seen = [root], {root}
    while todo and len(seen) < MAX_DEEP:
        key = todo.pop()
        sources, op = known.sources(key)
        if op is None or any(known.graph(g).values[v].shape not in ((), (1,)) for g, v in sources):
            continue
        if op.name in SUMS and len(sources) == 1 and key[0] == root[0]:
            yield op
        if op.name in SUMS or (op.name in SCALES and len(sources) == 1):
            fresh = [source for source in sources if source not in seen]
            seen.update(fresh)
            todo += fresh


def _takes(known: Paths, graph: Graph, exit: Op, added: Op) -> bool:
    """Whether the number of `exit` is what `added` adds to a tensor: its call stands in that operand, or in a
    function that is called there, or the operand reads the name that the number was given."""
    place = added.site.user
    file = known.trace.source_file(place.path)
    node = file.at(place)
    operands = [node.value] if isinstance(node, ast.AugAssign) else []
    operands += [node.left, node.right] if isinstance(node, ast.BinOp) else []
    frames = list(exit.site.frames_in(place))
    named = {name for frame in frames for name in _given(file.statement(frame))}
    later = [f for op in graph.ops[exit.index + 1 :] if op.outputs for f in op.site.stack]
    for operand in operands:
        span = _span(place, file, operand)
        if any(holds(span, frame) for frame in later):
            continue  # a tensor
        read = {ast.unparse(n) for n in ast.walk(operand) if isinstance(n, (ast.Name, ast.Attribute))}
        if named & read or any(holds(span, frame) for frame in frames):
            return True
    return False


def _given(statement: ast.stmt | None) -> Iterator[str]:
    """The names that a statement gives a value."""
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    if isinstance(statement, (ast.AugAssign, ast.AnnAssign)):
        targets = [statement.target]
    for target in targets:
        for one in target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]:
            yield ast.unparse(one)


def _span(place: Site, file: SourceFile, node: ast.expr) -> Site:
    return Site(-1, place.path, *file.span(node), place.function, "user")
