"""What is wrong, by severity, with the source of each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container

from gradscope.analysis.names import parameter_name, short_path
from gradscope.analysis.words import counted
from gradscope.check import Report
from gradscope.escape import one_line
from gradscope.model import Finding, GradscopeError, Location, place_of
from gradscope.render.frames import GUTTER_STYLE
from gradscope.render.terminal import STYLES
from gradscope.render.text import field_rows, finding_rows, summary
from gradscope.tui import editor, marks
from gradscope.tui.screens._page import Page, search_rows
from gradscope.tui.screens.ask import Confirm
from gradscope.tui.walk import asked_place
from gradscope.tui.widgets.rows import Rows
from gradscope.tui.widgets.table import Column, Table

_COLUMNS = (
    Column("", 7),
    Column("code", 5),
    Column("finding", 24, wide=True),
    Column("place", 22, tail=True),
)
BESIDE = 120  # cells from which on list and finding stand beside each other
_SIGNS = {"error": "✗ error", "warning": "▲ warn", "note": "• note"}


class FindingsPage(Page):
    """The list on top, the selected finding below; beside it on a wide terminal."""

    NAME = "findings"
    TITLE_TEXT = "Findings"
    ABOUT = "What is wrong in this run, most severe first"
    LEGEND = (
        *marks.LEGEND,
        ("^^^", "bold red", "the place that the finding points at"),
        ("---", "bold bright_blue", "other places of it"),
        ("×4", "bold magenta", "so often"),
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "enter", "open_source", "Source", key_display="enter", tooltip="Show the place among its source"
        ),
        Binding("i", "ignore", "Ignore", tooltip="Write a comment that silences this finding, after asking"),
    ]

    def __init__(self) -> None:
        super().__init__()
        self._findings: Sequence[Finding] = ()  # that the table shows: under a dialog others may have come
        self._shown: Finding | None = None

    def body(self) -> ComposeResult:
        with Container(id="findings-body"):
            yield Table(id="findings-list")
            yield Rows(id="finding")

    def fill(self) -> None:
        table = self.query_one(Table)
        checked = self.inspector.checked
        self._findings = checked.findings if checked is not None else ()
        empty = "checking …" if self.inspector.checked is None else ""
        if self.inspector.given_up:
            empty = "the rules were cancelled: press r to run them"
        columns = _COLUMNS[:-1] if self._beside else _COLUMNS
        table.show(columns, len(self._findings), self._cells, empty=empty)
        self.set_class(bool(self._findings), "-found")
        self._lay_out()
        if self.focused is None:
            table.focus()
        self._select(table.cursor, keep_place=True)

    def on_resize(self) -> None:
        self.renew()

    def _lay_out(self) -> None:
        """Below each other the list takes as many rows as it has findings."""
        rows = min(max(len(self._findings), 1) + 2, 12)
        self.query_one(Table).styles.height = None if self._beside else rows

    @property
    def _beside(self) -> bool:
        """Whether there is room for the finding beside the list: then it is there that its place stands."""
        return bool(self._findings) and self.app.size.width >= BESIDE

    def _cells(self, row: int) -> list[Text]:
        finding = self._findings[row]
        style = STYLES[finding.severity]
        times = f"  {finding.extent}" if finding.extent else ""
        place = finding.locations[0] if finding.locations else None
        return [
            Text(_SIGNS[finding.severity], style),
            Text(finding.code, style),
            Text(one_line(finding.message) + times),
            Text(place_of(short_path(place.path), place.line) if place else ""),
        ]

    def on_table_moved(self, event: Table.Moved) -> None:
        self._select(event.row)

    async def on_table_chosen(self, event: Table.Chosen) -> None:
        await self.action_open_source()

    def _select(self, row: int, *, keep_place: bool = False) -> None:
        pane = self.query_one("#finding", Rows)
        finding = self._findings[row] if row < len(self._findings) else None
        report = self.inspector.report
        running = self.inspector.running or self.inspector.outdated
        keep = keep_place and finding == self._shown
        self._shown = finding
        if report is None:
            pane.show(lambda width: ())
        elif finding is None:
            pane.show(lambda width: _facts(report, width, running))
        else:
            pane.show(lambda width: finding_rows(report, finding, width), keep_place=keep)
        place = self.target()
        self.notice_of_file(place[0] if place else None)

    def search(self, text: str, *, forward: bool, again: bool) -> bool:
        table = self.query_one(Table)
        row = search_rows(
            text, len(self._findings), table.cursor, lambda at: _text(self._findings[at]),
            forward=forward, again=again,
        )  # fmt: skip
        if row is not None:
            table.cursor = row
        return row is not None

    def focus_body(self) -> None:
        self.query_one(Table).focus()

    # -- what is selected --------------------------------------------------------------------

    def target(self) -> tuple[str, int] | None:
        place = self._location
        trace = self.inspector.trace
        if place is None or trace is None:
            return None
        return str(Path(trace.program.get("cwd") or "") / place.path), place.line

    @property
    def _location(self) -> Location | None:
        return self._shown.locations[0] if self._shown is not None and self._shown.locations else None

    def copied(self) -> str:
        return self.query_one("#finding", Rows).text

    def asked_about(self) -> str:
        """A parameter that the finding names, else its place."""
        found, trace, place = self._shown, self.inspector.trace, self.target()
        if found is None or trace is None:
            return ""
        text = " ".join((found.message, *found.seen))
        names = [name for p in trace.parameters if (name := parameter_name(trace, p)) and f"`{name}`" in text]
        if names:
            return min(names, key=lambda name: text.index(f"`{name}`"))
        return asked_place(trace, *place) if place is not None else ""

    async def action_open_source(self) -> None:
        """Shows the place on the Source screen."""
        if (place := self.target()) is not None:
            await self.inspector.open_source(*place)

    def action_ignore(self) -> None:
        """Asks whether to write the comment, showing the line as it would be."""
        place, finding, trace = self.target(), self._shown, self.inspector.trace
        if place is None or finding is None or trace is None:
            return
        try:
            line = editor.with_ignore(*place, trace.sources.get(place[0], ""), finding.code)
        except GradscopeError as error:
            self.inspector.tell(str(error), wrong=True)
            return
        more = Text(one_line(line), "bold")
        question = f"write this comment into {short_path(place[0])}, line {place[1]}?"
        self.app.push_screen(Confirm(question, more), self._ignored)

    def _ignored(self, sure: bool | None) -> None:
        place, finding, trace = self.target(), self._shown, self.inspector.trace
        if not sure or place is None or finding is None or trace is None:
            return
        try:
            editor.write_ignore(*place, trace.sources.get(place[0], ""), finding.code)
        except GradscopeError as error:
            self.inspector.tell(str(error), wrong=True)
            return
        self.inspector.tell(f"{finding.code} is silenced there from the next run on")
        self._select(self.query_one(Table).cursor, keep_place=True)


def _text(finding: Finding) -> str:
    places = " ".join(str(place) for place in finding.locations)
    return f"{finding.severity} {finding.code} {finding.name} {finding.message} {places}"


def _facts(report: Report, width: int, running: bool) -> Iterable[Text]:
    """What to say where nothing is wrong."""
    if running:
        yield Text("nothing to report so far", "bold green")
        yield from field_rows("run", [f"{counted(report.trace.summary['steps'], 'step')} so far"], width)
        yield from field_rows("fault", report.faults, width)
    else:
        for label, told in summary(report):
            if isinstance(told, Text):
                yield Text.assemble((f"{label:>5}: ", f"bold {GUTTER_STYLE}"), told)
            elif label != "cost" and (label != "next" or not report.trace.summary["passes"]):
                yield from field_rows(label, told, width)
    yield Text("press 4 for the parameters, 2 for the graph, ? for the keys", GUTTER_STYLE)
