"""Chains of ops that prepare data: nothing trained and no module goes into them."""

from __future__ import annotations

from gradscope.analysis.flow import Flow
from gradscope.analysis.names import op_name
from gradscope.analysis.ops import ALIASES
from gradscope.graph._joined import Joined


def data_chains(flow: Flow, groups: list[list[int]]) -> dict[int, int]:
    """Op → its chain (the first op of it), for chains of two or more calls or inputs."""
    prepares = _preparing(flow)
    chains = Joined(prepares)
    first_at: dict[int, int] = {}
    for index in sorted(prepares):
        chains.join(index, first_at.setdefault(flow.ops[index].site.id, index))
        for maker in (flow.maker[v] for v in flow.inputs[index]):
            if maker is not None and maker in prepares:
                chains.join(index, maker)
    for group in groups:
        if prepares.issuperset(group):
            for other in group[1:]:
                chains.join(group[0], other)
    parts: dict[int, set[tuple[str, int]]] = {}
    for index in prepares:
        held = parts.setdefault(chains.first(index), set())
        held.add(("call", flow.ops[index].site.id))
        if len(flow.inputs[index]) > 1:
            held.update(("input", v) for v in flow.inputs[index] if flow.maker[v] is None)
    return {op: chains.first(op) for op in prepares if len(parts[chains.first(op)]) > 1}


def _preparing(flow: Flow) -> set[int]:
    found: set[int] = set()
    for index, op in enumerate(flow.ops):
        inside = op.module is not None or op.region is not None or op.cut is not None
        inside = inside or op_name(op.name) in ALIASES
        builds = any(flow.values[v].requires_grad for v in flow.outputs[index])
        if not inside and not builds and all(_is_data(flow, v, found) for v in flow.inputs[index]):
            found.add(index)
    return found


def _is_data(flow: Flow, value: int, prepares: set[int]) -> bool:
    """Whether a value comes from outside or from ops that prepare data, and builds no graph."""
    maker = flow.maker[value]
    shown = flow.values[value]
    if shown.requires_grad or flow.parameter(value) is not None:
        return False
    return shown.kind in ("input", "intermediate") if maker is None else maker in prepares
