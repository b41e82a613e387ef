"""The program's text as syntax: what it calls, and where."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator
from typing import TypeVar

from gradscope.analysis.memo import once
from gradscope.model import Edit, Op, Site
from gradscope.source import (
    FUNCTIONS,
    LOOPS,
    Function,
    SourceFile,
    arguments,
    called_name,
    names_in,
    own_name,
    sides_of,
)
from gradscope.store import Trace


def nodes_of_program(trace: Trace) -> Iterator[ast.AST]:
    """Every node of the program's files, as far as they can be parsed."""
    for path in trace.sources:
        yield from trace.source_file(path).nodes


@once
def classes_of_program(trace: Trace) -> set[str]:
    """The names of the program's classes."""
    return {node.name for node in nodes_of_program(trace) if isinstance(node, ast.ClassDef)}


def classes_named(trace: Trace, *names: str) -> Iterator[tuple[str, ast.ClassDef]]:
    """(file, class) of the program's classes of these names."""
    for path in trace.sources:
        for node in trace.source_file(path).nodes:
            if isinstance(node, ast.ClassDef) and node.name in names:
                yield path, node


def methods_named(trace: Trace, cls: str, name: str) -> Iterator[tuple[str, ast.FunctionDef]]:
    """(file, method) of that name in the program's classes of that one."""
    for path, node in classes_named(trace, cls):
        yield from (
            (path, part) for part in node.body if isinstance(part, ast.FunctionDef) and part.name == name
        )


def has_length(trace: Trace, name: str) -> bool:
    """Whether `len(name)` may be asked: not where the program gives the name an object of a class of its own that can
    be gone through and has no `__len__`."""
    made = {
        called_name(value)
        for path in trace.sources
        for value in trace.source_file(path).assigned.get(name, [])
    }
    for _, node in classes_named(trace, *made):
        methods = {part.name for part in node.body if isinstance(part, FUNCTIONS)}
        if methods & {"__iter__", "__next__"} and "__len__" not in methods:
            return False
    return True


_COMPREHENSIONS = (ast.ListComp, ast.GeneratorExp, ast.DictComp)
N = TypeVar("N", bound=ast.AST)
SCHEDULES = ("LR", "LROnPlateau", "WarmRestarts")  # how the names of torch's end


def called_in_source(trace: Trace, made: Site | None, attribute: str) -> bool | None:
    """Whether the program's text calls `.attribute()` on what is made at `made`. None where that
    can't be told: it has no name, or it is handed on."""
    if made is None:
        return None
    site = made.user
    file = trace.source_file(site.path)
    name = file.variable(site)
    if not name:
        return None
    if "." not in name:
        return _calls_on(file, _scope(file.tree, site.line), name, attribute)
    last = name.rpartition(".")[2]  # `self.opt` here is `trainer.opt` elsewhere
    found = [_calls_on(f, f.tree, last, attribute) for f in map(trace.source_file, trace.sources)]
    return True if True in found else None if None in found else False


def may_step(trace: Trace, optimizers: Iterable[int]) -> bool:
    """Whether the program's text steps one of these (in a later phase, under a condition), or hands it on to who
    may."""
    made = [trace.optimizers[number].site for number in optimizers if number in trace.optimizers]
    return any(called_in_source(trace, site, "step") is not False for site in made)


def _calls_on(file: SourceFile, scope: ast.AST | None, name: str, attribute: str) -> bool | None:
    """Whether `name.attribute()` is called in `scope`; None where the name is handed on."""
    handed_on = False
    for node in _walk_where_it_means(scope, name) if scope is not None else ():
        if not (isinstance(node, ast.Name) and node.id == name) and not (
            isinstance(node, ast.Attribute) and node.attr == name
        ):
            continue
        above = file.parent.get(id(node))
        if isinstance(above, ast.Attribute):
            call = file.parent.get(id(above))
            if above.attr == attribute and isinstance(call, ast.Call) and call.func is above:
                return True
        elif isinstance(node.ctx, ast.Load) and not _makes_schedule(above):
            handed_on = True
    return None if handed_on or scope is None else False


def _walk_where_it_means(scope: ast.AST, name: str) -> Iterator[ast.AST]:
    """The nodes of a function or file, without those of the functions in it that have an argument of this name."""
    todo: list[ast.AST] = [scope]
    while todo:
        node = todo.pop()
        if node is not scope and isinstance(node, FUNCTIONS) and name in {one.arg for one in arguments(node)}:
            continue
        yield node
        todo += ast.iter_child_nodes(node)


def _makes_schedule(node: ast.AST | None) -> bool:
    """Whether it is `StepLR(…)`: a schedule does not step its optimizer."""
    return called_name(node).endswith(SCHEDULES)


def _scope(tree: ast.AST | None, line: int) -> ast.AST | None:
    """The function that stands around `line`, or the file."""
    best = tree
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.lineno <= line <= (
            node.end_lineno or node.lineno
        ):
            if not isinstance(best, (ast.FunctionDef, ast.AsyncFunctionDef)) or node.lineno > best.lineno:
                best = node
    return best


def calls_in_source(trace: Trace, attribute: str) -> Iterator[tuple[str, int]]:
    """(path, line) of every `.attribute(…)` in the user's files."""
    for path in trace.sources:
        for node in trace.source_file(path).nodes:
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                if node.func.attr == attribute:
                    yield path, node.lineno


def uncalled(trace: Trace, methods: Collection[str]) -> Iterator[tuple[str, str, ast.Attribute]]:
    """(file, function, expression) of each statement that only names one of these methods, in
    functions that ran."""
    for path, function, node in nodes_that_ran(trace, ast.Expr):
        if isinstance(node.value, ast.Attribute) and node.value.attr in methods:
            yield path, function, node.value


def nodes_that_ran(trace: Trace, *kinds: type[N]) -> Iterator[tuple[str, str, N]]:
    """(file, function, node) of what stands in functions of the program that ran: the nodes of these classes of `ast`,
    or of `ast.AST` for all."""
    ran = _functions_that_ran(trace)
    for found in nodes_of_functions(trace, *kinds):
        if found[:2] in ran:
            yield found


def nodes_called(trace: Trace, *kinds: type[N]) -> Iterator[tuple[str, str, N]]:
    """The same, and those of functions without a call of torch, of which nothing is recorded, where one that ran calls
    them by their name."""
    ran = _functions_that_ran(trace)
    called = {called_name(node) for _, _, node in nodes_that_ran(trace, ast.Call)}
    for path, function, node in nodes_of_functions(trace, *kinds):
        if (path, function) in ran or function in called:
            yield path, function, node


@once
def _functions_that_ran(trace: Trace) -> set[tuple[str, str]]:
    return {(site.path, site.function.split(".")[-1]) for site in trace.sites if site.kind == "user"}


def has_run(trace: Trace, path: str, function: Function) -> bool:
    """Whether anything was recorded in the body of a function of the program's text."""
    return ran_in(trace, path, function.lineno + 1, function.end_lineno)


def ran_in(trace: Trace, path: str, first: int, last: int | None) -> bool:
    """Whether anything was recorded in these lines of a file."""
    return not _lines_that_ran(trace).get(path, set()).isdisjoint(range(first, (last or first) + 1))


@once
def _lines_that_ran(trace: Trace) -> dict[str, set[int]]:
    found: dict[str, set[int]] = {}
    for site in trace.sites:
        found.setdefault(site.path, set()).add(site.line)
    return found


def nodes_of_functions(trace: Trace, *kinds: type[N]) -> Iterator[tuple[str, str, N]]:
    """(file, function, node) of what stands in the program's files, the same nodes."""
    for path in trace.sources:
        for function, node in trace.source_file(path).of(*kinds):
            yield path, function, node


def not_called(trace: Trace, method: str) -> Site | None:
    """The first place that names this method without calling it."""
    return next((site_of(*found) for found in uncalled(trace, {method})), None)


def site_of(path: str, function: str, node: ast.expr | ast.stmt | ast.arg) -> Site:
    """The place of an expression as the program's text has it."""
    return Site(
        -1, path, node.lineno, node.col_offset + 1, node.end_lineno or node.lineno, (node.end_col_offset or 0) + 1,
        function, "user",
    )  # fmt: skip


def written_input(trace: Trace, op: Op, place: int) -> ast.expr | None:
    """The expression that an op is given for its input number `place`, where it is an operation, a method, or a
    function or module that takes its inputs in order (`einsum` behind its equation); what a method is called on comes
    first. None where the text does not say."""
    site = op.site.user
    file = trace.source_file(site.path)
    node = file.at(site)
    if (sides := sides_of(node)) is not None:
        return sides[place]
    if not isinstance(node, ast.Call) or any(isinstance(one, ast.Starred) for one in node.args):
        return None
    # A method runs its op on the line itself, a function or a module of torch's within it.
    method = (
        op.site.kind == "user" and isinstance(node.func, ast.Attribute) and not file.is_imported(node.func)
    )
    given = [node.func.value, *node.args] if method and isinstance(node.func, ast.Attribute) else node.args
    place += op.name == "einsum"
    return given[place] if place < len(given) else None


def entered_around(trace: Trace, frames: Iterable[Site], name: str) -> Site | None:
    """The call of `name` that a `with` enters around the first of these frames that stands in one."""
    for frame in frames:
        if frame.kind != "user":
            continue
        for node in trace.source_file(frame.path).around(frame):
            for item in node.items if isinstance(node, ast.With) else ():
                call = item.context_expr
                if isinstance(call, ast.Call) and called_name(call) == name:
                    return site_of(frame.path, frame.function, call)
    return None


def head_of(path: str, function: Function) -> Site:
    """The `def` of a function, with its name."""
    start = function.col_offset + 1
    end = start + len(f"def {function.name}")
    return Site(-1, path, function.lineno, start, function.lineno, end, function.name, "user")


def mentions(trace: Trace, name: str) -> Iterator[tuple[str, ast.Name | ast.Attribute]]:
    """(file, node) of each place of the program's text that has this name; where it is defined it has none."""
    for path in trace.sources:
        for node in trace.source_file(path).nodes:
            if isinstance(node, ast.Name | ast.Attribute) and own_name(node) == name:
                yield path, node


def named_subject(site: Site) -> tuple[str, tuple[str, int]]:
    """Names such a statement, for what several rules say about it."""
    return "named", site.location()


def parentheses(site: Site) -> tuple[Edit, ...]:
    """The edit that makes a call of a named method."""
    return (Edit(site.path, site.end_line, site.end_column, site.end_line, site.end_column, "()"),)


def own_nodes(scope: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a function or module without those of the functions in it."""
    todo = list(ast.iter_child_nodes(scope))
    while todo:
        node = todo.pop()
        yield node
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            todo += ast.iter_child_nodes(node)


def runs_in(trace: Trace, site: Site, loop: Site) -> bool:
    """Whether a call came by the body of the loop that stands there."""
    file = trace.source_file(loop.path)
    node = next((n for n in file.around(loop) if isinstance(n, (*LOOPS, *_COMPREHENSIONS))), None)
    if node is None:
        return False
    inside = {id(n) for n in ast.walk(node)}
    frames = site.frames_in(loop)
    return any((at := file.at(frame)) is not None and id(at) in inside for frame in frames)


def assignments_between(trace: Trace, place: Site, made: Site) -> list[ast.Assign] | None:
    """The assignments by which what is computed at `place` comes to what is computed at `made`, in the order of the
    text of the function that both stand in; None where it shows no way."""
    file = trace.source_file(made.path)
    first, last = file.at(place), file.at(made)
    if (
        (place.path, place.function) != (made.path, made.function)
        or first is None
        or not isinstance(last, ast.expr)
    ):
        return None
    if first in list(ast.walk(last)):
        return []
    read, way = names_in(last), []
    given = [node for node in own_nodes(file.scope(made)) if isinstance(node, ast.Assign)]
    for node in sorted(given, key=lambda node: node.lineno, reverse=True):
        if node.lineno >= last.lineno or not read & {name for to in node.targets for name in names_in(to)}:
            continue
        way.append(node)
        if first in list(ast.walk(node.value)):
            return way[::-1]
        read |= names_in(node.value)
    return None
