"""The modules of a trace as a tree, with what ran in them in one graph, in the order in which each first ran."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, ClassVar

from rich.text import Text
from textual.binding import Binding, BindingType
from textual.widgets import Tree
from textual.widgets.tree import TreeNode

from gradscope.analysis.names import op_name, shape_words
from gradscope.escape import one_line
from gradscope.model import Module, Parameter
from gradscope.store import Pages, Trace
from gradscope.tui.screens.parameters import got
from gradscope.tui.walk import Thing, Walk

OUTSIDE = -1  # stands for "in no module"
_PAGE = 100  # ops that a branch shows at a time
_OPENED = 4  # so many roots are open at first
_NEVER = float("inf")


class ModuleTree(Tree[Any]):
    """`build` fills it, `point_at` opens it down to a thing. ← and → fold."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "fold", "Fold", show=False, tooltip="Fold this branch, or go to the one it is in"),
        Binding("right", "unfold", "Unfold", show=False, tooltip="Open this branch, or go into it"),
    ]

    def __init__(self, id: str):
        super().__init__("", id=id)
        self.show_root = False
        self.guide_depth = 2
        self._first: dict[int, float] = {}  # module → index of the first op in it or below it
        self._cuts: Counter[int] = Counter()
        self._children: dict[int | None, list[Module]] = {}
        self._own: dict[int | None, list[Parameter]] = {}

    def build(self, trace: Trace, pages: Pages, walk: Walk, graph: int) -> None:
        """Shows a graph; what was open stays open."""
        self._trace, self._pages, self._walk, self._graph = trace, pages, walk, graph
        self._first, self._cuts = {}, Counter()
        for module, first in pages.first_ops(graph).items():
            for at in self._upwards(module):
                self._first[at] = min(first, self._first.get(at, _NEVER))
        for module, _, count in pages.cuts(graph):
            for at in self._upwards(module):
                self._cuts[at] += count
        self._children, self._own = {}, {}
        for each in trace.modules.values():
            self._children.setdefault(each.parent, []).append(each)
        for children in self._children.values():
            children.sort(key=lambda child: self._when(child.id))
        for parameter in trace.parameters:
            self._own.setdefault(parameter.module, []).append(parameter)
        opened = {node.data for node in _nodes(self.root) if node.is_expanded}
        self.clear()
        roots = [self._add(self.root, ("module", graph, m.id)) for m in self._children.get(None, [])]
        outside = self._add(self.root, ("module", graph, OUTSIDE))
        if not opened:
            for root in roots[:_OPENED] or [outside]:
                self._open_single(root)
        for node in self._nodes_as_they_come():
            if node.data in opened:
                self._open(node)

    def first_op(self, module: int) -> int | None:
        """The first op that ran in a module or below it."""
        first = self._first.get(module)
        return int(first) if first is not None else None

    def _when(self, module: int) -> float:
        return self._first.get(module, _NEVER)

    def _upwards(self, module: int | None) -> Iterator[int]:
        at: int | None = module if module in self._trace.modules else OUTSIDE
        while at is not None:
            yield at
            at = self._trace.modules[at].parent if at in self._trace.modules else None

    def _nodes_as_they_come(self) -> Iterator[TreeNode[Any]]:
        """All nodes; also those that an open one brings."""
        waiting = list(self.root.children)
        while waiting:
            node = waiting.pop(0)
            yield node
            waiting += node.children

    # -- labels ------------------------------------------------------------------------------

    def _add(self, node: TreeNode[Any], thing: Thing) -> TreeNode[Any]:
        kind, _, index = thing
        if kind == "module":
            return node.add(self._module_label(index), thing, allow_expand=True)
        return node.add_leaf(self._parameter_label(index), thing)

    def _module_label(self, id: int) -> Text:
        if id == OUTSIDE:
            label = Text("outside any module", "italic")
        else:
            module = self._trace.modules[id]
            name = module.path.rpartition(".")[2] or module.name or "model"
            ran = id in self._first
            label = Text.assemble(
                (one_line(name), "bold" if ran else "dim"), (f" {one_line(module.cls)}", "dim")
            )
            if not ran:
                label.append(" not in this graph", "dim italic")
        if self._cuts[id]:
            label.append(f" ✂{self._cuts[id]}", "bold magenta")
        if any(got(self._trace, p).plain == "never" for p in self._own.get(id, ())):
            label.append(" no gradient", "red")
        return label

    def _parameter_label(self, id: int) -> Text:
        p = self._trace.parameter(id)
        shape = shape_words(p.shape)
        name = one_line(p.name.rpartition(".")[2]) or f"parameter {id}"
        state = got(self._trace, p) if p.requires_grad else Text("frozen", "dim")
        return Text.assemble(name, (f" {shape} ", "dim"), state)

    # -- opening -----------------------------------------------------------------------------

    def _open(self, node: TreeNode[Any]) -> None:
        if not node.children:
            self._grow(node, 0)
        node.expand()

    def _open_single(self, node: TreeNode[Any]) -> None:
        """Opens a branch, and what is in it as long as that is one thing."""
        self._open(node)
        branches = [child for child in node.children if child.allow_expand]
        if len(branches) == len(node.children) == 1:
            self._open_single(branches[0])

    def _grow(self, node: TreeNode[Any], first: int) -> None:
        """Fills a branch: its parameters, then modules and ops in the order of their first op, from the number
        `first` on for a page; last the modules that did not run."""
        assert node.data is not None
        _, graph, id = node.data
        node.remove_children()
        module = None if id == OUTSIDE else id
        ops = self._pages.ops_of_module(graph, module, first, _PAGE + 1)
        begin = ops[0].index if ops and first else -1
        end = ops[_PAGE].index if len(ops) > _PAGE else None
        if first:
            node.add_leaf(Text(f"… {first:,} before", "italic"), ("more", graph, max(first - _PAGE, 0)))
        else:
            own = self._own.get(module, [])
            for parameter in own[:_PAGE]:
                self._add(node, ("parameter", graph, parameter.id))
            if len(own) > _PAGE:
                rest = f"{len(own) - _PAGE:,} more parameters: screen 4 has all"
                node.add_leaf(Text(rest, "italic"), ("more", graph, first))
        below = [] if id == OUTSIDE else self._children.get(id, [])
        modules = [m for m in below if begin <= self._when(m.id) and (end is None or self._when(m.id) < end)]
        for op in ops[:_PAGE]:
            while modules and self._when(modules[0].id) < op.index:
                self._add(node, ("module", graph, modules.pop(0).id))
            label = Text.assemble(
                one_line(op_name(op.name)), (f" {one_line(self._walk.where(op.site))}", "dim")
            )
            label.append(" ✂" if op.cut else "", "bold magenta")
            node.add_leaf(label, ("op", graph, op.index))
        for later in modules:
            self._add(node, ("module", graph, later.id))
        if end is not None:
            node.add_leaf(Text("more …", "italic"), ("more", graph, first + _PAGE))

    def on_tree_node_expanded(self, event: Tree.NodeExpanded[Any]) -> None:
        if not event.node.children and event.node.data is not None:
            self._grow(event.node, 0)

    def on_tree_node_selected(self, event: Tree.NodeSelected[Any]) -> None:
        if event.node.data is not None and event.node.data[0] == "more" and event.node.parent is not None:
            parent, first = event.node.parent, event.node.data[2]
            back = event.node is parent.children[0]
            self._grow(parent, first)
            self._put_cursor(parent.children[-1 if back else 0])

    def point_at(self, thing: Thing) -> None:
        """Opens the tree down to a thing, and puts the cursor there."""
        kind, graph, id = thing
        if kind == "module":
            above = [("module", graph, at) for at in self._upwards(id)][1:]
        else:
            op = self._pages.op(graph, id) if kind == "op" else None
            holder = op.module if op is not None else self._trace.parameter(id).module
            above = [("module", graph, at) for at in self._upwards(holder)]
        node = self.root
        for step in [*reversed(above), thing]:
            child = self._child(node, step)
            if child is None:
                return
            if step != thing:
                self._open(child)
            node = child
        self._put_cursor(node)

    def _child(self, node: TreeNode[Any], thing: Thing) -> TreeNode[Any] | None:
        """A branch's child, with the page that holds it."""
        for turned in (False, True):
            found = next((child for child in node.children if child.data == thing), None)
            if found is not None or turned or node.data is None:
                return found
            kind, graph, id = thing
            index: float = id if kind == "op" else self._when(id) if kind == "module" else 0
            module: int | None = None if node.data[2] == OUTSIDE else node.data[2]
            before = self._pages.ops_before(graph, module, index)
            self._grow(node, before // _PAGE * _PAGE)
        return None

    def _put_cursor(self, node: TreeNode[Any]) -> None:
        if self.last_line >= 0:  # asking lays the lines out
            self.move_cursor(node)

    # -- keys --------------------------------------------------------------------------------

    def action_fold(self) -> None:
        """Folds, or goes up."""
        node = self.cursor_node
        if node is None:
            return
        if node.is_expanded and node.allow_expand:
            node.collapse()
        elif node.parent is not None and node.parent is not self.root:
            self._put_cursor(node.parent)

    def action_unfold(self) -> None:
        """Opens, or goes in."""
        node = self.cursor_node
        if node is None or not node.allow_expand:
            return
        if not node.is_expanded:
            self._open(node)
        elif node.children:
            self._put_cursor(node.children[0])


def _nodes(node: TreeNode[Any]) -> Iterator[TreeNode[Any]]:
    for child in node.children:
        yield child
        yield from _nodes(child)
