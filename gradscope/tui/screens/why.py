"""Why something requires grad, has no gradient, has no graph: asked by name."""

from __future__ import annotations

import ast
from typing import Any, ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.events import Key
from textual.message import Message
from textual.widgets import Input

from gradscope.analysis.gradients import how_received
from gradscope.analysis.memo import once
from gradscope.analysis.names import names_apart, parameter_name, place, shape_words
from gradscope.answers import Answer, Step
from gradscope.escape import one_line
from gradscope.model import Parameter
from gradscope.render.answer import answer_rows
from gradscope.render.terminal import inline
from gradscope.store import Trace
from gradscope.tui import jobs
from gradscope.tui.screens._page import Page, search_rows
from gradscope.tui.shell import begin
from gradscope.tui.widgets.rows import Rows
from gradscope.tui.widgets.table import Column, Table

_WAY = (Column("", 22, tail=True), Column("", 20, wide=True))
_NAMES = (Column("name", 20, wide=True), Column("is", 24), Column("finding", 7))


class NameField(Input):
    """Where a name is typed; tab completes it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("tab", "complete", "Complete", tooltip="Complete the name"),
        Binding("down", "complete_below", "List", show=False, tooltip="Go to the names below"),
    ]

    class Completed(Message):
        """Tab, or the arrow down to the list (`below`)."""

        def __init__(self, below: bool):
            super().__init__()
            self.below = below

    def action_complete(self) -> None:
        self.post_message(self.Completed(False))

    def action_complete_below(self) -> None:
        self.post_message(self.Completed(True))


class WhyPage(Page):
    """A field for the name. Below it what can be asked, those without a gradient first; once asked the answer
    as source, and its places to go to."""

    NAME = "why"
    TITLE_TEXT = "Why"
    ABOUT = "Ask why a parameter, a variable or a place has a gradient or none"
    AUTO_FOCUS = "#names"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("a", "ask", "Ask", tooltip="Type a name: layer1.weight, loss, train.py:31"),
        Binding(
            "enter",
            "enter",
            "Open",
            key_display="enter",
            tooltip="Ask of this name, or show this place among its source",
        ),
        Binding("escape", "out", "Leave", tooltip="Back to the list of names, then to the screen before"),
    ]

    def __init__(self) -> None:
        super().__init__()
        self._asked = ""
        self._asking = True  # the names are shown, not an answer
        self._failed = False
        self._answer: Answer | None = None
        self._parameters: dict[str, Parameter] = {}
        self._variables: list[str] = []
        self._rows: list[str] = []

    def body(self) -> ComposeResult:
        yield NameField(placeholder="layer1.weight, loss, train.py:31", id="why-name", select_on_focus=False)
        yield Table(id="names")
        yield Rows(id="answer")
        yield Table(head=False, id="way")

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return action != "why" and super().check_action(action, parameters)

    def fill(self) -> None:
        trace = self.inspector.trace
        assert trace is not None
        self._parameters = {names_apart(trace)[p.id]: p for p in trace.parameters if p.name}
        self._variables = [name for name in _assigned(trace) if name not in self._parameters]
        if self._asking:
            self._list()
        elif self._answer is None and not self._failed:
            self._start()
        if self.focused is None:
            self.focus_body()

    # -- what can be asked -------------------------------------------------------------------

    def _list(self) -> None:
        """Those without a gradient; where something is typed all names that hold it."""
        trace = self.inspector.trace
        if trace is None:
            return
        typed = self.query_one(NameField).value.strip().lower()
        without = [n for n, p in self._parameters.items() if p.requires_grad and not how_received(trace, p)]
        everything = [*self._parameters, *self._variables]
        self._rows = [n for n in everything if typed in n.lower()] if typed else without
        self._rows.sort(key=lambda name: (name not in without, not name.lower().startswith(typed)))
        empty = "no name holds that: a place as train.py:31 can be asked too"
        empty = empty if typed else "every parameter that is trained got a gradient. Type a name to ask of it"
        self.query_one("#names", Table).show(_NAMES, len(self._rows), self._name_row, empty=empty)
        self._turn(asking=True)

    def _turn(self, *, asking: bool) -> None:
        """Shows the names, or the answer."""
        self._asking = asking
        self.query_one("#names").display = asking
        self.query_one("#answer").display = not asking
        self.query_one("#way").display = not asking and self._answer is not None and bool(self._answer.steps)

    def _name_row(self, at: int) -> list[Text]:
        trace, name = self.inspector.trace, self._rows[at]
        assert trace is not None
        p = self._parameters.get(name)
        if p is None:
            return [Text(one_line(name)), Text("variable", "dim"), Text()]
        state = "frozen" if not p.requires_grad else "" if how_received(trace, p) else "never got a gradient"
        is_ = (
            Text(state, "bold red")
            if state.startswith("never")
            else Text(state or shape_words(p.shape), "dim")
        )
        return [Text(one_line(name)), is_, Text(self._code_of(p), "bold")]

    def _code_of(self, p: Parameter) -> str:
        """The finding that is about a parameter, or speaks of it."""
        trace, checked = self.inspector.trace, self.inspector.checked
        findings = checked.findings if checked is not None else ()
        about = next((f for f in findings if ("parameter", p.id) in f.subjects), None)
        if about is None and trace is not None:
            name = f"`{parameter_name(trace, p)}`"
            about = next((f for f in findings if name in " ".join((f.message, *f.seen))), None)
        return about.code if about is not None else ""

    def on_input_changed(self, event: Input.Changed) -> None:
        if event.input.id == "why-name" and event.input.has_focus and self._ready:
            self._list()

    def on_name_field_completed(self, event: NameField.Completed) -> None:
        field = self.query_one(NameField)
        matching = [n for n in (*self._parameters, *self._variables) if n.startswith(field.value)]
        first, last = min(matching, default=""), max(matching, default="")
        common = first[
            : next((i for i, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), len(first))
        ]
        if not event.below and len(common) > len(field.value):
            field.value = common
            field.cursor_position = len(common)
        elif self._rows:
            self.query_one("#names").focus()

    # -- the answer ----------------------------------------------------------------------------

    def reveal(self, *what: Any) -> None:
        """Asks about a name."""
        self._ask_of(*what)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        if event.input.id == "why-name" and event.value.strip():
            self._ask_of(event.value.strip())

    def _ask_of(self, name: str) -> None:
        self._asked = name
        self.query_one("#answer").display = True  # what is hidden takes no focus
        self.query_one(Rows).focus()
        self._start()

    def _start(self) -> None:
        self.query_one(NameField).value = self._asked
        self._answer, self._failed = None, False
        self.query_one("#way", Table).show(_WAY, 0, lambda row: ())  # it may be drawn before it is hidden
        self._show([Text("looking …", "dim")])
        begin(self, self._explained, self._asked, exclusive=True, group="why")

    async def _explained(self, name: str) -> None:
        trace = self.inspector.trace
        answer = await self.inspector.job(jobs.explain, name)
        if name != self._asked:
            return
        if answer is None or trace is None:
            self._failed = True
            self._show([Text("no answer: press a to ask of another name, escape for the names", "dim")])
            return
        self._answer = answer
        self.query_one(Rows).show(lambda width: answer_rows(trace, answer, width))
        table = self.query_one("#way", Table)
        table.show(_WAY, len(answer.steps), lambda row: _way_row(answer.steps[row]))
        table.styles.height = min(len(answer.steps), 6) + 1
        self._turn(asking=False)

    def _show(self, rows: list[Text]) -> None:
        self.query_one(Rows).show(lambda width: rows)
        self._turn(asking=False)

    # -- keys ----------------------------------------------------------------------------------

    async def on_table_chosen(self, event: Table.Chosen) -> None:
        await self.action_enter()

    async def action_enter(self) -> None:
        """Asks of the selected name, or shows the selected place."""
        if not self._asking:
            if (found := self.target()) is not None:
                await self.inspector.open_source(*found)
        elif self._rows:
            self._ask_of(self._rows[self.query_one("#names", Table).cursor])

    def on_key(self, event: Key) -> None:
        """A letter that is no key of the screen begins a name."""
        field = self.query_one(NameField)
        letter = event.character if event.is_printable and event.key not in self.active_bindings else None
        if letter is not None and not field.has_focus:
            event.stop()
            field.value = letter
            field.focus()
            field.call_later(field.action_end)  # the focus selects what is there
            self._list()

    def action_ask(self) -> None:
        """Puts the cursor into the field."""
        field = self.query_one(NameField)
        field.focus()
        field.action_select_all()

    async def action_out(self) -> None:
        """From the field or the answer to the names, from those to the screen before."""
        field = self.query_one(NameField)
        if self._asking and not (field.has_focus or field.value):
            await self.inspector.action_page_before()
            return
        self.workers.cancel_group(self, "why")
        self._asked, self._answer = "", None
        field.value = ""
        self._list()
        self.focus_body()

    def target(self) -> tuple[str, int] | None:
        table = self.query_one("#way", Table)
        if self._answer is None or not self._answer.steps:
            return None
        return self._answer.steps[min(table.cursor, len(self._answer.steps) - 1)].site.user.location()

    def copied(self) -> str:
        return "\n".join(self._rows) if self._asking else str(self._answer or "")

    def search(self, text: str, *, forward: bool, again: bool) -> bool:
        steps = self._answer.steps if self._answer is not None else []
        table = self.query_one("#names" if self._asking else "#way", Table)
        held = [f"{place(step.site)} {step.label}" for step in steps]
        held = self._rows if self._asking else held
        row = search_rows(text, len(held), table.cursor, held.__getitem__, forward=forward, again=again)
        if row is not None:
            table.cursor = row
        return row is not None

    def focus_body(self) -> None:
        self.query_one("#names" if self._asking else "#answer").focus()


def _way_row(step: Step) -> list[Text]:
    sign = "bold yellow" if step.main else ""
    return [Text(one_line(place(step.site.user)), sign), inline(one_line(step.label))]


@once
def _assigned(trace: Trace) -> list[str]:
    """Variables that were given what a line with ops on it made."""
    busy: dict[str, set[int]] = {}
    for site in trace.sites:
        busy.setdefault(site.user.path, set()).add(site.user.line)
    found: dict[str, None] = {}
    for path in trace.sources:
        for node in trace.source_file(path).nodes if path in busy else ():
            if isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign)):
                if busy[path].isdisjoint(range(node.lineno, (node.end_lineno or node.lineno) + 1)):
                    continue
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                found |= dict.fromkeys(n.id for t in targets for n in ast.walk(t) if isinstance(n, ast.Name))
    return list(found)
