"""Rows of a buffer that a turn of a loop writes twice: what the first line puts there is overwritten unread."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from typing import NamedTuple

from gradscope.model import Graph, Op, Site
from gradscope.source import LOOPS, SCOPES, SourceFile, arguments, called_name, names_in
from gradscope.store import Trace

ENOUGH = 3  # turns that were looked at
FIRST, SECOND, OTHER, UNKNOWN = "first", "second", "other", "unknown"  # what touches it; or nobody looked
MAX_HOPS = 1000
WRITES = {"__setitem__", "copy_"}
SHARED = {  # with what torch does not see
    "numpy", "__array__", "share_memory_", "data_ptr", "untyped_storage", "__dlpack__", "as_tensor", "frombuffer",
}  # fmt: skip


class Overwritten(NamedTuple):
    """Two writes to one row in each turn, with nothing between them that touches the buffer. In the next turn the
    first line writes, to its own row, the very tensor that the second has put into this one."""

    target: str  # `dones[step]`
    first: Site
    second: Site
    statement: ast.stmt  # the second one
    times: int


class _Row(NamedTuple):
    """A write to a row of a buffer."""

    path: str
    target: ast.Subscript  # as the loop that writes it would say it
    node: ast.expr  # what stands there
    statement: ast.stmt


class _Pair(NamedTuple):
    first: _Row
    second: _Row


_Functions = dict[str, tuple[str, ast.FunctionDef]]


def overwritten(trace: Trace) -> Iterator[Overwritten]:
    """Once per pair of lines."""
    if WRITES & trace.op_names:
        own = _functions(trace)
        for path in trace.sources:
            for pair in _pairs(path, trace.source_file(path), own):
                found = _followed(trace, pair)
                if found is not None:
                    yield found


def _functions(trace: Trace) -> dict[str, tuple[str, ast.FunctionDef]]:
    """The program's functions by their names, with their files, where no two have one name."""
    found: dict[str, list[tuple[str, ast.FunctionDef]]] = {}
    for path in trace.sources:
        for _, node in trace.source_file(path).of(ast.FunctionDef):
            found.setdefault(node.name, []).append((path, node))
    return {name: one[0] for name, one in found.items() if len(one) == 1}


def _pairs(path: str, file: SourceFile, own: _Functions) -> Iterator[_Pair]:
    """Assignments to `a[i]` in one block of a loop that changes `i`, with nothing between that names `a` or binds
    `i` anew."""
    for node in file.nodes:
        for name in ("body", "orelse"):
            block = getattr(node, name, None)
            loop = _loop(file, node) if isinstance(block, list) and len(block) > 1 else None
            if loop is not None and isinstance(block, list):
                yield from _in_block(path, block, names_in(loop, ast.Store), own)


def _loop(file: SourceFile, node: ast.AST) -> ast.AST | None:
    for around in (node, *file.above(node)):
        if isinstance(around, SCOPES):
            return None
        if isinstance(around, LOOPS):
            return around
    return None


def _in_block(path: str, block: list[ast.stmt], changing: set[str], own: _Functions) -> Iterator[_Pair]:
    rows = [
        (place, row)
        for place, one in enumerate(block)
        for row in (*_rows(path, one), *_rows_of_a_call(one, own))
    ]
    for n, (place, first) in enumerate(rows):
        text = ast.unparse(first.target)
        later = ((p, row) for p, row in rows[n + 1 :] if p > place and ast.unparse(row.target) == text)
        last, second = next(later, (0, None))
        if second is None:
            continue
        index, buffer = names_in(first.target.slice, ast.Load), ast.unparse(first.target.value)
        between = block[place + 1 : last]
        bound = set().union(*(names_in(one, ast.Store) for one in block[place : last + 1]))
        named = any(
            isinstance(part, (ast.Name, ast.Attribute)) and ast.unparse(part) == buffer
            for one in between
            for part in ast.walk(one)
        )
        if index & changing and not bound & (index | names_in(first.target.value, ast.Load)) and not named:
            yield _Pair(first, second)


def _rows(path: str, statement: ast.stmt) -> Iterator[_Row]:
    """The `a[i]` that a statement assigns to, or copies to by `a[i].copy_(…)`."""
    targets = list(statement.targets) if isinstance(statement, ast.Assign) else []
    for target in targets:
        if isinstance(target, (ast.Tuple, ast.List)):
            targets += target.elts
        elif isinstance(target, ast.Subscript):
            yield _Row(path, target, target, statement)
    call = statement.value if isinstance(statement, ast.Expr) else None
    if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "copy_":
        if isinstance(call.func.value, ast.Subscript):
            yield _Row(path, call.func.value, call, statement)


def _rows_of_a_call(statement: ast.stmt, own: _Functions) -> Iterator[_Row]:
    """The rows that a function of the program's writes in any case, where the statement only calls it, with what it is
    given in place of its arguments."""
    call = statement.value if isinstance(statement, (ast.Expr, ast.Assign)) else None
    known = own.get(called_name(call)) if isinstance(call, ast.Call) else None
    if (
        known is None
        or not isinstance(call, ast.Call)
        or any(isinstance(one, ast.Starred) for one in call.args)
    ):
        return
    path, function = known
    names = [one.arg for one in arguments(function)]
    given = dict(zip(names, call.args, strict=False))
    if isinstance(call.func, ast.Attribute) and names[:1] == ["self"]:
        given = {"self": call.func.value, **dict(zip(names[1:], call.args, strict=False))}
    given |= {word.arg: word.value for word in call.keywords if word.arg is not None}
    for one in function.body:
        for row in _rows(path, one):
            target = _Given(given).visit(copy.deepcopy(row.target))
            if isinstance(target, ast.Subscript) and names_in(row.target, ast.Load) <= given.keys():
                yield row._replace(target=target)


class _Given(ast.NodeTransformer):
    """Puts what a call is given in place of the names of the arguments."""

    def __init__(self, given: dict[str, ast.expr]):
        self.given = given

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self.given.get(node.id, node)


def _followed(trace: Trace, pair: _Pair) -> Overwritten | None:
    run = _Run(trace, pair)
    if not run.buffers:
        return None
    times, last = 0, UNKNOWN
    for touch in run.touches():
        if (last == FIRST) != (touch == SECOND) and UNKNOWN not in (last, touch):
            return None
        times += last == FIRST and touch == SECOND
        last = touch
    first, second = run.sites.get(FIRST), run.sites.get(SECOND)
    if times < ENOUGH or not run.again or run.others or run.shared or first is None or second is None:
        return None
    return Overwritten(ast.unparse(pair.second.target), first, second, pair.second.statement, times)


class _Run:
    """What touches the buffer of a pair, in program order."""

    def __init__(self, trace: Trace, pair: _Pair):
        self.trace, self.pair = trace, pair
        self.sites: dict[str, Site] = {}
        self.again = 0  # turns whose first line writes what the second one of the last wrote
        self.others = 0
        self._known: dict[int, list[str]] = {}
        self.buffers = {
            self._memory(graph, op.writes[0])
            for graph in trace.graphs
            for op in graph.writing
            if self._which(op)
        }

        # its memory may be read from outside of torch, as that of an array
        self.shared = any(trace.graph(graph).values[value].op is None for graph, value in self.buffers)

    def touches(self) -> Iterator[str]:
        for segment in self.trace.segments:
            if segment.graph is None:
                yield UNKNOWN
                continue
            found = self._of(self.trace.graph(segment.graph))
            yield from found * min(segment.repeat, 2)

    def _of(self, graph: Graph) -> list[str]:
        if graph.id not in self._known:
            found = self._known[graph.id] = []
            before: Op | None = None
            for op in graph.ops:
                values = op.inputs if op.name not in SHARED else (*op.inputs, *op.outputs)
                if not any(self._memory(graph, value) in self.buffers for value in values):
                    continue
                if self._only_shows_the_row(graph, op):
                    continue
                self.shared = self.shared or op.name in SHARED
                which = self._which(op)
                found.append(which or OTHER)
                if which == FIRST and before is not None and found[-2:-1] == [SECOND]:
                    same = self._given(graph, op) == self._given(graph, before) != []
                    self.again, self.others = self.again + same, self.others + (not same)
                before = op
        return self._known[graph.id]

    def _only_shows_the_row(self, graph: Graph, op: Op) -> bool:
        """`a[i]` of `a[i].copy_(…)`."""
        readers = [reader for value in op.outputs for reader in graph.consumers.get(value, ())]
        return op.name == "__getitem__" and bool(readers) and all(map(self._which, readers))

    def _which(self, op: Op) -> str:
        """Which of both lines writes here; "" for anything else."""
        site = op.site.user
        if op.name not in WRITES or not op.writes or op.site.kind != "user":
            return ""
        for which, row in ((FIRST, self.pair.first), (SECOND, self.pair.second)):
            if row.path == site.path and self.trace.source_file(site.path).at(site) is row.node:
                self.sites[which] = site
                return which
        return ""

    def _given(self, graph: Graph, op: Op) -> list[int]:
        return [value for value in op.inputs if self._memory(graph, value) not in self.buffers]

    def _memory(self, graph: Graph, value: int) -> tuple[int, int]:
        """The value that was there first of those that share its memory, over all graphs."""
        seen = {(graph.id, value)}
        while len(seen) < MAX_HOPS:
            known = graph.values[value]
            made = graph.ops[known.op] if known.op is not None else None
            if made is not None and value in made.written:
                value = made.writes[made.written.index(value)]
            elif known.alias_of is not None:
                value = known.alias_of
            elif known.origin is not None:
                graph, value = self.trace.graph(known.origin[0]), known.origin[1]
            else:
                break
            if (graph.id, value) in seen:
                break
            seen.add((graph.id, value))
        return graph.id, value
