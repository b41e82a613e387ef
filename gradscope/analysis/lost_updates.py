"""Updates that are lost, since they go to a tensor that nobody keeps."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from gradscope.analysis.writes import memory_root
from gradscope.model import Graph, Op, Parameter, Site
from gradscope.source import SourceFile, names_in
from gradscope.store import Trace

UPDATES = {"sub", "add", "addcdiv", "addcmul", "lerp", "subtract"}
COPIES = {"data", "detach", "clone", "getitem", "index", "index_select", "view", "reshape", "flatten", "to"}


@dataclass
class Dropped:
    """A statement that computes an update, whose result goes nowhere."""

    site: Site
    text: str
    parameters: list[Parameter]


def dropped_updates(trace: Trace) -> list[Dropped]:
    """Statements that subtract a gradient from a parameter that never changes (`p = p - lr * p.grad`
    where `p` is the loop's own name)."""
    still = {
        p.id: p
        for p in trace.parameters
        if p.passes >= 2 and p.read_at and not (p.changed or p.updates or p.steps)
    }
    found: dict[tuple[str, int], Dropped] = {}
    for number in sorted({s.graph for s in trace.segments if s.graph is not None}) if still else ():
        graph = trace.graph(number)
        for op in graph.ops:
            p = _updated(graph, op, still)
            if p is None or op.site.user.kind != "user":
                continue
            place = op.site.user
            known = found.get(place.location())
            if known is None:
                file = trace.source_file(place.path)
                statement = file.statement(place)
                if statement is None or not _reads(statement, file, p):
                    continue
                if not _goes_nowhere(file, statement, file.at(place)):
                    continue
                known = found[place.location()] = Dropped(place, file.text(statement), [])
            if p not in known.parameters:
                known.parameters.append(p)
    return list(found.values())


def _updated(graph: Graph, op: Op, still: dict[int, Parameter]) -> Parameter | None:
    """The parameter from whose values, or a copy of them, this op subtracts something."""
    if op.name.strip("_") not in UPDATES or len(op.inputs) < 2:
        return None
    value = graph.values[op.inputs[0]]
    for _ in range(len(graph.ops)):
        if value.kind == "parameter" or value.op is None:
            break
        made = graph.ops[value.op]
        if made.name.strip("_") not in COPIES or not made.inputs:
            return None
        value = graph.values[made.inputs[0]]
    p = still.get(value.parameter) if value.parameter is not None else None
    if p is None or any(memory_root(graph, w) == value.index for w in op.writes):
        return None
    return None if any(graph.consumers.get(o) for o in (*op.outputs, *op.written)) else p


def _reads(statement: ast.stmt, file: SourceFile, p: Parameter) -> bool:
    """Whether the gradient of `p` is read in the loop or function around the statement."""
    around: ast.AST | None = statement
    while around is not None and not isinstance(around, (ast.For, ast.FunctionDef, ast.Module)):
        around = file.parent.get(id(around))
    if isinstance(around, (ast.For, ast.FunctionDef)):
        first, last = around.lineno, around.end_lineno or around.lineno
        return any(first <= line <= last for _, line, _ in p.read_at)
    return around is not None


def _goes_nowhere(file: SourceFile, statement: ast.stmt, node: ast.AST | None) -> bool:
    """Whether nothing can read the value of `node`: it has no name, or only that of a loop variable
    or an argument, which is not read again."""
    if not isinstance(statement, (ast.Expr, ast.Assign)) or statement.value is not node:
        return False
    if isinstance(statement, ast.Expr):
        return True
    target = statement.targets[0]
    if len(statement.targets) != 1 or not isinstance(target, ast.Name):
        return False
    node, bound = file.parent.get(id(statement)), False  # by an earlier line of the same block
    while node is not None:
        if isinstance(node, ast.For) and target.id in names_in(node.target):
            return not _read_after(node, target.id, statement)
        bound = bound or _bound_before(node, target.id, statement)
        if (isinstance(node, (ast.For, ast.While)) and not bound) or isinstance(node, ast.Lambda):
            return False
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            given = {a.arg for a in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)}
            own = target.id in given or (bound and not _from_outside(node, target.id))
            return own and not _read_after(node, target.id, statement)
        if isinstance(node, ast.Module):
            return bound and not _read_after(node, target.id, statement)
        node = file.parent.get(id(node))
    return False


def _bound_before(block: ast.AST, name: str, statement: ast.stmt) -> bool:
    """Whether a line of this loop or function gives the name a value before the statement."""
    return any(
        isinstance(n, ast.Assign) and n.lineno < statement.lineno and name in names_in(ast.Tuple(n.targets))
        for n in getattr(block, "body", ())
    )


def _from_outside(function: ast.AST, name: str) -> bool:
    return any(isinstance(n, (ast.Global, ast.Nonlocal)) and name in n.names for n in ast.walk(function))


def _read_after(block: ast.AST, name: str, statement: ast.stmt) -> bool:
    last = statement.end_lineno or statement.lineno
    return any(
        isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Load) and n.lineno > last
        for n in ast.walk(block)
    )
