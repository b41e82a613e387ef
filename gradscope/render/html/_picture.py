"""What a page's picture is drawn from: boxes, arrows, ways to open them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gradscope.check import Report
from gradscope.escape import one_line, plain
from gradscope.graph.outline import Box, Outline, outline
from gradscope.model import Site
from gradscope.render import _labels as labels
from gradscope.render import _style as style
from gradscope.render._region import region_words
from gradscope.render.picture import screens

Data = dict[str, Any]


def picture_data(report: Report, files: Mapping[str, int], step: int | None = None) -> Data:
    """The picture as plain data. files: path → its number in the page. What is empty is left out."""
    made = outline(report.trace, report.findings, step, screens)
    numbers = {id: at for at, id in enumerate(made.graph)}
    teller = _Teller(made, files)
    nodes = [teller.told(data, id) for id, data in made.graph.nodes.items()]
    for place, called in made.called.items():
        nodes[numbers[place]]["calls"] = [numbers[id] for id in called]
    return {
        "title": one_line(made.view.title),
        "notes": [one_line(note) for note in made.notes],
        "nodes": nodes,
        "edges": [_edge(numbers[a], numbers[b], data) for a, b, data in made.graph.edges()],
        "ways": {way: _boxes(teller, boxes, numbers, nodes) for way, boxes in made.ways.items()},
        "way": made.view.level if made.view.level in made.ways else "line",
        "parameters": {id: numbers[node] for id, node in made.parameters.items() if node in numbers},
        "pointed": [[[numbers[id] for id in ids] for ids in both] for both in made.pointed],
    }


def _boxes(teller: _Teller, boxes: list[Box], numbers: Mapping[str, int], nodes: list[Data]) -> list[Data]:
    """The boxes of a way; of one that stands for a node only what it says otherwise."""
    found = []
    for box in boxes:
        told = teller.told(box.data)
        if box.parent is not None:
            above = one_line(boxes[box.parent].data["label"])
            told["l"] = told["l"].removeprefix(f"{above}.")
        if box.leaf:
            node = nodes[numbers[box.atoms[0]]]
            told = {k: told.get(k, 0) for k in {**node, **told} if told.get(k) != node.get(k) and k != "fn"}
        if box.parent is not None:
            told["up"] = box.parent
        if box.opened:
            told["open"] = 1
        if box.leaf:
            told["of"] = [numbers[id] for id in box.atoms]
        found.append(told)
    return found


def _edge(tail: int, head: int, data: Data) -> list[Any]:
    """[from, to, kind, what it carries, how many, flags]; t: carries a graph, s: severed, l: into the next round."""
    flags = "t" * bool(data["trainable"]) + "s" * bool(data["severed"]) + "l" * bool(data["loop"])
    label = one_line(data["label"])
    shape = labels.shape_text(data["shape"], data["dtype"])
    return [tail, head, data["kind"], label if data["kind"] != "flow" else shape, data["count"], flags]


class _Teller:
    """Puts into few letters what a box says."""

    def __init__(self, made: Outline, files: Mapping[str, int]):
        self._made = made
        self._files = files

    def told(self, data: Data, id: str = "") -> Data:
        """A box, a leaf or a backward pass."""
        look = style.look_of(data)
        kind = data["kind"]
        facts: Data = {
            "k": kind if kind != "outline" else "op",
            "l": one_line(data["label"]),
            "look": look,
            "sign": style.LOOKS[look].sign,
            "d": one_line(data["detail"]),
            "s": labels.shape_text(data["shape"], data["dtype"]),
            "c": data["count"] if data["count"] > 1 else 0,
            "n": data["numel"],
            "causes": data["causes"],
            "effects": [code for code in data["effects"] if code not in data["causes"]],
            "writes": [one_line(name) for name in data["writes"]],
            "severs": [one_line(name) for name in data["severs"]],
            "cut": data["cut"],
            "kept": [one_line(name) for name in data["kept_from"]],
            "m": one_line(data["module"] or ""),
            "at": self._at(data["site"]),
            "r": self._region(data["region"]),
            "earlier": int(data["earlier"]),
            "fn": [plain(name) for name in self._made.grad_fns.get(id, ())],
        }
        if kind == "parameter":
            facts["p"] = int(id.split(":")[1])
            facts["frozen"] = int(not data["trainable"])
        if kind == "input" and data["trainable"]:
            facts["t"] = 1
        return {key: value for key, value in facts.items() if value not in (None, "", 0, [], ())}

    def _at(self, site: Site | None) -> list[int] | None:
        """[file, line], where the page has the file."""
        if site is None or (file := self._files.get(site.user.path)) is None:
            return None
        return [file, site.user.line]

    def _region(self, id: int | None) -> str:
        """The innermost region around it."""
        region = self._made.view.regions.get(id) if id is not None else None
        if region is None:
            return ""
        return one_line(" at ".join(region_words(region, self._made.opened.get(region.id))))
