"""The terms that a loss is the sum of, and those that teach nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from math import prod
from typing import NamedTuple

from gradscope.analysis.cuts import nearest, nearest_cuts
from gradscope.analysis.numbers import entered, real, without_past
from gradscope.analysis.ops import (
    COMPARISONS,
    EXITS,
    MAKERS,
    MEANS,
    PASSING,
    SCALES,
    SUMS,
    TAKING,
    ZERO_GRADIENT,
)
from gradscope.analysis.reach import Key, Paths
from gradscope.events import Backward
from gradscope.model import Graph, Op, Site

MAX_TERMS = 100
OFTEN = 20  # terms of one line that are looked at: what is behind them is much alike
_Taken = tuple[Key, Site, list[Key], Op | None]  # of `Wrapped`: value, made, before, given


class DeadTerm(NamedTuple):
    """A term computed from what is trained, of which no gradient comes back."""

    value: Key
    block: Op  # the op without a gradient
    loss: Backward
    flat: bool  # it has a gradient, which is zero everywhere
    parameters: frozenset[int]
    others: tuple[Op, ...] = ()  # of other lines, that have no gradient either

    def taken_on(self, known: Paths) -> list[Op]:
        """What takes the results of these ops for this term, to compare them, or as numbers that come back as a
        tensor of as many."""
        found: dict[tuple[str, int], Op] = {}
        flow = known.flow([self.value]).order
        outside = [key for key in flow if _comes_from_outside(known, key)]
        for block in (self.block, *self.others):
            graph = known.graph(block.graph)
            left: dict[tuple[str, int], list[Op]] = {}
            for _, op in graph.readers_behind(block.outputs, lambda one: one.name in TAKING | PASSING):
                if op.name in COMPARISONS and any((graph.id, value) in flow for value in op.outputs):
                    found.setdefault(op.site.user.location(), op)
                elif op.name in EXITS:
                    left.setdefault(op.site.user.location(), []).append(op)
            for line, exits in left.items():
                if any(_comes_back_as(known, graph, exits, key) for key in outside):
                    found.setdefault(line, exits[0])
        return list(found.values())


class Wrapped(NamedTuple):
    """A loss, or a term of one, that is a leaf of its own, with the numbers of one that had a graph."""

    value: Key  # the leaf
    made: Site
    loss: Backward
    parameters: frozenset[int]  # that the numbers were computed from; of a term: and others train
    before: tuple[Key, ...]  # the values whose numbers they are
    given: Op | None = None  # the call that gave these numbers, where more was computed of them before


def terms(known: Paths, root: Key, *, of_samples: bool = False) -> list[Key]:
    """The single numbers that `root` adds up, with or without a factor. of_samples: where it is the mean or the sum of
    one number for each sample, what these numbers are added up of."""
    found: dict[Key, None] = {}
    todo, seen = [root], {root}
    while todo and len(seen) < MAX_TERMS:
        key = todo.pop()
        sources, op = known.sources(key)
        parts = sources if op is None else _parts(known, op, sources, of_samples)
        if not parts:
            found[key] = None
        for part in parts:
            if part not in seen:
                seen.add(part)
                todo.append(part)
    return list(found)


def _parts(known: Paths, op: Op, sources: list[Key], of_samples: bool) -> list[Key]:
    shapes = {known.graph(g).values[v].shape for g, v in sources}
    several = {shape for shape in shapes if shape not in ((), (1,))}
    rows = of_samples and len(several) == 1 and all(len(shape) == 1 for shape in several)
    if rows and op.name in MEANS | {"sum"} and len(sources) == 1:
        return sources
    single = not several or rows
    if op.name in SUMS or (op.name in SCALES | {"neg"} and len(sources) == 1) or op.name == "stack":
        return sources if single else []
    if op.name in MEANS | {"sum"} and len(sources) == 1:
        _, maker = known.sources(sources[0])
        return sources if maker is not None and maker.name == "stack" else []
    return []


def dead_terms(known: Paths, cut: str = "nondifferentiable") -> Iterator[DeadTerm]:
    """Terms of losses that were computed from trained parameters through such a cut only (an op
    without a gradient, `.data`), where other terms of the same loss train these parameters."""
    told: set[tuple[str, int]] = set()
    asked = Counter[int]()
    nodes = known.reached.nodes if known.trace.node_names & ZERO_GRADIENT else ()
    flat = {graph for graph, node in nodes if known.graph(graph).nodes[node].name in ZERO_GRADIENT}
    for root, events in known.roots.items():
        parts = terms(known, root)
        if len(parts) < 2 or any(_cut_on_purpose(known, part) for part in parts):
            continue
        trained = known.reach([root], ZERO_GRADIENT).parameters
        without = [part for part in parts if not known.value(part).requires_grad]
        for part in parts:
            if part not in without and part[0] not in flat:
                continue
            made = known.sources(part)[1]
            line = made.site.id if made is not None else -1
            asked[line] += 1
            if asked[line] > OFTEN:
                continue
            beside = [part] if cut == "nondifferentiable" else without
            found = _dead(known, part, events[0], trained, cut, beside)
            if (
                found is not None
                and not _is_a_term(known, found.block, parts)
                and found.block.site.user.location() not in told
            ):
                told.add(found.block.site.user.location())
                yield found


def _is_a_term(known: Paths, block: Op, parts: list[Key]) -> bool:
    """Whether the call that made what was taken out of its graph also makes terms of this loss that have theirs: a loss
    less the one before, which trains by itself."""
    own = {
        op.site.id
        for part in parts
        if known.value(part).requires_grad and (op := known.maker(part)) is not None
    }
    makers = (known.maker((block.graph, value)) for value in block.inputs)
    return any(op is not None and op.site.id in own for op in makers)


def wrapped_terms(known: Paths) -> Iterator[Wrapped]:
    """Terms of losses that were taken out of their graph and put into a new tensor, where other terms
    of the same loss train what they were computed from."""
    for root, events in known.roots.items():
        parts = terms(known, root)
        if len(parts) > 1:
            trained = known.reach([root], ZERO_GRADIENT).parameters
            for part in parts:
                for found in _wrapped(known, part, events[0], trained):
                    if not _of_a_loss(known, found):
                        yield found


def _of_a_loss(known: Paths, found: Wrapped) -> bool:
    """Whether its numbers are a share of a single number that is itself trained: a level that a loss is kept at."""
    flow = known.flow([*found.before]).order
    values = ((key[0], known.value(key)) for key in flow)
    return any(
        value.shape in ((), (1,)) and value.node is not None and (graph, value.node) in known.reached.nodes
        for graph, value in values
    )


def wrapped_losses(known: Paths) -> Iterator[Wrapped]:
    """The same of whole losses: their passes start at a leaf, and end there."""
    for root, events in known.roots.items():
        yield from _wrapped(known, root, events[0], known.parameters.keys())


def _wrapped(known: Paths, value: Key, loss: Backward, among: Collection[int]) -> Iterator[Wrapped]:
    taken: list[_Taken] = [(value, made, before, None) for made, before in _taken(known, value)]
    for leaf, made, before, given in taken or _come_back(known, value):
        behind = known.reach(before).parameters  # or by way of `loss.detach().item()`
        behind = behind or frozenset(known.fed_by(*before))
        stepped = frozenset(
            id
            for id in behind
            if id in among and id in known.parameters and known.stepped(known.parameters[id])
        )
        if stepped:
            yield Wrapped(leaf, made, loss, stepped, tuple(before), given)


def _taken(known: Paths, part: Key) -> Iterator[tuple[Site, list[Key]]]:
    """Where a leaf got the numbers of other values, and those values."""
    graph = known.graph(part[0])
    value = graph.values[part[1]]
    if not value.is_leaf or value.op is None or known.parameter_of(part) is not None:
        return
    maker = graph.ops[value.op]
    if maker.name in MAKERS and not maker.inputs:
        here = maker.site.user.location()
        yield from (
            (maker.site.user, [(graph.id, i) for i in op.inputs])
            for op in graph.ops[: maker.index]
            if op.name in EXITS and op.site.user.location() == here
        )
    for op, (number, _) in nearest_cuts(known, part):
        if op.cut == "rewrap" or (value.requires_grad and op.cut in ("detach", "data")):
            yield op.site.user, [(number, i) for i in op.inputs]


def _comes_from_outside(known: Paths, key: Key) -> bool:
    """Whether the values of a float tensor were put into it outside of torch's calls."""
    value, maker = known.value(key), known.maker(key)
    plain = value.kind == "input" if maker is None else maker.name in MAKERS and not maker.inputs
    return plain and "float" in value.dtype and prod(value.shape) > 1


def _comes_back_as(known: Paths, graph: Graph, exits: list[Op], key: Key) -> bool:
    """Whether these numbers left torch right before a tensor of as many came, in what the same function has called."""
    value = known.value(key)
    given = [graph.values[op.inputs[0]] for op in exits if op.inputs]
    if key[0] != graph.id or value.site is None or sum(prod(one.shape) for one in given) != prod(value.shape):
        return False
    made = value.site.user
    within = all(
        any(f.path == made.path and f.function == made.function for f in op.site.stack) for op in exits
    )
    return within and all(one.index < value.index for one in given)


def _come_back(known: Paths, part: Key) -> Iterator[_Taken]:
    """The same of leaves that were computed from numbers which had left torch, and that were made to require a
    gradient: what `part` goes back to ends there."""
    reach = known.reach([part]) if known.value(part).requires_grad else None
    if reach is None or reach.parameters or not reach.complete:
        return
    for leaf in reach.leaves:
        graph = known.graph(leaf[0])
        flow = known.flow([leaf]).order
        back = [index for number, index in flow if number == graph.id and _made_of_numbers(graph, index)]
        exits = [op for op in graph.called(EXITS) if op.inputs and back]
        for index in back:
            held = prod(graph.values[index].shape)
            before = [op for op in exits if op.index < entered(graph, index)]
            fit = [op for op in before if _could_hold(prod(graph.values[op.inputs[0]].shape), held)]
            required = known.required(leaf) or known.value(leaf).site
            if fit and required is not None:
                yield leaf, required.user, [(graph.id, i) for i in fit[-1].inputs], fit[-1]
                break


def _made_of_numbers(graph: Graph, index: int) -> bool:
    value = graph.values[index]
    return value.op is not None and without_past(graph, index) and real(value.dtype)


def _could_hold(given: int, held: int) -> bool:
    """Whether so many numbers may come of those that left: all of them, or one for every few (a highest one)."""
    return given == held or (held > 1 and given > held and given % held == 0)


def _cut_on_purpose(known: Paths, part: Key) -> bool:
    """Whether a term was itself detached, as straight-through estimators are written."""
    _, op = known.sources(part)
    return op is not None and op.cut not in (None, "nondifferentiable")


def _dead(
    known: Paths, part: Key, loss: Backward, trained: frozenset[int], cut: str, beside: list[Key]
) -> DeadTerm | None:
    value = known.value(part)
    flat = value.requires_grad and not value.is_leaf
    if value.is_leaf and value.requires_grad:
        return None
    if flat and (known.reach([part], ZERO_GRADIENT).parameters or not known.reach([part]).complete):
        return None
    blocks = list(_blocks(known, part))
    if not blocks or any(op.cut != cut and not _rounds(known, key, op) for op, key in blocks):
        return None
    if all(_of_a_library(known, part, op) for op, _ in blocks):
        return None
    behind = known.parameters_in(known.flow(key for _, key in blocks).order)
    lost = behind & trained & {p.id for p in known.parameters.values() if known.stepped(p)}
    if not lost or any(_used_elsewhere(known, key, beside) for _, key in blocks):
        return None
    first = blocks[0][0]
    others = {op.site.user.location(): op for op, _ in blocks}
    others.pop(first.site.user.location())
    return DeadTerm(part, first, loss, flat, frozenset(lost), tuple(others.values()))


def _of_a_library(known: Paths, part: Key, block: Op) -> bool:
    """Whether a distribution's density is made like this (a uniform one asks only for its bounds), or the
    objective of a library, which also adds the term up."""
    if block.site.kind == "user":
        return False
    if any(frame.kind == "torch" and "/distributions/" in frame.path for frame in block.site.stack):
        return True
    return all(op.site.kind != "user" for op in known.graph(part[0]).consumers.get(part[1], ()))


def _blocks(known: Paths, part: Key) -> Iterator[tuple[Op, Key]]:
    """Where the gradient of `part` ends although what comes before requires one, nearest first."""

    def ends(op: Op, key: Key, tracked: list[Key]) -> bool:
        lost = bool(tracked) and not known.value(key).requires_grad
        if lost and op.cut is None and all(known.required(source) is not None for source in tracked):
            return False  # it was computed before these were asked for a gradient
        return lost or _rounds(known, key, op)

    return nearest(known, part, ends)


def _rounds(known: Paths, key: Key, op: Op) -> bool:
    graph = known.graph(key[0])
    node = graph.values[key[1]].node
    return node is not None and node in op.nodes and graph.nodes[node].name in ZERO_GRADIENT


def _used_elsewhere(known: Paths, block: Key, parts: list[Key]) -> bool:
    """Whether what the op gave is also used beside these terms, as a mask or an index is."""
    own = set(known.flow(parts).order)
    todo, seen = [block], {block}
    while todo:
        key = todo.pop()
        if key in parts:
            continue
        for target, _ in known.used.feeds.get(key, ()):
            if target not in own:
                return True
            if target not in seen:
                seen.add(target)
                todo.append(target)
    return False
