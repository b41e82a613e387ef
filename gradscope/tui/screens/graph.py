"""One distinct graph: its modules as a tree, and a walk from op to op."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.widgets import Static, Tree
from textual.widgets.tree import TreeNode

from gradscope.analysis.names import op_name, shape_words
from gradscope.escape import one_line
from gradscope.model import Module, Parameter
from gradscope.store import GraphSize
from gradscope.tui.screens._page import Page, search_rows
from gradscope.tui.screens.parameters import got
from gradscope.tui.walk import Fact, Thing, Walk
from gradscope.tui.widgets.table import Column, Table

_PAGE = 100  # children that a branch shows before it says how many more there are
_COLUMNS = (Column("", 9), Column("", 20, wide=True))
_OUTSIDE = -1  # stands for "in no module" in the tree


class GraphPage(Page):
    """Tree on the left, detail on the right; each row of the detail leads on."""

    NAME = "graph"
    TITLE_TEXT = "Graph"
    ABOUT = "The modules and what ran in them; walk from op to op"
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
        self._built: tuple[int, int] | None = None  # (edition, graph) that the tree shows
        self._walk: Walk | None = None
        self._here: Thing | None = None
        self._way: list[Thing] = []
        self._facts: list[Fact] = []
        self._cuts: Counter[int] = Counter()
        self._children: dict[int | None, list[Module]] = {}
        self._own: dict[int | None, list[Parameter]] = {}

    def body(self) -> ComposeResult:
        yield Static(id="which", classes="title", markup=False)
        with Horizontal(id="graph-body"):
            tree: Tree[Any] = Tree("", id="tree")
            tree.show_root = False
            tree.guide_depth = 2
            yield tree
            with Vertical():
                yield Static(id="crumbs", markup=False)
                yield Table(head=False, id="detail", empty="choose something on the left")

    @property
    def _tree(self) -> Tree[Any]:
        return self.query_one("#tree", Tree)

    @property
    def _graphs(self) -> list[GraphSize]:
        return self.inspector.pages.graphs() if self.inspector.pages is not None else []

    def fill(self) -> None:
        graphs = {g.id: g for g in self._graphs}
        if self._graph not in graphs:
            self._graph = _busiest(list(graphs.values()))
        if self._graph is None:
            self.query_one("#which", Static).update("no graph was captured yet")
            return
        which = graphs[self._graph]
        order = list(graphs).index(which.id) + 1
        times = f", built {which.count:,} times" if which.count > 1 else ""
        self.query_one("#which", Static).update(
            f"graph {order} of {len(graphs)}: {which.ops:,} ops, {which.nodes:,} grad nodes{times}"
        )
        if self._built != (self.inspector.edition, self._graph):
            self._build(which)
        if self.focused is None:
            self._tree.focus()

    # -- the tree --------------------------------------------------------------------------

    def _build(self, graph: GraphSize) -> None:
        trace, pages = self.inspector.trace, self.inspector.pages
        assert trace is not None and pages is not None
        self._built = self.inspector.edition, graph.id
        self._walk = Walk(trace, pages, graph.id, graph.ops)
        self._children, self._own = {}, {}
        for module in trace.modules.values():
            self._children.setdefault(module.parent, []).append(module)
        for parameter in trace.parameters:
            self._own.setdefault(parameter.module, []).append(parameter)
        self._cuts = self._cuts_by_module(graph.id)
        tree = self._tree
        opened = {node.data for node in _nodes(tree.root) if node.is_expanded}
        tree.clear()
        for module in self._children.get(None, []):
            node = self._add(tree.root, ("module", graph.id, module.id))
            if not opened:
                node.expand()
        self._add(tree.root, ("module", graph.id, _OUTSIDE))
        for node in list(_nodes(tree.root)):
            if node.data in opened:
                node.expand()
        if self._here is not None and self._here[1] == graph.id:
            self._tell()
        else:
            self._here, self._way = None, []
            roots = self._children.get(None, [])
            if roots:
                self._here = ("module", graph.id, roots[0].id)
            self._tell()

    def _cuts_by_module(self, graph: int) -> Counter[int]:
        """Module → cuts in it and below it."""
        trace, pages = self.inspector.trace, self.inspector.pages
        assert trace is not None and pages is not None
        found: Counter[int] = Counter()
        for module, _, count in pages.cuts(graph):
            at: int | None = module if module in trace.modules else _OUTSIDE
            while at is not None:
                found[at] += count
                at = trace.modules[at].parent if at in trace.modules else None
        return found

    def _add(self, node: TreeNode[Any], thing: Thing) -> TreeNode[Any]:
        kind, _, index = thing
        if kind == "module":
            return node.add(self._module_label(index), thing, allow_expand=True)
        return node.add_leaf(self._parameter_label(index), thing)

    def _module_label(self, id: int) -> Text:
        trace = self.inspector.trace
        assert trace is not None
        if id == _OUTSIDE:
            label = Text("outside any module", "italic")
        else:
            module = trace.modules[id]
            name = module.path.rpartition(".")[2] or module.name or "model"
            label = Text.assemble((one_line(name), "bold"), (f" {one_line(module.cls)}", "dim"))
        if self._cuts[id]:
            label.append(f" ✂{self._cuts[id]}", "bold magenta")
        if any(p.requires_grad and not p.passes for p in self._own.get(id, ())):
            label.append(" no gradient", "red")
        return label

    def _parameter_label(self, id: int) -> Text:
        trace = self.inspector.trace
        assert trace is not None
        p = trace.parameter(id)
        shape = shape_words(p.shape)
        name = one_line(p.name.rpartition(".")[2]) or f"parameter {id}"
        state = got(trace, p) if p.requires_grad else Text("frozen", "dim")
        return Text.assemble(name, (f" {shape} ", "dim"), state)

    def on_tree_node_expanded(self, event: Tree.NodeExpanded[Any]) -> None:
        if not event.node.children and event.node.data is not None:
            self._grow(event.node, 0)

    def _grow(self, node: TreeNode[Any], first: int) -> None:
        """Adds a page of children: modules and parameters with the first, then ops."""
        assert node.data is not None
        _, graph, id = node.data
        outside = id == _OUTSIDE
        if not first:
            for module in () if outside else self._children.get(id, ()):
                self._add(node, ("module", graph, module.id))
            for parameter in self._own.get(None if outside else id, ()):
                self._add(node, ("parameter", graph, parameter.id))
        pages = self.inspector.pages
        assert pages is not None and self._walk is not None
        ops = pages.ops_of_module(graph, None if outside else id, first, _PAGE + 1)
        for op in ops[:_PAGE]:
            label = Text.assemble(
                one_line(op_name(op.name)), (f" {one_line(self._walk.where(op.site))}", "dim")
            )
            label.append(" ✂" if op.cut else "", "bold magenta")
            node.add_leaf(label, ("op", graph, op.index))
        if len(ops) > _PAGE:
            node.add_leaf(Text("more …", "italic"), ("more", graph, first + _PAGE))

    def on_tree_node_highlighted(self, event: Tree.NodeHighlighted[Any]) -> None:
        thing = event.node.data
        if thing is not None and thing[0] != "more" and thing[2] != _OUTSIDE and self._tree.has_focus:
            self._go(thing, walked=False)

    def on_tree_node_selected(self, event: Tree.NodeSelected[Any]) -> None:
        if event.node.data is not None and event.node.data[0] == "more" and event.node.parent is not None:
            parent, first = event.node.parent, event.node.data[2]
            event.node.remove()
            self._grow(parent, first)

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
        self.query_one("#detail", Table).cursor = 0
        self._tell()

    def _tell(self) -> None:
        assert self._walk is not None
        self._facts = self._walk.facts(self._here) if self._here is not None else []
        self._show_facts()

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
        self._graph = graph
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
            self._tell()

    def action_turn(self, by: int) -> None:
        """Shows another distinct graph."""
        ids = [g.id for g in self._graphs]
        if self._graph in ids:
            self._graph = ids[(ids.index(self._graph) + by) % len(ids)]
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
        if self._here is None or self._walk is None:
            return ""
        if self._here[0] == "parameter":
            return self._walk.title(self._here)
        found = self.target()
        return f"{found[0]}:{found[1]}" if found is not None else ""

    def copied(self) -> str:
        return "\n".join(f"{fact.label:>9}  {fact.text}" for fact in self._facts)

    def search(self, text: str, *, forward: bool, again: bool) -> bool:
        """Looks in the names of modules and parameters, opened or not."""
        trace, graph = self.inspector.trace, self._graph
        if trace is None or graph is None or self._walk is None:
            return False
        things: list[Thing] = [("module", graph, id) for id in trace.modules]
        things += [("parameter", graph, p.id) for p in trace.parameters]
        at = things.index(self._here) if self._here in things else 0
        row = search_rows(
            text, len(things), at, lambda i: self._searched(things[i]), forward=forward, again=again
        )
        if row is not None:
            self._go(things[row], walked=False)
            self._point_at(things[row])
        return row is not None

    def _point_at(self, thing: Thing) -> None:
        """Opens the tree down to a module or a parameter, and puts its cursor there."""
        trace = self.inspector.trace
        assert trace is not None
        kind, graph, id = thing
        at = trace.parameter(id).module if kind == "parameter" else trace.modules[id].parent
        above: list[Thing] = []
        while at is not None:
            above.append(("module", graph, at))
            at = trace.modules[at].parent
        node: TreeNode[Any] | None = self._tree.root
        for step in [*reversed(above), thing]:
            if node is None:
                return
            if not node.children and node.data is not None:
                self._grow(node, 0)
            node.expand()
            node = next((child for child in node.children if child.data == step), None)
        if node is not None:
            self._tree.move_cursor(node)

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


def _nodes(node: TreeNode[Any]) -> Iterator[TreeNode[Any]]:
    for child in node.children:
        yield child
        yield from _nodes(child)
