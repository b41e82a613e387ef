"""What the watched program prints."""

from __future__ import annotations

from rich.text import Text
from textual.app import ComposeResult

from gradscope.escape import plain
from gradscope.tui.screens._page import Page, search_rows
from gradscope.tui.widgets.table import Column, Table


class OutputPage(Page):
    """The program's own output, both streams in one; follows its end."""

    NAME = "output"
    TITLE_TEXT = "Output"
    ABOUT = "What the program prints"

    def body(self) -> ComposeResult:
        yield Table(head=False, empty="nothing printed yet", id="output")

    def refill(self) -> None:
        super().refill()
        self.follow()

    def fill(self) -> None:
        self.focus_body()

    def follow(self) -> None:
        """Shows new lines; stays at the end where the cursor was there."""
        if not self._ready:
            return
        table = self.query_one(Table)
        lines = self._lines
        at_end = table.cursor >= table.count - 1
        table.show([Column("", 10, wide=True)], len(lines), lambda row: [_line(lines[row])])
        if at_end:
            table.cursor = len(lines) - 1

    @property
    def _lines(self) -> list[str]:
        lines = self.inspector.output
        return lines if lines[-1] else lines[:-1]

    def search(self, text: str, *, forward: bool, again: bool) -> bool:
        table, lines = self.query_one(Table), self._lines
        row = search_rows(text, len(lines), table.cursor, lambda at: lines[at], forward=forward, again=again)
        if row is not None:
            table.cursor = row
        return row is not None

    def focus_body(self) -> None:
        self.query_one(Table).focus()

    def copied(self) -> str:
        return "\n".join(self.inspector.output)


def _line(text: str) -> Text:
    """A line with the colours it was printed in, and nothing else that steers a terminal."""
    shown = Text.from_ansi(text.rpartition("\r")[2])
    return shown if plain(shown.plain) == shown.plain else Text(plain(shown.plain))
