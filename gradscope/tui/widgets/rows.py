"""Text that is laid out for the width it has: source frames, facts about a finding."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.events import Resize
from textual.widgets import Static

Layout = Callable[[int], Iterable[Text]]  # width → rows


class Rows(VerticalScroll, can_focus=True):
    """Shows rows as the renderers of reports give them, anew when the width changes."""

    DEFAULT_CSS = "Rows { padding: 0 1; scrollbar-gutter: stable; } Rows > Static { width: 1fr; }"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "scroll_down", "Down", show=False),
        Binding("k", "scroll_up", "Up", show=False),
    ]

    def __init__(self, id: str | None = None, layout: Layout = lambda width: ()):
        super().__init__(id=id)
        self._layout = layout
        self._width = 0

    def compose(self) -> ComposeResult:
        yield Static(markup=False)

    def show(self, layout: Layout, *, keep_place: bool = False) -> None:
        """Shows other rows, from the top."""
        self._layout = layout
        self._draw()
        self.call_after_refresh(self._fit)  # asked before it had its place, it was laid out for none
        if not keep_place:
            self.scroll_home(animate=False)

    def on_resize(self, event: Resize) -> None:
        self._fit()

    def _fit(self) -> None:
        if self._width != self._room:
            self._draw()

    @property
    def _room(self) -> int:
        return max(self.scrollable_content_region.width, 20)

    def _draw(self) -> None:
        found = self.query(Static)
        self._width = self._room if found else 0
        rows = Text("\n").join(self._layout(self._room))
        rows.no_wrap = True
        if found:
            found.first().update(rows)

    @property
    def text(self) -> str:
        """What is shown, for the clipboard."""
        return "\n".join(row.plain.rstrip() for row in self._layout(100))
