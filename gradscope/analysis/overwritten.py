"""Rows of a buffer that a turn of a loop writes twice: what the first line puts there is overwritten unread."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from gradscope.model import Graph, Op, Site
from gradscope.source import LOOPS, SCOPES, SourceFile, names_in
from gradscope.store import Trace

ENOUGH = 3  # turns that were looked at
FIRST, SECOND, OTHER, UNKNOWN = "first", "second", "other", "unknown"  # what touches it; or nobody looked
MAX_HOPS = 1000
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


class _Pair(NamedTuple):
    path: str
    first: ast.Subscript
    second: ast.Subscript
    statement: ast.stmt


def overwritten(trace: Trace) -> Iterator[Overwritten]:
    """Once per pair of lines."""
    if "__setitem__" in trace.op_names:
        for path in trace.sources:
            file = trace.source_file(path)
            for pair in _pairs(path, file):
                found = _followed(trace, file, pair)
                if found is not None:
                    yield found


def _pairs(path: str, file: SourceFile) -> Iterator[_Pair]:
    """Assignments to `a[i]` in one block of a loop that changes `i`, with nothing between that names `a` or binds
    `i` anew."""
    for node in file.nodes:
        for name in ("body", "orelse"):
            block = getattr(node, name, None)
            loop = _loop(file, node) if isinstance(block, list) and len(block) > 1 else None
            if loop is not None and isinstance(block, list):
                yield from _in_block(path, block, names_in(loop, ast.Store))


def _loop(file: SourceFile, node: ast.AST) -> ast.AST | None:
    for around in (node, *file.above(node)):
        if isinstance(around, SCOPES):
            return None
        if isinstance(around, LOOPS):
            return around
    return None


def _in_block(path: str, block: list[ast.stmt], changing: set[str]) -> Iterator[_Pair]:
    rows = [(place, target) for place, one in enumerate(block) for target in _rows(one)]
    for n, (place, first) in enumerate(rows):
        text = ast.unparse(first)
        later = ((p, t) for p, t in rows[n + 1 :] if p > place and ast.unparse(t) == text)
        last, second = next(later, (0, None))
        if second is None:
            continue
        index, buffer = names_in(first.slice, ast.Load), ast.unparse(first.value)
        between = block[place + 1 : last]
        bound = set().union(*(names_in(one, ast.Store) for one in block[place : last + 1]))
        named = any(
            isinstance(part, (ast.Name, ast.Attribute)) and ast.unparse(part) == buffer
            for one in between
            for part in ast.walk(one)
        )
        if index & changing and not bound & (index | names_in(first.value, ast.Load)) and not named:
            yield _Pair(path, first, second, block[last])


def _rows(statement: ast.stmt) -> Iterator[ast.Subscript]:
    """The `a[i]` that a statement assigns to."""
    targets = list(statement.targets) if isinstance(statement, ast.Assign) else []
    for target in targets:
        if isinstance(target, (ast.Tuple, ast.List)):
            targets += target.elts
        elif isinstance(target, ast.Subscript):
            yield target


def _followed(trace: Trace, file: SourceFile, pair: _Pair) -> Overwritten | None:
    run = _Run(trace, file, pair)
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
    return Overwritten(ast.unparse(pair.second), first, second, pair.statement, times)


class _Run:
    """What touches the buffer of a pair, in program order."""

    def __init__(self, trace: Trace, file: SourceFile, pair: _Pair):
        self.trace, self.file, self.pair = trace, file, pair
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
                self.shared = self.shared or op.name in SHARED
                which = self._which(op)
                found.append(which or OTHER)
                if which == FIRST and before is not None and found[-2:-1] == [SECOND]:
                    same = self._given(graph, op) == self._given(graph, before) != []
                    self.again, self.others = self.again + same, self.others + (not same)
                before = op
        return self._known[graph.id]

    def _which(self, op: Op) -> str:
        """Which of both lines writes here; "" for anything else."""
        site = op.site.user
        if op.name != "__setitem__" or not op.writes or site.path != self.pair.path or op.site.kind != "user":
            return ""
        node = self.file.at(site)
        which = FIRST if node is self.pair.first else SECOND if node is self.pair.second else ""
        if which:
            self.sites[which] = site
        return which

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
