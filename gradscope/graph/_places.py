"""What a module does between its parts, each time it is called: one box where it does the same with the same."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from gradscope.analysis.flow import Flow
from gradscope.graph._counts import below_forward

Key = tuple[Hashable, ...]
ROUNDS = 20  # of parting boxes; a longer chain of rounds that differ in what comes before is none


def same_places(flow: Flow, keys: Sequence[Key]) -> list[Key]:
    """The box of each op, where boxes of kind "part" are one that come from the same lines, give the same shapes, and
    have neighbours that are one themselves."""
    ops_of: dict[Key, list[int]] = {}
    for op, key in enumerate(keys):
        ops_of.setdefault(key, []).append(op)
    parts = {key for key in ops_of if key[0] == "part"}
    first: dict[Hashable, Key] = {}
    one = {key: first.setdefault(_alike(flow, key, ops), key) for key, ops in ops_of.items() if key in parts}
    if len(first) == len(parts):
        return list(keys)
    before, after = _neighbours(flow, keys, ops_of)
    for _ in range(ROUNDS):  # those that differ in a neighbour are parted, until none is
        seen: dict[Hashable, Key] = {}
        finer = {}
        for key in one:
            near = (frozenset(one.get(other, other) for other in side[key]) for side in (before, after))
            finer[key] = seen.setdefault((one[key], *near), key)
        if len(seen) == len(set(one.values())):
            return [finer.get(key, key) for key in keys]
        one = finer
    return list(keys)


def _alike(flow: Flow, key: Key, ops: list[int]) -> Hashable:
    """What must agree for two boxes to be one, whatever they stand between."""
    told = dict.fromkeys(
        (
            below_forward(flow.ops[op].site),
            flow.ops[op].name,
            flow.ops[op].cut,
            flow.ops[op].region,
            op in flow.earlier,
            tuple(
                (flow.values[v].shape, flow.values[v].dtype, flow.values[v].requires_grad)
                for v in flow.outputs[op]
            ),
        )
        for op in ops
    )
    return key[1], tuple(told)


def _neighbours(
    flow: Flow, keys: Sequence[Key], ops_of: dict[Key, list[int]]
) -> tuple[dict[Key, set[Key]], dict[Key, set[Key]]]:
    """Each box → what it takes from: boxes, parameters, named data; and what takes from it, or goes back from it."""
    before: dict[Key, set[Key]] = {key: set() for key in ops_of}
    after: dict[Key, set[Key]] = {key: set() for key in ops_of}
    made = {
        (op.site.id, flow.values[v].shape): key
        for key, op, outputs in zip(keys, flow.ops, flow.outputs, strict=True)
        for v in outputs
        if not op.nodes
    }
    for op, inputs in enumerate(flow.inputs):
        for value in inputs:
            maker = flow.maker[value]
            if maker is None:
                held = flow.values[value]
                parameter = flow.parameter_of.get(value)
                same = (
                    made.get((held.site.id, held.shape)) if held.site is not None else None
                )  # in another round
                name = None if parameter is not None else flow.name(value)
                before[keys[op]].add(same or ("leaf", parameter, name))
            elif keys[maker] != keys[op]:
                before[keys[op]].add(keys[maker])
                after[keys[maker]].add(keys[op])
    for value, event in flow.roots.items():
        if (maker := flow.maker[value]) is not None:
            after[keys[maker]].add(("backward", event.site.user.location()))
    return before, after
