"""One step of a run as boxes within boxes, which a reader opens and closes: by module, and by line.

Each of both ways is the pictures of all depths, laid into each other, so that a closed box says what the picture of
its depth says of it. Innermost are ops, those of the rounds of a loop and of equal blocks together.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gradscope.analysis.flow import Flow
from gradscope.graph import View, view
from gradscope.graph._attempts import FITTING, deepest_call, deepest_module
from gradscope.graph._build import Builder
from gradscope.graph._opened import opened
from gradscope.graph._owners import Boxes, groups_of, line_boxes, module_boxes
from gradscope.graph._places import Key
from gradscope.graph._pointed import Codes, told_of
from gradscope.graph._shown import shown
from gradscope.graph.arrows import Graph
from gradscope.model import Finding
from gradscope.store import Trace

WAYS = ("module", "line")
MOST = 4_000  # innermost boxes; above it they are lines, or modules


@dataclass
class Box:
    """A box that others lie in, or that stands for an innermost one. data: as the nodes of gradscope.graph."""

    data: dict[str, Any]
    parent: int | None  # by number in its way
    atoms: list[str]  # nodes of the graph that it holds
    opened: bool = False  # in the picture that is shown first
    leaf: bool = False  # nothing in it can be shown by itself


@dataclass
class Outline:
    """graph: the innermost boxes, the leaves, the backward passes. ways: "module" and "line" → boxes, outer ones
    first. pointed: for each finding the nodes of its cause and of what it is about."""

    view: View  # the picture that is shown first
    graph: Graph
    ways: dict[str, list[Box]] = field(default_factory=dict)
    pointed: list[tuple[list[str], list[str]]] = field(default_factory=list)
    grad_fns: dict[str, list[str]] = field(
        default_factory=dict
    )  # innermost box → the nodes that its ops built
    parameters: dict[int, str] = field(
        default_factory=dict
    )  # id of a parameter → the node that it is part of
    called: dict[str, list[str]] = field(
        default_factory=dict
    )  # line of a finding → the nodes of what it called
    notes: list[str] = field(default_factory=list)
    opened: dict[int, str] = field(default_factory=dict)  # as `View.opened`


def outline(
    trace: Trace,
    findings: Sequence[Finding] = (),
    step: int | None = None,
    extent: Callable[[View], float] | None = None,
) -> Outline:
    """The boxes of the step that a picture shows. extent: as for `gradscope.graph.view`."""
    first = view(trace, None, findings, step=step, extent=extent)
    known = shown(trace, step, findings)
    flow, found = known.flow, list(findings)
    rolled = (deepest_call(flow) if first.depth is None else first.depth) if first.rolled else -1
    ladders = {
        "module": [module_boxes(flow, depth) for depth in range(deepest_module(flow) + 1)],
        "line": [line_boxes(flow, depth, depth <= rolled) for depth in range(deepest_call(flow) + 1)],
    }
    atoms, notes = _atoms(flow, ladders)
    builder = Builder(flow, atoms, "outline", known.marks, found)
    made = Outline(first, builder.build(), notes=[*known.notes, *notes])
    made.opened = opened(trace, made.graph)
    made.pointed = [
        (builder.ids(causes), builder.ids(effects)) for _, causes, effects in builder.pointed.ends
    ]
    made.called = {id: builder.ids(keys) for id, keys in builder.pointed.called.items()}
    made.grad_fns = _grad_fns(builder)
    owners = flow.parameter_of
    made.parameters = {owners[value]: id for value, id in builder.leaf_node.items() if value in owners}
    at = first.level if first.level in WAYS else "line"
    for way, ladder in ladders.items():
        builders = [Builder(flow, boxes, way, known.marks, found) for boxes in ladder]
        depth = len(ladder) - 1 if first.depth is None else min(first.depth, len(ladder) - 1)
        made.ways[way] = _nested(builders, builder, depth if way == at else _fitting(ladder))
    return made


def _atoms(flow: Flow, ladders: dict[str, list[Boxes]]) -> tuple[Boxes, list[str]]:
    """What no way of opening takes apart."""
    groups = groups_of(flow, pairs=False)
    first = {op: group[0] for group in groups for op in group}
    around = [
        tuple(boxes.keys[op] for ladder in ladders.values() for boxes in ladder)
        for op in range(len(flow.ops))
    ]
    finest: list[Key] = [("op", first[op], *around[op]) for op in range(len(flow.ops))]
    lines: list[Key] = [("op", *around[op]) for op in range(len(flow.ops))]
    modules: list[Key] = [("op", ladders["module"][-1].keys[op]) for op in range(len(flow.ops))]
    tokens: list[Key] = finest
    note: list[str] = []
    for coarser, what in ((lines, "lines"), (modules, "modules")):
        if (count := len(set(tokens))) > MOST:
            note = [f"{count:,} boxes are too many for a page: the innermost ones are {what}"]
            tokens = coarser
    numbers: dict[Key, int] = {}
    keys: list[Key] = [("op", numbers.setdefault(token, len(numbers))) for token in tokens]
    return Boxes(keys, groups), note


def _grad_fns(builder: Builder) -> dict[str, list[str]]:
    flow = builder.flow
    found: dict[str, dict[str, None]] = {}
    for op, key in zip(flow.ops, builder.boxes.keys, strict=True):
        (name,) = builder.ids([key])
        for node in op.nodes:
            found.setdefault(name, {})[flow.nodes[flow.joined_nodes[op.graph, node]].name] = None
    return {name: list(nodes) for name, nodes in found.items()}


def _fitting(ladder: list[Boxes]) -> int:
    """The depth that is shown first of a way that the picture did not take."""
    return max((depth for depth, boxes in enumerate(ladder) if len(set(boxes.keys)) <= FITTING), default=0)


def _nested(builders: list[Builder], innermost: Builder, depth: int) -> list[Box]:
    """The boxes of all depths as a tree. depth: up to which they are open."""
    found: list[Box] = []
    everything = list(range(len(innermost.flow.ops)))
    _inside(builders, innermost, depth, 0, everything, None, found)
    return found


def _inside(
    builders: list[Builder],
    innermost: Builder,
    depth: int,
    at: int,
    ops: list[int],
    parent: int | None,
    found: list[Box],
) -> None:
    """Adds the boxes that these ops have at a depth, each with those inside it. Depths that change nothing about
    a box are left out."""
    if at == len(builders):
        for same in _alike(innermost, ops):
            key = innermost.boxes.keys[same[0]]
            found.append(Box(innermost.told(key, same), parent, _atoms_of(innermost, same), leaf=True))
        return
    parts: dict[Key, list[int]] = {}
    for op in ops:
        parts.setdefault(builders[at].boxes.keys[op], []).append(op)
    for keys in _of_calls(builders[at], parts, at):
        key, held = keys[0], sorted(op for key in keys for op in parts[key])
        last = at
        while last + 1 < len(builders) and len({builders[last + 1].boxes.keys[op] for op in held}) == 1:
            last += 1
        told = min(max(depth, at), last)
        data = builders[told].told(builders[told].boxes.keys[held[0]] if told != at else key, held)
        if len(keys) > 1:
            before = Codes(dict.fromkeys(data["causes"]), dict.fromkeys(data["effects"]))
            data |= told_of(before, *(builders[at].pointed.boxes.get(one) for one in keys))
            if builders[at].level != "line":
                data["region"] = _shared(builders[at], keys)
            elif builders[at].counts.of_lines(held) == 1:
                data["count"] = 1
        leaf = len(_alike(innermost, held)) == 1
        box = Box(data, parent, _atoms_of(innermost, held), opened=last < depth, leaf=leaf)
        found.append(box)
        if not box.leaf:
            _inside(builders, innermost, depth, last + 1, held, len(found) - 1, found)


def _of_calls(builder: Builder, parts: Mapping[Key, list[int]], at: int) -> list[list[Key]]:
    """The boxes of one depth, those together that are parts of one call, which a cut or a grad mode divides: all that
    it did is in one box, as in the picture it is in one frame."""
    flow = builder.flow
    if builder.level != "line":
        return _of_modules(builder, parts)
    found: dict[Hashable, list[Key]] = {}
    for key, held in parts.items():
        found.setdefault((flow.callers[held[0]][: at + 1], held[0] in flow.earlier), []).append(key)
    together: list[list[Key]] = []
    for keys in found.values():
        ops = [op for key in keys for op in parts[key]]
        calls = any(len(flow.callers[op]) > at + 1 for op in ops)
        one = (
            len(keys) > 1
            and calls
            and _of_same_rounds(builder, [parts[key] for key in keys], keys[0], sorted(ops))
        )
        together += [keys] if one else [[key] for key in keys]
    return together


def _of_same_rounds(builder: Builder, each: list[list[int]], key: Key, ops: list[int]) -> bool:
    """Whether the ops of these boxes of a line together ran no more often than those of one of them."""
    if builder.counts.of_lines(ops) == 1:
        return True
    return bool(builder.told(key, ops)["count"] == max(builder.told(key, own)["count"] for own in each))


def _of_modules(builder: Builder, parts: Mapping[Key, list[int]]) -> list[list[Key]]:
    """The boxes of one depth, those of one module together that does a part of its work under another grad mode."""
    counts = builder.counts
    found: dict[Hashable, list[Key]] = {}
    for key, held in parts.items():
        depth = len(counts.around(key[1])) if key[0] == "module" and isinstance(key[1], int) else None
        called = (
            {counts.at_depth(builder.flow.ops[op].module, depth) for op in held} if depth is not None else ()
        )
        found.setdefault((*key[:2], *key[3:]) if len(called) == 1 else key, []).append(key)
    together: list[list[Key]] = []
    for keys in found.values():
        each = [parts[key] for key in keys]
        depth = len(counts.around(keys[0][1])) if len(keys) > 1 and isinstance(keys[0][1], int) else 0
        times = [counts.of_modules(ops, depth) for ops in (sorted(op for ops in each for op in ops), *each)]
        together += [keys] if times[0] == max(times[1:]) else [[key] for key in keys]
    return together


def _shared(builder: Builder, keys: Sequence[Key]) -> int | None:
    """The innermost grad-mode region that all of these boxes of modules lie in."""
    chains: list[list[int]] = []
    for key in keys:
        chains.append([])
        id = key[2]
        while isinstance(id, int) and (region := builder.flow.trace.regions.get(id)) is not None:
            chains[-1].append(id)
            id = region.parent
    return next((id for id in chains[0] if all(id in chain for chain in chains)), None)


def _alike(innermost: Builder, ops: list[int]) -> list[list[int]]:
    """Ops of one call in the program's text, with results of one shape."""
    found: dict[Hashable, list[int]] = {}
    for op in ops:
        flow, at = innermost.flow, innermost.flow.ops[op]
        made = tuple(flow.values[v].shape for v in flow.outputs[op])
        found.setdefault((at.site.id, at.name, at.cut, made, op in flow.earlier), []).append(op)
    return list(found.values())


def _atoms_of(innermost: Builder, ops: list[int]) -> list[str]:
    return innermost.ids(list(dict.fromkeys(innermost.boxes.keys[op] for op in ops)))
