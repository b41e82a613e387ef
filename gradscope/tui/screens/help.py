"""The keys of a screen, made from its bindings."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from typing import ClassVar

from rich.text import Text
from textual.app import App, ComposeResult
from textual.binding import ActiveBinding, Binding, BindingType
from textual.containers import Vertical

from gradscope.tui.screens._page import Page
from gradscope.tui.screens.ask import Dialog
from gradscope.tui.widgets.keys import in_reach
from gradscope.tui.widgets.rows import Rows


class Help(Dialog[None]):
    """Every key that works on `page`, with what it does: its own first, then those for moving; last its marks."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,question_mark", "leave", "Close")]

    def __init__(self, page: Page):
        super().__init__()
        self._about = f"{page.TITLE_TEXT}: {page.ABOUT[:1].lower()}{page.ABOUT[1:]}"
        self._legend = page.LEGEND
        self._keys: dict[str, tuple[list[str], str]] = {}
        for active in sorted(in_reach(page), key=_order):
            binding = active.binding
            ours = binding.tooltip or not isinstance(active.node, (Page, App))
            if (
                active.enabled
                and binding.description
                and ours
                and binding.action not in ("quit", "help_quit")
            ):
                keys, _ = self._keys.setdefault(binding.action, ([], binding.tooltip or binding.description))
                keys.append(page.app.get_key_display(binding))

    def compose(self) -> ComposeResult:
        with Vertical():
            yield Rows(layout=self._rows)

    def _rows(self, width: int) -> Iterable[Text]:
        yield Text(self._about, "bold")
        yield Text()
        for keys, about in self._keys.values():
            for number, line in enumerate(textwrap.wrap(about, max(width - 12, 20))):
                yield Text.assemble((f"{'' if number else ' '.join(keys):>10}  ", "bold"), line)
        if self._legend:
            yield Text()
            yield Text("What the marks mean", "bold")
        for mark, style, about in self._legend:
            for number, line in enumerate(textwrap.wrap(about, max(width - 12, 20))):
                yield Text.assemble((f"{'' if number else mark:>10}  ", style), line)

    def action_leave(self) -> None:
        self.dismiss()


def _order(active: ActiveBinding) -> int:
    """The screen's own keys, then those of all screens, then those for moving about."""
    return 0 if isinstance(active.node, Page) else 1 if isinstance(active.node, App) else 2
