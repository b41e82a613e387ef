"""Source frames: lines of the user's program with spans underlined and labelled."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from rich.cells import cell_len

from gradscope.escape import one_line, plain
from gradscope.render.terminal import Text

GUTTER_STYLE = "bright_blue"
_TAB = 4
_LEAST_ROOM = 28  # cells; a label with less room right of its underline goes below it


class Mark(NamedTuple):
    """A span to underline: lines and columns from 1, `end_column` exclusive."""

    line: int
    column: int
    end_line: int
    end_column: int
    label: str
    sign: str  # "^" for the place a finding points at, "-" for the others
    style: str

    @property
    def span(self) -> tuple[int, int, int, int]:
        return self.line, self.column, self.end_line, self.end_column


class Frame:
    """The marked lines of one file. `first` is the number of the first line in `source`."""

    def __init__(
        self, source: Sequence[str], marks: Iterable[Mark], *, gutter: int, width: int, first: int = 1
    ):
        self._source = source
        self._marks = sorted(marks, key=lambda mark: (mark.sign != "^", mark.span))
        self._gutter = gutter
        self._room = max(width - gutter - 3, 20)
        self._first = first

    def rows(self) -> list[Text]:
        """The frame's rows, code and underlines, between its edges."""
        shown = sorted({line for mark in self._marks for line in (mark.line, max(mark.line, mark.end_line))})
        rows: list[Text] = []
        for previous, number in zip([None, *shown], shown, strict=False):
            if previous is not None:
                rows += self._gap(range(previous + 1, number))
            rows += self.line_rows(number)
        return rows

    def edge(self, text: Text | None = None, number: str = "") -> Text:
        """A row behind the gutter: `number | text`."""
        row = Text(f"{number:>{self._gutter}} |", GUTTER_STYLE)
        if text is not None and text.plain:
            row = Text.assemble(row, " ", text)
        return row

    def _raw(self, number: int) -> str | None:
        index = number - self._first
        return self._source[index] if 0 <= index < len(self._source) else None

    def _gap(self, numbers: range) -> list[Text]:
        if not any((self._raw(number) or "").strip() for number in numbers):
            return []
        if len(numbers) == 1:
            return [self._code(_Cells(self._raw(numbers[0]) or "", self._room), numbers[0])]
        return [Text("...", GUTTER_STYLE)]

    def _code(self, cells: _Cells, number: int) -> Text:
        return self.edge(Text(cells.text), str(number))

    def line_rows(self, number: int) -> list[Text]:
        """A line with what is marked on it."""
        here = [mark for mark in self._marks if number in (mark.line, max(mark.line, mark.end_line))]
        raw = self._raw(number)
        if raw is None:  # a library's line, or one typed at a prompt: the trace has no source of it
            labels = [Text(mark.label, mark.style) for mark in here if mark.label]
            return [self.edge(Text("(source not recorded)", "dim"), str(number)), *map(self.edge, labels)]
        cells = _Cells(raw, self._room, focus=min((_start(mark, number, raw) for mark in here), default=0))
        rows = [self._code(cells, number)]
        drawn = None
        for mark in sorted(here, key=lambda mark: (_start(mark, number, raw), mark.sign != "^")):
            ends = number == max(mark.line, mark.end_line)
            start, end = cells.span(_start(mark, number, raw), _end(mark, number, raw))
            rows += self._underline(mark, start, end, again=mark.span == drawn, labelled=ends)
            drawn = mark.span
        return rows

    def _underline(self, mark: Mark, start: int, end: int, *, again: bool, labelled: bool) -> list[Text]:
        underline = " " * start + (" " if again else mark.sign) * (end - start)
        if not labelled or not mark.label:
            return [] if again else [self.edge(Text(underline, mark.style))]
        label = one_line(mark.label)
        room = self._room - end - 1
        if room >= min(_LEAST_ROOM, cell_len(label)):
            parts = balanced(label, room)
            texts = [underline + " " + parts[0], *(" " * (end + 1) + part for part in parts[1:])]
        else:
            indent = min(start, max(self._room - 2 * _LEAST_ROOM, 0))
            parts = balanced(label, self._room - indent)
            texts = [underline, *(" " * indent + part for part in parts)]
        return [self.edge(Text(text, mark.style)) for text in texts]


def balanced(text: str, width: int) -> list[str]:
    """`text` in as few lines as `width` allows, of about equal length."""
    lines = textwrap.wrap(text, width)
    longest = max(map(len, text.split()), default=0)  # a name that is cut in two cannot be copied
    while (
        len(lines) > 1 and width > longest and len(narrower := textwrap.wrap(text, width - 1)) == len(lines)
    ):
        lines, width = narrower, width - 1
    return lines


def _start(mark: Mark, number: int, raw: str) -> int:
    """The column where `mark` starts on this line, from 0."""
    if number == mark.line:
        return mark.column - 1
    return len(raw) - len(raw.lstrip())


def _end(mark: Mark, number: int, raw: str) -> int:
    if number == max(mark.line, mark.end_line):
        return mark.end_column - 1
    return len(raw.rstrip())


class _Cells:
    """A source line as a terminal shows it, cropped to `room` cells around `focus`."""

    def __init__(self, raw: str, room: int, focus: int = 0):
        raw = raw.rstrip()
        shown: list[str] = []
        self._offsets = [0]
        for char in raw:
            at = self._offsets[-1]
            shown.append(" " * (_TAB - at % _TAB) if char == "\t" else plain(char))
            self._offsets.append(at + cell_len(shown[-1]))
        self._shift = 0
        self._room = room
        text = "".join(shown)
        if self._offsets[-1] > room:
            text = self._crop(shown, min(max(focus, 0), len(raw)))
        self.text = text

    def _crop(self, shown: list[str], focus: int) -> str:
        first = 0
        if self._offsets[focus] > self._room // 2:
            first = max(focus - 12, 0)
            self._shift = self._offsets[first] - 1  # the ellipsis takes one cell
        last = first
        while last < len(shown) and self._offsets[last + 1] - self._shift < self._room:
            last += 1
        return ("…" if first else "") + "".join(shown[first:last]) + ("…" if last < len(shown) else "")

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Character columns → the cells they take, at least one cell wide."""
        top = len(self._offsets) - 1
        left = min(max(self._offsets[min(max(start, 0), top)] - self._shift, 0), self._room - 1)
        right = min(self._offsets[min(max(end, 0), top)] - self._shift, self._room)
        return left, max(right, left + 1)
