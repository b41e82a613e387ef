"""Numbers that went to Python, and that a loss got back as a tensor without a past."""

from __future__ import annotations

import ast
from typing import NamedTuple

from gradscope.analysis.numbers import entered, gathered, real, without_past
from gradscope.analysis.ops import MAKERS
from gradscope.analysis.reach import Key, Paths
from gradscope.analysis.text import assignments_between
from gradscope.analysis.words import holds
from gradscope.model import Graph, Op, Site
from gradscope.source import SourceFile, names_in


class _New(NamedTuple):
    """A tensor without a past that a loss was computed from: its value, from which op on it is there (-1: from the
    start), and the first op that reads it."""

    value: int
    made: int
    read: int


class _Made(NamedTuple):
    """A value that a loss was computed from, the first result of its op: from which op on it is there, the user's line,
    and whether it is a new tensor."""

    value: int
    since: int
    site: Site
    new: bool


class Returned:
    """What came back in the losses of these paths. The parameters of a model have the same exits: what does not depend
    on the exit is looked for once in each graph."""

    def __init__(self, known: Paths):
        self.known, self.trace = known, known.trace
        self._new: dict[int, dict[object, list[_New]]] = {}  # graph → shape and kind of number → those
        self._made: dict[int, dict[tuple[str, str], list[_Made]]] = {}  # graph → file and function → those
        self._numbers: dict[int, list[int]] = {}  # graph → its new tensors of real numbers

    def as_tensor(self, graph: Graph, exit: Op) -> Key | None:
        """A tensor without a past, of the same shape and kind of number, that a loss was computed from after `exit`."""
        if graph.id not in self._new:
            self._new[graph.id] = self._new_ones(graph)
        alike = {(graph.values[i].shape, real(graph.values[i].dtype)) for i in exit.inputs}
        found = [
            new.value
            for kind in alike
            for new in self._new[graph.id].get(kind, ())
            if new.read > exit.index and (new.made < 0 or new.made > exit.index)
        ]
        return (graph.id, min(found)) if found else None

    def _new_ones(self, graph: Graph) -> dict[object, list[_New]]:
        found: dict[object, list[_New]] = {}
        for value in graph.values:
            if value.parameter is not None or value.origin is not None:
                continue
            readers = graph.consumers.get(value.index)
            if not readers or (graph.id, value.index) not in self.known.used.order:
                continue
            maker = graph.ops[value.op] if value.op is not None else None
            filled = maker is not None and maker.name in MAKERS and not maker.inputs
            if maker is None or (filled and not self._constant(maker.site.user)):
                made = maker.index if maker is not None else -1
                kind = value.shape, real(value.dtype)
                found.setdefault(kind, []).append(_New(value.index, made, readers[0].index))
        return found

    def _constant(self, made: Site) -> bool:
        """Whether the call at `made` is given nothing but numbers that stand in the text: `torch.tensor(0.0)`."""
        node = self.trace.source_file(made.path).at(made)
        return isinstance(node, ast.Call) and all(
            isinstance(part, (ast.Constant, ast.List, ast.Tuple, ast.UnaryOp, ast.unaryop, ast.expr_context))
            for arg in node.args
            for part in ast.walk(arg)
        )

    def in_array(self, graph: Graph, exits: list[tuple[Op, Op]], exit: Op) -> Key | None:
        """A tensor that a loss was computed from, filled with the numbers that the line of `exit` gave."""
        if graph.id not in self._numbers:
            self._numbers[graph.id] = [
                value.index
                for value in graph.values
                if value.shape
                and real(value.dtype)
                and (graph.id, value.index) in self.known.used.order
                and without_past(graph, value.index)
            ]
        for index in self._numbers[graph.id]:
            found = gathered(graph, index, exits)
            if found is not None and found[0] is exit:
                return graph.id, index
        return None

    def as_number(self, graph: Graph, exit: Op) -> Key | None:
        """What a loss was computed from with the plain number that `exit` gave, by the user's words:
        the call stands inside the expression, or its result has a name that the expression reads, or
        was put into a container that a new tensor is made of, or came to that by other assignments."""
        place = exit.site.user
        file = self.trace.source_file(place.path)
        name, container = file.variable(place), _container(file, place)
        if graph.id not in self._made:
            self._made[graph.id] = self._made_ones(graph)
        for made in self._made[graph.id].get((place.path, _body(place)), ()):
            if made.since <= exit.index:
                continue
            read = names_in(node) if (node := file.at(made.site)) else set()
            inside = holds(made.site, place) and not holds(place, made.site)
            if inside or name in read or (made.new and container in read):
                return graph.id, made.value
            if made.new and assignments_between(self.trace, place, made.site):
                return graph.id, made.value
        return None

    def _made_ones(self, graph: Graph) -> dict[tuple[str, str], list[_Made]]:
        made = [
            _Made(value.index, entered(graph, value.index), value.site.user, True)
            for value in graph.values
            if value.op is None
            and value.site is not None
            and without_past(graph, value.index)
            and real(value.dtype)
        ]
        made += [
            _Made(op.outputs[0], op.index, op.site.user, op.name in MAKERS and not op.inputs)
            for op in graph.ops
            if op.outputs
        ]
        found: dict[tuple[str, str], list[_Made]] = {}
        for one in made:
            if (graph.id, one.value) in self.known.used.order:
                found.setdefault((one.site.path, _body(one.site)), []).append(one)
        return found


def _body(site: Site) -> str:
    """The function around a site, where a comprehension counts to the function it stands in."""
    return site.function.split(".<locals>.<")[0]


def _container(file: SourceFile, place: Site) -> str | None:
    """The list that the statement at `place` makes or adds to: `l` in `l.append(float(x))`."""
    statement = file.statement(place)
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        function = statement.value.func
        adds = isinstance(function, ast.Attribute) and function.attr in ("append", "extend", "insert")
        holder = function.value if adds and isinstance(function, ast.Attribute) else None
    elif isinstance(statement, (ast.Assign, ast.AugAssign)):
        holder = statement.targets[0] if isinstance(statement, ast.Assign) else statement.target
        while isinstance(holder, ast.Subscript):
            holder = holder.value
    else:
        holder = None
    return holder.id if isinstance(holder, ast.Name) else None
