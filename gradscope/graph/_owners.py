"""Which box an op belongs to at each level: itself, its source line, its module.

A box is a hashable key; `Boxes` gives one per op (in program order) and what it is called.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass, field

from gradscope.analysis.flow import Flow
from gradscope.analysis.names import names_of, op_name
from gradscope.graph._counts import HOLDERS, Counts
from gradscope.graph._data import data_chains
from gradscope.graph._fold import fold
from gradscope.graph._joined import Joined
from gradscope.graph._places import Key, same_places
from gradscope.graph._runs import (
    MANY,
    Run,
    aligned,
    folded,
    gathered,
    line_runs,
    made_ahead,
    module_signatures,
    parameter_state,
    rounds_of,
    runs_of,
    unconnected,
)
from gradscope.model import Module, Op, Site, place_of

MAX_TITLE = 60  # characters above the boxes of what a line calls
LEAST_HEAD = 12  # of them: what is left of where a line begins, before the call


@dataclass
class Boxes:
    """keys: the box of each op. cluster: box → module ids around it, outermost first."""

    keys: list[Key]
    groups: list[list[int]]  # ops that are one place of a repeated stretch
    cluster: dict[Key, tuple[int, ...]] = field(default_factory=dict)
    titles: dict[int, str] = field(default_factory=dict)  # module id, or number of a calling line → its title
    some: dict[Key, str] = field(
        default_factory=dict
    )  # box of some of the modules that are one → their title
    nesting: dict[int, int] = field(default_factory=dict)  # number of a calling line → how deep it is called
    callers: dict[int, tuple[str, int]] = field(
        default_factory=dict
    )  # number of a calling line → where it stands
    run: list[int] = field(default_factory=list)  # of each op: which round of its line it belongs to
    parts: set[Key] = field(default_factory=set)  # what a line that has a cluster does itself
    lines: bool = False  # whether what happens outside modules has a box for each line
    rolled: bool = False  # whether a line is one box also where its rounds differ


def groups_of(flow: Flow, pairs: bool = True) -> list[list[int]]:
    """Ops grouped over the rounds of loops and over equal blocks; pairs: also over two blocks."""
    signatures = module_signatures(flow)
    tokens: list[Hashable] = []
    for index, op in enumerate(flow.ops):
        state = tuple(parameter_state(flow, v) for v in flow.inputs[index])
        nodes = tuple(flow.nodes[flow.joined_nodes[op.graph, n]].name for n in op.nodes)
        made = tuple((flow.values[v].shape, flow.values[v].requires_grad) for v in flow.outputs[index])
        before = index in flow.earlier
        tokens.append(
            (op.site.id, op.name, op.cut, op.region, signatures.get(op.module), state, made, nodes, before)
        )
    return fold(tokens, [op.module for op in flow.ops] if pairs else ())


def op_boxes(flow: Flow) -> Boxes:
    groups = groups_of(flow, pairs=False)
    keys: list[Key] = [()] * len(flow.ops)
    for group in groups:
        for op in group:
            keys[op] = ("op", group[0])
    return Boxes(keys, groups)


def line_boxes(flow: Flow, depth: int | None = None, rolled: bool = False) -> Boxes:
    """Lines as boxes, each for every way that calls lead to it, inside the lines that call it; rounds of
    loops are one where they do the same. depth: lines called deeper than this are drawn as the one that calls
    them. rolled: what a line does differently in some rounds is one box nevertheless."""
    counts = Counts(flow)
    ways = [lines[: None if depth is None else depth + 1] for lines in flow.callers]
    owns = [(way, flow.ops[op].region, op in flow.earlier) for op, way in enumerate(ways)]
    frames = [frame_at(op, *way[-1]) for op, way in zip(flow.ops, ways, strict=True)]
    runs = line_runs(flow, owns, frames, counts)
    calling = {way[:k] for way in ways for k in range(1, len(way))}
    # A line is left in the middle where it calls another, or where its statement goes on on the next line.
    left = [ways[run.ops[0]] in calling or counts.on_several_lines(frames[run.ops[0]]) for run in runs]
    pieces = _pieces(runs, frames, left)
    groups = _rolled(runs, pieces) if rolled else folded(flow, runs, least=2)
    if not rolled:
        groups = gathered(flow, runs, groups, [ways[run.ops[0]][:-1] for run in runs])
    divided = Counter(runs[piece].own for piece in set(pieces))
    boxes = Boxes([()] * len(flow.ops), aligned(runs, groups), run=[0] * len(flow.ops), rolled=rolled)
    rounds = rounds_of(runs)
    ids: dict[Hashable, int] = {}
    opened: set[Hashable] = set()  # whose title is made for what they call
    for number, group in enumerate(groups):
        way = ways[runs[group[0]].ops[0]]
        around = [way[:k] for k in range(1, len(way) + (way in calling))]
        key = ("line", *way[-1], number)
        for part in around:
            ids.setdefault(part, len(ids))
            if part not in opened:
                call = frame_at(flow.ops[runs[group[0]].ops[0]], *part[-1]) if part != way else None
                boxes.titles[ids[part]] = _line_title(flow, part[-1], call)
                opened |= {part} if call is not None else set()
            boxes.nesting[ids[part]] = len(part)
            boxes.callers[ids[part]] = part[-1]
        boxes.cluster[key] = tuple(ids[part] for part in around)
        if way in calling or divided[runs[group[0]].own] > 1:
            boxes.parts.add(key)
        for run in group:
            for op in runs[run].ops:
                boxes.keys[op], boxes.run[op] = key, rounds[run]
    return boxes


def _pieces(runs: list[Run], frames: list[Site], left: list[bool]) -> list[int]:
    """Of each run the first that is of the same piece of its line: of one that is left in the middle, what it does
    before and what it does after, as far as these have no expression in common. frames: of each op the one that it
    stands at in its line."""
    pieces = Joined(range(len(runs)))
    first: dict[Hashable, int] = {}
    for number, (run, apart) in enumerate(zip(runs, left, strict=True)):
        for part in [frames[op].span() for op in run.ops] if apart else [None]:
            pieces.join(number, first.setdefault((run.own, part), number))
    return [pieces.first(number) for number in range(len(runs))]


def _rolled(runs: list[Run], pieces: list[int]) -> list[list[int]]:
    groups: dict[int, list[int]] = {}
    for number, piece in enumerate(pieces):
        groups.setdefault(piece, []).append(number)
    return list(groups.values())


def frame_at(op: Op, path: str, line: int) -> Site:
    """The frame of an op's stack that stands at a line: the outermost one, or that of a comprehension in it."""
    found = None
    for frame in op.site.stack:
        if frame.location() == (path, line):
            found = frame
        elif found is not None:
            break
    return found or op.site.user


def _line_title(flow: Flow, at: tuple[str, int], call: Site | None) -> str:
    """What a line says that calls others; of a long one the part around the call."""
    lines = flow.trace.source_file(at[0]).lines
    text = code_of(lines[at[1] - 1].strip()) if 0 < at[1] <= len(lines) else ""
    called = names_of(flow.trace).text(call) if call is not None else None
    if len(text) > MAX_TITLE and called is not None and called in text:
        begins = text.index(called)
        head = text[: max(MAX_TITLE - len(called) - 2, LEAST_HEAD)]
        if begins <= len(head) or begins + len(called) < MAX_TITLE:
            return f"{text[: MAX_TITLE - 1].rstrip()}…"
        rest = f"{head}…{text[begins:]}"
        return rest if len(rest) <= MAX_TITLE else f"{rest[: MAX_TITLE - 1].rstrip()}…"
    return text or place_of(names_of(flow.trace).short_path(at[0]), at[1])


def module_boxes(flow: Flow, depth: int | None = None, lines: bool = False) -> Boxes:
    """Leaf modules as boxes; what a module with children does itself, and what happens
    outside any module, as one box per place. depth: modules deeper than this are
    drawn as the one above them. lines: what happens outside any module as one box per line."""
    modules = flow.trace.modules
    inside = {id: id if depth is None else _ancestor(modules, id, depth) for id in modules}
    whole = [inside.get(op.module) if op.module is not None else None for op in flow.ops]
    counts = Counts(flow)
    parents = {above for id in set(whole) if id is not None for above in counts.around(id)}
    owns = [_own(flow, op, whole[op], parents, lines) for op in range(len(flow.ops))]
    runs = runs_of([(own, flow.ops[op].cut if own[0] == "part" else None) for op, own in enumerate(owns)])
    runs = unconnected(flow, made_ahead(flow, runs))
    alike = _by_kind(flow, runs, owns, whole)
    groups = folded(flow, alike, 3, [whole[run.ops[0]] for run in runs])
    groups = _around_one(flow, alike, groups, whole)
    owner = _equal_modules(flow, [[whole[runs[number].ops[0]] for number in group] for group in groups])
    ops_together = aligned(runs, groups)
    data = data_chains(flow, ops_together)
    stateful = {m for m in (_owner_of(flow, v) for v in range(len(flow.values))) if m is not None}
    stateful = {inside.get(id, id) for id in stateful}
    boxes = Boxes([()] * len(flow.ops), ops_together, lines=lines)
    parents = {owner[id] for id in parents}
    for number, group in enumerate(groups):
        first = runs[group[0]].ops[0]
        op, held = flow.ops[first], whole[first]
        id = owner[held] if held is not None else None
        key: Key
        if id is not None and id not in parents:
            one = held in stateful or held != op.module
            key = ("module", id, op.region) if one else ("module", id, op.region, *_called_from(op))
        else:
            key = ("part", id, number)
        around = _chain(modules, owner, id) if id is not None else []
        boxes.cluster.setdefault(key, tuple(around if id not in parents else [*around, id]))
        for run in group:
            for member in runs[run].ops:
                boxes.keys[member] = ("data", data[member]) if member in data else key
    boxes.keys = same_places(flow, boxes.keys)
    boxes.cluster = {key: boxes.cluster[key] for key in dict.fromkeys(boxes.keys) if key in boxes.cluster}
    boxes.titles, boxes.some = _titles(flow, owner), _titles_of_some(flow, owner, boxes.keys, whole)
    _drop_torn(flow, boxes)
    _drop_single(boxes.cluster)
    return _apart(flow, boxes)


def _own(flow: Flow, op: int, held: int | None, parents: set[int], lines: bool) -> tuple[Hashable, ...]:
    """What an op belongs to: the module that is drawn as one, else the place of its line."""
    at = flow.ops[op]
    before = op in flow.earlier
    if held is not None and held not in parents:
        return "module", held, at.region, _called_from(at) if held == at.module else (), before
    site = at.site.user
    place = site.location() if lines and held is None else (site.path, site.function)
    return "part", held, place, at.region, before


def _by_kind(
    flow: Flow, runs: list[Run], owns: list[tuple[Hashable, ...]], whole: list[int | None]
) -> list[Run]:
    """The runs with the kind of their module in its place, and with their lines: those that may be folded."""
    signatures = module_signatures(flow)
    found = []
    for run in runs:
        kind, _, *rest = owns[run.ops[0]]
        lines = () if kind == "module" else tuple(dict.fromkeys(flow.ops[op].site.id for op in run.ops))
        found.append(Run((kind, signatures.get(whole[run.ops[0]]), *rest, lines), run.ops))
    return found


def _around_one(
    flow: Flow, runs: list[Run], groups: list[list[int]], whole: list[int | None]
) -> list[list[int]]:
    """The groups, with one for the same lines between calls of what is drawn as one box, as the layers of a list: they
    would stand around it like a star. runs: with their lines, so that equal ones do the same."""
    places: dict[Hashable, list[int]] = {}
    for at, group in enumerate(groups):
        own = runs[group[0]].own
        if isinstance(own, tuple) and own[0] == "part":
            places.setdefault((own, _cut_in(flow, runs[group[0]])), []).append(at)
    found = list(groups)
    for same in places.values():
        if len(same) < MANY:
            continue
        beside = [_modules_beside(flow, runs[n], whole) for at in same for n in groups[at]]
        if set.intersection(*beside):
            found[same[0]] = sorted(n for at in same for n in groups[at])
            for at in same[1:]:
                found[at] = []
    return [group for group in found if group]


def _cut_in(flow: Flow, run: Run) -> Hashable:
    return frozenset(flow.ops[op].cut for op in run.ops)


def _modules_beside(flow: Flow, run: Run, whole: list[int | None]) -> set[int]:
    """The modules drawn as one that a run takes values from or hands them to, other than the one that it is part of."""
    inside = set(run.ops)
    makers = {flow.maker[v] for op in run.ops for v in flow.inputs[op]}
    readers = {user for op in run.ops for v in flow.outputs[op] for user in flow.consumers.get(v, ())}
    around = {whole[op] for op in run.ops}
    near = {whole[op] for op in (makers | readers) - inside if op is not None}
    return {id for id in near - around if id is not None}


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
    frames = op.site.stack[::-1]
    own = next((n for n, f in enumerate(frames) if f.function.rpartition(".")[2] == "forward"), -1)
    return next((f.location() for f in frames[own + 1 :] if f.kind != "torch"), op.site.location())


def _drop_torn(flow: Flow, boxes: Boxes) -> None:
    """Takes out clusters of modules that are not called, only hold others, where something else runs between these:
    arrows would go in and out of them, as between the two halves of a U-Net."""
    held: dict[int, list[int]] = {}
    for op, key in enumerate(boxes.keys):
        for id in boxes.cluster.get(key, ()):
            if flow.trace.modules[id].cls in HOLDERS:
                held.setdefault(id, []).append(op)
    drawn = [n for n, key in enumerate(boxes.keys) if key[0] != "data"]
    torn = {id for id, ops in held.items() if sum(ops[0] <= op <= ops[-1] for op in drawn) > len(ops)}
    for key, chain in boxes.cluster.items():
        boxes.cluster[key] = tuple(id for id in chain if id not in torn)


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


def _equal_modules(flow: Flow, groups: list[list[int | None]]) -> dict[int, int]:
    """Module → the first of those that are drawn as one with it."""
    modules = flow.trace.modules
    equal = Joined(modules)
    for group in groups:
        first = group[0]
        for other in dict.fromkeys(group[1:]):
            a, b = first, other
            # Blocks are equal with all that is around their equal parts.
            while a is not None and b is not None and a in equal and b in equal and equal.join(a, b):
                a, b = modules[a].parent, modules[b].parent
    return {id: equal.first(id) for id in modules}


def _titles(flow: Flow, owner: dict[int, int]) -> dict[int, str]:
    """The names of modules; below the variable of their model where several models are shown."""
    members: dict[int, list[int]] = {}
    for id in flow.trace.modules:
        members.setdefault(owner[id], []).append(id)
    several = _several_models(flow)
    return {id: _title(flow, id, equal, several) for id, equal in members.items()}


def _titles_of_some(
    flow: Flow, owner: dict[int, int], keys: list[Key], whole: list[int | None]
) -> dict[Key, str]:
    """The names of boxes that hold some of the modules that are drawn as one elsewhere: one block of several may do a
    part of its work under another grad mode."""
    held: dict[Key, dict[int, None]] = {}
    for key, id in zip(keys, whole, strict=True):
        if key[0] == "module" and id is not None:
            held.setdefault(key, {})[id] = None
    most: dict[int, set[int]] = {}
    for ids in held.values():
        for id in ids:
            most.setdefault(owner[id], set()).add(id)
    several = _several_models(flow)
    return {
        key: _title(flow, next(iter(ids)), list(ids), several)
        for key, ids in held.items()
        if len(ids) < len(most[owner[next(iter(ids))]])
    }


def _several_models(flow: Flow) -> bool:
    modules = flow.trace.modules
    shown = {modules[op.module].root for op in flow.ops if op.module in modules}
    return len({root for root in shown if (first := modules.get(root)) is None or first.name}) > 1


def _title(flow: Flow, id: int, equal: list[int], several: bool) -> str:
    """The name of a module and those that are equal to it."""
    module, root = flow.trace.modules[id], flow.trace.modules.get(flow.trace.modules[id].root)
    paths = [flow.trace.modules[other].path for other in equal]
    paths = [p for p in paths if p.count(".") == module.path.count(".")] or paths
    before = f"{root.name}." if root is not None and root.name and several else ""
    return before + joined_name(paths) if module.path else (module.name or module.cls)


def joined_name(names: list[str]) -> str:
    """`blocks.0.ln`, `blocks.1.ln`, `blocks.2.ln` → `blocks.0–2.ln`."""
    names = list(dict.fromkeys(names))
    if len(names) == 1:
        return names[0]
    rows = [re.split(r"([0-9]+)", name) for name in names]
    if any(len(row) != len(rows[0]) or row[::2] != rows[0][::2] for row in rows):
        return _parted_name([name.split(".") for name in names])
    parts = []
    for column in zip(*rows, strict=True):
        different = list(dict.fromkeys(column))
        parts.append(different[0] if len(different) == 1 else _range(different))
    return "".join(parts)


def _parted_name(names: list[list[str]]) -> str:
    """`blocks.5.filter.weight` to `blocks.5.out.weight` → `blocks.5.filter … out.weight`; where more than one part
    differs, both to their ends."""
    least = min(map(len, names)) - 1
    before = next((n for n in range(least) if len({tuple(name[: n + 1]) for name in names}) > 1), least)
    one = len({tuple(name[before + 1 :]) for name in names}) == 1
    first, last = (".".join(name[before : before + 1 if one else None]) for name in (names[0], names[-1]))
    return ".".join([*names[0][:before], f"{first} … {last}", *(names[0][before + 1 :] if one else ())])


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


def code_of(line: str | None) -> str:
    """A source line without the comment after it."""
    code, _, _ = (line or "").partition(" # ")
    whole = code.count("'") % 2 or code.count('"') % 2  # the sign is inside a string
    return (line or "") if whole else code.rstrip()
