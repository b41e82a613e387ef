"""A table that makes only the rows that are on screen: it is as quick with a million."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual.binding import Binding, BindingType
from textual.events import Click, Resize
from textual.geometry import Region, Size
from textual.message import Message
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip

Cells = Callable[[int], Sequence[Text | str]]
_SHIFT = 8  # cells that the wide column moves sideways at a time


@dataclass(frozen=True)
class Column:
    """`width` in cells; a `wide` column takes what is left, at least `width`. Where that is less than its `wish`,
    columns at the end that are `spare` are left out."""

    title: str
    width: int
    wide: bool = False
    right: bool = False
    tail: bool = False  # where it is too narrow, the end is what counts
    both_ends: bool = False  # the beginning counts, too
    wish: int = 0
    spare: bool = False


class Table(ScrollView, can_focus=True):
    """`show(columns, count, cells)`: `cells(row)` gives the texts of one row when it is drawn."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"table--head", "table--cursor", "table--blurred"}
    DEFAULT_CSS = """
    Table { background: $surface; scrollbar-size-horizontal: 0; }
    Table > .table--head { text-style: bold; color: $text-muted; background: $panel; }
    Table > .table--cursor { background: $block-cursor-background; color: $block-cursor-foreground;
      text-style: $block-cursor-text-style; }
    Table > .table--blurred { background: $block-cursor-blurred-background; text-style: bold; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", "Up", show=False),
        Binding("down,j", "move(1)", "Down", show=False),
        Binding("pageup", "page(-1)", "Page up", show=False),
        Binding("pagedown", "page(1)", "Page down", show=False),
        Binding("home", "move(-1000000000)", "First row", show=False),
        Binding("end", "move(1000000000)", "Last row", show=False),
        Binding("left", "shift(-1)", "Text to the left", show=False),
        Binding("right", "shift(1)", "Text to the right", show=False),
        Binding("enter", "choose", "Open", show=False),
    ]
    cursor: reactive[int] = reactive(0, repaint=True)

    @dataclass
    class Moved(Message):
        """The cursor stands on another row."""

        table: Table
        row: int

        @property
        def control(self) -> Table:
            return self.table

    @dataclass
    class Chosen(Message):
        """Enter, or a click on the row that the cursor is on."""

        table: Table
        row: int

        @property
        def control(self) -> Table:
            return self.table

    @dataclass
    class HeadClicked(Message):
        """A click on a column's title."""

        table: Table
        column: int

        @property
        def control(self) -> Table:
            return self.table

    def __init__(self, *, head: bool = True, empty: str = "", id: str | None = None):
        super().__init__(id=id)
        self._head = head
        self._empty = empty
        self._columns: list[Column] = []
        self._cells: Cells = lambda row: ()
        self._shift = 0
        self.count = 0

    def show(self, columns: Sequence[Column], count: int, cells: Cells, *, empty: str | None = None) -> None:
        """Shows other rows. The cursor stays where it is, as far as there is such a row."""
        had_rows = self.count > 0
        self._columns, self._cells, self.count = list(columns), cells, count
        if had_rows != (count > 0):
            self.refresh_bindings()  # the footer shows whose key Enter is
        self._empty = self._empty if empty is None else empty
        self._measure()
        self.cursor = min(max(self.cursor, 0), max(count - 1, 0))
        self.refresh()

    def _measure(self) -> None:
        self.virtual_size = Size(max(self.scrollable_content_region.width, 1), self.count + self._top)

    @property
    def _top(self) -> int:
        return int(self._head)

    def on_resize(self, event: Resize) -> None:
        self._measure()
        self._reveal()

    # -- moving ----------------------------------------------------------------------

    def validate_cursor(self, row: int) -> int:
        return min(max(row, 0), max(self.count - 1, 0))

    def watch_cursor(self, before: int, after: int) -> None:
        if before != after:
            self._reveal()
            self.post_message(self.Moved(self, after))

    def _reveal(self) -> None:
        self.scroll_to_region(
            Region(0, self.cursor, 1, 1 + self._top), animate=False, force=True, immediate=True
        )

    def center(self, row: int) -> None:
        """Puts the cursor on a row and the row into the middle."""
        self.cursor = row
        self.scroll_to(y=max(row - self.size.height // 2, 0), animate=False, force=True)

    def action_move(self, by: int) -> None:
        self.cursor += by

    def action_page(self, by: int) -> None:
        self.cursor += by * max(self.size.height - 1 - self._top, 1)

    def action_shift(self, by: int) -> None:
        self._shift = max(self._shift + by * _SHIFT, 0)
        self.refresh()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return action != "choose" or self.count > 0  # without rows the key is the page's

    def action_choose(self) -> None:
        self.post_message(self.Chosen(self, self.cursor))

    def on_click(self, event: Click) -> None:
        y = event.y
        if self._head and y == 0:
            column = self._column_at(event.x)
            if column is not None:
                self.post_message(self.HeadClicked(self, column))
            return
        row = y - self._top + round(self.scroll_offset.y)
        if 0 <= row < self.count:
            again, self.cursor = row == self.cursor, row
            if again:
                self.action_choose()

    def _column_at(self, x: int) -> int | None:
        at = 0
        for index, width in enumerate(self.widths()):
            at += width + 1
            if x < at:
                return index
        return None

    # -- drawing ---------------------------------------------------------------------

    def widths(self) -> list[int]:
        """Of the columns that are shown."""
        room = self.scrollable_content_region.width
        columns = list(self._columns)
        while True:
            fixed = sum(c.width for c in columns if not c.wide) + len(columns) - 1
            left = (room - fixed) // (sum(c.wide for c in columns) or 1)
            if not columns or not columns[-1].spare or all(left >= c.wish for c in columns if c.wide):
                return [max(left, c.width) if c.wide else c.width for c in columns]
            del columns[-1]

    def render_line(self, y: int) -> Strip:
        width = self.scrollable_content_region.width
        base = self.rich_style
        if self._head and y == 0:
            titles = [Text(column.title) for column in self._columns]
            return self._strip(
                titles, base + self.get_component_rich_style("table--head"), width, shifted=False
            )
        row = y - self._top + round(self.scroll_offset.y)
        if row >= self.count:
            text = self._empty if not self.count and y == self._top else ""
            return self._strip_of(Text(text), base + Style(dim=True), width)
        style = base
        if row == self.cursor:
            kind = "table--cursor" if self.has_focus else "table--blurred"
            style = base + self.get_component_rich_style(kind)
        cells = [Text(c) if isinstance(c, str) else c for c in self._cells(row)]
        if row == self.cursor and self.has_focus:  # colours of cells are not made for its background
            cells = [Text(cell.plain) for cell in cells]
        return self._strip(cells, style, width, shifted=True)

    def _strip(self, cells: list[Text], style: Style, width: int, *, shifted: bool) -> Strip:
        line = Text()
        for cell, column, room in zip(cells, self._columns, self.widths(), strict=False):
            if column.wide and shifted and self._shift:
                cell = cell[self._shift :] if len(cell) > self._shift else Text()
            line.append_text(_fitted(cell, room, column))
            line.append(" ")
        return self._strip_of(line, style, width)

    def _strip_of(self, line: Text, style: Style, width: int) -> Strip:
        segments = list(line.render(self.app.console))
        kept = [Segment(s.text, style + s.style if s.style else style) for s in segments if s.text]
        return Strip(kept).adjust_cell_length(width, style)


def _fitted(cell: Text, room: int, column: Column) -> Text:
    """A cell's text in exactly `room` cells."""
    cell = cell.copy()
    cell.end = ""
    if column.tail and cell_len(cell.plain) > room:
        first = room // 3 if column.both_ends else 0
        cell = cell[:first] + Text("…") + cell[len(cell) - room + first + 1 :]
    cell.truncate(room, overflow="ellipsis")
    gap = room - cell_len(cell.plain)
    if column.right:
        cell.pad_left(gap)
    else:
        cell.pad_right(gap)
    return cell
