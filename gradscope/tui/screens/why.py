"""Why something requires grad, has no gradient, has no graph: asked by name."""

from __future__ import annotations

from typing import Any, ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.suggester import SuggestFromList
from textual.widgets import Input

from gradscope.analysis.names import parameter_name, place
from gradscope.answers import Answer
from gradscope.escape import one_line
from gradscope.render.answer import answer_rows
from gradscope.render.terminal import inline
from gradscope.tui import jobs
from gradscope.tui.screens._page import Page, search_rows
from gradscope.tui.widgets.rows import Rows
from gradscope.tui.widgets.table import Column, Table

_COLUMNS = (Column("", 22, tail=True), Column("", 20, wide=True))


class WhyPage(Page):
    """A field for the name, the answer as source, and its places to go to."""

    NAME = "why"
    TITLE_TEXT = "Why"
    ABOUT = "Ask why a parameter, a variable or a place has a gradient or none"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("a", "ask", "Ask", tooltip="Type a name: layer1.weight, loss, train.py:31"),
        Binding("enter", "source", "Source", show=False, tooltip="Show this place among its source"),
    ]

    def __init__(self) -> None:
        super().__init__()
        self._asked = ""
        self._answer: Answer | None = None

    def body(self) -> ComposeResult:
        yield Input(placeholder="layer1.weight, loss, train.py:31", id="why-name")
        yield Rows(id="answer")
        yield Table(head=False, id="way")

    def fill(self) -> None:
        trace = self.inspector.trace
        assert trace is not None
        names = [parameter_name(trace, p) for p in trace.parameters if p.name]
        self.query_one(Input).suggester = SuggestFromList(names, case_sensitive=True)
        if self._answer is None and not self._asked:
            self._suggest()
        if self.focused is None:
            self.query_one(Input).focus()
        if self._asked and self._answer is None:
            self._start()

    def _suggest(self) -> None:
        """Before the first question: what is worth asking about."""
        trace = self.inspector.trace
        assert trace is not None
        without = [p for p in trace.parameters if p.requires_grad and not p.passes and p.name]
        rows = [Text("type the name of a parameter, a variable or a place, then enter")]
        if without:
            rows += [Text(), Text("never got a gradient:", "bold")]
            rows += [Text(f"  {one_line(parameter_name(trace, p))}") for p in without[:20]]
        self.query_one(Rows).show(lambda width: rows)

    def reveal(self, *what: Any) -> None:
        """Asks about a name."""
        (self._asked,) = what
        self.query_one(Input).value = self._asked
        self._start()
        self.query_one(Rows).focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        if event.input.id == "why-name" and event.value.strip():
            self._asked = event.value.strip()
            self._start()
            self.query_one(Rows).focus()

    def _start(self) -> None:
        self.query_one(Input).value = self._asked
        self._answer = None
        self._show([Text("looking …", "dim")])
        self.run_worker(self._explained(self._asked), exclusive=True, group="why")

    async def _explained(self, name: str) -> None:
        trace = self.inspector.trace
        answer = await self.inspector.job(jobs.explain, name)
        if answer is None or trace is None:
            self._show([Text("no answer", "dim")])
            return
        self._answer = answer
        self.query_one(Rows).show(lambda width: answer_rows(trace, answer, width))
        table = self.query_one(Table)
        table.show(_COLUMNS, len(answer.steps), self._row)
        table.display = bool(answer.steps)
        table.styles.height = min(len(answer.steps), 6) + 1

    def _show(self, rows: list[Text]) -> None:
        self.query_one(Rows).show(lambda width: rows)
        self.query_one(Table).display = False

    def _row(self, at: int) -> list[Text]:
        assert self._answer is not None
        step = self._answer.steps[at]
        sign = "bold yellow" if step.main else ""
        return [Text(one_line(place(step.site.user)), sign), inline(one_line(step.label))]

    async def on_table_chosen(self, event: Table.Chosen) -> None:
        await self.action_source()

    async def action_source(self) -> None:
        """Shows the selected place."""
        if (found := self.target()) is not None:
            await self.inspector.open_source(*found)

    def action_ask(self) -> None:
        """Puts the cursor into the field."""
        field = self.query_one(Input)
        field.focus()
        field.action_select_all()

    def target(self) -> tuple[str, int] | None:
        table = self.query_one(Table)
        if self._answer is None or not self._answer.steps:
            return None
        return self._answer.steps[min(table.cursor, len(self._answer.steps) - 1)].site.user.location()

    def copied(self) -> str:
        return str(self._answer) if self._answer is not None else ""

    def search(self, text: str, *, forward: bool, again: bool) -> bool:
        table, steps = self.query_one(Table), self._answer.steps if self._answer is not None else []
        row = search_rows(
            text, len(steps), table.cursor, lambda at: f"{place(steps[at].site)} {steps[at].label}",
            forward=forward, again=again,
        )  # fmt: skip
        if row is not None:
            table.cursor = row
        return row is not None

    def focus_body(self) -> None:
        self.query_one(Rows).focus()
