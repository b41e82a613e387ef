"""Each leaf that should be trained, gets no gradient, and has a loss that was computed from it: where the
gradient is lost. The report, `why` and the picture name the same place because all ask here.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import NamedTuple

from gradscope.analysis.cuts import Cut, cut_kind, cuts, cuts_of, nearest_cuts, resting_cuts, waiting
from gradscope.analysis.gradients import gradients
from gradscope.analysis.memo import once
from gradscope.analysis.numbers import back_as, entered
from gradscope.analysis.ops import EXITS, MAKERS
from gradscope.analysis.reach import Key, Paths, paths
from gradscope.events import Backward, ErrorRaised, Rooted, Step
from gradscope.model import Graph, Op, Parameter, Site
from gradscope.store import Trace


class End(NamedTuple):
    """Where the way from one parameter to a loss passes no gradient back."""

    op: Op
    kind: str  # as `Cut.kind`
    wrapped: Site | None  # where the value was put into a new tensor, where that is what cut the graph
    loss: Rooted | None
    known: Paths  # of the passes that go without


@once
def lost(trace: Trace) -> dict[int, End]:
    """Parameter → where its gradient is lost; of those that an optimizer holds, and of all leaves where
    there is no optimizer."""
    known = paths(trace)
    ends: dict[int, End] = {}
    for cut in (*cuts(trace), *resting_cuts(trace)):
        _add(ends, cut)
    if not any(wrapped_at(cut) for cut in cuts(trace)):  # else GS304 has told them
        for made, parameters, before, loss in numbers_put_back(known):
            for p in parameters:
                op = next((o for o in before if p.id in _parameters(known, _inputs(o))), before[-1])
                ends.setdefault(p.id, End(op, op.cut or "item", made, loss, known))
    silent = {p.id: p for p in known.silent()}
    _add_refused(trace, known, silent, ends)
    rest = [p for p in silent.values() if p.id not in ends and (p.optimizers or not trace.optimizers)]
    aside = waiting(trace, known)
    for cut in cuts_of(trace, known, [p for p in rest if p.id not in aside]):
        _add(ends, cut)
    return ends


def end_of(trace: Trace, parameter: Parameter) -> End | None:
    """The same of any leaf without a gradient."""
    if parameter.id in lost(trace):
        return lost(trace)[parameter.id]
    if parameter.id in paths(trace).unfinished:
        return None
    ends: dict[int, End] = {}
    for cut in cuts_of(trace, paths(trace), [parameter]):
        _add(ends, cut)
    return ends.get(parameter.id)


def _add(ends: dict[int, End], cut: Cut) -> None:
    wrapped = wrapped_at(cut)
    shared = shared_with(cut)
    loss = shared.own if shared is not None else cut.loss
    for p in cut.parameters:
        ends.setdefault(p.id, End(cut.ends[p.id], cut.kind, wrapped, loss, cut.known))


class SharedWith(NamedTuple):
    """Two losses of a cut value: one that is to train what is behind it, and others that another optimizer's steps
    use."""

    own: Backward
    theirs: tuple[Site, ...]  # the calls that these give the value to


def shared_with(cut: Cut) -> SharedWith | None:
    """Where another optimizer's pass goes through the cut value too, as that of a discriminator."""
    known = cut.known
    if len(known.trace.optimizers) < 2:
        return None
    held = {number for p in cut.parameters for number in p.optimizers}
    uses = _users(known.trace)
    own: Backward | None = None
    theirs: dict[tuple[str, int], Site] = {}
    readers = known.graph(cut.output[0]).consumers.get(cut.output[1], ())
    for (graph, index), events in known.roots.items():
        users = uses.get((graph, (index,)), set())
        ways = known.flow([(graph, index)]).order
        if cut.output not in ways or users & held or events[0].call != "backward":
            continue
        if not users:
            own = own or events[0]
            continue
        for op in readers:
            if any((op.graph, i) in ways for i in op.outputs):
                theirs.setdefault(op.site.entry.location(), op.site.entry)
    return SharedWith(own, tuple(theirs.values())) if own is not None and theirs else None


@once
def _users(trace: Trace) -> dict[tuple[int, tuple[int, ...]], set[int | None]]:
    """Graph and roots of a pass → optimizers whose steps use its gradients."""
    found: dict[tuple[int, tuple[int, ...]], set[int | None]] = {}
    for fill in gradients(trace).fills:
        users = found.setdefault((fill.event.graph, fill.event.roots), set())
        users.update(use.optimizer for use, _ in fill.uses if isinstance(use, Step))
    return found


def _inputs(op: Op) -> list[Key]:
    return [(op.graph, i) for i in op.inputs]


# -- passes that torch refused -----------------------------------------------------------


def refused(trace: Trace) -> Iterator[tuple[ErrorRaised, Key]]:
    """Passes that torch refused because what they began at has no graph, with that value."""
    for event in trace.of(ErrorRaised):
        text = event.text
        if "does not require grad" not in text or "grad_fn" not in text or event.graph < 0:
            continue
        if event.where == "op":  # raised within a custom Function's forward: its arguments are no loss
            continue
        graph = trace.graph(event.graph)
        for value in event.roots or event.inputs:
            if not graph.values[value].requires_grad:
                yield event, (event.graph, value)
                break


def behind(known: Paths, output: Key) -> frozenset[int]:
    """The parameters that lie behind a cut which gave `output`."""
    sources, _ = known.sources(output)
    return known.reach(s for s in sources if known.value(s).requires_grad).parameters


def _add_refused(trace: Trace, known: Paths, silent: dict[int, Parameter], ends: dict[int, End]) -> None:
    for event, root in refused(trace):
        found = list(nearest_cuts(known, root))
        for op, output in found:
            for id in behind(known, output) & silent.keys():
                ends.setdefault(id, End(op, cut_kind(trace, known, op, output), None, event, known))
        if not found and (numbers := back_as(known, root)) is not None:
            op = numbers[1]
            for id in known.reach(_inputs(op)).parameters & silent.keys():
                ends.setdefault(id, End(op, op.cut or "item", None, event, known))


# -- values put into new tensors -----------------------------------------------------------


def wrapped_at(cut: Cut) -> Site | None:
    """Where the value was put into a new tensor, where that is what cut the graph."""
    known = cut.known
    if cut.kind in ("rewrap", "leaf"):
        return cut.op.site
    if cut.kind in ("item", "tolist"):
        maker = known.graph(cut.output[0]).values[cut.output[1]].op
        return (known.graph(cut.output[0]).ops[maker] if maker is not None else cut.op).site
    unnamed = cut.op.cut is None  # a view under no_grad, which says of itself that it requires a gradient
    if cut.kind == "nondifferentiable" or (unnamed and cut.kind != "numpy"):
        return None
    return _leaf_behind(known, cut.output)


def _leaf_behind(known: Paths, output: Key) -> Site | None:
    """Where the result was made to require a gradient again, between the cut and the loss."""
    seen = {output}
    todo = [output]
    while todo:
        key = todo.pop()
        graph = known.graph(key[0])
        value = graph.values[key[1]]
        if value.is_leaf and value.requires_grad:
            made = known.required(key) if key in known.roots else None
            return graph.ops[value.op].site if value.op is not None else made
        for target, _ in known.used.feeds.get(key, ()):
            following = known.value(target)
            if target not in seen and following.is_leaf:
                seen.add(target)
                todo.append(target)
    return None


def numbers_put_back(known: Paths) -> Iterator[tuple[Site, list[Parameter], list[Op], Backward]]:
    """Losses made of plain numbers, which `item()` had just taken out of a graph: where they were
    made, the parameters behind the numbers, the ops that took them out, and the pass."""
    expected = {p.id: p for p in known.expected()}
    if not expected:
        return
    told = set()
    for key, events in known.roots.items():
        reach = known.reach([key])
        if reach.parameters & {p.id for p in known.parameters.values() if p.registered or p.optimizers}:
            continue
        for leaf in reach.leaves:
            wrapped = _wrapped(known, leaf)
            if wrapped is None or wrapped[0].location() in told:
                continue
            site, before = wrapped
            behind: set[int] = set()
            for op in before:
                behind |= _parameters(known, [(leaf[0], i) for i in op.inputs])
            parameters = [expected[i] for i in sorted(behind & expected.keys())]
            if parameters:
                told.add(site.location())
                yield site, parameters, before, events[0]


def _parameters(known: Paths, keys: list[Key]) -> frozenset[int]:
    """The parameters that these values were computed from, also where `detach()` came between."""
    found = known.reach(keys).parameters
    for key in keys:
        for op, output in nearest_cuts(known, key):
            if op.cut in ("detach", "data"):
                found |= known.reach((output[0], i) for i in op.inputs).parameters
    return found


def _wrapped(known: Paths, leaf: Key) -> tuple[Site, list[Op]] | None:
    """Where a leaf without a past was made, and the ops before it that took values out of a graph."""
    graph = known.graph(leaf[0])
    value = graph.values[leaf[1]]
    if value.op is not None:
        op = graph.ops[value.op]
        if op.inputs:
            return _made_to_require(known, leaf, op)
        if op.name not in MAKERS:
            return None
        exits = [o for o in graph.ops[: op.index] if o.name in EXITS]
        return op.site.user, exits or (_asked(known, graph, op.index) if leaf in known.roots else [])
    parameter = known.parameter_of(leaf)
    if value.origin is not None or prod(value.shape) != 1 or (parameter is not None and parameter.optimizers):
        return None
    site = known.required(leaf)
    given = [
        o for o in graph.ops if o.name in EXITS and o.cut is not None and o.index < entered(graph, leaf[1])
    ]
    if leaf in known.roots and site is not None and given:
        return site.user, given[-1:]
    taken = [o for o in graph.ops if o.cut in ("data", "detach") and not graph.consumers.get(o.outputs[0])]
    return (taken[-1].site.user, taken[-1:]) if taken else None


def _asked(known: Paths, graph: Graph, most: int) -> list[Op]:
    """What Python was told by a comparison of a value with a graph, `if p > 0.5:`: the operations that have no
    gradient, one for each line."""
    found: dict[tuple[str, int], Op] = {}
    for op in graph.ops[:most]:
        if op.name != "__bool__" or op.site.user.location() in found:
            continue
        cut = next((o for o, _ in nearest_cuts(known, (graph.id, op.inputs[0]))), None)
        if cut is not None and cut.cut == "nondifferentiable":
            found[op.site.user.location()] = cut
    return list(found.values())


def _made_to_require(known: Paths, leaf: Key, op: Op) -> tuple[Site, list[Op]] | None:
    """The same for a leaf computed from numbers alone, which was then made to require a gradient."""
    graph = known.graph(leaf[0])
    sources = [graph.values[i] for i in graph.upstream(leaf[1])[1:]]
    if op.written or prod(graph.values[leaf[1]].shape) != 1:
        return None
    if any(v.parameter is not None or v.requires_grad or v.origin is not None for v in sources):
        return None
    before = [o for o in graph.ops[: op.index] if o.name in EXITS]
    before = before or (_asked(known, graph, op.index) if leaf in known.roots else [])
    set_by = op.site if op.name == "Variable" else known.required(leaf)
    return (set_by.user, before) if set_by is not None and before else None
