"""Casts of a leaf that a program goes on with after the leaf has changed."""

from __future__ import annotations

from dataclasses import dataclass, field

from gradscope.analysis.loop import idle, stretches
from gradscope.analysis.ops import CASTS
from gradscope.analysis.reach import Key, Paths
from gradscope.events import Backward, Step
from gradscope.model import Op, Parameter
from gradscope.store import Trace


@dataclass
class LeafCopy:
    """What `op` made of the leaf `parameter`. Passes went through it after a step that it is older
    than: `last` is one of them."""

    parameter: Parameter
    key: Key
    op: Op
    last: Backward
    passes: int = 0
    graphs: set[int] = field(default_factory=set)  # those that it was carried into


def leaf_copies(trace: Trace, known: Paths) -> list[LeafCopy]:
    """Casts of a leaf that go on to be used when a step has changed it. Of a leaf that nothing trains,
    only a declared parameter counts: other tensors may be data."""
    found: dict[Key, LeafCopy] = {}
    for event in known.backwards:
        filled = known.filled_by(event)
        for value in known.graph(event.graph).values if filled else ():
            if value.kind == "carried" and value.origin is not None:
                copy = _copy(known, event, value.index, filled)
                if copy is not None:
                    found.setdefault(copy.key, copy).graphs.add(event.graph)
    for copy in found.values():
        _count(trace, known, copy)
    return [copy for copy in found.values() if copy.passes]


def _copy(known: Paths, event: Backward, value: int, filled: set[int]) -> LeafCopy | None:
    key = known.made((event.graph, value))
    maker = known.value(key).op
    op = known.graph(key[0]).ops[maker] if maker is not None else None
    if op is None or op.name not in CASTS or len(op.inputs) != 1:
        return None
    leaf = known.parameter_of((key[0], op.inputs[0]))
    if leaf is None or leaf.id not in filled:
        return None
    if not leaf.steps and not (leaf.declared and leaf.module is None and idle(leaf)):
        return None
    roots = [(event.graph, root) for root in event.roots]
    used = (event.graph, value) in known.flow(roots).order
    return LeafCopy(leaf, key, op, event) if used else None


def _count(trace: Trace, known: Paths, copy: LeafCopy) -> None:
    """Counts the passes behind a step: of the leaf's own optimizer, or of any where it has none."""
    own = set(copy.parameter.optimizers)
    stepped = False
    lists: dict[tuple[int | None, int | None], tuple[bool, bool]] = {}
    for segment, events in stretches(trace):
        key = segment.graph, segment.events
        if key not in lists:
            steps = [e for e in events if isinstance(e, Step)]
            lists[key] = (
                any(isinstance(e, Backward) and copy.parameter.id in known.filled_by(e) for e in events),
                any(e.optimizer in own for e in steps) if copy.parameter.steps else bool(steps),
            )
        passed, steps_here = lists[key]
        if segment.graph == copy.key[0]:
            stepped = False
        if passed and segment.graph in copy.graphs:
            copy.passes += segment.repeat if stepped else segment.repeat - 1 if steps_here else 0
        stepped |= steps_here
