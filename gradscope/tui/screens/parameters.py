"""What is trained: whether it is in an optimizer, and what gradients it gets."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar

from rich.cells import cell_len
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import Static

from gradscope.analysis.gradients import how_received
from gradscope.analysis.names import names_apart, shape_words
from gradscope.analysis.words import counted
from gradscope.escape import one_line
from gradscope.model import Parameter
from gradscope.render.spark import sparkline
from gradscope.store import Trace
from gradscope.tui.screens._page import Page, search_rows
from gradscope.tui.widgets.asking import AskLine
from gradscope.tui.widgets.table import Column, Table

_SPARK = 16
_TITLES = (
    Column("parameter", 18, wide=True, tail=True, both_ends=True), Column("shape", 11), Column("grad?", 6),
    Column("optimizer", 10),
    Column("gradient", 9, right=True), Column("norm", 8, right=True), Column("over the run", _SPARK, spare=True),
)  # fmt: skip
_FILTER = "only rows with:"
Key = Callable[[Parameter], Any]


class ParametersPage(Page):
    """One row a parameter."""

    NAME = "parameters"
    TITLE_TEXT = "Parameters"
    ABOUT = "Every parameter: trained or not, by which optimizer, with what gradient"
    LEGEND = (
        ("×4", "green", "so many passes gave it a gradient"),
        ("never", "bold red", "none did, though it requires one"),
        ("asked for", "green", "a pass was asked for it: autograd.grad"),
        ("by hand", "green", "the program wrote its .grad itself"),
        ("–", "dim", "frozen: it requires none"),
        ("▁▄█", "green", "the norm of its gradient over the run, up to the largest"),
        ("!", "green", "a norm that is not finite"),
        ("▲ ▼", "bold", "sorted by this column, upwards or downwards"),
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "why", "Why", key_display="enter", tooltip="Explain the gradient of this parameter"),
        Binding("s", "sort(1)", "Sort", tooltip="Sort by the next column"),
        Binding("S", "sort_back", "Turn round", show=False, tooltip="Sort the other way round"),
        Binding("f", "filter", "Filter", tooltip="Show only rows with a text in them"),
    ]

    def __init__(self) -> None:
        super().__init__()
        self._rows: list[Parameter] = []
        self._names: dict[int, str] = {}
        self._cells: dict[int, list[Text]] = {}
        self._sorted = -1  # a column; -1: as the model has them
        self._back = False
        self._filter = self._filtered = ""

    def body(self) -> ComposeResult:
        yield Static(id="how", classes="title", markup=False)
        yield Table(id="parameters")

    def fill(self) -> None:
        trace = self.inspector.trace
        assert trace is not None
        self._names = names_apart(trace)
        self._cells.clear()
        self._arrange()
        if self.focused is None:
            self.focus_body()

    def _arrange(self) -> None:
        trace = self.inspector.trace
        if trace is None:
            return
        table = self.query_one(Table)
        here = self._selected
        rows = [p for p in trace.parameters if self._fits(p)]
        if self._sorted >= 0:
            rows.sort(key=self._key(self._sorted), reverse=self._back)
        self._rows = rows
        titles = [
            replace(c, title=c.title + ("▼" if self._back else "▲") * (n == self._sorted))
            for n, c in enumerate(_TITLES)
        ]
        titles[0] = replace(titles[0], wish=max((cell_len(self._names[p.id]) for p in rows), default=0))
        table.show(
            titles, len(rows), self._row, empty="no parameter" + " has that in its row" * bool(self._filter)
        )
        ids = [p.id for p in rows]
        if here is not None and here.id in ids:
            table.center(ids.index(here.id)) if table.cursor != ids.index(here.id) else None
        self.query_one("#how", Static).update(self._how(trace))

    def _how(self, trace: Trace) -> str:
        trained = [p for p in trace.parameters if p.requires_grad]
        without = sum(not how_received(trace, p) for p in trained)
        shown = f"only rows with `{self._filter}`: {len(self._rows):,} of " if self._filter else ""
        words = [f"{shown}{counted(len(trace.parameters), 'parameter')}, {len(trained):,} trainable"]
        if without:
            words.append(f"{without:,} of them never got a gradient")
        return one_line(", ".join(words))

    @property
    def _selected(self) -> Parameter | None:
        at = self.query_one(Table).cursor
        return self._rows[at] if 0 <= at < len(self._rows) else None

    # -- cells ---------------------------------------------------------------------------

    def _row(self, at: int) -> list[Text]:
        parameter = self._rows[at]
        if parameter.id not in self._cells:
            self._cells[parameter.id] = self._make(parameter)
        return self._cells[parameter.id]

    def _make(self, p: Parameter) -> list[Text]:
        trace = self.inspector.trace
        assert trace is not None
        norms, norm = [norm for _, norm in trace.numbers("grad_norm", p.id)], _last_norm(trace, p)
        style = "dim" if not p.requires_grad else ""
        return [
            Text(one_line(self._names[p.id]), style),
            Text(shape_words(p.shape), style),
            Text("yes" if p.requires_grad else "frozen", style),
            Text(self._optimizer(trace, p), style if p.optimizers or not p.requires_grad else "yellow"),
            got(trace, p),
            Text("" if norm is None else f"{norm:.3g}", style),
            Text(sparkline(norms, _SPARK), "green"),
        ]

    def _optimizer(self, trace: Trace, p: Parameter) -> str:
        classes = [trace.optimizers[id].cls for id in p.optimizers if id in trace.optimizers]
        return one_line(", ".join(dict.fromkeys(classes))) or "none"

    def _fits(self, p: Parameter) -> bool:
        if not self._filter:
            return True
        if p.id not in self._cells:
            self._cells[p.id] = self._make(p)
        return self._filter.lower() in " ".join(cell.plain for cell in self._cells[p.id]).lower()

    def _key(self, column: int) -> Key:
        trace = self.inspector.trace
        assert trace is not None
        keys: list[Key] = [
            lambda p: self._names[p.id],
            lambda p: _size(p.shape),
            lambda p: p.requires_grad,
            lambda p: self._optimizer(trace, p),
            lambda p: _received(trace, p),
            lambda p: _order(_last_norm(trace, p)),
            lambda p: max((_order(n) for _, n in trace.numbers("grad_norm", p.id)), default=_order(None)),
        ]
        return keys[column]

    # -- keys ------------------------------------------------------------------------------

    def action_sort(self, by: int) -> None:
        """Sorts by the next column; after the last as the model has them."""
        self._sorted = (self._sorted + 1 + by) % (len(self.query_one(Table).widths()) + 1) - 1
        self._back = False
        self._arrange()

    def action_sort_back(self) -> None:
        """Turns the order round."""
        self._sorted = max(self._sorted, 0)
        self._back = not self._back
        self._arrange()

    def on_table_head_clicked(self, event: Table.HeadClicked) -> None:
        self._back = self._sorted == event.column and not self._back
        self._sorted = event.column
        self._arrange()

    def action_filter(self) -> None:
        """Asks for the text."""
        self._filtered = self._filter
        self.query_one(AskLine).ask(_FILTER, self._filter)

    def on_ask_line_typed(self, event: AskLine.Typed) -> None:
        if event.purpose == _FILTER:
            self._filter = event.text
            self._arrange()

    def on_ask_line_done(self, event: AskLine.Done) -> None:
        super().on_ask_line_done(event)
        if event.purpose == _FILTER and event.text is None:  # Escape: as before it was asked
            self._filter = self._filtered
            self._arrange()

    def asked_about(self) -> str:
        p = self._selected
        return self._names[p.id] if p is not None else ""

    async def on_table_chosen(self, event: Table.Chosen) -> None:
        await self.action_why()

    def search(self, text: str, *, forward: bool, again: bool) -> bool:
        table = self.query_one(Table)
        row = search_rows(
            text, len(self._rows), table.cursor, lambda at: self._names[self._rows[at].id],
            forward=forward, again=again,
        )  # fmt: skip
        if row is not None:
            table.cursor = row
        return row is not None

    def focus_body(self) -> None:
        self.query_one(Table).focus()

    def target(self) -> tuple[str, int] | None:
        p = self._selected
        return p.site.user.location() if p is not None and p.site is not None else None

    def copied(self) -> str:
        p = self._selected
        return self._names[p.id] if p is not None else ""


def got(trace: Trace, p: Parameter) -> Text:
    """How often a parameter got a gradient; in red where it should and never did."""
    if p.passes:
        return Text(f"×{p.passes:,}", "green")
    if not p.requires_grad:
        return Text("–", "dim")
    how = how_received(trace, p)
    return Text(how, "green") if how else Text("never", "bold red")


def _received(trace: Trace, p: Parameter) -> tuple[int, int]:
    """In the order of what is shown: never, frozen, by hand, asked for, ×1, ×2."""
    shown = got(trace, p).plain
    kinds = ["never", "–", "by hand", "asked for"]
    return (kinds.index(shown), 0) if shown in kinds else (len(kinds), p.passes)


def _last_norm(trace: Trace, p: Parameter) -> float | None:
    """That of its gradient at the end of the run, else of the last one measured."""
    norms = trace.numbers("grad_norm", p.id)
    return p.grad_norm if p.grad_norm is not None else (norms[-1][1] if norms else None)


def _order(norm: float | None) -> tuple[int, float]:
    """Its place among others: those that nobody measured first, NaN (which is in no order) last."""
    if norm is None:
        return 0, 0.0
    return (2, 0.0) if math.isnan(norm) else (1, norm)


def _size(shape: tuple[int, ...]) -> int:
    size = 1
    for n in shape:
        size *= n
    return size
