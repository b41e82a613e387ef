"""What surrounds an op in its graph, drawn with lines: what it reads above it, what reads it below."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from rich.text import Text

from gradscope.analysis.names import names_apart, op_name, shape_words
from gradscope.escape import one_line
from gradscope.model import Op, Value
from gradscope.tui.walk import Walk

DEPTH = 2  # ops in each direction
_MOST = 7  # ops in each direction
_READ = 6  # inputs of one op that are not made by another
_WINDOW = 2_000  # ops after one in which its readers are looked for: this is drawn at each key
_UP, _DOWN, _LEFT, _RIGHT = 1, 2, 4, 8
_LINES = {
    0: " ", _UP | _DOWN: "│", _UP: "╵", _DOWN: "╷", _LEFT | _RIGHT: "─", _LEFT: "╴", _RIGHT: "╶",
    _UP | _LEFT: "╯", _UP | _RIGHT: "╰", _DOWN | _LEFT: "╮", _DOWN | _RIGHT: "╭",
    _UP | _DOWN | _LEFT: "┤", _UP | _DOWN | _RIGHT: "├", _UP | _LEFT | _RIGHT: "┴", _DOWN | _LEFT | _RIGHT: "┬",
    _UP | _DOWN | _LEFT | _RIGHT: "┼",
}  # fmt: skip


@dataclass
class Box:
    """A row: an op, or something read that no op of this graph made. `key` puts them in order."""

    key: tuple[float, int]
    sign: str
    text: Text
    reads: dict[tuple[float, int], bool] = field(default_factory=dict)  # key of a box → a gradient flows back


def around(walk: Walk, op: Op) -> list[Text]:
    """The drawing, a row each."""
    above, below = _above(walk, op), _below(walk, op)
    ops = {each.index: each for each in (*above, op, *below)}
    boxes: dict[tuple[float, int], Box] = {}
    for each in sorted(ops.values(), key=lambda found: found.index):
        here = each.index == op.index
        box = Box((each.index, 0), "◆" if here else "●", _words(walk, each, here))
        number = 0
        for value in walk.pages.values(walk.graph, each.inputs):
            flows = value.requires_grad and each.cut is None
            if value.op is not None and value.op in ops and value.op != each.index:
                key: tuple[float, int] = (value.op, 0)
                box.reads[key] = box.reads.get(key, False) or flows
            elif here and value.op is None and number < _READ:
                read = Box((each.index - 0.5, number), *_read(walk, value))
                boxes[read.key] = read
                box.reads[read.key] = flows
                number += 1
        boxes[box.key] = box
    return _draw(sorted(boxes.values(), key=lambda box: box.key))


def _above(walk: Walk, op: Op) -> list[Op]:
    """What made its inputs, and theirs."""
    found: dict[int, Op] = {}
    edge = [op]
    for _ in range(DEPTH):
        makers = [v.op for o in edge for v in walk.pages.values(walk.graph, o.inputs) if v.op is not None]
        wanted = [index for index in dict.fromkeys(makers) if index not in found and index != op.index]
        edge = [made for index in wanted[: _MOST - len(found)] if (made := walk.pages.op(walk.graph, index))]
        found |= {made.index: made for made in edge}
    return list(found.values())


def _below(walk: Walk, op: Op) -> list[Op]:
    """What reads its results, and theirs."""
    found: dict[int, Op] = {}
    edge = [op]
    for _ in range(DEPTH):
        readers = [
            reader
            for o in edge
            for value in walk.pages.values(walk.graph, o.outputs)
            for reader in walk.pages.readers(walk.graph, value, _MOST, _WINDOW)
        ]
        edge = [r for r in {r.index: r for r in readers}.values() if r.index not in found][
            : _MOST - len(found)
        ]
        found |= {reader.index: reader for reader in edge}
    return list(found.values())


def _words(walk: Walk, op: Op, here: bool) -> Text:
    made = walk.pages.values(walk.graph, op.outputs[:1])
    text = Text(one_line(op_name(op.name)), "bold reverse" if here else "bold")
    text.append(f" {shape_words(made[0].shape)}" if made else "", "dim not bold")
    text.append(f" {one_line(walk.where(op.site))}", "dim not bold")
    if op.cut is not None:
        text.append(f" ✂ {op.cut}", "bold magenta")
    return text


def _read(walk: Walk, value: Value) -> tuple[str, Text]:
    """Sign and words of an input that no op of this graph made."""
    shape = (f" {shape_words(value.shape)}", "dim")
    if value.parameter is not None:
        name = names_apart(walk.trace)[value.parameter]
        return "◇", Text.assemble((one_line(name), "" if value.requires_grad else "dim"), shape)
    return "○", Text.assemble((one_line(walk.value(value).strip("`")), "dim"), shape)


def _draw(boxes: list[Box]) -> list[Text]:
    """One row a box; before it a row of bends where lines come together."""
    last: dict[tuple[float, int], tuple[float, int]] = {}  # box → the last that reads it
    flows: dict[tuple[float, int], bool] = {}
    for box in boxes:  # in their order: what reads comes after what is read
        for key, flow in box.reads.items():
            last[key] = box.key
            flows[key] = flows.get(key, False) or flow
    lanes: list[tuple[float, int] | None] = []  # whose result runs in each column
    rows: list[Text] = []
    for box in boxes:
        comes = [n for n, key in enumerate(lanes) if key is not None and key in box.reads]
        ends = [n for n in comes if last.get(lanes[n] or box.key) == box.key]
        before = list(lanes)
        at = ends[0] if ends else next((n for n, key in enumerate(lanes) if key is None), len(lanes))
        for n in ends:
            lanes[n] = None
        lanes += [None] * (at + 1 - len(lanes))
        if [n for n in comes if n != at]:
            rows.append(_bends(before, lanes, comes, at, flows))
        while len(lanes) > at + 1 and lanes[-1] is None:
            lanes.pop()
        line = Text(end="")
        for n, lane in enumerate(lanes):
            line.append_text(Text(f"{box.sign} ", "bold") if n == at else _lane(lane, flows))
        rows.append(line.append_text(box.text))
        lanes[at] = box.key if box.key in last else None
        while lanes and lanes[-1] is None:
            lanes.pop()
    return rows


def _lane(key: tuple[float, int] | None, flows: dict[tuple[float, int], bool]) -> Text:
    if key is None:
        return Text("  ")
    return Text("│ ", "green") if flows[key] else Text("┊ ", "dim")


def _bends(
    before: list[tuple[float, int] | None], after: list[tuple[float, int] | None], comes: Iterable[int], at: int,
    flows: dict[tuple[float, int], bool],
) -> Text:  # fmt: skip
    """The row in which the lanes `comes` bend to the column `at`."""
    width = max(len(before), len(after))
    cells = [0] * (2 * width)
    for n in range(width):
        cells[2 * n] |= _UP * (n < len(before) and before[n] is not None)
        cells[2 * n] |= _DOWN * ((n < len(after) and after[n] is not None) or n == at)
    for n in comes:
        for cell in range(2 * min(n, at), 2 * max(n, at) + 1):
            cells[cell] |= _RIGHT * (cell < 2 * max(n, at)) | _LEFT * (cell > 2 * min(n, at))
    line = Text(end="")
    for cell, ways in enumerate(cells):
        key = before[cell // 2] if cell % 2 == 0 and cell // 2 < len(before) else None
        quiet = key is not None and not flows[key]
        straight = quiet and ways == _UP | _DOWN
        line.append("┊" if straight else _LINES[ways], "dim" if quiet else "green")
    return line
