"""Views of a trace: each level one directed multigraph (`arrows.py`) that a person can read.

Levels: "op" (every op, its values, its grad_fn nodes), "line" (the program's own text,
loops rolled up), "module" (the module tree, equal blocks folded).

Node attributes, all present on every node:

| attribute | type | meaning |
|---|---|---|
| kind | str | parameter, buffer, input, constant, op, grad_fn, cut, line, module, backward, place (a finding's line) |
| form | str | of what ops are drawn as: op, line, module, input or constant, also where its kind is cut; else empty |
| label, detail | str | what it is called; where it is, or its class |
| shape, dtype | tuple or None, str or None | of the leaf, or of the last output, where each round gave that |
| site | Site or None | the call |
| region | int or None | id of the grad-mode region it ran in |
| module | str or None | what the module is called that it ran in, or that owns it |
| cluster | tuple[int, ...] | ids of the modules drawn around it, outermost first |
| findings | list[str] | codes of the findings that point at it |
| mild | bool | they are notes alone |
| causes, effects | list[str] | those whose cause it is, and those that it suffers from |
| earlier | bool | made by a pass before those that are shown |
| trainable | bool or None | requires grad |
| got_gradient | bool or None | a gradient was computed for it in the run (leaves); a pass visits it (grad_fn nodes) |
| writes | list[str] | names of values written in place |
| count | int | how many equal ones were folded into it |
| numel | int | elements of a leaf, folded ones together |
| cut, severs | str or None, tuple[str, ...] | why no gradient passes; the leaves lost behind it |
| kept_from | tuple[str, ...] | what a cut keeps the gradient from in a box that something else has a way through |
| severed | bool | a leaf that reaches the loss only behind a cut; a backward that torch refused |
| names | set[str] | what `around=` finds it by |

A box of kind "cut" keeps the gradient from something that comes into it; one of another kind whose `cut` says something
has a cut inside that the gradient goes past.

Edge attributes: kind ("flow": data; "grad": from a node to where its gradient flows;
"made": op to its grad_fn; "alias": write to the value that shares the memory; "finding": from the cause of a
finding to what it is about, where nothing else ties them), label,
shape, dtype, trainable, count, severed, loop (into the next round of a loop), mild (ties a note).
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from gradscope.analysis.flow import Flow, join
from gradscope.collector import paused
from gradscope.graph._attempts import HIDDEN, READABLE, Attempt, attempts
from gradscope.graph._build import Builder
from gradscope.graph._opened import opened
from gradscope.graph._owners import MAX_TITLE, Boxes, joined_name
from gradscope.graph._places import Key
from gradscope.graph._pointed import Codes, Group
from gradscope.graph._select import select
from gradscope.graph._shown import shown as shown_of
from gradscope.graph.arrows import Graph
from gradscope.model import Finding, GradscopeError, Region
from gradscope.store import Trace

LEVELS = ("module", "line", "op")
DEPTH = 3  # of a slice, where none is given
TALL = 15  # boxes below each other that fit a screen
ALMOST = 1.25  # screens: rather so large than a model in one box
NOTABLY = 0.05  # screens that a coarser picture must be smaller by
MOST_OF_IT = 0.9  # of the calls: a line that hides so many is a model in one box
ROOMY = 22  # boxes up to which parameters have boxes of their own

__all__ = [
    "DEPTH",
    "LEVELS",
    "MAX_TITLE",
    "READABLE",
    "Codes",
    "Flow",
    "View",
    "flow_of",
    "joined_name",
    "nameless",
    "rows_of",
    "size",
    "view",
]


@dataclass
class View:
    """One level of a trace as a graph, with what the reader should be told about it."""

    graph: Graph
    level: str
    notes: list[str] = field(default_factory=list)
    title: str = ""
    regions: dict[int, Region] = field(default_factory=dict)
    opened: dict[int, str] = field(default_factory=dict)  # region → the program's words that open it
    clusters: dict[int, str] = field(default_factory=dict)  # id of a module or of a calling line → title
    nesting: dict[int, int] = field(default_factory=dict)  # id of a calling line → how deep it is called
    told: dict[Group, Codes] = field(default_factory=dict)  # what findings say of all that a call did
    mild: frozenset[str] = frozenset()  # the codes of findings that are notes
    cwd: str = ""  # of the run
    depth: int | None = None  # of the calls or modules that are opened, where not all are
    rolled: bool = False  # whether a line is one box also where its rounds differ

    def __str__(self) -> str:
        kinds: dict[str, int] = {}
        for _, data in self.graph.nodes.items():
            kinds[data["kind"]] = kinds.get(data["kind"], 0) + 1
        counts = ", ".join(f"{n} {kind}" for kind, n in kinds.items())
        return "\n".join([f"{self.level} level of {self.title}: {counts or 'nothing'}", *self.notes])


@paused()
def view(
    trace: Trace,
    level: str | None = None,
    findings: Sequence[Finding] = (),
    step: int | None = None,
    around: str | None = None,
    depth: int | None = None,
    extent: Callable[[View], float] | None = None,
    whole: bool = False,
) -> View:
    """The graph of `trace` at one level ("module", "line", "op"; without one, what suits the program).

    findings: those to mark. step: which optimizer step (from 1; 0: all graphs of the run); without
    it the step that matters most. around: only what lies near a name, within `depth` edges of it. depth, without
    `around`: modules or calls nested deeper than this are drawn as the one around them. extent: how many screens high
    or wide a view is; where no depth is asked for, one that is larger than one is drawn less deep, and where no level
    is, coarser. whole: a level that is asked for is given whatever its size.
    Raises GradscopeError for an unknown level, step or name.
    """
    if level is not None and level not in LEVELS:
        raise GradscopeError(f"no level `{level}`: choose {', '.join(LEVELS)}")
    if depth is not None and (not isinstance(depth, int) or depth < 0):
        raise GradscopeError(
            f"the depth of a {'slice' if around else 'picture'} can't be {depth!r}: a number from 0 on"
        )
    if level is None and depth is not None and around is None:  # what it opens is the picture without it
        level = view(trace, None, findings, step, extent=extent).level or None
    known = shown_of(
        trace, step, findings, whole=around is not None
    )  # what is asked for by name may be anywhere
    flow, marked, found = known.flow, known.marks, list(findings)
    shown = View(Graph(), "", known.notes, known.title, trace.regions, cwd=trace.program.get("cwd") or "")
    known_boxes: set[tuple[int, ...]] = set()
    almost: tuple[float, View] | None = None
    closed: tuple[float, View] | None = None  # a model in one box
    smallest: tuple[float, View] | None = None  # of a level that is asked for
    for attempt in attempts(
        flow, level, depth if around is None else None, around is not None, measured=extent is not None,
        whole=whole,
    ):  # fmt: skip
        boxes = attempt.boxes()
        count = len(set(boxes.keys))
        if attempt.at_once and (parts := (boxes.lines, *_parts(boxes.keys))) in known_boxes:
            continue
        if attempt.at_once:
            known_boxes.add(parts)
        if around is not None or not attempt.too_many(count):
            builder = Builder(flow, boxes, attempt.level, marked, found)
            shown.graph, shown.told = builder.build(), builder.pointed.groups
            shown.mild = _mild(shown.graph, found)
            if around is not None:
                shown.graph = _slice(shown.graph, around, DEPTH if depth is None else depth)
            shown.level, shown.clusters, shown.nesting = attempt.level, boxes.titles, boxes.nesting
            shown.depth, shown.rolled = attempt.depth, boxes.rolled
            count = size(shown.graph)
            told = replace(shown, notes=[*shown.notes, attempt.note] if attempt.note else shown.notes)
            if not attempt.too_many(count):
                screens = (extent or _height)(told) if attempt.at_once else 0
                if level is None and screens <= ALMOST and _in_one_box(flow, boxes, attempt):
                    closed = closed or (screens, told)
                    continue
                if screens <= 1:
                    if not attempt.at_once:
                        chosen = almost or closed or (smallest if level is not None else None)
                        told = chosen[1] if chosen is not None else told
                    shown = told
                    break
                if smallest is None or screens < smallest[0]:
                    smallest = screens, told
                if screens <= ALMOST and (almost is None or screens < almost[0] - NOTABLY):
                    almost = screens, told
        if attempt.coarser:
            shown.notes.append(
                f"the {attempt.level} level has {count} boxes, too many to read: showing the {attempt.coarser} level"
                + ("" if around else " (`--around NAME --depth K` shows a part)")
            )
    if not len(shown.graph):
        shown.notes.append("no tensor operation was captured")
    shown.opened = opened(trace, shown.graph)
    return shown


def _mild(graph: Graph, findings: Sequence[Finding]) -> frozenset[str]:
    """The codes that are told as notes alone; what nothing else is told of in the graph is marked as such."""
    codes = frozenset(f.code for f in findings) - {f.code for f in findings if f.severity != "note"}
    for _, data in graph.nodes.items():
        data["mild"] = bool(data["findings"]) and codes.issuperset(data["findings"])
    for tail, head, data in graph.edges():
        data["mild"] = data["kind"] == "finding" and (graph.nodes[tail]["mild"] or graph.nodes[head]["mild"])
    return codes


def _in_one_box(flow: Flow, boxes: Boxes, attempt: Attempt) -> bool:
    """Whether lines that are not opened hide most of what modules do in one box: modules may say more."""
    if attempt.level != "line" or not attempt.note:
        return False
    held: dict[Key, set[tuple[int, int]]] = {}
    for key, op in zip(boxes.keys, flow.ops, strict=True):
        if op.module is not None:
            held.setdefault(key, set()).add((op.site.id, op.module))
    most = max(held.values(), key=len, default=set())
    several = len({module for _, module in most}) >= HIDDEN
    return several and len(most) >= MOST_OF_IT * sum(map(len, held.values()))


def flow_of(trace: Trace) -> Flow:
    """The flow of data and gradients of the whole run, what no gradient passes included."""
    return join(trace, select(trace, step=0).graphs, everything=True)


def rows_of(graph: Graph) -> dict[str, list[str]]:
    """Box → the parameters and buffers that are shown as rows of it: those that it alone uses, where it is a module or
    where the picture would have too many boxes."""
    leaves = [id for id, data in graph.nodes.items() if data["kind"] in ("parameter", "buffer")]
    uses = {(graph.nodes[leaf]["kind"], *sorted(graph.successors(leaf))) for leaf in leaves}
    crowded = len(graph) - len(leaves) + len(uses) > ROOMY
    rows: dict[str, list[str]] = {}
    for leaf in leaves:
        users = {b for _, b, e in graph.edges_from(leaf) if e["kind"] in ("flow", "finding")}
        tied = any(e["kind"] == "finding" for _, _, e in graph.edges_to(leaf))
        holders = ("module:", "line:", "part:") if crowded else ("module:",)
        if len(users) == 1 and not tied and all(user.startswith(holders) for user in users):
            rows.setdefault(users.pop(), []).append(leaf)
    return rows


def size(graph: Graph) -> int:
    """Boxes that a picture of the graph has: leaves with one use share a box with its others."""
    inside = {leaf for leaves in rows_of(graph).values() for leaf in leaves}
    total = 0
    shared: set[Any] = set()
    for id, data in graph.nodes.items():
        if data["kind"] in ("parameter", "buffer"):
            users = tuple(sorted(graph.successors(id)))
            if id not in inside:
                shared.add((users, data["trainable"], data["got_gradient"], data["severed"]))
        else:
            total += 1
    return total + len(shared)


def _parts(keys: Sequence[Hashable]) -> tuple[int, ...]:
    """Which ops are together, whatever their boxes are called."""
    first: dict[Hashable, int] = {}
    return tuple(first.setdefault(key, number) for number, key in enumerate(keys))


def _height(shown: View) -> float:
    """How many screens the boxes need that stand below each other: those on the longest way of data that takes each
    round of a loop once. More can't be told without a layout."""
    graph = shown.graph
    deep: dict[str, int] = {}
    order = [id for id, data in graph.nodes.items() if data["kind"] not in ("parameter", "buffer", "input")]
    for id in order:  # in program order
        above = [
            deep[tail]
            for tail, _, data in graph.edges_to(id)
            if data["kind"] == "flow" and not data["loop"] and tail in deep
        ]
        deep[id] = max(above, default=0) + 1
    return max(deep.values(), default=0) / TALL


def _slice(graph: Graph, name: str, depth: int) -> Graph:
    """What lies within `depth` edges of the nodes called `name`."""
    near = [id for id, data in graph.nodes.items() if name == data["label"] or name in data["names"]]
    if not near:
        near = [id for id, data in graph.nodes.items() if any(n.endswith(f".{name}") for n in data["names"])]
    if not near:
        near = [id for id, data in graph.nodes.items() if data["module"] == name]
    if not near:
        known = sorted({n for _, data in graph.nodes.items() for n in data["names"]})
        close = difflib.get_close_matches(name, known, 3)
        hint = f": did you mean {' or '.join(f'`{c}`' for c in close)}?" if close else ""
        raise GradscopeError(f"nothing in this graph is called `{name}`{hint}")
    kept = set(near)
    edge = list(near)
    for _ in range(depth):
        edge = [n for id in edge for n in (*graph.successors(id), *graph.predecessors(id)) if n not in kept]
        kept.update(edge)
    return graph.part(kept)
