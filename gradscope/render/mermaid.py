"""The picture as Mermaid text, which GitHub and GitLab draw in a README or an issue between ```mermaid and ```."""

from __future__ import annotations

from typing import Any

from gradscope.escape import one_line
from gradscope.graph import View, rows_of
from gradscope.graph.arrows import Graph
from gradscope.model import GradscopeError
from gradscope.render import _labels as labels
from gradscope.render import _style as style

PICTURES = ("mmd",)

MAX_TEXT, MAX_EDGES = 50_000, 500  # beyond these Mermaid draws nothing
ROWS = 4  # parameters listed in a box
LEAVES = 6  # the same in a box of theirs

_SHAPES = {"input": ("([", "])"), "backward": ("[[", "]]"), "constant": ("(", ")"), "line": ("[", "]")}


def paint(view: View, kind: str) -> bytes:
    """The file's content. Raises GradscopeError for a picture that Mermaid would refuse."""
    text = mermaid(view)
    arrows = sum("-->" in line or "-.->" in line for line in text.splitlines())
    if len(text) > MAX_TEXT or arrows > MAX_EDGES:
        raise GradscopeError(
            f"too much for Mermaid, which takes {MAX_TEXT:,} characters and {MAX_EDGES} arrows"
            f" (these are {len(text):,} and {arrows:,}): a smaller `--depth`, or `--around NAME`, draws less"
        )
    return text.encode()


def mermaid(view: View) -> str:
    """The picture as text."""
    graph = view.graph
    rows = rows_of(graph)
    inside = {leaf: box for box, leaves in rows.items() for leaf in leaves}
    first = {leaf: leaves[0] for leaves in labels.together(graph, inside) for leaf in leaves}
    numbers = {
        id: f"n{number}" for number, id in enumerate(graph) if first.get(id, id) == id and id not in inside
    }
    ids = {id: numbers[first.get(id, id)] for id in graph if id not in inside}
    lines = [f"%% {one_line(view.title)}, {view.level} level", "flowchart TD"]
    told = {box: [graph.nodes[leaf] for leaf in leaves] for box, leaves in rows.items()}
    for leaf, box in first.items():
        told.setdefault(box, []).append(graph.nodes[leaf])
    lines += _boxes(view, numbers, told)
    lines += _arrows(graph, ids)
    used = dict.fromkeys(style.look_of(graph.nodes[id]) for id in numbers)
    for look in used:
        shown = style.LOOKS[look]
        dashes = ",stroke-dasharray:5 3" if "dashed" in shown.style or "dotted" in shown.style else ""
        lines.append(f"  classDef {look} fill:{shown.fill},stroke:{shown.line},color:{shown.text}{dashes}")
        lines.append(
            f"  class {','.join(numbers[id] for id in numbers if style.look_of(graph.nodes[id]) == look)} {look}"
        )
    return "\n".join(lines) + "\n"


def _boxes(view: View, ids: dict[str, str], rows: dict[str, list[dict[str, Any]]]) -> list[str]:
    """The boxes, inside the modules or calling lines around them."""
    tree: dict[Any, Any] = {}
    for id, short in ids.items():
        data = view.graph.nodes[id]
        at = tree
        for number in data["cluster"]:
            at = at.setdefault(number, {})
        before, after = _SHAPES.get(data["kind"], ("[", "]"))
        at[short] = f'{short}{before}"{_label(data, rows.get(id, []))}"{after}'
    return list(_lines(view, tree, 1))


def _lines(view: View, tree: dict[Any, Any], depth: int) -> list[str]:
    found = []
    for key, held in tree.items():
        if isinstance(held, str):
            found.append("  " * depth + held)
            continue
        title = labels.shortened(one_line(view.clusters.get(key, "")), 60)
        title = _safe(" ".join([title, *labels.group_marks(view, key)]))
        found.append("  " * depth + f'subgraph s{key}["{title}"]')
        found += _lines(view, held, depth + 1)
        found.append("  " * depth + "end")
    return found


def _label(data: dict[str, Any], rows: list[dict[str, Any]]) -> str:
    if len(rows) > 1 and data is rows[0]:
        rest = [f"and {len(rows) - LEAVES} more"] if len(rows) > LEAVES else []
        return "<br/>".join(_safe(part) for part in [*map(_leaf, rows[:LEAVES]), *rest])
    rows = [] if rows and data is rows[0] else rows
    look = style.LOOKS[style.look_of(data)]
    first = f"{look.sign} {labels.crop(one_line(data['label']), 60)}".strip()
    shape = labels.shape_text(data["shape"], data["dtype"])
    times = f"×{data['count']:,}" if data["count"] > 1 else ""
    told = [
        first,
        " · ".join(part for part in (one_line(data["detail"]), shape and f"→ {shape}", times) if part),
    ]
    if data["severs"]:
        more = f" +{len(data['severs']) - 2}" if len(data["severs"]) > 2 else ""
        told.append(f"no gradient for {one_line(', '.join(data['severs'][:2]))}{more}")
    if words := labels.cut_words(data):
        told.append(words)
    if data["writes"]:
        told.append(f"writes {one_line(', '.join(data['writes'][:3]))}")
    told += [f"{style.LOOKS[style.look_of(row)].sign} {one_line(row['label'])}" for row in rows[:ROWS]]
    if len(rows) > ROWS:
        told.append(f"and {len(rows) - ROWS} more")
    codes = [f"{style.CAUSE_SIGN} {code}" for code in data["causes"]]
    codes += [f"{style.EFFECT_SIGN} {code}" for code in data["effects"] if code not in data["causes"]]
    told.append(" ".join(codes))
    return "<br/>".join(_safe(part) for part in told if part)


def _leaf(data: dict[str, Any]) -> str:
    """A leaf among others, in one line."""
    name = f"{style.LOOKS[style.look_of(data)].sign} {labels.crop(one_line(data['label']), 60)}".strip()
    shape = labels.several(data["count"], labels.shape_text(data["shape"], data["dtype"]))
    codes = [f"{style.EFFECT_SIGN} {code}" for code in data["effects"]]
    return " ".join(part for part in (name, shape, *codes) if part)


def _arrows(graph: Graph, ids: dict[str, str]) -> list[str]:
    found: dict[str, None] = {}
    for tail, head, data in graph.edges():
        a, b, kind = ids.get(tail), ids.get(head), data["kind"]
        if a is None or b is None or kind in ("grad", "made"):
            continue
        if kind == "flow":
            way = "-. lost .->" if data["severed"] else "-->" if data["trainable"] else "-.->"
        else:
            way = f'-. "{_safe(one_line(data["label"]) or kind)}" .->'
        found[f"  {a} {way} {b}"] = None
    return list(found)


def _safe(text: str) -> str:
    """Text inside quotes: what Mermaid or HTML would read is written as entities of Mermaid's."""
    return "".join(
        sign if sign.isalnum() or sign in " ._-+=,:/×→·●■○□►◄◊▪▼▲▽✂…–" else f"#{ord(sign)};" for sign in text
    )
