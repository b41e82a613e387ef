"""One distinct graph: its modules as a tree, and a walk from op to op."""

from __future__ import annotations

from typing import Any, ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.widgets import Static, Tree

from gradscope.analysis.names import op_name
from gradscope.analysis.words import counted
from gradscope.escape import one_line
from gradscope.model import Op
from gradscope.store import GraphSize
from gradscope.tui.neighbourhood import around
from gradscope.tui.screens._page import Page
from gradscope.tui.screens._tree import OUTSIDE, ModuleTree
from gradscope.tui.walk import Fact, Thing, Walk, asked_place
from gradscope.tui.widgets.rows import Rows
from gradscope.tui.widgets.table import Column, Table

_COLUMNS = (Column("", 9), Column("", 20, wide=True))


class GraphPage(Page):
    """Tree on the left; on the right what surrounds the op one is at, drawn, and its detail, each row of which
    leads on. Tree and walk stay in step."""

    NAME = "graph"
    TITLE_TEXT = "Graph"
    ABOUT = "The modules and what ran in them, in order; walk from op to op"
    LEGEND = (
        ("✂", "bold magenta", "no gradient passes here; with a number: so many cuts in there"),
        ("no gradient", "red", "holds a parameter that never got one"),
        ("×4", "green", "so many passes gave this parameter a gradient"),
        ("◆", "bold", "the op that you are at"),
        ("●", "bold", "another op: above what it reads, below what reads it"),
        ("◇", "bold", "a parameter"),
        ("○", "bold", "an input, or a value made before this graph"),
        ("│", "green", "a gradient flows back along this line"),
        ("┊", "dim", "none does"),
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("b", "follow('backward')", "Backward", tooltip="Go where the gradient flows to"),
        Binding("f", "follow('forward')", "Forward", tooltip="Go to what reads this"),
        Binding("backspace", "back", "Back", key_display="⌫", tooltip="Back to where you were"),
        Binding("enter", "enter", "Go there", show=False, tooltip="Go to what this row names"),
        Binding("s", "source", "Source", tooltip="Show the line among its source"),
        Binding(
            "left_square_bracket",
            "turn(-1)",
            "Graph before",
            key_display="[",
            show=False,
            tooltip="The distinct graph before this one",
        ),
        Binding(
            "right_square_bracket",
            "turn(1)",
            "Next graph",
            key_display="]",
            show=False,
            tooltip="The next distinct graph",
        ),
        Binding("tab", "app.focus_next", "Other side", show=False, tooltip="Tree or detail"),
    ]

    def __init__(self) -> None:
        super().__init__()
        self._graph: int | None = None
        self._turned_to = False  # the graph was chosen, not the one that there was
        self._built: tuple[int, int] | None = None  # (edition, graph) that the tree shows
        self._walk: Walk | None = None
        self._here: Thing | None = None
        self._opened_at: Thing | None = None
        self._way: list[Thing] = []
        self._facts: list[Fact] = []

    def body(self) -> ComposeResult:
        yield Static(id="which", classes="title", markup=False)
        with Horizontal(id="graph-body"):
            yield ModuleTree(id="tree")
            with Vertical():
                yield Static(id="crumbs", markup=False)
                surroundings = Rows(id="around")
                surroundings.can_focus = False  # it follows the cursor
                yield surroundings
                yield Table(head=False, id="detail", empty="choose something on the left")

    @property
    def _tree(self) -> ModuleTree:
        return self.query_one("#tree", ModuleTree)

    @property
    def _graphs(self) -> list[GraphSize]:
        return self.inspector.pages.graphs() if self.inspector.pages is not None else []

    def fill(self) -> None:
        graphs = {g.id: g for g in self._graphs}
        if self._graph not in graphs or self._opened_early(graphs[self._graph]):
            self._graph = _busiest(list(graphs.values()))
        if self._graph is None:
            self.query_one("#which", Static).update("no graph was captured yet")
            return
        which = graphs[self._graph]
        order = list(graphs).index(which.id) + 1
        times = f", looked at {which.count:,} times" if which.count > 1 else ""
        building = sum(graph.nodes > 0 for graph in graphs.values())
        others = f", {building:,} with grad nodes" if building < len(graphs) else ""
        self.query_one("#which", Static).update(
            f"graph {order} of {len(graphs)}{others}: {counted(which.ops, 'op')}, "
            f"{counted(which.nodes, 'grad node')}{times}"
        )
        if self._built != (self.inspector.edition, self._graph):
            self._build(which)
        if self.focused is None:
            self._tree.focus()

    def _opened_early(self, graph: GraphSize) -> bool:
        """Whether what is shown is the set-up because there was no step yet, and nobody has looked around in it."""
        return not (self._turned_to or graph.nodes or self._way) and self._here == self._opened_at

    # -- the tree --------------------------------------------------------------------------

    def _build(self, graph: GraphSize) -> None:
        trace, pages = self.inspector.trace, self.inspector.pages
        assert trace is not None and pages is not None
        self._built = self.inspector.edition, graph.id
        self._walk = Walk(trace, pages, graph.id, graph.ops)
        self._tree.build(trace, pages, self._walk, graph.id)
        if self._here is None or self._here[1] != graph.id:
            self._here = self._opened_at = self._first(graph)
            self._way = []
        if self._here is not None:
            self._tree.point_at(self._here)
        self._tell()

    def _first(self, graph: GraphSize) -> Thing | None:
        """What a graph opens at: the model that ran first in it, else its first op."""
        trace = self.inspector.trace
        assert trace is not None
        first = {m.id: self._tree.first_op(m.id) for m in trace.modules.values() if m.parent is None}
        ran = [(op, module) for module, op in first.items() if op is not None]
        if ran:
            return "module", graph.id, min(ran)[1]
        return ("op", graph.id, 0) if graph.ops else None

    def on_tree_node_highlighted(self, event: Tree.NodeHighlighted[Any]) -> None:
        thing = event.node.data
        if event.node is not self._tree.cursor_node or not self._tree.has_focus:
            return  # the tree follows the walk
        if thing is not None and thing[0] != "more" and thing[2] != OUTSIDE:
            self._go(thing, walked=False)

    # -- the walk --------------------------------------------------------------------------

    def _go(self, thing: Thing, *, walked: bool = True) -> None:
        """Shows a thing; `walked`: one can go back from it."""
        if thing == self._here:
            return
        if walked and self._here is not None:
            self._way = [*self._way, self._here][-50:]
        elif not walked:
            self._way = []
        self._here = thing
        self._tree.point_at(thing)
        self.query_one("#detail", Table).cursor = 0
        self._tell()

    def _tell(self) -> None:
        assert self._walk is not None
        self._facts = self._walk.facts(self._here) if self._here is not None else []
        self._show_facts()
        self._show_around()

    def _show_around(self) -> None:
        """Draws what surrounds the op that one is at, or the first one of a module or with a parameter."""
        op = self._op_here()
        drawn = around(self._walk, op) if op is not None and self._walk is not None else []
        pane = self.query_one("#around", Rows)
        height = 1 + min(len(drawn), max(self.size.height // 2 - 2, 4))
        pane.styles.height = height
        pane.display = bool(drawn)
        pane.show(lambda width: drawn)
        here = next((n for n, row in enumerate(drawn) if "◆" in row.plain), 0)
        pane.scroll_to(y=max(here - height // 2, 0), animate=False)

    def _op_here(self) -> Op | None:
        pages, trace = self.inspector.pages, self.inspector.trace
        if self._here is None or self._walk is None or pages is None or trace is None:
            return None
        kind, graph, index = self._here
        if kind == "parameter":
            users = self._walk.users(trace.parameter(index))
            return users[0] if users else None
        found = self._tree.first_op(index) if kind == "module" else index
        return pages.op(graph, found) if found is not None else None

    def _show_facts(self) -> None:
        self.query_one("#detail", Table).show(_COLUMNS, len(self._facts), self._fact)
        way = [*self._way[-4:], *([self._here] if self._here is not None else [])]
        names = [one_line(self._walk.title(thing)) for thing in way] if self._walk is not None else []
        more = "… › " if len(self._way) > 4 else ""
        self.query_one("#crumbs", Static).update(more + " › ".join(names))

    def _fact(self, at: int) -> list[Text]:
        fact = self._facts[at]
        leads = fact.to is not None or fact.site is not None
        return [
            Text(fact.label, "dim"),
            Text(one_line(fact.text), fact.style or ("underline" if leads else "")),
        ]

    def reveal(self, *what: Any) -> None:
        """Goes to (graph,) or (graph, op)."""
        graph, *op = what
        self._graph, self._turned_to = graph, True
        self.fill()
        if op:
            self._go(("op", graph, op[0]))
            self.query_one("#detail", Table).focus()

    async def on_table_chosen(self, event: Table.Chosen) -> None:
        fact = self._facts[event.row]
        if fact.to is not None:
            self._go(fact.to)
        elif fact.site is not None:
            await self.inspector.open_source(*fact.site.location())

    def action_enter(self) -> None:
        """Enter is the tree's and the table's own; listed here for the help."""

    def action_follow(self, way: str) -> None:
        """Goes one op on, with or against the gradient."""
        if self._here is None or self._walk is None or self.inspector.pages is None:
            self.inspector.tell("choose an op first")
            return
        kind, graph, index = self._here
        found: int | None = None
        if kind == "op" and (op := self.inspector.pages.op(graph, index)) is not None:
            found = self._walk.forward(op) if way == "forward" else self._walk.backward(op)
        elif kind == "parameter" and way == "forward" and self.inspector.trace is not None:
            users = self._walk.users(self.inspector.trace.parameter(index))
            found = users[0].index if users else None
        elif kind == "module":
            ops = self.inspector.pages.ops_of_module(graph, index, 0, 1)
            found = ops[0].index if ops else None
        if found is None:
            self.inspector.tell(f"nothing further {way} from here")
        else:
            self._go(("op", graph, found))

    def action_back(self) -> None:
        """Goes back one step of the walk."""
        if self._way:
            self._here = self._way.pop()
            self._tree.point_at(self._here)
            self._tell()

    def action_turn(self, by: int) -> None:
        """Shows another distinct graph."""
        ids = [g.id for g in self._graphs]
        if self._graph in ids:
            self._graph, self._turned_to = ids[(ids.index(self._graph) + by) % len(ids)], True
            self.fill()

    # -- what is selected --------------------------------------------------------------------

    def target(self) -> tuple[str, int] | None:
        table = self.query_one("#detail", Table)
        rows = self._facts[table.cursor : table.cursor + 1] if table.has_focus else []
        for fact in [*rows, *self._facts]:
            if fact.site is not None:
                return fact.site.location()
        return None

    async def action_source(self) -> None:
        """Shows the line on the Source screen."""
        if (found := self.target()) is not None:
            await self.inspector.open_source(*found)

    def asked_about(self) -> str:
        """What the row of the detail leads to, else the thing that one is at."""
        trace, walk = self.inspector.trace, self._walk
        if self._here is None or walk is None or trace is None:
            return ""
        table = self.query_one("#detail", Table)
        row = self._facts[table.cursor] if table.has_focus and table.cursor < len(self._facts) else None
        if row is not None and row.to is None and row.site is not None:
            return asked_place(trace, *row.site.location())
        asked = walk.asked(row.to if row is not None and row.to is not None else self._here)
        found = self.target()
        return asked or (asked_place(trace, *found) if found is not None else "")

    def copied(self) -> str:
        return "\n".join(f"{fact.label:>9}  {fact.text}" for fact in self._facts)

    def search(self, text: str, *, forward: bool, again: bool) -> bool:
        """Looks in the names of modules and parameters, opened or not, then of ops, round the end."""
        trace, graph, pages = self.inspector.trace, self._graph, self.inspector.pages
        if trace is None or graph is None or self._walk is None or pages is None:
            return False
        things: list[Thing] = [("module", graph, id) for id in trace.modules]
        things += [("parameter", graph, p.id) for p in trace.parameters]
        fold = text.islower()
        named = [n for n in pages.op_names(graph) if text in (op_name(n).lower() if fold else op_name(n))]
        rows = [thing for thing in things if _holds(self._searched(thing), text)]
        here = self._here
        at = things.index(here) if here in things else len(things) if forward else -1
        here_op = here[2] if here is not None and here[0] == "op" else None
        if not again and here is not None and (here in rows or self._is_one_of(named, here_op)):
            return True
        before = [thing for thing in rows if things.index(thing) < at]
        after = [thing for thing in rows if things.index(thing) > at]
        ops = pages.op_called(graph, named, here_op if here_op is not None else -1, forward=True)
        first, last = (
            pages.op_called(graph, named, -1, forward=True),
            pages.op_called(graph, named, 1 << 40, forward=False),
        )
        if here_op is None:
            order = (
                [*after, _op(graph, first), *before]
                if forward
                else [*before[::-1], _op(graph, last), *after[::-1]]
            )
        elif forward:
            order = [_op(graph, ops), *rows, _op(graph, first)]
        else:
            back = pages.op_called(graph, named, here_op, forward=False)
            order = [_op(graph, back), *rows[::-1], _op(graph, last)]
        found = next((thing for thing in order if thing is not None), here if here in rows else None)
        if found is not None:
            self._go(found, walked=False)
        return found is not None

    def _is_one_of(self, named: list[str], index: int | None) -> bool:
        op = (
            self.inspector.pages.op(self._graph or 0, index)
            if index is not None and self.inspector.pages
            else None
        )
        return op is not None and op.name in named

    def _searched(self, thing: Thing) -> str:
        assert self._walk is not None and self.inspector.trace is not None
        title = self._walk.title(thing)
        return f"{title} {self.inspector.trace.modules[thing[2]].cls}" if thing[0] == "module" else title

    def focus_body(self) -> None:
        self._tree.focus()


def _busiest(graphs: list[GraphSize]) -> int | None:
    """The graph most worth a look: with grad nodes, built most often, the last of those."""
    best = max(graphs, key=lambda g: (g.nodes > 0, g.count, g.nodes, g.id), default=None)
    return best.id if best is not None else None


def _op(graph: int, index: int | None) -> Thing | None:
    return ("op", graph, index) if index is not None else None


def _holds(held: str, text: str) -> bool:
    """Capital letters count where `text` has any."""
    return text in (held.lower() if text.islower() else held)
