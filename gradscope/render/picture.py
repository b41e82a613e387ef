"""Draws a view: DOT text through the `graphviz` package, laid out as SVG, PNG or PDF.

All text of the user's program is escaped: labels are HTML-like with entities only, tooltips
are escaped strings, and no node has a link.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import graphviz

from gradscope import escape
from gradscope.analysis.names import relative
from gradscope.graph import MAX_TITLE, Codes, View, joined_name, rows_of
from gradscope.model import GradscopeError, Region, place_of
from gradscope.render import _labels as labels
from gradscope.render import _style as style
from gradscope.render._columns import MARGIN, Columns, columns, extent, in_order
from gradscope.render._layout import lay_out
from gradscope.render._region import region_words

PICTURES = ("svg", "png", "pdf", "dot")
SCREEN = (1400, 1000)  # points, width and height of a picture that is seen at once
SWATCHES, SWATCH = 5, 150  # in a row of the legend, and points that one takes
MAX_NAMES = 48  # characters of a list of names
NARROW = 28  # characters of a source line in one row of a wide picture


def paint(view: View, kind: str) -> bytes:
    """The picture as a file of one of PICTURES. Raises GradscopeError without a layout engine."""
    return dot_text(view).encode() if kind == "dot" else lay_out(_fitted(view), kind)


def screens(view: View) -> float:
    """How many of SCREEN the picture is high or wide; 0 where no layout engine can tell."""
    try:
        return _screens(_fitted(view))
    except GradscopeError:
        return 0


def svg(view: View) -> str:
    """The picture as SVG text."""
    return lay_out(_fitted(view), "svg").decode()


def _fitted(view: View) -> str:
    """The picture as DOT text; a long one in columns, or with less room between its boxes and less told in them; a wide
    one with shorter rows."""
    drawing = _Drawing(view)
    text = drawing.source()
    if view.level == "op":
        return text
    found = _in_columns(view, drawing, text) or text
    width, height = extent(found)
    if height > SCREEN[1]:
        tight = _Drawing(view, tight=True, swatches=max(int(width / SWATCH), SWATCHES)).source()
        return tight if extent(tight)[1] <= SCREEN[1] or found is text else found
    if width > SCREEN[0]:
        narrow = _Drawing(view, narrow=True).source()
        return narrow if _screens(narrow) < _screens(found) else found
    return found


def _screens(text: str) -> float:
    width, height = extent(text)
    return max(width / SCREEN[0], height / SCREEN[1])


def _in_columns(view: View, drawing: _Drawing, text: str) -> str | None:
    """The picture in columns, where it is better seen so."""
    around = {drawing.ids[id]: data["cluster"] for id, data in view.graph.nodes.items()}
    loops = [
        (drawing.ids[tail], drawing.ids[head]) for tail, head, data in view.graph.edges() if data["loop"]
    ]
    for known in columns(text, around, loops):
        beside = _Drawing(view, columns=known).source()
        if in_order(beside, known):
            return beside
    return None


def dot_text(view: View) -> str:
    """The picture as DOT text."""
    return _Drawing(view).source()


@dataclass
class _Drawing:
    view: View
    columns: Columns = field(default_factory=Columns)
    tight: bool = False  # from top to bottom
    narrow: bool = False
    swatches: int = SWATCHES  # in a row of the legend
    ids: dict[str, str] = field(default_factory=dict)  # node of the graph → box of the picture
    used: set[str] = field(default_factory=set)
    inside: set[tuple[str, str]] = field(default_factory=set)  # leaves that are rows of a box
    made: dict[str, str] = field(default_factory=dict)  # box → the shape of all that others take from it

    def source(self) -> str:
        graph = self.view.graph
        self.dot = graphviz.Digraph("gradscope")
        self.dot.attr(
            "graph", fontname=style.FONT, bgcolor="white", rankdir="TB", newrank="true",
            nodesep="0.15" if self.narrow else "0.22", ranksep="0.12" if self.tight else "0.24",
            pad=str(MARGIN), labelloc="b", labeljust="l", outputorder="edgesfirst",
            tooltip=labels.attr(self.view.title),
        )  # fmt: skip
        self.dot.attr(
            "node",
            fontname=style.FONT,
            fontsize="11",
            margin="0.15,0.05" if self.tight else "0.15,0.08",
            height="0.3",
            penwidth="1",
        )
        self.dot.attr("edge", fontname=style.FONT, fontsize="9", fontcolor=style.MUTED, arrowsize="0.6")
        self._shapes()
        rows, boxes = self._shared_boxes()
        for box, members in boxes.items():
            self._leaf_box(box, members)
        tree = _Tree(self.view, self.dot)
        for number, (id, data) in enumerate(graph.nodes.items()):
            if id in self.ids:
                continue
            self.ids[id] = f"n{number}"
            self._node(tree.parent_of(data), id, data, rows.get(id, []))
        tree.close()
        self._edges()
        if self.view.level == "op":
            self._side_by_side()
        self._beside()
        self.dot.attr("graph", label=self._legend())
        return str(self.dot.source)

    def _shapes(self) -> None:
        """Which boxes tell the shape of their result themselves: there its arrows need no text."""
        graph = self.view.graph
        for id, data in graph.nodes.items():
            if self.view.level == "op" or data["kind"] in ("parameter", "buffer", "input"):
                continue
            out = {
                labels.shape_text(e["shape"], e["dtype"])
                for _, head, e in graph.edges_from(id)
                if e["kind"] == "flow"
            }
            if len(out) == 1:
                self.made[id] = out.pop()

    # -- boxes -------------------------------------------------------------------

    def _shared_boxes(self) -> tuple[dict[str, list[dict[str, Any]]], dict[str, list[str]]]:
        """Leaves with one use: rows inside their module, else one box for those alike."""
        graph = self.view.graph
        rows: dict[str, list[dict[str, Any]]] = {}
        for box, leaves in rows_of(graph).items():
            for leaf in leaves:
                data = graph.nodes[leaf]
                _add_row(
                    rows.setdefault(box, []), {**data, "label": labels.below(data["label"], graph.nodes[box])}
                )
                self.inside.add((leaf, box))
                self.ids[leaf] = ""
        return rows, {f"p{n}": ids for n, ids in enumerate(labels.together(graph, self.ids))}

    def _leaf_box(self, box: str, members: list[str]) -> None:
        data = [self.view.graph.nodes[id] for id in members]
        for id in members:
            self.ids[id] = box
        look = style.look_of(data[0])
        self._box(
            self.dot, box, look, labels.label([], labels.rows(data)), labels.tooltip(data[0], self.view.cwd),
            flagged=style.tone(data[0]["mild"]) if data[0]["findings"] else "",
        )  # fmt: skip

    def _node(self, parent: Any, id: str, data: dict[str, Any], rows: list[dict[str, Any]]) -> None:
        look = style.look_of(data)
        leaf = data["kind"] in ("parameter", "buffer", "input")
        lines = [] if leaf else self._lines(id, data, look)
        label = labels.label(
            lines, labels.rows([data]) if leaf else labels.summary(rows, 1 if self.tight else 3)
        )
        for row in rows:
            self.used.add(style.look_of(row))
        told = [known for known in (data, *rows) if known["findings"]]
        self._box(
            parent,
            self.ids[id],
            look,
            label,
            labels.tooltip(data, self.view.cwd),
            flagged=style.tone(all(known["mild"] for known in told)) if told else "",
        )

    def _lines(self, id: str, data: dict[str, Any], look: str) -> list[str]:
        ink = style.LOOKS[look].text
        muted = style.ON_DARK if look == "backward" else style.MUTED
        mark = f"{style.LOOKS[look].sign} " if style.LOOKS[look].sign else ""
        bold = (data["form"] if data["kind"] == "cut" else data["kind"]) not in ("line", "place")
        room = (NARROW, 3) if self.narrow else (labels.MAX_TEXT, 2)
        rows = labels.wrap(escape.one_line(self._short(data)), *room)
        shown = '<BR ALIGN="LEFT"/>'.join(escape.html(row).replace("  ", "&#160;&#160;") for row in rows)
        shown += '<BR ALIGN="LEFT"/>' if len(rows) > 1 else ""
        face = f' FACE="{style.MONO}"' if not bold or data["kind"] == "backward" else ""
        title = f'<FONT COLOR="{ink}"{face}>{shown}</FONT>'
        if mark:
            title = f'<FONT COLOR="{ink}"><B>{mark}</B></FONT>{title}'
        lines = [f"<B>{title}</B>" if bold and data["kind"] != "grad_fn" else title]
        place = escape.one_line(data["detail"])
        detail = [escape.html(labels.shortened(place) if self.narrow else place)] if place else []
        if data["earlier"]:
            detail.append("an earlier pass")
        if made := self.made.get(id):
            detail.append(f"→ {escape.html(made)}")
        if data["count"] > 1:
            detail.append(f"<B>×{data['count']:,}</B>")
        broken = self.narrow and len(data["detail"]) > NARROW
        for row in (detail[:1], detail[1:]) if broken else (detail,):
            if row:
                lines.append(f'<FONT POINT-SIZE="9" COLOR="{muted}">{" · ".join(row)}</FONT>')
        if data["severs"]:
            lost = ", ".join(labels.shortened(name) for name in data["severs"][:3]) + (
                f" +{len(data['severs']) - 3}" if len(data["severs"]) > 3 else ""
            )
            lines.append(labels.small(f"no gradient for {escape.html(escape.one_line(lost))}", style.RED))
        elif words := labels.cut_words(data):
            lines.append(labels.small(escape.html(words), style.MUTED))
        if data["writes"]:
            written = labels.shortened(escape.one_line(", ".join(data["writes"][:3])), MAX_NAMES)
            known = data["writes"] != ["a value without a name"]
            told = f"writes {escape.html(written)}" if known else "in place"
            lines.append(labels.small(told, style.AMBER))
        return lines + self._marks(data, look)

    def _marks(self, data: dict[str, Any], look: str) -> list[str]:
        """The findings that point at a box: those it causes, those it suffers from."""
        red = style.tone(data["mild"])
        if look == "backward":
            red = style.NOTE_ON_DARK if data["mild"] else style.RED_ON_DARK
        effects = [code for code in data["effects"] if code not in data["causes"]]
        told = [f"{sign} {escape.html(', '.join(codes))}" for sign, codes in (
            (style.CAUSE_SIGN, data["causes"]), (style.EFFECT_SIGN, effects),
        ) if codes]  # fmt: skip
        return [f"<B>{labels.small('&#160; '.join(told), red)}</B>"] if told else []

    def _short(self, data: dict[str, Any]) -> str:
        """The label without what the cluster around it says already."""
        label: str = data["label"]
        if data["cluster"] and (around := self.view.clusters.get(data["cluster"][-1])):
            label = label.removeprefix(f"{around}.")
        return label

    def _box(self, parent: Any, box: str, look: str, label: str, tip: str, flagged: str = "") -> None:
        self.used.add(look)
        shown = style.LOOKS[look]
        parent.node(
            box, label, shape=shown.shape, style=shown.style, fillcolor=shown.fill,
            color=flagged or shown.line, penwidth=str(max(shown.width, 2.0 if flagged else 0.0)),
            tooltip=tip,
        )  # fmt: skip

    # -- edges ---------------------------------------------------------------------

    def _edges(self) -> None:
        graph = self.view.graph
        drawn: dict[tuple[str, str, str, bool, bool], list[tuple[str, dict[str, Any]]]] = {}
        for a, b, data in graph.edges():
            tail, head, kind = self.ids[a], self.ids[b], data["kind"]
            if kind in ("grad", "made") and self.view.level != "op":
                continue
            if kind == "made" and not b.endswith(":0"):
                continue  # an op's other grad_fn nodes hang on the first
            known = graph.nodes[a]["shape"] is not None and graph.nodes[a]["kind"] in (
                "parameter", "buffer", "input",
            )  # fmt: skip
            label = "" if known or a in self.made else labels.shape_text(data["shape"], data["dtype"])
            if not tail or not head or (a, b) in self.inside:
                continue
            many = kind == "flow" and data["count"] > 1 and not known
            if many and (label or data["count"] != graph.nodes[a]["count"]):
                label = labels.several(data["count"], label)
            way = (tail, head, kind, bool(data["trainable"]), data["severed"])
            drawn.setdefault(way, []).append((label, data))
        for (tail, head, kind, *_), same in drawn.items():
            names = list(dict.fromkeys(label for label, _ in same if label))
            label = ", ".join(names[:2]) + (", …" if len(names) > 2 else "")
            getattr(self, f"_{kind}_edge")(tail, head, same[0][1], label)

    def _flow_edge(self, tail: str, head: str, data: dict[str, Any], label: str) -> None:
        look = {"color": style.FLOW, "penwidth": "1.2"}
        if data["severed"]:
            look = {"color": style.RED, "penwidth": "1.6", "style": "dashed"}
        elif not data["trainable"]:
            look = {"color": style.FAINT, "penwidth": "1", "arrowhead": "vee"}
        if data["loop"] or self.columns.apart(tail, head):
            look["constraint"] = "false"
        name = escape.one_line(data["label"])
        self.dot.edge(
            tail,
            head,
            label=labels.attr(f"\u00a0{label} ") if label else "",
            tooltip=labels.attr(name or label),
            **look,
        )

    def _grad_edge(self, tail: str, head: str, data: dict[str, Any], _: str) -> None:
        # Against the data, but laid out along it: both ladders then run downwards.
        colour, dashes = (style.GRADIENT, "solid") if data["trainable"] else (style.UNUSED, "dashed")
        self.dot.edge(head, tail, dir="back", color=colour, penwidth="1.1", style=dashes, tooltip="gradient")

    def _made_edge(self, tail: str, head: str, _data: dict[str, Any], _: str) -> None:
        self.dot.edge(
            tail,
            head,
            dir="none",
            style="dotted",
            color=style.GRADIENT,
            constraint="false",
            tooltip="grad_fn",
        )

    def _alias_edge(self, tail: str, head: str, data: dict[str, Any], _: str) -> None:
        whose = f" as {escape.one_line(data['label'])}" if data["label"] else ""
        self.dot.edge(
            tail, head, label=labels.attr(f"\u00a0same memory{whose} "), style="dashed", color=style.MEMORY,
            fontcolor=style.AMBER, constraint="false", arrowhead="odiamond",
            tooltip="the write changes this value too",
        )  # fmt: skip

    def _finding_edge(self, tail: str, head: str, data: dict[str, Any], _: str) -> None:
        tone = style.tone(data["mild"])
        self.dot.edge(
            tail, head, label=labels.attr(f"\u00a0{escape.one_line(data['label'])} "), style="dotted", color=tone,
            fontcolor=tone, penwidth="1.4", arrowhead="empty", tooltip="what the finding is about",
            constraint="false" if self.columns.apart(tail, head) else "true",
        )  # fmt: skip

    def _beside(self) -> None:
        """Begins the columns on one rank, from left to right; below points outside all clusters, whose order the
        layout keeps, where it does not do so by itself."""
        heads = self.columns.heads
        if not heads:
            return
        tops = [f"column{number}" for number, _ in enumerate(heads)] if self.columns.pull else heads
        with self.dot.subgraph() as top:
            top.attr(rank="same")
            for name in tops:
                if name in heads:
                    top.node(name)
                else:
                    top.node(name, "", style="invis", shape="point", width="0.01", height="0.01")
        for left, right in pairwise(tops):
            self.dot.edge(left, right, style="invis")
        for number, head in enumerate(heads):
            for _ in range(self.columns.pull):
                self.dot.edge(f"column{number}", head, style="invis", weight="10")

    def _side_by_side(self) -> None:
        """Puts each op and its first grad_fn on one rank."""
        graph = self.view.graph
        for a, b, data in graph.edges():
            inside = graph.nodes[a]["region"] is not None or graph.nodes[a]["cluster"]
            if data["kind"] == "made" and b.endswith(":0") and not inside:
                with self.dot.subgraph() as pair:
                    pair.attr(rank="same")
                    pair.node(self.ids[a])
                    pair.node(self.ids[b])

    def _legend(self) -> str:
        graph = self.view.graph
        kinds = {(data["kind"], bool(data["trainable"]), data["severed"]) for _, _, data in graph.edges()}
        extras = []
        if any(k == "flow" and grad for k, grad, _ in kinds):
            extras.append(("→", style.FLOW, "carries a graph"))
        if any(k == "flow" and not grad and not cut for k, grad, cut in kinds):
            extras.append(("→", style.FAINT, "without a graph"))
        if any(k == "flow" and cut for k, _, cut in kinds):
            extras.append(("⇢", style.RED, "where the gradient is lost"))
        if self.view.level == "op" and any(k == "grad" and used for k, used, _ in kinds):
            extras.append(("→", style.GRADIENT, "gradient"))
        if self.view.level == "op" and any(k == "grad" and not used for k, used, _ in kinds):
            extras.append(("⇢", style.UNUSED, "gradient that no pass computes"))
        if self.view.level == "op" and any(k == "made" for k, _, _ in kinds):
            extras.append(("…", style.GRADIENT, "its grad_fn"))
        if any(k == "alias" for k, _, _ in kinds):
            extras.append(("⇢", style.MEMORY, "writes into the same memory"))
        groups = self.view.told.values()
        mild = not any(d["findings"] and not d["mild"] for _, d in graph.nodes.items())
        tone = style.tone(mild and all(_is_mild(self.view, told) for told in groups))
        if any(k == "finding" for k, _, _ in kinds):
            extras.append(("⇢", tone, "ties a finding to what it is about"))
        if any(data["loop"] for _, _, data in graph.edges()):
            extras.append(("↑", style.FLOW, "into a later round or call"))
        leaves = ("parameter", "buffer", "input")  # which say "3 of 20×1"
        if any(data["count"] > 1 and data["kind"] not in leaves for _, data in graph.nodes.items()):
            extras.append(("×n", style.INK, "that many times"))
        if any(labels.cut_words(data) and data["kind"] != "cut" for _, data in graph.nodes.items()):
            extras.append((style.CUT_SIGN, style.MUTED, "cut inside: the gradient goes past it"))
        if any(d["causes"] for _, d in graph.nodes.items()) or any(told.causes for told in groups):
            extras.append((style.CAUSE_SIGN, tone, "cause of a finding"))
        if any(d["effects"] for _, d in graph.nodes.items()) or any(told.effects for told in groups):
            extras.append((style.EFFECT_SIGN, tone, "what it is about"))
        title = [f"{self.view.title} · {self.view.level} level", *self.view.notes]
        return style.legend(
            list(self.used), extras, [escape.html(escape.one_line(t)) for t in title], self.swatches
        )


class _Tree:
    """Subgraphs for module clusters and, in them, grad-mode regions."""

    def __init__(self, view: View, dot: Any):
        self._view = view
        self._open: dict[tuple[Any, ...], tuple[Any, tuple[Any, ...]]] = {(): (dot, ())}
        self._order: list[tuple[Any, ...]] = []

    def parent_of(self, data: dict[str, Any]) -> Any:
        regions = self._regions(data["region"])
        way = self._by_calls(regions, data) if self._view.nesting else self._by_modules(regions, data)
        path: tuple[Any, ...] = ()
        for kind, id in way:
            above, path = path, (*path, (kind, id))
            if path not in self._open:
                graph = graphviz.Digraph(f"cluster_{len(self._open)}")
                graph.attr(**(_module_look(self._view, id) if kind == "module"
                              else _region_look(self._view, id)))  # fmt: skip
                self._open[path] = (graph, above)
                self._order.append(path)
        return self._open[path][0]

    def _by_modules(self, regions: list[Region], data: dict[str, Any]) -> list[tuple[str, int]]:
        """A region opened inside a forward stands inside its module, else around everything."""
        inner = [r for r in regions if any(frame.kind == "torch" for frame in r.site.stack)]
        way: list[tuple[str, int]] = [("region", r.id) for r in regions if r not in inner]
        way += [("module", id) for id in data["cluster"]]
        return way + [("region", r.id) for r in inner]

    def _by_calls(self, regions: list[Region], data: dict[str, Any]) -> list[tuple[str, int]]:
        """A region stands inside the lines that called what opened it, and around those that are called in it."""
        way = [
            (sum(f.kind == r.site.user.kind for f in r.site.stack) - 0.5, ("region", r.id)) for r in regions
        ]
        way += [(self._view.nesting[id], ("module", id)) for id in data["cluster"]]
        return [entry for _, entry in sorted(way, key=lambda known: known[0])]

    def _regions(self, id: int | None) -> list[Region]:
        found: list[Region] = []
        while id is not None and (region := self._view.regions.get(id)) is not None and region not in found:
            found.append(region)
            id = region.parent
        return found[::-1]

    def close(self) -> None:
        for path in reversed(self._order):
            graph, above = self._open[path]
            self._open[above][0].subgraph(graph)


def _is_mild(view: View, codes: Codes) -> bool:
    return view.mild.issuperset((*codes.causes, *codes.effects))


def _module_look(view: View, id: int) -> dict[str, str]:
    """A group of boxes, with what findings say of the call that it stands for."""
    title = view.clusters.get(id, "")
    label = labels.small(escape.html(labels.shortened(escape.one_line(title), MAX_TITLE)), style.MUTED)
    told = labels.group_marks(view, id)
    tone = style.tone(all(_is_mild(view, codes) for group, codes in view.told.items() if group.cluster == id))
    if told:
        label += f"&#160;&#160;<B>{labels.small('&#160; '.join(map(escape.html, told)), tone)}</B>"
    return {
        "label": f"<{label}>", "style": "rounded,filled", "penwidth": "2" if told else "1",
        "color": tone if told else style.SHADOW, "fillcolor": style.MODULE_FILL,
        "labeljust": "l", "labelloc": "t", "margin": "9",
        "tooltip": labels.attr(title),
    }  # fmt: skip


def _region_look(view: View, id: int) -> dict[str, str]:
    region, cwd = view.regions[id], view.cwd
    site = region.site.user
    title, where = region_words(region, view.opened.get(id))
    head = labels.small(escape.html(labels.shortened(escape.one_line(title), MAX_TITLE)), style.REGION)
    label = f"<B>{head}</B>&#160;&#160;{labels.small(escape.html(where), style.MUTED)}"
    return {
        "label": f"<{label}>", "style": "rounded,filled,dashed", "color": style.REGION, "fillcolor": style.REGION_FILL,
        "labeljust": "l", "labelloc": "t", "margin": "12",
        "tooltip": labels.attr(f"{title} at {place_of(relative(site.path, cwd), site.line)}"),
    }  # fmt: skip


def _add_row(rows: list[dict[str, Any]], leaf: dict[str, Any]) -> None:
    """Adds a leaf to the rows of a box, to an equal one of another folded block if there is one."""
    for row in rows:
        same = all(
            row[k] == leaf[k] for k in ("kind", "shape", "dtype", "trainable", "severed", "got_gradient")
        )
        if same and row["label"].split(".")[-1] == leaf["label"].split(".")[-1]:
            row["called"].append(leaf["label"])
            row["label"] = joined_name(row["called"])
            row["count"] += leaf["count"]
            row["numel"] += leaf["numel"]
            return
    rows.append({**leaf, "called": [leaf["label"]]})
