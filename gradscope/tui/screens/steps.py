"""The run as it went: each stretch with its graph, time, loss and events."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterable
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from gradscope.analysis.names import op_name, place
from gradscope.analysis.stretches import DID, Stretch, did, told_stretches
from gradscope.analysis.words import counted
from gradscope.escape import one_line
from gradscope.model import Event
from gradscope.render.text import field_rows
from gradscope.store import GraphSize
from gradscope.tui import jobs
from gradscope.tui.screens._page import Page, search_rows
from gradscope.tui.shell import begin
from gradscope.tui.widgets.rows import Rows
from gradscope.tui.widgets.table import Column, Table

_COLUMNS = (
    Column("", 1), Column("stretch", 16), Column("graph", 5, right=True), Column("ops", 7, right=True),
    Column("nodes", 7, right=True), Column("ms each", 8, right=True), Column("loss", 9, right=True),
    Column("events", 12, wide=True),
)  # fmt: skip
Shape = dict[tuple[int, str], int]  # (site, op) → how often
_LEAD = 19 + 6  # cells beside an event's text: what it is, and how often
_MOST = 200  # events, or differing ops, that are told


class StepsPage(Page):
    """The list on top; below it the selected row's events, or what two rows differ in."""

    NAME = "steps"
    TITLE_TEXT = "Steps"
    ABOUT = "Each stretch of the run: graph, time, loss, events; compare two"
    LEGEND = (
        ("●", "bold magenta", "marked, to be compared"),
        ("×4", "bold", "so many alike in a row"),
        ("–", "dim", "not looked at: sampling was asleep, the same graph had repeated"),
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "graph", "Graph", key_display="enter", tooltip="Show the graph of this stretch"),
        Binding("m", "mark", "Mark", tooltip="Mark this row, to compare another with it"),
        Binding("c", "compare", "Compare", tooltip="Compare this row with the marked one"),
    ]

    def __init__(self) -> None:
        super().__init__()
        self._rows: list[Stretch] = []
        self._graphs: dict[int, GraphSize] = {}
        self._numbers: dict[int, int] = {}
        self._losses: dict[int, float] = {}
        self._texts: dict[int, str] = {}  # what find looks in, by row
        self._marked: int | None = None  # index of a segment

    def body(self) -> ComposeResult:
        yield Table(id="steps")
        yield Rows(id="step")

    def fill(self) -> None:
        trace, pages = self.inspector.trace, self.inspector.pages
        assert trace is not None and pages is not None
        self._graphs = {g.id: g for g in pages.graphs()}
        self._numbers = {id: number for number, id in enumerate(self._graphs, 1)}
        self._losses = dict(trace.numbers("loss"))
        self._rows = told_stretches(trace)
        self._texts.clear()
        table = self.query_one(Table)
        table.show(_COLUMNS, len(self._rows), self._row, empty="nothing ran yet")
        if self.focused is None:
            table.focus()
        self._tell(table.cursor)

    def _row(self, at: int) -> list[Text]:
        row = self._rows[at]
        segment = row.segment
        graph = self._graphs.get(segment.graph) if segment.graph is not None else None
        loss, kinds = row.loss(self._losses), row.kinds
        return [
            Text("●" if segment.index == self._marked else " ", "bold magenta"),
            Text(row.title),
            Text(str(self._numbers[graph.id]) if graph else "–"),
            Text(f"{graph.ops:,}" if graph else ""),
            Text(f"{graph.nodes:,}" if graph else ""),
            Text(row.each),
            Text("" if loss is None else f"{loss:.4g}"),
            Text(did(kinds) if graph or kinds else "not looked at", "" if graph else "dim"),
        ]

    def on_table_moved(self, event: Table.Moved) -> None:
        self._tell(event.row)

    def _tell(self, at: int) -> None:
        if at < len(self._rows):
            row = self._rows[at]
            self.query_one("#step", Rows).show(lambda width: self._told(row, width))

    def _told(self, row: Stretch, width: int) -> Iterable[Text]:
        yield Text(f"{row.title}, from {max(row.segment.started, 0.0):.2f} s on", "bold")
        told = Counter((event.kind, self._said(event)) for event in row.events)
        for (kind, text), times in list(told.items())[:_MOST]:
            lines = textwrap.wrap(one_line(text), max(width - _LEAD, 20))
            for number, line in enumerate(lines):
                lead = "" if number else DID[kind]
                again = (f"  ×{times:,}", "magenta") if times > 1 and number == len(lines) - 1 else ""
                yield Text.assemble((f"{lead:>17}  ", "bold"), line, again)
        if len(told) > _MOST:
            yield Text(f"and {len(told) - _MOST:,} more", "dim")
        if not told:
            yield Text("no events", "dim")

    def _said(self, event: Event) -> str:
        user = event.site.user
        trace = self.inspector.trace
        line = trace.lines(user.path)[user.line - 1 : user.line] if trace is not None else []
        return f"{place(user)}  {line[0].strip() if line else ''}"

    # -- keys --------------------------------------------------------------------------------

    @property
    def _selected(self) -> Stretch | None:
        at = self.query_one(Table).cursor
        return self._rows[at] if at < len(self._rows) else None

    def action_mark(self) -> None:
        """Marks this row, or takes its mark away."""
        if (row := self._selected) is not None:
            self._marked = None if self._marked == row.segment.index else row.segment.index
            self.query_one(Table).refresh()

    def action_compare(self) -> None:
        """Shows what differs."""
        row = self._selected
        marked = next((r for r in self._rows if r.segment.index == self._marked), None)
        if row is None or marked is None or row is marked:
            self.inspector.tell("mark one row with m, go to another, then press c")
            return
        begin(self, self._compare, marked, row, exclusive=True, group="compare")

    async def _compare(self, a: Stretch, b: Stretch) -> None:
        graphs = a.segment.graph, b.segment.graph
        shapes: list[Shape] | None = None
        if None not in graphs and graphs[0] != graphs[1]:
            shapes = await self.inspector.job(jobs.shapes, *map(str, graphs))
        self.query_one("#step", Rows).show(lambda width: self._compared(a, b, width, shapes))

    def _compared(self, a: Stretch, b: Stretch, width: int, shapes: list[Shape] | None) -> Iterable[Text]:
        yield Text(f"{a.title} and {b.title}", "bold")
        facts = [f"{a.each} and {b.each} ms each"]
        losses = a.loss(self._losses), b.loss(self._losses)
        if None not in losses:
            facts.append(f"loss {losses[0]:.4g} and {losses[1]:.4g}")
        yield from field_rows("time", facts[:1], width)
        yield from field_rows("loss", facts[1:], width)
        kinds = [a.kinds, b.kinds]
        only = [(word, kinds[i] - kinds[1 - i]) for i, word in enumerate(("first", "second"))]
        for word, more in only:
            yield from field_rows("more", [f"in the {word}: {did(more)}"] if more else [], width)
        if a.segment.graph is None or b.segment.graph is None:
            yield Text("one of them was not looked at: sampling was asleep", "dim")
        elif shapes is None:
            yield Text("both built the same graph", "green")
        else:
            yield from self._graphs_compared(shapes)

    def _graphs_compared(self, shapes: list[Shape]) -> Iterable[Text]:
        trace = self.inspector.trace
        assert trace is not None
        differ = [k for k in {**shapes[0], **shapes[1]} if shapes[0].get(k, 0) != shapes[1].get(k, 0)]
        yield Text(
            f"their graphs differ in {counted(len(differ), 'call')}"
            if differ
            else "the same calls, wired otherwise"
        )
        for site_id, name in differ[:_MOST]:
            site = trace.site(site_id)
            counts = f"{shapes[0].get((site_id, name), 0):>6,} → {shapes[1].get((site_id, name), 0):<6,}"
            where = place(site.user) if site is not None else "?"
            yield Text.assemble((counts, "bold"), f" `{one_line(op_name(name))}` at {one_line(where)}")

    async def action_graph(self) -> None:
        """Shows this row's graph."""
        row = self._selected
        if row is not None and row.segment.graph is not None:
            await self.inspector.open_graph(row.segment.graph)
        else:
            self.inspector.tell("this stretch was not looked at: sampling was asleep")

    async def on_table_chosen(self, event: Table.Chosen) -> None:
        await self.action_graph()

    def search(self, text: str, *, forward: bool, again: bool) -> bool:
        table = self.query_one(Table)
        row = search_rows(text, len(self._rows), table.cursor, self._searched, forward=forward, again=again)
        if row is not None:
            table.cursor = row
        return row is not None

    def _searched(self, at: int) -> str:
        """A row's text, made once: a long run has many, and each letter that is typed looks at all."""
        if at not in self._texts:
            self._texts[at] = " ".join(cell.plain for cell in self._row(at))
        return self._texts[at]

    def focus_body(self) -> None:
        self.query_one(Table).focus()

    def target(self) -> tuple[str, int] | None:
        row = self._selected
        events = row.events if row is not None else ()
        places = [e.site.user.location() for e in events if e.site.user.kind == "user"]
        return places[-1] if places else None

    def copied(self) -> str:
        return self.query_one("#step", Rows).text
