"""Gradients that a program reads only to show them: printed, logged, put into a progress bar."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.analysis.loop import used_for_itself
from gradscope.analysis.memo import once
from gradscope.events import Clip
from gradscope.source import FUNCTIONS, SourceFile, called_name
from gradscope.store import Trace

SHOWING = {
    "print", "debug", "info", "warning", "error", "critical", "log", "write", "set_postfix", "set_description",
    "add_scalar", "add_scalars", "add_histogram",
}  # fmt: skip
COLLECTED = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.List, ast.Tuple)
COMPUTED = (ast.Compare, ast.BinOp, ast.UnaryOp, ast.BoolOp)
# They keep nothing of what they are given.
OF_NUMBERS = {"bool", "float", "int", "sum", "any", "all", "max", "min", "abs", "len", "round"}
FAR = 4  # names that a value is followed through


@once
def kept_gradients(trace: Trace) -> frozenset[int]:
    """Parameters of whose gradients the program reads what they may have been computed for: they were
    taken, or their numbers go on where they can't be followed."""
    clips = [event.site.user for event in trace.of(Clip)]
    clipped = {(site.path, site.line, site.column) for site in clips}  # which gives them back
    return read_for_more(trace) | {
        p.id
        for p in trace.parameters
        if used_for_itself(p) and not (p.declared and p.taken_at and clipped.issuperset(p.taken_at))
    }


@once
def read_for_more(trace: Trace) -> frozenset[int]:
    """Parameters of whose gradients some line of the program reads more than what it shows."""
    places = {place for p in trace.parameters for place in p.read_at}
    shown = {place for place in places if _shown(trace, place)}
    return frozenset(p.id for p in trace.parameters if set(p.read_at) - shown)


@once
def written_to(trace: Trace) -> frozenset[int]:
    """Parameters whose gradients some line of the program changes: `p.grad.copy_(…)`."""
    places = {place for p in trace.parameters for place in p.read_at}
    written = {
        place for place in places if any(_is_written(file, node) for file, node in _nodes_at(trace, place))
    }
    return frozenset(p.id for p in trace.parameters if not written.isdisjoint(p.read_at))


def _shown(trace: Trace, place: tuple[str, int, int]) -> bool:
    found = _nodes_at(trace, place)
    return bool(found) and all(_ends_shown(trace, file, node, FAR) for file, node in found)


def _nodes_at(trace: Trace, place: tuple[str, int, int]) -> list[tuple[SourceFile, ast.Attribute]]:
    """The `.grad` that begin at a place of the program's text."""
    path, line, column = place
    file = trace.source_file(path)
    return [
        (file, node)
        for node in file.nodes
        if isinstance(node, ast.Attribute)
        and node.attr == "grad"
        and (node.lineno, node.col_offset + 1) == (line, column)
    ]


def only_shown(trace: Trace, node: ast.Attribute) -> bool:
    """Whether what this `.grad` of the program's text gives goes nowhere but into calls that show it, and is not
    written to on the way (`p.grad.zero_()`)."""
    file = next((f for f in map(trace.source_file, trace.sources) if id(node) in f.parent), None)
    return file is not None and not _is_written(file, node) and _ends_shown(trace, file, node, FAR)


def _is_written(file: SourceFile, node: ast.Attribute) -> bool:
    above = file.parent.get(id(node))
    while isinstance(above, ast.Attribute | ast.Call):
        if isinstance(above, ast.Attribute) and above.attr.endswith("_"):
            return True
        above = file.parent.get(id(above))
    return False


def _ends_shown(trace: Trace, file: SourceFile, node: ast.AST, far: int) -> bool:
    """Whether the value of this expression goes nowhere but into calls that show it."""
    inner, above, bare = node, file.parent.get(id(node)), far == FAR
    while above is not None:
        if isinstance(above, ast.Compare) and all(isinstance(op, (ast.Is, ast.IsNot)) for op in above.ops):
            return True  # `p.grad is None`
        if isinstance(above, ast.Call) and inner is not above.func and called_name(above) in SHOWING:
            return True
        if isinstance(above, ast.Assert):
            return True
        if isinstance(above, ast.Call) and isinstance(above.func, ast.Attribute) and inner is not above.func:
            if isinstance(file.parent.get(id(above)), ast.Expr):
                return False  # `sizes.append(…)`
        if isinstance(above, (ast.If, ast.While)) and inner is above.test:
            return isinstance(above, ast.If) and all(map(_only_tells, (*above.body, *above.orelse)))
        if isinstance(above, ast.stmt):
            return (isinstance(above, ast.Expr) and bare) or (
                far > 0
                and all(_ends_shown(trace, f, one, far - 1) for f, one in _goes_on(trace, file, above, inner))
                and isinstance(above, (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Return))
            )
        plain = (
            isinstance(above, (ast.Attribute, *COLLECTED, *COMPUTED))
            or inner is getattr(above, "func", None)
            or (isinstance(above, ast.Call) and getattr(above.func, "id", "") in OF_NUMBERS)
        )
        bare = bare and plain
        inner, above = above, file.parent.get(id(above))
    return False


def _only_tells(statement: ast.stmt) -> bool:
    """Whether a branch does nothing but show something, or end the program."""
    shows = isinstance(statement, ast.Expr) and called_name(statement.value) in SHOWING
    return shows or isinstance(statement, (ast.Raise, ast.Assert, ast.Pass))


def _goes_on(
    trace: Trace, file: SourceFile, statement: ast.stmt, value: ast.AST
) -> Iterator[tuple[SourceFile, ast.AST]]:
    """Where the value that a statement names, or returns, is read."""
    function: ast.AST | None = statement
    while function is not None and not isinstance(function, (*FUNCTIONS, ast.Module)):
        function = file.parent.get(id(function))
    if function is None or isinstance(statement, ast.Return):
        for path in trace.sources if isinstance(function, FUNCTIONS) else ():
            other = trace.source_file(path)
            for node in other.nodes:
                if isinstance(node, ast.Call) and called_name(node) == getattr(function, "name", None):
                    yield other, node
        return
    targets = (
        statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", value)]
    )
    for target in targets:
        if not isinstance(target, ast.Name):
            yield file, ast.Module([], [])  # an attribute, an element: read anywhere
            continue
        for node in ast.walk(function):
            if isinstance(node, ast.Name) and node.id == target.id and isinstance(node.ctx, ast.Load):
                yield file, node
