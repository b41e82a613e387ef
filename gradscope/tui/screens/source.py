"""The user's files as they ran, with what happened on each line beside it."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, ClassVar

from rich.syntax import Syntax
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import Static

from gradscope.analysis.names import relative
from gradscope.escape import one_line, plain
from gradscope.model import Finding
from gradscope.source import lines_of
from gradscope.store import LineWork
from gradscope.tui import jobs, marks
from gradscope.tui.screens._page import Page, search_rows
from gradscope.tui.shell import begin
from gradscope.tui.walk import asked_place
from gradscope.tui.widgets.rows import Rows
from gradscope.tui.widgets.table import Column, Table

_HIGHLIGHTED = 3000  # lines; a longer file is shown plain


class SourcePage(Page):
    """One file at a time; `[` and `]` turn to the next."""

    NAME = "source"
    TITLE_TEXT = "Source"
    ABOUT = "Your files as they ran: nodes built, cuts, regions, in-place writes, findings"
    LEGEND = (
        *marks.LEGEND,
        ("12", "green", "grad nodes that the line built"),
        ("✂", "bold magenta", "the gradient was cut on this line"),
        ("✎", "yellow", "an in-place write"),
        ("┃", "blue", "gradients are switched off here (no_grad, inference_mode)"),
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "left_square_bracket",
            "file(-1)",
            "File back",
            key_display="[",
            show=False,
            tooltip="The file before",
        ),
        Binding("right_square_bracket", "file(1)", "Next file", key_display="]", tooltip="The next file"),
        Binding(
            "enter", "graph", "Graph", key_display="enter", tooltip="Show what this line did in the graph"
        ),
        Binding("m", "mark(True)", "Mark", tooltip="Go to the next line with a finding, a cut or a write"),
        Binding("M", "mark(False)", "Mark back", show=False, tooltip="Go to the marked line before"),
    ]

    def __init__(self) -> None:
        super().__init__()
        self._path: str | None = None
        self._wanted_line: int | None = None
        self._work: dict[tuple[str, int], LineWork] = {}
        self._worked = -1  # the edition that `_work` is of
        self._lines: dict[int, marks.Line] = {}
        self._code: list[Text] = []

    def body(self) -> ComposeResult:
        yield Static(id="files", markup=False)
        yield Table(head=False, id="code")
        yield Rows(id="line")

    @property
    def _files(self) -> list[str]:
        """The user's files that did something, those with findings first."""
        trace = self.inspector.trace
        if trace is None:
            return []
        used = {site.user.path for site in trace.sites}
        flagged = {self._shown_path(p) for p in trace.sources} & {
            place.path for finding in self._findings for place in finding.locations
        }
        files = [path for path in trace.sources if path in used] or list(trace.sources)
        return sorted(files, key=lambda path: (self._shown_path(path) not in flagged, path))

    @property
    def _findings(self) -> tuple[Finding, ...]:
        return self.inspector.checked.findings if self.inspector.checked is not None else ()

    def _shown_path(self, path: str) -> str:
        trace = self.inspector.trace
        return relative(path, trace.program.get("cwd") or "") if trace is not None else path

    def fill(self) -> None:
        trace = self.inspector.trace
        assert trace is not None
        files = self._files
        if self._path not in trace.sources:
            self._path = files[0] if files else None
            self._wanted_line = self._first_finding()
        self._show()
        if self._worked != self.inspector.edition and self.is_current:
            begin(self, self._look_at_lines, self.inspector.edition, exclusive=True, group="lines")
        if self.focused is None:
            self.focus_body()

    def _first_finding(self) -> int | None:
        """Where to open the file: at its first finding."""
        shown = self._shown_path(self._path or "")
        return next((p.line for f in self._findings for p in f.locations if p.path == shown), None)

    async def _look_at_lines(self, edition: int) -> None:
        found = await self.inspector.job(jobs.lines)
        if found is not None:
            self._work, self._worked = found, edition
            self._show()

    def _show(self) -> None:
        trace, path = self.inspector.trace, self._path
        table = self.query_one(Table)
        if trace is None or path is None:
            table.show((), 0, lambda row: (), empty="the trace holds no source of yours")
            return
        text = trace.sources[path]
        self._code = _highlighted(text, self.app.current_theme.dark)
        self._lines = marks.lines_of(
            path, self._shown_path(path), self._work, self._findings, trace.regions.values()
        )
        digits = len(str(len(self._code)))
        columns = [Column("", digits, right=True), Column("", marks.WIDTH), Column("", 20, wide=True)]
        table.show(columns, len(self._code), self._row, empty="the file is empty")
        if self._wanted_line is not None:
            line, self._wanted_line = self._wanted_line, None
            self.call_after_refresh(table.center, line - 1)
        self._tell(table.cursor)
        self.notice_of_file(path)
        files = self._files
        at = f"{files.index(path) + 1} of {len(files)}" if path in files else ""
        self.query_one("#files", Static).update(one_line(f"{self._shown_path(path)}  {at}"))

    def _row(self, at: int) -> list[Text]:
        line = self._lines.get(at + 1)
        gutter = line.gutter() if line is not None else Text(" " * (marks.WIDTH - 1) + "│", "dim")
        return [Text(str(at + 1), "dim"), gutter, self._code[at]]

    def on_table_moved(self, event: Table.Moved) -> None:
        self._tell(event.row)

    def _tell(self, row: int) -> None:
        line = self._lines.get(row + 1)
        told = [Text(plain(t.plain), spans=t.spans) for t in line.told()] if line is not None else []
        self.query_one("#line", Rows).show(
            lambda width: told or [Text("nothing of gradients happened here", "dim")]
        )

    def reveal(self, *what: Any) -> None:
        """Goes to (path, line)."""
        path, self._wanted_line = what
        trace = self.inspector.trace
        if trace is not None and path not in trace.sources:
            self.inspector.tell(f"the source of {path} is not in the trace", wrong=True)
            return
        self._path = path
        self._show()

    # -- keys --------------------------------------------------------------------------------

    def action_file(self, by: int) -> None:
        """Turns to another file."""
        files = self._files
        if files:
            at = files.index(self._path) if self._path in files else 0
            self._path = files[(at + by) % len(files)]
            self._wanted_line = 1
            self._show()

    def action_mark(self, forward: bool) -> None:
        """Goes to the next line with a finding, a cut or a write."""
        table = self.query_one(Table)
        here = table.cursor + 1
        rows = sorted(
            n for n, line in self._lines.items() if line.findings or line.work.cuts or line.work.writes
        )
        later = [n for n in rows if n > here] if forward else [n for n in reversed(rows) if n < here]
        if rows:
            table.cursor = (later or (rows if forward else rows[::-1]))[0] - 1

    async def action_graph(self) -> None:
        """Shows the first op of this line."""
        if self._path is None or self.inspector.pages is None:
            return
        found = self.inspector.pages.first_op_at(self._path, self.query_one(Table).cursor + 1)
        if found is None:
            self.inspector.tell("no tensor operation ran on this line")
        else:
            await self.inspector.open_op(*found)

    async def on_table_chosen(self, event: Table.Chosen) -> None:
        await self.action_graph()

    def search(self, text: str, *, forward: bool, again: bool) -> bool:
        table = self.query_one(Table)
        row = search_rows(
            text, len(self._code), table.cursor, lambda at: self._code[at].plain, forward=forward, again=again
        )
        if row is not None:
            table.cursor = row
        return row is not None

    def focus_body(self) -> None:
        self.query_one(Table).focus()

    def target(self) -> tuple[str, int] | None:
        return (self._path, self.query_one(Table).cursor + 1) if self._path is not None else None

    def asked_about(self) -> str:
        found, trace = self.target(), self.inspector.trace
        return asked_place(trace, *found) if found is not None and trace is not None else ""

    def copied(self) -> str:
        at = self.query_one(Table).cursor
        return self._code[at].plain if at < len(self._code) else ""


@lru_cache(maxsize=8)
def _highlighted(text: str, dark: bool) -> list[Text]:
    """The file's lines, coloured as Python."""
    safe = "\n".join(plain(line.expandtabs(4)) for line in lines_of(text))
    if safe.count("\n") > _HIGHLIGHTED:
        return [Text(line) for line in safe.split("\n")]
    theme = "ansi_dark" if dark else "ansi_light"
    code = Syntax(safe, "python", theme=theme, background_color="default").highlight(safe)
    lines = list(code.split("\n", allow_blank=True))
    return lines[: len(lines_of(text))]
