"""How the picture marks the ops at which no gradient passes, and the leaves that lose theirs there."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import NamedTuple

from gradscope.analysis.cuts import differentiates
from gradscope.analysis.flow import Flow
from gradscope.analysis.lost import End, lost
from gradscope.analysis.names import op_name
from gradscope.analysis.ops import SHAPED_AS
from gradscope.analysis.reach import paths
from gradscope.analysis.words import parameter_name
from gradscope.model import Op, Site
from gradscope.store import Trace


class Mark(NamedTuple):
    """An op at which no gradient passes. `severs` names the leaves whose gradient is lost here; it is empty
    where the cut does no harm."""

    reason: str
    site: Site
    severs: tuple[str, ...] = ()
    values: frozenset[int] = frozenset()  # these leaves


def marks(flow: Flow) -> dict[int, Mark]:
    """Op of the flow → its mark. A cut of one step is that of all steps: it is known by its call."""
    ends = lost(flow.trace)
    at: dict[Hashable, int] = {}
    bits = {id: 1 << number for number, id in enumerate(ends)}
    for id, end in ends.items():
        at[_call(end.op)] = at.get(_call(end.op), 0) | bits[id]
    carried = _lost_values(flow, ends, bits)
    leaves = [v for v, mask in enumerate(carried) if mask and flow.values[v].is_leaf]
    found: dict[int, Mark] = {}
    for index, op in enumerate(flow.ops):
        mask = 0
        for value in flow.inputs[index]:
            mask |= carried[value]
        here = mask & at.get(_call(op), 0)
        for value in flow.outputs[index]:
            carried[value] |= mask & ~here
        if here or op.cut is not None:
            ids = [id for id in ends if bits[id] & here] if here else []
            names = tuple(dict.fromkeys(parameter_name(flow.trace, id) for id in ids))
            values = frozenset(v for v in leaves if here and flow.parameter_of[v] in ids)
            found[index] = Mark(_reason(op, op.cut or ends[ids[0]].kind), op.site, names, values)
    return {index: mark for index, mark in found.items() if mark.severs or not _asks_for_shape(flow, index)}


def _reason(op: Op, kind: str) -> str:
    if differentiates(op):
        return "grad without create_graph"
    return op_name(op.name) if kind == "nondifferentiable" else kind


def _asks_for_shape(flow: Flow, index: int) -> bool:
    """Whether an op takes from all that has a graph the shape or the type alone: there is no way to cut."""
    return flow.ops[index].name in SHAPED_AS and not any(
        flow.values[v].requires_grad for v in flow.inputs[index][:1]
    )


def stopped(flow: Flow, marks: Mapping[int, Mark], ops: Sequence[int]) -> tuple[bool, list[int]]:
    """Whether a cut among the ops of one box severs a parameter, or keeps the gradient from something that comes in and
    has no other way through (else the gradient goes past it); and what that is, where something else has a way."""
    if any(i in marks and marks[i].severs for i in ops):
        return True, []
    own = set(ops)
    bits: dict[int, int] = {}  # of what comes in
    carried: dict[int, int] = {}  # value made inside → what came in that has a way of gradients to it
    cut = through = 0
    for i in ops:
        brought = 0
        for value in flow.inputs[i]:
            if flow.maker[value] in own:
                brought |= carried.get(value, 0)
            elif flow.values[value].requires_grad:
                brought |= bits.setdefault(value, 1 << len(bits))
        if i in marks:
            cut |= brought
            continue
        for value in flow.outputs[i]:
            if flow.values[value].requires_grad:
                carried[value] = brought
                if value in flow.roots or not own.issuperset(flow.consumers.get(value, ())):
                    through |= brought
    kept = [value for value, bit in bits.items() if through and bit & cut & ~through]
    return not through or bool(kept), kept


def _lost_values(flow: Flow, ends: dict[int, End], bits: dict[int, int]) -> list[int]:
    """Of each value of the flow: bits of the parameters that it brings and whose gradient is lost; where it
    is from some step on, of those that no pass in the flow reaches."""
    known = paths(flow.trace)
    found = [0] * len(flow.values)
    for value, held in enumerate(flow.values):
        if not ends or not held.requires_grad or not (held.is_leaf or flow.maker[value] is None):
            continue
        id = flow.parameter_of.get(value)
        if id in ends and held.is_leaf:
            gone = ends[id].known.stop is None or value not in flow.reached_leaves
            found[value] = bits[id] if gone else 0
        elif held.origin is not None and not held.is_leaf:  # computed in a graph that is not shown
            ids = known.behind(held.origin) & ends.keys()
            found[value] = sum(bits[i] for i in ids if ends[i].known.stop is None)
    return found


def severing(trace: Trace, graphs: Iterable[int]) -> bool:
    """Whether a gradient is lost in these graphs."""
    calls = {_call(end.op) for end in lost(trace).values()}
    return bool(calls) and any(_call(op) in calls for id in graphs for op in trace.graph(id).ops)


def got_gradient(flow: Flow, value: int) -> bool:
    """Whether a gradient was computed for this leaf in the run; of what is not known by itself, whether
    a pass visits it."""
    parameter = flow.parameter(value)
    return value in flow.reached_leaves if parameter is None else paths(flow.trace).has_gradient(parameter)


def _call(op: Op) -> Hashable:
    return op.site.id, op.name, op.cut
