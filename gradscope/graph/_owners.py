"""Which box an op belongs to at each level: itself, its source line, its module.

A box is a hashable key; `Boxes` gives one per op (in program order) and what it is called.
"""

from __future__ import annotations

import re
from collections.abc import Hashable
from dataclasses import dataclass, field

from gradscope.analysis.flow import Flow
from gradscope.analysis.names import op_name, short_path
from gradscope.graph._data import data_chains
from gradscope.graph._fold import fold
from gradscope.graph._marks import got_gradient
from gradscope.model import Module, Op

Key = tuple[Hashable, ...]


@dataclass
class Boxes:
    """keys: the box of each op. cluster: box → module ids around it, outermost first."""

    keys: list[Key]
    groups: list[list[int]]  # ops that are one place of a repeated stretch
    cluster: dict[Key, tuple[int, ...]] = field(default_factory=dict)
    titles: dict[int, str] = field(default_factory=dict)  # module id → title of its cluster


def groups_of(flow: Flow, pairs: bool = True) -> list[list[int]]:
    """Ops grouped over the rounds of loops and over equal blocks; pairs: also over two blocks."""
    signatures = _signatures(flow)
    tokens: list[Hashable] = []
    for index, op in enumerate(flow.ops):
        state = tuple(_state(flow, v) for v in flow.inputs[index])
        nodes = tuple(flow.nodes[flow.joined_nodes[op.graph, n]].name for n in op.nodes)
        made = tuple((flow.values[v].shape, flow.values[v].requires_grad) for v in flow.outputs[index])
        before = index in flow.earlier
        tokens.append(
            (op.site.id, op.name, op.cut, op.region, signatures.get(op.module), state, made, nodes, before)
        )
    return fold(tokens, [op.module for op in flow.ops] if pairs else ())


def _state(flow: Flow, value: int) -> Hashable:
    """What must agree for two ops to be drawn as one: only parameters have a state of their own."""
    parameter = flow.parameter(value)
    if parameter is None:
        return None
    return flow.values[value].requires_grad, parameter.shape, got_gradient(flow, value)


def _signatures(flow: Flow) -> dict[int | None, str]:
    """Module → its place with numbers left out: equal for `blocks.0.ln` and `blocks.7.ln`."""
    found: dict[int | None, str] = {}
    for id, module in flow.trace.modules.items():
        found[id] = f"{module.root}:{re.sub(r'[0-9]+', '#', module.path)}:{module.cls}"
    return found


def op_boxes(flow: Flow) -> Boxes:
    groups = groups_of(flow, pairs=False)
    keys: list[Key] = [()] * len(flow.ops)
    for group in groups:
        for op in group:
            keys[op] = ("op", group[0])
    return Boxes(keys, groups)


def line_boxes(flow: Flow) -> Boxes:
    keys: list[Key] = []
    for op in flow.ops:
        site = op.site.user
        keys.append(("line", site.path, site.line, op.region))
    return _apart(flow, Boxes(keys, groups_of(flow)))


def module_boxes(flow: Flow, depth: int | None = None) -> Boxes:
    """Leaf modules as boxes; what a module with children does itself, and what happens
    outside any module, as one box per place. depth: modules deeper than this are
    drawn as the one above them."""
    groups = groups_of(flow)
    modules = flow.trace.modules
    owner = _equal_modules(flow, groups)
    if depth is not None:
        owner = {id: owner[_ancestor(modules, id, depth)] for id in modules}
    parents = {
        _parent(modules, owner, id) for id in {owner[op.module] for op in flow.ops if op.module in owner}
    }
    parents |= {id for leaf in list(parents) for id in _chain(modules, owner, leaf)}
    boxes = Boxes([()] * len(flow.ops), groups)
    previous: Hashable = None
    opened: Key = ()
    called: tuple[str, int] | None = None
    stateful = {m for m in (_owner_of(flow, v) for v in range(len(flow.values))) if m is not None}
    stateful = {owner.get(id, id) for id in stateful}
    data = data_chains(flow, groups)
    for group in groups:
        op = flow.ops[group[0]]
        site = op.site.user
        id = owner.get(op.module) if op.module is not None else None
        own: Hashable = (id, op.region) if id is not None else (site.path, site.function, op.region)
        if (chain := data.get(group[0])) is not None:
            opened, own = ("data", chain), ("data", chain)
        elif id is not None and id not in parents:
            if own != previous:
                called = None if id in stateful else _called_from(op)
            opened = ("module", id, op.region) if called is None else ("module", id, op.region, *called)
        elif own != previous or op.cut is not None:
            opened = (
                "part",
                own,
                site.path,
                site.line,
                *(op.site.location() if id is not None else ()),
                op.cut,
            )
        previous = (own, "cut") if op.cut is not None else own  # a cut has a box of its own
        for member in group:
            boxes.keys[member] = opened
        if id is not None:
            around = _chain(modules, owner, id)
            boxes.cluster.setdefault(opened, tuple(around if id not in parents else [*around, id]))
    boxes.titles = _titles(flow, owner)
    _drop_single(boxes.cluster)
    return _apart(flow, boxes)


def _apart(flow: Flow, boxes: Boxes) -> Boxes:
    """What earlier passes did has boxes of its own."""
    for op in flow.earlier:
        key = boxes.keys[op]
        boxes.keys[op] = (*key, "earlier")
        if key in boxes.cluster:
            boxes.cluster.setdefault(boxes.keys[op], boxes.cluster[key])
    return boxes


def _owner_of(flow: Flow, value: int) -> int | None:
    """The module that holds this parameter or buffer."""
    parameter = flow.parameter(value)
    return parameter.module if parameter is not None else flow.values[value].module


def _called_from(op: Op) -> tuple[str, int]:
    """The line outside torch that a module without state is called at: it may be used twice."""
    return next((f.location() for f in reversed(op.site.stack) if f.kind != "torch"), op.site.location())


def _drop_single(cluster: dict[Key, tuple[int, ...]]) -> None:
    """Takes out clusters that hold nothing but one other cluster."""
    inside: dict[int, set[Hashable]] = {}
    for key, chain in cluster.items():
        for outer, inner in zip(chain, (*chain[1:], key), strict=False):
            inside.setdefault(outer, set()).add(inner)
    single = {id for id, held in inside.items() if len(held) == 1 and isinstance(next(iter(held)), int)}
    for key, chain in cluster.items():
        cluster[key] = tuple(id for id in chain if id not in single)


def _parent(modules: dict[int, Module], owner: dict[int, int], id: int) -> int | None:
    above = modules[id].parent
    return owner.get(above) if above is not None else None


def _chain(modules: dict[int, Module], owner: dict[int, int], id: int | None) -> list[int]:
    """The modules around this one, outermost first."""
    found: list[int] = []
    while id is not None and (id := _parent(modules, owner, id)) is not None and id not in found:
        found.append(id)
    return found[::-1]


def _ancestor(modules: dict[int, Module], id: int, depth: int) -> int:
    chain = [id]
    while (above := modules[chain[-1]].parent) is not None and above in modules and above not in chain:
        chain.append(above)
    return chain[::-1][min(depth, len(chain) - 1)]


def _equal_modules(flow: Flow, groups: list[list[int]]) -> dict[int, int]:
    """Module → the first of those that are drawn as one with it."""
    modules = flow.trace.modules
    above = {id: id for id in modules}

    def find(id: int) -> int:
        while above[id] != id:
            above[id] = above[above[id]]
            id = above[id]
        return id

    for group in groups:
        first = flow.ops[group[0]].module
        for other in dict.fromkeys(flow.ops[i].module for i in group[1:]):
            a, b = first, other
            # Blocks are equal with all that is around their equal parts.
            while a is not None and b is not None and a in above and b in above and find(a) != find(b):
                low, high = sorted((find(a), find(b)))
                above[high] = low
                a, b = modules[a].parent, modules[b].parent
    return {id: find(id) for id in modules}


def _titles(flow: Flow, owner: dict[int, int]) -> dict[int, str]:
    """The names of modules; below the variable of their model where several models are shown."""
    modules = flow.trace.modules
    shown = {modules[op.module].root for op in flow.ops if op.module in modules}
    roots = {root for root in shown if (first := modules.get(root)) is None or first.name}
    members: dict[int, list[str]] = {}
    for id, module in modules.items():
        members.setdefault(owner[id], []).append(module.path)
    titles = {}
    for id, paths in members.items():
        module = modules[id]
        paths = [p for p in paths if p.count(".") == module.path.count(".")] or paths
        root = modules.get(module.root)
        before = f"{root.name}." if root is not None and root.name and len(roots) > 1 else ""
        titles[id] = before + joined_name(paths) if module.path else (module.name or module.cls)
    return titles


def joined_name(names: list[str]) -> str:
    """`blocks.0.ln`, `blocks.1.ln`, `blocks.2.ln` → `blocks.0–2.ln`."""
    names = list(dict.fromkeys(names))
    if len(names) == 1:
        return names[0]
    rows = [re.split(r"([0-9]+)", name) for name in names]
    if any(len(row) != len(rows[0]) or row[::2] != rows[0][::2] for row in rows):
        return f"{names[0]} … {names[-1]}"
    parts = []
    for column in zip(*rows, strict=True):
        different = list(dict.fromkeys(column))
        parts.append(different[0] if len(different) == 1 else _range(different))
    return "".join(parts)


def _range(numbers: list[str]) -> str:
    values = sorted(int(n) for n in numbers)
    if values[-1] - values[0] == len(values) - 1:
        return f"{values[0]}–{values[-1]}"
    if len(values) < 4:
        return ",".join(map(str, values))
    return f"{values[0]},{values[1]}…{values[-1]}"


def part_title(flow: Flow, ops: list[int]) -> str:
    """What happens in a box, by the names of its ops."""
    names = list(dict.fromkeys(op_name(flow.ops[i].name) for i in ops))
    return ", ".join(names[:3]) + (", …" if len(names) > 3 else "")


def place_title(path: str, line: int) -> str:
    return f"{short_path(path)}:{line}"


def code_of(line: str | None) -> str:
    """A source line without the comment after it."""
    code, _, _ = (line or "").partition(" # ")
    whole = code.count("'") % 2 or code.count('"') % 2  # the sign is inside a string
    return (line or "") if whole else code.rstrip()
