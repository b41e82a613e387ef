"""What a program makes and never reads: tensors that no operation takes and whose name nothing asks for again, and
writes into a tensor after its last use."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from typing import NamedTuple

from gradscope.analysis.memo import once
from gradscope.analysis.ops import ADDITIONS, ALIASES, CASTS, PASSING, SUBTRACTIONS
from gradscope.analysis.writes import before_writes, memory_root
from gradscope.events import Backward
from gradscope.model import Graph, Op, Site, Value
from gradscope.source import LOOPS, SCOPES, SourceFile, bound_in, names_in
from gradscope.store import Trace

SAME = PASSING | ALIASES | CASTS  # of what is read, another form of it is
MAX_FORMS = 50


class Unread(NamedTuple):
    """A tensor that is made by one place of the program and read by nothing."""

    site: Site
    name: str  # that it is given to
    statement: ast.stmt
    shape: tuple[int, ...]
    dtype: str


def unread_at(trace: Trace, site: Site) -> Unread | None:
    """What the place makes, where no operation of the run reads it in any form, and its name is not read again."""
    place = site.user
    file = trace.source_file(place.path)
    statement = file.statement(place)
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return None
    name = statement.targets[0].id if isinstance(statement.targets[0], ast.Name) else _of_tuple(file, place)
    if not name or read_again(file, statement, name):
        return None
    made = unread_value(trace, site)
    return Unread(place, name, statement, *made) if made is not None else None


def unread_value(trace: Trace, site: Site) -> tuple[tuple[int, ...], str] | None:
    """Shape, in its last form, and dtype of what the place makes, where no operation of the run reads it in any."""
    shape: tuple[int, ...] = ()
    dtype, found = "", False
    for graph in trace.graphs:
        for value in graph.values:
            if value.site is None or value.site.id != site.id:
                continue
            if _is_read(trace, graph, value.index):
                return None
            found, dtype = True, dtype or value.dtype
            shape = _last_form(graph, value.index) or shape
    return (shape, dtype) if found else None


def unread(trace: Trace, path: str, statements: Collection[ast.stmt]) -> bool:
    """Whether each of these statements of a file made tensors, and no operation but theirs reads one or writes."""
    spans = [range(one.lineno, (one.end_lineno or one.lineno) + 1) for one in statements]
    made = [False] * len(spans)
    for graph in trace.graphs:
        within: dict[int, int] = {}  # op → the statement that it runs in
        for op in graph.ops:
            lines = [frame.line for frame in op.site.stack if frame.path == path]
            at = next((n for n, span in enumerate(spans) if any(line in span for line in lines)), None)
            if at is not None:
                within[op.index] = at
                made[at] = made[at] or bool(op.outputs)
        for number in within:
            op = graph.ops[number]
            readers = [reader for index in op.outputs for reader in graph.consumers.get(index, ())]
            if op.writes or any(reader.index not in within for reader in readers):
                return False
            if any((graph.id, index) in read_later(trace) for index in op.outputs):
                return False
    return all(made)


def _of_tuple(file: SourceFile, place: Site) -> str:
    return file.variable(place) or ""


def _is_read(trace: Trace, graph: Graph, value: int) -> bool:
    """Whether an operation reads it, more than to bring it into another form."""
    todo = [value]
    for index in todo:
        if (graph.id, index) in read_later(trace) or len(todo) > MAX_FORMS:
            return True
        for op in graph.consumers.get(index, ()):
            if op.name not in SAME or op.writes or len(op.inputs) > 1:
                return True
            todo += [made for made in op.outputs if made not in todo]  # `x.float()` may be `x` itself
    return False


def _last_form(graph: Graph, value: int) -> tuple[int, ...]:
    while readers := graph.consumers.get(value):
        if not readers[0].outputs or readers[0].outputs[0] == value:
            break
        value = readers[0].outputs[0]
    return graph.values[value].shape


@once
def read_later(trace: Trace) -> set[tuple[int, int]]:
    """The values that another graph takes up: an operation of it reads them, or a pass begins there."""
    begun = {(event.graph, root) for event in trace.of(Backward) for root in (*event.roots, *event.inputs)}
    return {
        value.origin
        for graph in trace.graphs
        for value in graph.values
        if value.origin is not None and (graph.consumers.get(value.index) or (graph.id, value.index) in begun)
    }


def read_again(file: SourceFile, statement: ast.stmt, name: str) -> bool:
    """Whether the name is read after a statement in its function, or anywhere in a loop around it, before it is bound
    anew. In a module it may be read from elsewhere: then only what stands in that file is known."""
    last = statement.end_lineno or statement.lineno
    scope = file.scope_of(statement)
    if scope is None:
        return True
    for node in ast.walk(scope):
        if isinstance(node, (ast.Global, ast.Nonlocal)) and name in node.names:
            return True
        if not isinstance(node, ast.Name) or node.id != name or not isinstance(node.ctx, ast.Load):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Name)
                and node.func.id in ("locals", "vars")
            ):
                return True
            continue
        if _is_own(file, node, scope):
            continue
        if node.lineno > last or _inner(file, node, scope):
            return True
        if node.lineno < statement.lineno and _around_both(file, statement, node):
            return True
    return False


def _is_own(file: SourceFile, node: ast.Name, scope: ast.AST) -> bool:
    """Whether a function within the scope binds the name that it reads: then it is a name of its own."""
    for above in file.above(node):
        if above is scope:
            return False
        if isinstance(above, SCOPES) and node.id in bound_in(above):
            return True
    return False


def _inner(file: SourceFile, node: ast.AST, scope: ast.AST) -> bool:
    """Whether a node stands in a function within the scope, which may run at any time."""
    around = file.scope_of(node)
    return around is not scope


def _around_both(file: SourceFile, statement: ast.stmt, node: ast.AST) -> bool:
    """Whether a loop stands around both, so that what is read above was bound below."""
    loops = {id(above) for above in file.above(statement) if isinstance(above, LOOPS)}
    return any(id(above) in loops for above in file.above(node))


class LateWrite(NamedTuple):
    """A write into a tensor of which nothing is read afterwards."""

    graph: Graph
    op: Op
    name: str  # of what is written to
    statement: ast.stmt
    reader: Site  # the last use before it


def late_writes(trace: Trace) -> Iterator[LateWrite]:
    """Once per line: writes into a local variable's tensor, which was read before and never again in any graph."""
    found: dict[tuple[str, int], LateWrite | None] = {}
    for graph in trace.graphs:
        for op in graph.writing:
            if op.site.kind == "user":
                place = op.site.location()
                if place not in found or found[place] is not None:
                    found[place] = _late(trace, graph, op)
    yield from (late for late in found.values() if late is not None)


def _late(trace: Trace, graph: Graph, op: Op) -> LateWrite | None:
    root = memory_root(graph, before_writes(graph, op.writes[0]))
    made = graph.values[root]
    maker = _made_at(trace, made)
    counted = not _past_the_count(graph, op.writes[0])
    if maker is None or made.parameter is not None or (made.requires_grad and (made.is_leaf or not counted)):
        return None
    if not any(maker.frames_in(op.site)):
        return None
    file = trace.source_file(op.site.path)
    statement = file.statement(op.site)
    name = _written_name(file.at(op.site), statement)
    if not name or statement is None or read_again(file, statement, name):
        return None
    if made.op is None and file.variable(maker.user) != name:
        return None  # a state that an earlier step made
    shared = {v.index for v in graph.values if memory_root(graph, before_writes(graph, v.index)) == root}
    if any((graph.id, index) in read_later(trace) for index in shared):
        return None
    readers = [one for index in shared for one in graph.consumers.get(index, ()) if one.index != op.index]
    if not readers or any(one.index > op.index for one in readers):
        return None
    if not counted and any(_backward_reads(one) for one in readers):
        return None
    if not _only_read_by(file, statement, name, readers, op.site):
        return None
    last = max(readers, key=lambda one: one.index)
    return LateWrite(graph, op, name, statement, last.site.user)


def _made_at(trace: Trace, value: Value) -> Site | None:
    """The call that made it; in the first step that may be of what ran before the first layer."""
    while value.op is None and value.origin is not None:
        graph, index = value.origin
        if index >= len(trace.graph(graph).values):
            return None
        value = trace.graph(graph).values[index]
    return value.site if value.op is not None else None


def _past_the_count(graph: Graph, value: int) -> bool:
    """Whether it is written to by way of `.data`. Any other write counts: a pass that needed the numbers from before
    would have stopped the run."""
    seen: set[int] = set()
    while value not in seen:
        seen.add(value)
        maker, base = graph.maker(value), graph.values[value].alias_of
        if maker is not None and maker.name == "data":
            return True
        if maker is not None and value in maker.written:
            value = maker.writes[maker.written.index(value)]
        elif base is not None:
            value = base
    return False


def _backward_reads(reader: Op) -> bool:
    """Whether the backward of the operation may need the numbers: that of a sum does not."""
    return bool(reader.nodes) and reader.name not in ADDITIONS | SUBTRACTIONS


def _written_name(node: ast.AST | None, statement: ast.stmt | None) -> str:
    """`x` of `x[…] = …`, `x += …` and `x.fill_(…)`."""
    target: ast.AST | None = None
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target = statement.targets[0] if isinstance(statement.targets[0], ast.Subscript) else None
    elif isinstance(statement, ast.AugAssign):
        target = statement.target
    elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        target = statement.value.func.value if isinstance(statement.value.func, ast.Attribute) else None
    while isinstance(target, ast.Subscript):
        target = target.value
    return target.id if isinstance(target, ast.Name) else ""


def _only_read_by(file: SourceFile, write: ast.stmt, name: str, readers: list[Op], site: Site) -> bool:
    """Whether every place that names the tensor is one of these calls: none hands it on."""
    scope = next((node for node in file.above(write) if isinstance(node, SCOPES)), None)
    if scope is None:  # of a module other files may read it
        return False
    lines = {one.site.user.line for one in readers if one.site.user.path == site.path}
    bound = 0
    for node in ast.walk(scope):
        if isinstance(node, ast.stmt) and node is not write and not isinstance(node, LOOPS):
            bound += name in names_in(node, ast.Store) and not isinstance(node, (ast.If, ast.With, *SCOPES))
        if not isinstance(node, ast.Name) or node.id != name or not isinstance(node.ctx, ast.Load):
            continue
        statement = file.statement_of(node)
        if statement is write:
            continue
        if statement is None or isinstance(statement, ast.Return):
            return False
        if lines.isdisjoint(range(statement.lineno, (statement.end_lineno or statement.lineno) + 1)):
            return False
        if isinstance(file.parent.get(id(node)), (ast.Assign, ast.Tuple, ast.List, ast.Dict)):
            return False  # another name for it
    return bound == 1
