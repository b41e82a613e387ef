"""The keys of a screen, made from its bindings."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical

from gradscope.tui.screens._page import Page
from gradscope.tui.screens.ask import Dialog
from gradscope.tui.widgets.rows import Rows


class Help(Dialog[None]):
    """Every key that works on `page`, with what it does."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,question_mark", "leave", "Close")]

    def __init__(self, page: Page):
        super().__init__()
        self._about = f"{page.TITLE_TEXT}: {page.ABOUT[:1].lower()}{page.ABOUT[1:]}"
        self._keys: dict[str, tuple[list[str], str]] = {}
        for active in page.active_bindings.values():
            binding = active.binding
            if active.enabled and binding.description and not binding.system:
                keys, _ = self._keys.setdefault(binding.action, ([], binding.tooltip or binding.description))
                keys.append(page.app.get_key_display(binding))

    def compose(self) -> ComposeResult:
        with Vertical():
            yield Rows()

    def on_mount(self) -> None:
        self.query_one(Rows).show(self._rows)

    def _rows(self, width: int) -> Iterable[Text]:
        yield Text(self._about, "bold")
        yield Text()
        for keys, about in self._keys.values():
            yield Text.assemble((f"{' '.join(keys):>12}  ", "bold"), about)

    def action_leave(self) -> None:
        self.dismiss()
