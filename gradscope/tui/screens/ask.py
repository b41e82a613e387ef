"""Dialogs: yes or no, how to leave, and a line of text."""

from __future__ import annotations

from typing import ClassVar, TypeVar

from rich.text import Text
from textual.app import ComposeResult
from textual.await_complete import AwaitComplete
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, Label

T = TypeVar("T")


class Dialog(ModalScreen[T]):
    """A box over the screen."""

    def dismiss(self, result: T | None = None) -> AwaitComplete:
        """A second key may come before the first has taken the box away: it would take the screen below."""
        return super().dismiss(result) if self.is_active else AwaitComplete()


class Confirm(Dialog[bool]):
    """Asks; `y` is yes. Enter, which may have been meant for the screen below, is no."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "answer(True)", "Yes"),
        Binding("n,enter,escape,q", "answer(False)", "No"),
    ]

    def __init__(self, question: str, more: Text | None = None):
        super().__init__()
        self._question = question
        self._more = more

    def compose(self) -> ComposeResult:
        with Vertical():
            yield Label(self._question, markup=False)
            if self._more is not None:
                yield Label(self._more)
            yield Label(Text.assemble((" y ", "reverse"), " yes   ", (" n ", "reverse"), " no"))

    def action_answer(self, sure: bool) -> None:
        self.dismiss(sure)


class Leaving(Dialog[str | None]):
    """What becomes of a program that still runs; escape stays. One that an interrupt did not end can be killed."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("i", "answer('interrupt')", "Interrupt"),
        Binding("k", "answer('kill')", "Kill"),
        Binding("r", "answer('run on')", "Run on"),
        Binding("s,escape,n,q", "answer('')", "Stay"),
    ]

    def __init__(self, interrupted: bool):
        super().__init__()
        self._interrupted = interrupted

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return parameters != ("kill",) or self._interrupted

    def compose(self) -> ComposeResult:
        keys = [(" i ", "interrupt it, as Ctrl-C does")]
        keys += [(" k ", "end it at once, without its say")] * self._interrupted
        keys += [(" r ", "let it run on and leave"), (" s ", "stay")]
        with Vertical():
            again = "was interrupted and has not ended yet" if self._interrupted else "still runs"
            yield Label(f"the program {again}", markup=False)
            for key, about in keys:
                yield Label(Text.assemble((key, "reverse"), f" {about}"))

    def action_answer(self, choice: str) -> None:
        self.dismiss(choice)


class AskText(Dialog[str | None]):
    """Asks for a line of text; escape gives None."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "leave", "Leave")]

    def __init__(self, question: str, text: str):
        super().__init__()
        self._question = question
        self._text = text

    def compose(self) -> ComposeResult:
        with Vertical():
            yield Label(self._question, markup=False)
            yield Input(self._text)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        self.dismiss(event.value.strip())

    def action_leave(self) -> None:
        self.dismiss(None)
