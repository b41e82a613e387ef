"""What the watched program prints."""

from __future__ import annotations

from bisect import bisect_left
from functools import lru_cache
from itertools import accumulate
from typing import ClassVar

from rich.cells import chop_cells
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from gradscope.escape import plain
from gradscope.tui.child import END_OF_INPUT
from gradscope.tui.screens._page import Page, search_rows
from gradscope.tui.widgets.asking import AskLine
from gradscope.tui.widgets.table import Column, Table

_INPUT = "to the program:"


class OutputPage(Page):
    """The program's own output, both streams in one; follows its end. What it reads is typed here."""

    NAME = "output"
    TITLE_TEXT = "Output"
    NEEDS_TRACE = False
    ABOUT = "What the program prints, and what you type for it"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "type", "Type", key_display="enter", tooltip="Type a line that the program reads"),
        Binding(
            "d", "end_input", "End input", tooltip="Tell the program that no more input comes, as Ctrl-D does"
        ),
    ]

    def __init__(self) -> None:
        super().__init__()
        self._rows: list[tuple[int, int]] = []  # (line, which of its rows) of each row that is shown

    def body(self) -> ComposeResult:
        yield Table(head=False, empty="nothing printed yet", id="output")

    def refill(self) -> None:
        super().refill()
        self.follow()

    def fill(self) -> None:
        if self.focused is None:
            self.focus_body()

    def follow(self) -> None:
        """Shows new lines; stays at the end where the cursor was there."""
        found = self.query(Table)
        if not self._ready or not found:  # not built yet, or being taken down: the program may still print
            return
        table = found.first()
        at_end = table.cursor >= table.count - 1
        line = self._rows[table.cursor][0] if table.cursor < len(self._rows) else 0
        width = max(self.size.width - table.styles.scrollbar_size_vertical, 20)
        lines = self._lines
        rows = [(n, part) for n, text in enumerate(lines) for part in range(_height(text, width))]
        self._rows = rows
        table.show([Column("", 10, wide=True)], len(rows), lambda row: [_part(lines, *rows[row], width)])
        if at_end:
            table.cursor = len(rows) - 1
        elif table.cursor >= len(rows) or rows[table.cursor][0] != line:  # laid out for another width
            table.cursor = self._row_of(line)

    def on_resize(self) -> None:
        self.follow()

    def _row_of(self, line: int) -> int:
        return bisect_left(self._rows, (line, 0))

    @property
    def _lines(self) -> list[str]:
        lines = self.inspector.output
        return lines[:] if lines[-1] else lines[:-1]

    def on_table_chosen(self, event: Table.Chosen) -> None:
        self.action_type()

    def action_type(self) -> None:
        """Asks for a line."""
        if self.inspector.running:
            self.query_one(AskLine).ask(_INPUT)
        else:
            self.inspector.tell("the program has ended: nothing reads any more")

    def on_ask_line_done(self, event: AskLine.Done) -> None:
        if event.purpose != _INPUT:
            super().on_ask_line_done(event)
            return
        self.focus_body()
        if event.text is not None:
            self._type(f"{event.text}\n")

    def action_end_input(self) -> None:
        """Ctrl-D."""
        if self._type(END_OF_INPUT):
            self.inspector.tell("end of input")

    def _type(self, text: str) -> bool:
        child = self.inspector.child
        done = child is not None and child.type(text)
        if not done:
            self.inspector.tell("the program takes no more input now", wrong=True)
        return done

    def search(self, text: str, *, forward: bool, again: bool) -> bool:
        table, lines = self.query_one(Table), self._lines
        here = self._rows[table.cursor][0] if self._rows else 0
        line = search_rows(text, len(lines), here, lines.__getitem__, forward=forward, again=again)
        if line is not None:
            table.cursor = self._row_of(line)
        return line is not None

    def focus_body(self) -> None:
        self.query_one(Table).focus()

    def copied(self) -> str:
        return "\n".join(self.inspector.output)


@lru_cache(maxsize=20_000)
def _height(text: str, width: int) -> int:
    """How many rows a line takes."""
    return max(len(chop_cells(_line(text).plain, width)), 1) if len(text) * 2 > width else 1


def _part(lines: list[str], line: int, part: int, width: int) -> Text:
    """One row of a line that is wider than the screen."""
    text = _line(lines[line])
    parts = chop_cells(text.plain, width)
    ends = list(accumulate(map(len, parts)))
    return text.divide(ends[:-1])[part] if len(parts) > 1 else text


def _line(text: str) -> Text:
    """A line with the colours it was printed in, and nothing else that steers a terminal."""
    shown = Text.from_ansi(text.rpartition("\r")[2])
    return shown if plain(shown.plain) == shown.plain else Text(plain(shown.plain))
