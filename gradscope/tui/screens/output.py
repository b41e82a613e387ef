"""What the watched program prints."""

from __future__ import annotations

from typing import ClassVar

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
