"""The line at the bottom in which one types what to find, or what to leave."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.message import Message
from textual.widgets import Input, Label


class AskLine(Horizontal):
    """Hidden until `ask`. Sends `Typed` at each change, then `Done`."""

    DEFAULT_CSS = """
    AskLine { height: 1; display: none; background: $panel; }
    AskLine Label { padding: 0 1; }
    AskLine Input { height: 1; border: none; padding: 0; background: $surface; width: 1fr; }
    AskLine Input:focus { border: none; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "leave", "Leave", show=False)]

    @dataclass
    class Typed(Message):
        """`purpose` is what `ask` was called with."""

        purpose: str
        text: str

    @dataclass
    class Done(Message):
        """Enter; or Escape, then `text` is None."""

        purpose: str
        text: str | None

    def __init__(self) -> None:
        super().__init__()
        self._purpose = ""

    def compose(self) -> ComposeResult:
        yield Label(markup=False)
        yield Input()

    def ask(self, purpose: str, text: str = "") -> None:
        """Opens the line."""
        self._purpose = purpose
        self.display = True
        self.query_one(Label).update(purpose)
        field = self.query_one(Input)
        with self.prevent(Input.Changed):
            field.value = text
        field.cursor_position = len(text)
        field.focus()

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self.post_message(self.Typed(self._purpose, event.value))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self._close(event.value)

    def action_leave(self) -> None:
        self._close(None)

    def _close(self, text: str | None) -> None:
        self.display = False
        self.post_message(self.Done(self._purpose, text))
