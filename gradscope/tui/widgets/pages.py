"""The line at the top: which screens there are, and the run that they show."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text
from textual.events import Click
from textual.message import Message
from textual.widget import Widget


class PageBar(Widget):
    """`1 Findings  2 Graph …`, each a place to click."""

    DEFAULT_CSS = """
    PageBar { height: 1; background: $panel; color: $foreground; }
    """
    COMPONENT_CLASSES = {"page-bar--here"}
    DEFAULT_CSS += "PageBar > .page-bar--here { background: $primary; color: $text; text-style: bold; }"

    class Asked(Message):
        """A click on a screen's name."""

        def __init__(self, page: str):
            super().__init__()
            self.page = page

    def __init__(self, pages: Sequence[tuple[str, str]], here: str):
        super().__init__()
        self._pages = pages
        self._here = here
        self._facts = ""

    def show(self, facts: str) -> None:
        """Other facts at the right end."""
        if facts != self._facts:
            self._facts = facts
            self.refresh()

    def _tabs(self) -> list[str]:
        """A text for each screen: closer together where the run would not fit beside them."""
        tabs = [f" {number} {title} " for number, (_, title) in enumerate(self._pages, 1)]
        *_, last = self._facts.rpartition(", ")
        if sum(map(len, tabs)) + len(last) < self.size.width:
            return tabs
        return [f" {number} {title}" for number, (_, title) in enumerate(self._pages, 1)]

    def render(self) -> Text:
        line = Text(no_wrap=True, end="")
        for (name, _), tab in zip(self._pages, self._tabs(), strict=True):
            line.append(tab, self.get_component_rich_style("page-bar--here") if name == self._here else "")
        room = self.size.width - len(line) - 1
        words = self._facts.split(", ")
        while len(words) > 1 and len(", ".join(words)) > room:
            del words[0]
        facts = Text(", ".join(words), "dim")
        if len(facts) <= room:
            facts.align("right", room)
            line.append_text(facts)
        return line

    def on_click(self, event: Click) -> None:
        at = 0
        for (name, _), tab in zip(self._pages, self._tabs(), strict=True):
            at += len(tab)
            if event.x < at:
                self.post_message(self.Asked(name))
                return
