"""Parameters that are to be switched on again and stay as good as frozen: the function sets `requires_grad` only where
it is on, or the line stands behind the pass, and they are off again before the next forward."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from gradscope.analysis.loop import in_order
from gradscope.analysis.memo import once
from gradscope.analysis.text import own_nodes, ran_in
from gradscope.events import Backward, Flipped, ModuleCall, RequiresGrad, Step
from gradscope.model import Site
from gradscope.source import FUNCTIONS, Function, SourceFile, arguments, called_name
from gradscope.store import Trace

MOST_EXPRESSIONS = 20  # that a loop's head may stand for


@dataclass
class Thaw:
    """A call that was to switch on again what a line had switched off, and that changed nothing."""

    off: Site  # the line that sets `requires_grad`
    asks: tuple[str, str, ast.expr]  # file, function and test of what asks whether it is on
    guard: (
        ast.If | None
    )  # whose test that is, around it, or before it with `continue`; None of a loop over those alone
    setting: ast.stmt  # the line's statement
    frozen_by: Site  # the call that came first
    call: ast.Call  # the one that changed nothing
    leaves: set[int]  # that are frozen to the end
    ran: bool  # whether what stands behind that call ran; else the run may not have come to it


class Late(NamedTuple):
    """Parameters that are switched on behind the pass of each turn, and off again before its end: the first pass alone
    gave them a gradient, each later one of its line found them frozen."""

    leaves: tuple[int, ...]
    on: Site
    off: RequiresGrad
    off_at: Site
    step: Step  # of an optimizer that holds them, between the two
    backward: Site
    forward: Site | None  # the call that came before that pass


@dataclass
class _Turns:
    """What becomes of one leaf."""

    passes: set[Site] = field(default_factory=set)  # lines that gave it a gradient
    used: int = 0  # steps that took a new gradient of it
    off: RequiresGrad | None = None
    called: Site | None = None  # the first call of a model since it is off
    backward: Site | None = None  # of these lines, since it is off
    on: RequiresGrad | None = None
    step: Step | None = None
    late: list[tuple[RequiresGrad, RequiresGrad, Step, Site, Site | None]] = field(default_factory=list)


@once
def too_late(trace: Trace) -> list[Late]:
    """Such parameters, those of the same lines together."""
    switched = {to: {e.leaf for e in trace.of(RequiresGrad) if e.to is to} for to in (True, False)}
    leaves = {leaf: _Turns() for leaf in switched[True] & switched[False] if leaf is not None}
    for _, event in in_order(trace) if leaves else ():
        if isinstance(event, RequiresGrad) and event.leaf in leaves:
            _switch(leaves[event.leaf], event)
        elif isinstance(event, Backward):
            for leaf in leaves.keys() & set(event.filled):
                if leaves[leaf].off is not None:
                    del leaves[leaf]
                else:
                    leaves[leaf].passes.add(event.site.user)
            for turns in leaves.values():
                turns.on = turns.step = None  # it was on before this pass
                if turns.off is not None and event.site.user in turns.passes:
                    turns.backward = event.site.user
        elif isinstance(event, ModuleCall):
            for turns in leaves.values():
                turns.called = turns.called or event.site.user
        elif isinstance(event, Step):
            for leaf in leaves.keys() & set(trace.optimizers[event.optimizer].parameters):
                leaves[leaf].used += leaf in event.fresh
                leaves[leaf].step = event if leaves[leaf].on is not None else None
    found: dict[tuple[Site, Site], tuple[Late, list[int]]] = {}
    for leaf, turns in leaves.items():
        if turns.used == 1 and len(turns.late) > 1:
            thawed, off, step, backward, called = turns.late[0]
            on, at = _apart(thawed.site, off.site)
            late = Late((), on, off, at, step, backward, called)
            found.setdefault((on, at), (late, []))[1].append(leaf)
    return [late._replace(leaves=tuple(sorted(some))) for late, some in found.values()]


def _switch(turns: _Turns, event: RequiresGrad) -> None:
    if event.to:
        turns.on, turns.step = (event, None) if turns.backward is not None else (None, None)
        return
    if turns.on is not None and turns.step is not None and turns.backward is not None:
        turns.late.append((turns.on, event, turns.step, turns.backward, turns.called))
    turns.off, turns.called, turns.backward, turns.on, turns.step = event, None, None, None, None


def _apart(one: Site, other: Site) -> tuple[Site, Site]:
    """The lines of the program's that make two calls; where one function makes both, those that call it."""
    stacks = ([frame for frame in site.stack[::-1] if frame.kind == "user"] for site in (one, other))
    pairs = zip(*stacks, strict=False)
    return next((pair for pair in pairs if pair[0].span() != pair[1].span()), (one.user, other.user))


@once
def without_effect(trace: Trace) -> list[Thaw]:
    """Such calls, the first of each line that switches off."""
    off: dict[Site, list[RequiresGrad]] = {}
    on: set[int | None] = set()
    for event in trace.of(RequiresGrad):
        if event.to:
            on.add(event.leaf)
        else:
            off.setdefault(event.site, []).append(event)
    on.update(leaf for event in trace.of(Flipped) if event.to for leaf in event.leaves)
    found = []
    for site, events in off.items():
        leaves = {e.leaf for e in events if e.leaf is not None}
        if leaves and leaves.isdisjoint(on) and not any(trace.parameter(id).requires_grad for id in leaves):
            found += [thaw for thaw in [_thaw(trace, site, leaves)] if thaw is not None]
    return found


def _thaw(trace: Trace, site: Site, leaves: set[int]) -> Thaw | None:
    line = site.user
    file = trace.source_file(line.path)
    statement = file.statement(line)
    function = file.function_of(statement) if statement is not None else None
    frames = [frame for frame in site.stack if frame.kind == "user"]
    if statement is None or function is None or len(frames) < 2 or frames[-1].id != line.id:
        return None
    flag, guard = _flag(statement), _guard(file, statement)
    position = _position(function, flag)
    asks = (
        (line.path, line.function, guard.test)
        if guard is not None
        else _asked_before(trace, line.path, statement)
    )
    if asks is None or position is None:
        return None
    by = frames[-2]
    outside = trace.source_file(by.path)
    first = outside.at(by)
    if not isinstance(first, ast.Call) or called_name(first) != function.name:
        return None
    maybe: Thaw | None = None
    for call in own_nodes(outside.scope(by)):
        if not isinstance(call, ast.Call) or call.lineno <= first.lineno:
            continue
        if _same(first, call, flag, position) and _says_on(function, call, flag, position):
            after = list(_behind(outside, call))
            if any(ran_in(trace, by.path, one.lineno, one.end_lineno) for one in after):
                return Thaw(line, asks, guard, statement, by, call, leaves, True)
            if not after and maybe is None and _in_a_branch(outside, call):
                maybe = Thaw(line, asks, guard, statement, by, call, leaves, False)
    return maybe


def _in_a_branch(file: SourceFile, call: ast.Call) -> bool:
    """Whether it is the last statement of a branch, so that nothing tells that it ran."""
    statement = file.statement_of(call)
    return isinstance(statement, ast.Expr) and isinstance(file.parent.get(id(statement)), ast.If)


def _flag(statement: ast.stmt) -> str:
    """The name whose value `requires_grad` is set to."""
    value: ast.expr | None = None
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1 and _owner(statement.targets[0]):
        value = statement.value
    elif isinstance(statement, ast.Expr) and called_name(statement.value) == "requires_grad_":
        call = statement.value
        given = [*call.args, *(w.value for w in call.keywords)] if isinstance(call, ast.Call) else []
        value = given[0] if len(given) == 1 else None
    return value.id if isinstance(value, ast.Name) else ""


def _owner(node: ast.expr) -> str:
    """`p` of `p.requires_grad`."""
    if isinstance(node, ast.Attribute) and node.attr == "requires_grad":
        return ast.unparse(node.value)
    return ""


def _guard(file: SourceFile, statement: ast.stmt) -> ast.If | None:
    """The `if p.requires_grad:` that holds this statement alone, which sets that of the same `p`, or the
    `if not p.requires_grad: continue` before it."""
    if isinstance(statement, ast.Assign):
        target = _owner(statement.targets[0])
    elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        function = statement.value.func
        target = ast.unparse(function.value) if isinstance(function, ast.Attribute) else ""
    else:
        target = ""
    if not target:
        return None
    above = file.parent.get(id(statement))
    if isinstance(above, ast.If) and above.body == [statement] and not above.orelse:
        return above if _owner(above.test) == target else None
    for before in file.siblings(statement):
        if before is statement:
            break
        if isinstance(before, ast.If) and isinstance(before.body[0], ast.Continue) and not before.orelse:
            test = before.test
            if (
                isinstance(test, ast.UnaryOp)
                and isinstance(test.op, ast.Not)
                and _owner(test.operand) == target
            ):
                return before
    return None


def _asked_before(trace: Trace, path: str, statement: ast.stmt) -> tuple[str, str, ast.expr] | None:
    """The test of what gives the loop around this statement only those whose `requires_grad` is on: a filter, a
    comprehension, a name bound to one, or what a function of the program's returns or yields."""
    file = trace.source_file(path)
    loop = file.parent.get(id(statement))
    if not isinstance(loop, ast.For) or loop.orelse:
        return None
    todo: list[tuple[str, ast.AST]] = [(path, loop.iter)]
    for here, node in todo:  # grows with what the head names
        for part in ast.walk(node):
            tests = part.ifs if isinstance(part, ast.comprehension) else []
            if isinstance(part, ast.Lambda):
                tests = [part.body]
            if isinstance(part, ast.If) and any(isinstance(one, ast.Yield) for one in ast.walk(part)):
                tests = [part.test]
            found = next((test for test in tests if _owner(test)), None)
            if found is not None:
                around = [node, *trace.source_file(here).above(node)]
                scope = next((one for one in around if isinstance(one, FUNCTIONS)), None)
                name = scope.name if scope is not None else "<module>"
                return here, name, found
        if node is loop.iter:
            todo += list(_behind_names(trace, path, loop))[:MOST_EXPRESSIONS]
    return None


def _behind_names(trace: Trace, path: str, loop: ast.For) -> Iterator[tuple[str, ast.AST]]:
    """What the names in a loop's head stand for: values that the function gives them, functions of the program's."""
    scope = trace.source_file(path).scope_of(loop)
    names = {node.id for node in ast.walk(loop.iter) if isinstance(node, ast.Name)}
    for node in ast.walk(scope) if scope is not None else ():
        if isinstance(node, ast.Assign) and node.lineno < loop.lineno:
            if any(isinstance(target, ast.Name) and target.id in names for target in node.targets):
                yield path, node.value
    called = {called_name(node) for node in ast.walk(loop.iter) if isinstance(node, ast.Call)}
    around = {id(node) for node in trace.source_file(path).above(loop)}
    for other in trace.sources:
        there = trace.source_file(other)
        for _, function in there.of(ast.FunctionDef):
            holder = there.parent.get(id(function))
            known = not isinstance(holder, FUNCTIONS) or id(holder) in around
            if function.name in called and known:
                yield other, function


def _position(function: Function, flag: str) -> int | None:
    """At which place a call gives that argument; the object of a method has none."""
    names = [one.arg for one in arguments(function)]
    if flag not in names:
        return None
    return names.index(flag) - (names[0] in ("self", "cls"))


def _same(first: ast.Call, call: ast.Call, flag: str, position: int) -> bool:
    """Whether both call the same with the same, but for that argument."""

    def rest(one: ast.Call) -> list[str]:
        args = [ast.unparse(a) for i, a in enumerate(one.args) if i != position]
        words = [ast.unparse(w.value) for w in one.keywords if w.arg != flag]
        return [ast.unparse(one.func), *args, *sorted(words)]

    return rest(first) == rest(call)


def _says_on(function: Function, call: ast.Call, flag: str, position: int) -> bool:
    """Whether a call gives `True` for it, in so many words or by leaving it out."""
    given = {word.arg: word.value for word in call.keywords}.get(flag)
    if given is None and position < len(call.args):
        given = call.args[position]
    if given is None:
        names, defaults = arguments(function), function.args.defaults
        at = [one.arg for one in names].index(flag) - (len(names) - len(defaults))
        given = defaults[at] if 0 <= at < len(defaults) else None
    return isinstance(given, ast.Constant) and given.value is True


def _behind(file: SourceFile, call: ast.Call) -> Iterator[ast.stmt]:
    """The statements of its block that can only have run after it."""
    statement = file.statement_of(call)
    if isinstance(statement, ast.Expr) and statement.value is call:
        beside = file.siblings(statement)
        yield from beside[beside.index(statement) + 1 :]
