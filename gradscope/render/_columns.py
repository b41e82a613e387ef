"""Lays a long picture out in columns, so that it fits a screen."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from math import ceil

from gradscope.render._layout import lay_out

HEIGHT = 950.0  # points that a column should not exceed
LONG = 3  # times as high as wide
APART, OF_LONG = 0.8, 0.65  # of the pairs of boxes in two columns stand as these do; of a long picture
PULLS = (0, 1, 30)  # edges that ask for the order of columns
MARGIN = 0.15  # inches around a picture


@dataclass
class Columns:
    """Box → its column, and the boxes that columns begin with, from left to right. pull: how much the layout
    is to heed that order; 0: in the smallest picture. order: how many pairs of boxes have to."""

    of: dict[str, int] = field(default_factory=dict)
    heads: list[str] = field(default_factory=list)
    pull: int = 1
    order: float = APART

    def apart(self, one: str, other: str) -> bool:
        return self.of.get(one) != self.of.get(other)


def columns(
    dot: str, around: Mapping[str, tuple[int, ...]], loops: Sequence[tuple[str, str]] = ()
) -> Iterator[Columns]:
    """The columns that a DOT text is better laid out in, the best first; none where it fits, or where they would be too
    wide. around: box → the clusters that it lies in, which are not cut where that can be avoided. loops: boxes that
    a loop leads back from and to, which are cut of a very long picture only."""
    boxes = _boxes(_plain(dot))
    if not boxes:
        return
    height = max(y for y, *_ in boxes.values()) + 40
    width = max(x + w / 2 for _, x, w in boxes.values()) - min(x - w / 2 for _, x, w in boxes.values())
    count = min(ceil(height / HEIGHT), max(round((2 * height / max(width, 1.0)) ** 0.5), 1))
    if height < 1.2 * width:
        return
    for fewer in range(count, 1, -1):
        cuts = [_cut(boxes, around, height * k / fewer, height / fewer / 4) for k in range(1, fewer)]
        of = {name: sum(y > cut for cut in cuts) for name, (y, *_) in boxes.items()}
        if height < LONG * width and any(of.get(tail) != of.get(head) for tail, head in loops):
            continue
        heads = []
        for column in sorted(set(of.values())):
            inside = [name for name, at in of.items() if at == column]
            held = [name for name in inside if around.get(name)] or inside
            heads.append(min(held, key=lambda name: boxes[name][0]))
        apart = OF_LONG if height > 2 * width else APART
        yield from (Columns(of, heads, pull, apart) for pull in PULLS)


def in_order(dot: str, known: Columns) -> bool:
    """Whether the layout engine has put the columns from left to right, and their boxes below each other: it can only
    be asked to."""
    boxes = _boxes(_plain(dot))
    places: dict[int, list[float]] = {}
    for name, column in known.of.items():
        places.setdefault(column, []).append(boxes[name][1])
    beside = [x < y for left, right in pairwise(sorted(places)) for x in places[left] for y in places[right]]
    heads = [boxes[head][1] for head in known.heads]
    return heads == sorted(heads) and sum(beside) >= known.order * len(beside)


def extent(dot: str) -> tuple[float, float]:
    """Width and height of the picture, in points: the layout, and the margin around it."""
    _, _, width, height = _plain(dot).split("\n", 1)[0].split()
    return (float(width) + 2 * MARGIN) * 72, (float(height) + 2 * MARGIN) * 72


@lru_cache(maxsize=4)
def _plain(dot: str) -> str:
    """The layout in graphviz's plain format."""
    return lay_out(dot, "plain").decode(errors="replace")


def _cut(
    boxes: dict[str, tuple[float, float, float]],
    around: Mapping[str, tuple[int, ...]],
    ideal: float,
    slack: float,
) -> float:
    """Where near `ideal` a column ends: where it cuts the fewest clusters."""
    rows = sorted({y for y, *_ in boxes.values()})
    spans: dict[int, list[float]] = {}
    for name, (y, *_) in boxes.items():
        for cluster in around.get(name, ()):
            spans.setdefault(cluster, []).append(y)
    known = [(min(held), max(held)) for held in spans.values()]
    near = [y for y in rows if abs(y - ideal) <= slack] or [min(rows, key=lambda y: abs(y - ideal))]
    return min(near, key=lambda y: (sum(low <= y < high for low, high in known), abs(y - ideal)))


def _boxes(plain: str) -> dict[str, tuple[float, float, float]]:
    """Name → (distance from the top, middle, width) in points, of the layout in graphviz's plain format."""
    found: dict[str, tuple[float, float, float]] = {}
    total = 0.0
    for line in plain.splitlines():
        word, *rest = line.split(" ", 6)
        if word == "graph":
            total = float(rest[2]) * 72
        elif word == "node":
            x, y, w = (float(n) * 72 for n in rest[1:4])
            found[rest[0]] = total - y, x, w
    return found
