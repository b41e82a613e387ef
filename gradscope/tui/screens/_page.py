"""What all screens have in common: bar, notice, find, and the keys `o` and `y`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, cast

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import Screen
from textual.widgets import Static

from gradscope.analysis.names import short_path
from gradscope.escape import one_line
from gradscope.tui import editor
from gradscope.tui.shell import Shell, begin
from gradscope.tui.widgets.asking import AskLine
from gradscope.tui.widgets.keys import KeyBar
from gradscope.tui.widgets.pages import PageBar

FIND = "find:"


class Page(Screen[None]):
    """One of the numbered screens. A subclass fills `body`, `renew` and what of `target`,
    `copied`, `search` it has."""

    NAME: ClassVar[str]
    TITLE_TEXT: ClassVar[str]
    ABOUT: ClassVar[str]
    NEEDS_TRACE: ClassVar[bool] = True  # for what its keys do
    LEGEND: ClassVar[tuple[tuple[str, str, str], ...]] = ()  # (mark, its style, what it means)
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("slash", "find", "Find", key_display="/", tooltip="Find text on this screen"),
        Binding("n", "find_next(True)", "Next", show=False, tooltip="Next place that was found"),
        Binding("N", "find_next(False)", "Previous", show=False, tooltip="Previous place that was found"),
        Binding("w", "why", "Why", tooltip="Explain the gradient of what is selected"),
        Binding("o", "edit", "Edit", tooltip="Open $EDITOR at this line"),
        Binding("y", "copy", "Copy", show=False, tooltip="Copy what is selected"),
    ]

    def __init__(self) -> None:
        super().__init__()
        self._wanted = ""
        self._edition = -1
        self._ready = False  # every widget of `body` is there
        self._asked_for: tuple[Any, ...] = ()

    @property
    def inspector(self) -> Shell:
        return cast(Shell, self.app)

    def compose(self) -> ComposeResult:
        yield PageBar(self.inspector.tabs, self.NAME)
        yield Static(id="notice", markup=False)
        yield from self.body()
        yield AskLine()
        yield KeyBar()

    def body(self) -> ComposeResult:
        """The widgets between bar and footer."""
        raise NotImplementedError

    def on_mount(self) -> None:
        self._ready = True  # Textual mounts a screen after all that stands in it
        self.renew()
        if self._asked_for:
            self.show_at(*self._asked_for)

    def on_unmount(self) -> None:
        self._ready = False

    def on_screen_resume(self) -> None:
        if self._edition != self.inspector.edition:
            self.renew()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """No key does anything before there is what it would do it with."""
        return self._ready and (not self.NEEDS_TRACE or self.inspector.trace is not None)

    def renew(self) -> None:
        """Shows the trace as it is now. Called at any time, also while the widgets come or go: does
        nothing then."""
        if self._ready:
            self.refill()

    def refill(self) -> None:
        """`renew` with every widget there."""
        self._edition = self.inspector.edition
        self.tell_state()
        self.notice(self.inspector.fault)
        if self.inspector.trace is not None:
            self.fill()

    def tell_state(self) -> None:
        """Shows the run, or the work that goes on, in the bar."""
        if self._ready:
            for bar in self.query(PageBar):  # none while the screen is taken down
                bar.show(self.inspector.state)

    def fill(self) -> None:
        """Puts the trace into the widgets; there is one."""
        raise NotImplementedError

    def show_at(self, *what: Any) -> None:
        """Goes to one thing that another screen asked for, as soon as this one is there."""
        self._asked_for = () if self._ready else what
        if self._ready:
            self.reveal(*what)

    def reveal(self, *what: Any) -> None:
        """Goes to one thing, with every widget there."""

    def on_page_bar_asked(self, event: PageBar.Asked) -> None:
        begin(self, self.inspector.action_page, event.page)

    def notice(self, text: str) -> None:
        """A line below the bar about what is shown; hidden where `text` is empty."""
        line = self.query_one("#notice", Static)
        line.update(one_line(text))
        line.display = bool(text)

    def notice_of_file(self, path: str | None) -> None:
        """Says so where a source file is not what ran; else what else there is to say."""
        trace = self.inspector.trace
        recorded = trace.sources.get(path) if trace is not None and path is not None else None
        changed = editor.difference(path, recorded) if path is not None and recorded is not None else None
        self.notice(f"{short_path(path or '')} {changed}" if changed else self.inspector.fault)

    # -- find ----------------------------------------------------------------------------

    def action_find(self) -> None:
        """Asks what to find."""
        self.query_one(AskLine).ask(FIND, self._wanted)

    def on_ask_line_typed(self, event: AskLine.Typed) -> None:
        if event.purpose == FIND:
            self._wanted = event.text
            self.search(event.text, forward=True, again=False)

    def on_ask_line_done(self, event: AskLine.Done) -> None:
        self.focus_body()
        if event.purpose == FIND and event.text and not self.search(event.text, forward=True, again=False):
            self.inspector.tell(f"`{event.text}` is not on this screen", wrong=True)

    def action_find_next(self, forward: bool) -> None:
        """Goes to the next place that holds what was looked for."""
        if self._wanted and not self.search(self._wanted, forward=forward, again=True):
            self.inspector.tell(f"`{self._wanted}` is not on this screen", wrong=True)

    def search(self, text: str, *, forward: bool, again: bool) -> bool:
        """Goes to a place that holds `text`, from where one is; `again`: not to where one is."""
        return False

    def focus_body(self) -> None:
        """Gives the keys to the screen's main part."""

    # -- what is selected ------------------------------------------------------------------

    def target(self) -> tuple[str, int] | None:
        """The place in the source that is selected: absolute path and line."""
        return None

    def copied(self) -> str:
        """The text of what is selected."""
        return ""

    def asked_about(self) -> str:
        """What `w` asks of: a name or a place as `gradscope why` takes it; "" where nothing is selected."""
        return ""

    async def action_why(self) -> None:
        """Asks the Why screen, or goes to its list."""
        if asked := self.asked_about():
            await self.inspector.open_why(asked)
        else:
            await self.inspector.action_page("why")

    def action_edit(self) -> None:
        """Opens the editor."""
        place = self.target()
        if place is None:
            self.inspector.tell("no line of your source is selected", wrong=True)
        else:
            self.inspector.edit(*place)

    def action_copy(self) -> None:
        """Copies the selection."""
        if text := self.copied():
            self.app.copy_to_clipboard(text)
            self.inspector.tell("copied")


def search_rows(
    text: str, count: int, at: int, has: Callable[[int], str], *, forward: bool, again: bool
) -> int | None:
    """The next row whose text holds `text`, round the end; capital letters count where `text` has any."""
    fold = text.islower() or not any(c.isalpha() for c in text)
    wanted = text.lower() if fold else text
    way = 1 if forward else -1
    for distance in range(int(again), count + int(again)):
        row = (at + way * distance) % count
        held = has(row)
        if wanted in (held.lower() if fold else held):
            return row
    return None
