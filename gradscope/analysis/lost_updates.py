"""Updates that are lost, since they go to a tensor that nobody keeps."""

from __future__ import annotations

import ast
from collections import Counter
from dataclasses import dataclass

from gradscope.analysis.dead_ends import taken_along
from gradscope.analysis.ops import STACKS
from gradscope.analysis.writes import memory_root
from gradscope.events import Backward
from gradscope.model import Graph, Op, Parameter, Site
from gradscope.source import SourceFile, arguments, names_in
from gradscope.store import Trace

UPDATES = {"sub", "add", "addcdiv", "addcmul", "lerp"}
COPIES = {
    "data",
    "detach",
    "clone",
    "getitem",
    "index",
    "index_select",
    "view",
    "reshape",
    "flatten",
    "to",
    "ravel",
}
JOINS = STACKS | {"concatenate", "hstack"}


@dataclass
class Dropped:
    """A statement that computes an update, whose result goes nowhere."""

    site: Site
    text: str
    parameters: list[Parameter]
    passes: int  # that computed their gradient
    joined: Site | None = None  # puts copies of them into the one tensor that it writes to


@dataclass
class _Copy:
    """What a tensor has the values of."""

    parameters: list[Parameter]
    roots: set[int]  # their values
    joined: Op | None = None


def dropped_updates(trace: Trace) -> list[Dropped]:
    """Statements that subtract a gradient from a parameter that never changes (`p = p - lr * p.grad`
    where `p` is the loop's own name), or from one tensor that copies of several were put into."""
    rests = {p.id: p for p in trace.parameters if not (p.changed or p.updates or p.steps)}
    passes = {id: p.passes for id, p in rests.items() if p.passes >= 2 and p.read_at}
    asked = {id: times for id, times in _asked(trace).items() if id in rests and times >= 2}
    still = {id: rests[id] for id in passes.keys() | asked.keys()}
    found: dict[tuple[str, int], Dropped] = {}
    for number in sorted({s.graph for s in trace.segments if s.graph is not None}) if still else ():
        graph = trace.graph(number)
        for op in graph.ops:
            copy = _updated(trace, graph, op, still)
            if copy is None or op.site.user.kind != "user":
                continue
            place = op.site.user
            known = found.get(place.location())
            if known is None:
                file = trace.source_file(place.path)
                statement = file.statement(place)
                if statement is None or not _by_gradient(graph, op, statement, file, copy):
                    continue
                lost = _own_copy_alone if copy.joined is not None and op.writes else _goes_nowhere
                if not lost(file, statement, file.at(place)):
                    continue
                times = max(max(passes.get(p.id, 0), asked.get(p.id, 0)) for p in copy.parameters)
                joined = copy.joined.site.user if copy.joined is not None else None
                known = found[place.location()] = Dropped(place, file.text(statement), [], times, joined)
            known.parameters += [p for p in copy.parameters if p not in known.parameters]
    return list(found.values())


def _asked(trace: Trace) -> Counter[int]:
    """How many calls of `torch.autograd.grad` gave the gradient of each parameter."""
    times: Counter[int] = Counter()
    for event in trace.of(Backward):
        if event.call == "grad" and event.graph >= 0:
            values = trace.graph(event.graph).values
            asked = {values[i].parameter for i in event.inputs}
            times.update({id: event.count for id in asked if id is not None})
    return times


def _updated(trace: Trace, graph: Graph, op: Op, still: dict[int, Parameter]) -> _Copy | None:
    """The parameters from whose values, or a copy of them, this op subtracts something."""
    if op.name.strip("_") not in UPDATES or len(op.inputs) < 2:
        return None
    copy = _copied(graph, op.inputs[0], still)
    if copy is None or any(memory_root(graph, w) in copy.roots for w in op.writes):
        return None
    made = (*op.outputs, *op.written)
    read = any(graph.consumers.get(o) or (graph.id, o) in taken_along(trace) for o in made)
    return None if read else copy


def _copied(graph: Graph, index: int, still: dict[int, Parameter]) -> _Copy | None:
    """The parameters that a tensor has the values of; None where it has others, too."""
    copy, todo, seen = _Copy([], set()), [index], set[int]()
    while todo:
        value = graph.values[todo.pop()]
        if value.index in seen:
            continue
        seen.add(value.index)
        if value.kind == "parameter" or value.op is None:
            p = still.get(value.parameter) if value.parameter is not None else None
            if p is None:
                return None
            copy.parameters.append(p)
            copy.roots.add(value.index)
            continue
        made = graph.ops[value.op]
        name = made.name.strip("_")
        if name in JOINS and copy.joined is None:
            copy.joined = made
        elif name not in COPIES or not made.inputs:
            return None
        todo += made.inputs if name in JOINS else made.inputs[:1]
    copy.parameters.reverse()
    return copy if copy.parameters else None


def _by_gradient(graph: Graph, op: Op, statement: ast.stmt, file: SourceFile, copy: _Copy) -> bool:
    """Whether what is subtracted is made of the gradients of these parameters: `torch.autograd.grad` gave them, or
    `.grad` is read near by."""
    ids = {p.id for p in copy.parameters}
    todo, seen = list(op.inputs[1:]), set[int]()
    while todo:
        made = graph.maker(index := todo.pop())
        if made is None or index in seen:
            continue
        seen.add(index)
        if made.name == "grad":
            if ids & {graph.values[i].parameter for i in made.inputs[1:]}:
                return True
        else:
            todo += made.inputs
    return any(_reads(statement, file, p) for p in copy.parameters)


def _own_copy_alone(file: SourceFile, statement: ast.stmt, node: ast.AST | None) -> bool:
    """Whether a statement writes to what only a name of its function's stands for, which is bound before it in the
    same turn and not read again."""
    target = node.func.value if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else None
    if isinstance(statement, ast.AugAssign):
        target = statement.target
    elif not isinstance(statement, ast.Expr) or statement.value is not node:
        return False
    block = file.parent.get(id(statement))
    while isinstance(block, (ast.With, ast.If)) and isinstance(target, ast.Name):
        if _bound_before(block, target.id, statement):
            break
        block = file.parent.get(id(block))
    return (
        isinstance(target, ast.Name)
        and block is not None
        and _bound_before(block, target.id, statement)
        and not _read_after(file.scope_of(statement) or block, target.id, statement)
    )


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
            given = {a.arg for a in arguments(node)}
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
