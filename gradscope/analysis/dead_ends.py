"""Results that are computed from a parameter and that nothing reads: where the program drops them, and what it
gives out in their place."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from gradscope.analysis.intent import says_unused
from gradscope.analysis.memo import once
from gradscope.analysis.never_read import Unread, read_again
from gradscope.analysis.reach import paths
from gradscope.analysis.text import own_nodes, ran_in, site_of
from gradscope.model import Graph, Op, Site, Value
from gradscope.source import FUNCTIONS, LOOPS, SourceFile, arguments, called_name, names_in
from gradscope.store import Trace


def dropped_at(trace: Trace, parameter: int) -> Site | None:
    """The one place where the program drops all that it computes from a parameter; None where there are
    several, or where something else becomes of it: it is printed, or kept for a later step."""
    places = drops(trace, parameter)
    return places[0] if len(places) == 1 else None


def drops(trace: Trace, parameter: int) -> list[Site]:
    """The places where the program drops what it computes from a parameter; none where something else becomes of it."""
    places: dict[tuple[str, int], Site] = {}
    for graph in trace.graphs:
        for value in _ends(trace, graph, parameter):
            place = _drops(trace, graph.values[value].site) if value is not None else None
            if place is None:
                return []
            places.setdefault(place.location(), place)
    return list(places.values())


def _ends(trace: Trace, graph: Graph, parameter: int) -> Iterator[int | None]:
    """The values made from a parameter that no op reads; None for one that is more than dropped."""
    mine = [v.index for v in graph.values if v.parameter == parameter]
    readers = [op for index in mine for op in graph.consumers.get(index, ()) if op.nodes]
    todo = [index for op in readers for index in op.outputs]
    seen = set(todo)
    while todo:
        current = todo.pop()
        readers = graph.consumers.get(current, [])
        made = {i for op in readers for i in (*op.outputs, *op.written)}
        if (graph.id, current) in taken_along(trace) or any(not (op.outputs or op.written) for op in readers):
            yield None
        elif not made:
            yield current
        todo += made - seen
        seen |= made


class OtherTurns(NamedTuple):
    """Turns of a loop whose results are read, where what one call gives in others is dropped."""

    reader: Op
    next_turn: bool  # which makes what it gives out of what it reads
    dropped: str  # "last", "first"; "" for others


def other_turns(trace: Trace, place: Site, parameters: list[int]) -> OtherTurns | None:
    """What reads a result of the call at `place`, of which another one, made from these parameters, is dropped."""
    for graph in trace.graphs:
        ends = {i for id in parameters for i in _ends(trace, graph, id) if i is not None}
        gone = sorted(i for i in ends if _drops(trace, graph.values[i].site) == place)
        read = dict(_read(trace, graph, place)) if gone else {}
        if not read:
            continue
        before = {
            index
            for number, index in paths(trace).flow((graph.id, i) for i in gone).order
            if number == graph.id
        }
        following = next((op for op in read.values() if not before.isdisjoint(op.outputs)), None)
        if following is not None:
            return OtherTurns(following, True, "last")
        dropped = "last" if max(read) < gone[0] else "first" if gone[-1] < min(read) else ""
        return OtherTurns(next(iter(read.values())), False, dropped if len(gone) == 1 else "")
    return None


def _read(trace: Trace, graph: Graph, place: Site) -> Iterator[tuple[int, Op]]:
    """The results of the call at `place`, each with what reads it outside of that call."""
    for value in graph.values:
        made = value.site
        if made is None or not any(frame.location() == place.location() for frame in made.stack):
            continue
        dropped = _drops(trace, made) if graph.consumers.get(value.index) else None
        for op in graph.consumers[value.index] if dropped == place else ():
            if op.outputs and not _inside(trace, graph, value, op, place):
                yield value.index, op


def _inside(trace: Trace, graph: Graph, value: Value, reader: Op, place: Site) -> bool:
    """Whether what the call at `place` makes on its way is read on its way, too."""
    made, maker = value.site, graph.maker(value.index)
    if made is None or made.user != place:
        return made is not None and reader.site.user.function == made.user.function
    if maker is None or reader.site.user != place:
        return False
    if maker.module != reader.module and min(_forwards(made, place), _forwards(reader.site, place)) < 2:
        return False  # layers that a loop calls, and no module that calls both
    return _in_one_turn(graph, maker, reader, place) or _in_one_call(trace, graph, maker, reader, place)


def _in_one_turn(graph: Graph, maker: Op, reader: Op, place: Site) -> bool:
    """Whether nothing but this call ran between two of its operations, and it did not begin anew: a turn begins with
    what the one before has begun with."""
    together = _without_a_break(graph, reader, place)
    if maker.index not in together:
        return False
    first = graph.ops[together.start]
    begins = [
        i for i in together if graph.ops[i].module == first.module and graph.ops[i].site.id == first.site.id
    ]
    return begins[-1] <= maker.index


def _in_one_call(trace: Trace, graph: Graph, maker: Op, reader: Op, place: Site) -> bool:
    """Whether one call that runs no code of Python's own made both, as `sum([a, b, c])` makes two additions."""
    node = trace.source_file(place.path).at(place)
    plain = isinstance(node, ast.Call) and reader.site.span() == maker.site.span() == place.span()
    return (
        plain and called_name(node) != reader.name and maker.index in _without_a_break(graph, reader, place)
    )


def _without_a_break(graph: Graph, reader: Op, place: Site) -> range:
    """The operations up to `reader`, back to the last one that is not of the call at `place`."""
    start = reader.index
    while start and _within(graph.ops[start - 1].site, place):
        start -= 1
    return range(start, reader.index + 1)


def _forwards(site: Site, place: Site) -> int:
    """How many modules' code is run, one within the other, for the call at `place`."""
    at = next((i for i, frame in enumerate(site.stack) if frame.span() == place.span()), len(site.stack))
    return sum(frame.function.endswith(".forward") for frame in site.stack[at + 1 :])


def unread_parts(trace: Trace, place: Site) -> list[str]:
    """The names of those results of the call at `place` that nothing reads, where it gives several and others of them
    are read: `backcast` of `backcast, forecast = net(x)`."""
    file = trace.source_file(place.path)
    statement = file.statement(place)
    if not isinstance(statement, ast.Assign) or statement.value is not file.at(place):
        return []
    (target, *others) = statement.targets
    names = (
        [one.id for one in target.elts if isinstance(one, ast.Name)] if isinstance(target, ast.Tuple) else []
    )
    unread = [name for name in names if not says_unused(name) and not read_again(file, statement, name)]
    return unread if not others and len(unread) < len(names) else []


def another_in_its_place(trace: Trace, place: Site) -> Site | None:
    """The first statement behind the call at `place`, and behind no condition of its own, that gives the name of its
    result to something else."""
    file = trace.source_file(place.path)
    statement = file.statement(place)
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return None
    target = statement.targets[0]
    names = [one.id for one in _parts(target) if isinstance(one, ast.Name) and not says_unused(one.id)]
    found = (_bound_anew(file, statement, name) for name in names)
    other = next((one for one in found if one is not None), None)
    return site_of(place.path, place.function, other) if other is not None else None


def _bound_anew(file: SourceFile, statement: ast.stmt, name: str) -> ast.Assign | None:
    """The next statement on the way that names what this one binds, where it only gives that name another value."""
    around = [node for node in file.above(statement) if isinstance(node, ast.stmt)]
    for block in (statement, *around):
        if isinstance(block, FUNCTIONS):
            break
        siblings = file.siblings(block)
        for other in siblings[siblings.index(block) + 1 :]:
            if name in names_in(other, ast.Load):
                return None
            if name in names_in(other, ast.Store):
                return other if isinstance(other, ast.Assign) else None
    return None


def begun_in_each_turn(trace: Trace, place: Site) -> Site | None:
    """The statement of the same loop, before the call at `place`, that begins what the call is given and gives back
    (`out, hidden = cell(x, hidden)`) anew in each turn, so that nothing of the turn before goes into it."""
    file = trace.source_file(place.path)
    statement, call = file.statement(place), file.at(place)
    loop = next(file.above(statement), None) if statement is not None else None
    if not isinstance(statement, ast.Assign) or not isinstance(loop, LOOPS) or not isinstance(call, ast.Call):
        return None
    both = names_in(call, ast.Load) & {n for target in statement.targets for n in names_in(target, ast.Store)}
    for before in loop.body[: loop.body.index(statement)] if statement in loop.body else ():
        names = names_in(before, ast.Store) & both
        if isinstance(before, ast.Assign) and names and not names & names_in(before.value, ast.Load):
            return site_of(place.path, place.function, before)
    return None


def unread_results(trace: Trace, graph: Graph) -> list[Unread]:
    """What calls of this graph gave that requires a gradient, and that no op takes and whose name nothing asks for
    again, once for each call."""
    found: dict[tuple[str, int], Unread] = {}
    for value in graph.values:
        if not value.requires_grad or value.op is None or graph.consumers.get(value.index):
            continue
        call = _drops(trace, value.site) if (graph.id, value.index) not in taken_along(trace) else None
        statement = trace.source_file(call.path).statement(call) if call is not None else None
        if call is None or not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
            continue
        target = statement.targets[0]
        if not isinstance(target, ast.Name) or statement.value is not trace.source_file(call.path).at(call):
            continue
        if not read_again(trace.source_file(call.path), statement, target.id):
            found.setdefault(call.location(), Unread(call, target.id, statement, value.shape, value.dtype))
    return list(found.values())


def unread_name(trace: Trace, value: Value) -> tuple[Site, str] | None:
    """Where the program drops a value that no op takes, and the name that it has there, which nothing reads again: also
    that of one of several results of a function."""
    call = _drops(trace, value.site)
    file = trace.source_file(call.path) if call is not None else None
    statement = file.statement(call) if file is not None and call is not None else None
    if call is None or file is None or not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return None
    if statement.value is not file.at(call):
        return None
    target = statement.targets[0]
    if isinstance(target, ast.Name):
        return None if read_again(file, statement, target.id) else (call, target.id)
    names = unread_parts(trace, call)
    return (call, names[0]) if len(names) == 1 else None


@once
def taken_along(trace: Trace) -> dict[tuple[int, int], list[tuple[int, int]]]:
    """The values that another graph begins with → the same ones there."""
    found: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for graph in trace.graphs:
        for value in graph.values:
            if value.origin is not None:
                found.setdefault(value.origin, []).append((graph.id, value.index))
    return found


def _drops(trace: Trace, made: Site | None) -> Site | None:
    """The call whose result is dropped: that which made the value, or the function that returned it."""
    for frame in reversed(made.stack if made is not None else []):
        if frame.kind == "user" and not _hands_out(trace.source_file(frame.path), frame):
            return frame
    return None


def _hands_out(file: SourceFile, frame: Site) -> bool:
    """Whether the function returns what the expression at `frame` gives, or the name that it gives it to."""
    around = list(file.around(frame))
    kinds = (ast.Tuple, ast.List, ast.Dict, ast.Return, ast.Lambda)
    outer = next((node for node in around[1:] if not isinstance(node, kinds[:3])), None)
    if isinstance(outer, (ast.Return, ast.Lambda)):
        return True
    function = next((node for node in around if isinstance(node, FUNCTIONS)), None)
    if not isinstance(outer, ast.Assign) or function is None:
        return False
    names = set().union(*map(names_in, outer.targets))
    behind = [node for node in own_nodes(function) if getattr(node, "lineno", 0) > (outer.end_lineno or 0)]
    bound = [n for n in behind if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
    returns = (n.value for n in own_nodes(function) if isinstance(n, ast.Return) and n.value is not None)
    parts = (part for value in returns for part in _parts(value))
    return any(
        isinstance(part, ast.Name)
        and part.id in names
        and not any(
            n.id == part.id and n.lineno < part.lineno for n in bound
        )  # it may be another one by then
        for part in parts
    )


def _parts(value: ast.expr) -> list[ast.expr]:
    if isinstance(value, (ast.Tuple, ast.List)):
        return list(value.elts)
    return [v for v in value.values if v is not None] if isinstance(value, ast.Dict) else [value]


def used_for_its_inside(trace: Trace, call: Site) -> bool:
    """Whether the program leaves the result of this call alone, while something outside of the call reads what was
    computed within it: a network that is asked for its features, which a hook takes."""
    if not _left_alone(trace.source_file(call.path), call):
        return False
    return any(
        not _within(reader.site, call)
        for graph in trace.graphs
        for op in graph.ops
        if _within(op.site, call)
        for value in op.outputs
        for reader in graph.consumers.get(value, ())
    )


def _left_alone(file: SourceFile, call: Site) -> bool:
    """Whether what a call gives has no name, or one that is read nowhere: `_ = net(x)`."""
    statement = file.statement(call)
    if isinstance(statement, ast.Expr):
        return True
    if not isinstance(statement, ast.Assign) or statement.value is not file.at(call):
        return False
    return all(isinstance(t, ast.Name) and not read_again(file, statement, t.id) for t in statement.targets)


def _within(site: Site, call: Site) -> bool:
    return any(frame.span() == call.span() for frame in site.stack)


def loop_name(trace: Trace, site: Site) -> str:
    """The name of a loop's own variable that the statement at `site` assigns to; "" where it is none."""
    file = trace.source_file(site.path)
    around = list(file.around(site))
    statement = next((node for node in around if isinstance(node, ast.Assign)), None)
    target = statement.targets[0] if statement is not None and len(statement.targets) == 1 else None
    if not isinstance(target, ast.Name):
        return ""
    for node in around:
        if isinstance(node, FUNCTIONS):
            break
        if isinstance(node, ast.For):
            own = names_in(node.target)
            if target.id in own:
                return target.id
    return ""


class Instead(NamedTuple):
    """`return given`, where `result` of the same shape was computed from it and goes nowhere."""

    site: Site
    given: ast.Name  # what is returned
    result: str
    shape: tuple[int, ...]


def given_instead(trace: Trace, place: Site) -> Instead | None:
    """For the call at `place`, whose result nothing reads: the `return` of its function that gives out one of the
    call's own operands, of the same shape, which is read outside."""
    file = trace.source_file(place.path)
    node, statement = file.at(place), file.statement(place)
    target = (
        statement.targets[0] if isinstance(statement, ast.Assign) and len(statement.targets) == 1 else None
    )
    if not isinstance(node, ast.expr) or not isinstance(target, ast.Name):
        return None
    shape = next(
        (shape for graph in trace.graphs for op in graph.ops if (shape := _handed_on(graph, op, place))), None
    )
    operands = names_in(node, ast.Load) - {target.id}
    if shape is None:  # what the function itself was given, by a call of the program's own
        shape = next(
            (one for graph in trace.graphs if (one := _past_the_function(graph, place)) is not None), None
        )
        operands = _as_they_came_in(trace, place, made_of(list(own_nodes(file.scope(place))), node))
    returned = [
        one.value
        for one in own_nodes(file.scope(place))
        if isinstance(one, ast.Return)
        and isinstance(one.value, ast.Name)
        and one.value.id in operands
        and one.lineno > place.line
    ]
    if shape is None or len(returned) != 1:
        return None
    return Instead(site_of(place.path, place.function, returned[0]), returned[0], target.id, shape)


def made_of(nodes: list[ast.AST], value: ast.expr) -> set[str]:
    """The names that an expression is computed from, through the assignments of the function."""
    found = names_in(value, ast.Load)
    todo = list(found)
    while todo:
        name = todo.pop()
        for node in nodes:
            if isinstance(node, (ast.Assign, ast.AugAssign)) and node.value is not None:
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                if any(name in names_in(target) for target in targets):
                    new = names_in(node.value, ast.Load) - found
                    found |= new
                    todo += new
    return found


def _as_they_came_in(trace: Trace, place: Site, names: set[str]) -> set[str]:
    """Those of the names that are arguments of the function, and that no line which ran in it binds anew."""
    file = trace.source_file(place.path)
    scope = file.scope(place)
    if not isinstance(scope, FUNCTIONS):
        return set()
    found = names & {one.arg for one in arguments(scope)}
    for node in own_nodes(scope):
        if isinstance(node, ast.Name) and node.id in found and not isinstance(node.ctx, ast.Load):
            statement = file.statement_of(node)
            told = isinstance(statement, ast.Assign) and isinstance(statement.value, (ast.Call, ast.BinOp))
            if (
                statement is None
                or not told
                or ran_in(trace, place.path, statement.lineno, statement.end_lineno)
            ):
                found = found - {node.id}
    return found


def _past_the_function(graph: Graph, place: Site) -> tuple[int, ...] | None:
    """The shape of what the call at `place` gave and nothing reads, where something of that shape, which it was made of
    and which comes from outside of the function, is read outside, later."""
    for op in graph.ops:
        if not any(frame.location() == place.location() for frame in op.site.stack) or len(op.outputs) != 1:
            continue
        value = graph.values[op.outputs[0]]
        if graph.consumers.get(value.index) or not value.shape or not value.requires_grad:
            continue
        for index in graph.upstream(value.index)[1:]:
            source, maker = graph.values[index], graph.maker(index)
            inside = maker is not None and _called_by(maker, place)
            if source.shape != value.shape or source.parameter is not None or inside:
                continue
            if any(
                one.index > op.index and not _called_by(one, place) for one in graph.consumers.get(index, ())
            ):
                return value.shape
    return None


def _handed_on(graph: Graph, op: Op, place: Site) -> tuple[int, ...] | None:
    """The shape of the result of a call at `place` that nothing reads, where an operand of that shape is read by what
    its function does not call."""
    if op.site.user != place and op.site.user.location() != place.location():
        return None
    for value in op.outputs:
        shape = graph.values[value].shape
        for source in _operands(graph, op) if not graph.consumers.get(value) else ():
            operand = graph.values[source]
            outside = [one for one in graph.consumers.get(source, []) if not _called_by(one, place)]
            if operand.shape == shape and operand.parameter is None and shape and outside:
                return shape
    return None


def _operands(graph: Graph, op: Op) -> Iterator[int]:
    """What an operation reads, and what the others of its expression read for it."""
    line = op.site.user.location()
    for source in op.inputs:
        yield source
        maker = graph.maker(source)
        if maker is not None and maker.site.user.location() == line:
            yield from _operands(graph, maker)


def _called_by(op: Op, place: Site) -> bool:
    """Whether a call was made by the function in which `place` stands."""
    return any(frame.path == place.path and frame.function == place.function for frame in op.site.stack)
