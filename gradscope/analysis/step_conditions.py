"""What stands before an optimizer's step in the program's text and decides when it runs, and what keeps it
from ever running: a counter that begins anew too early, a remainder that is compared with too large a number."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from gradscope.analysis.text import nodes_of_program, nodes_that_ran, own_nodes, site_of
from gradscope.analysis.words import variable
from gradscope.model import Optimizer, Site
from gradscope.source import FUNCTIONS, LOOPS, REPEATS, SourceFile, arguments, called_name, names_in, own_name
from gradscope.store import Trace

_PLAIN_CALLS = {"int", "min", "max", "abs"}


class Guard(NamedTuple):
    """A call of `step()` with the branches that it stands in, innermost first."""

    path: str
    function: str
    call: ast.Call
    branches: tuple[ast.If, ...]
    test: ast.expr  # what decides: the innermost condition, or what its one name was given

    @property
    def site(self) -> Site:
        return site_of(self.path, self.function, self.test)

    @property
    def step(self) -> Site:
        return site_of(self.path, self.function, self.call)


class Remainder(NamedTuple):
    """`i % n` compared with a number that no remainder by a small `n` can be or with `n` itself, or not compared at
    all: any `n` leaves a 0 in time."""

    remainder: ast.BinOp
    number: ast.expr | None  # None: the remainder by itself is what is asked, and was 0 throughout

    @property
    def never(self) -> bool:
        """Whether no remainder is this number, whatever is divided: `i % 4 == 4`, `i % n == n`."""
        number, by = self.number, self.remainder.right
        if isinstance(number, ast.Constant) and isinstance(by, ast.Constant):
            asked, divisor = number.value, by.value
            return isinstance(asked, int) and isinstance(divisor, int) and asked >= divisor
        return number is not None and ast.dump(number) == ast.dump(by)


class OfOnePart(NamedTuple):
    """`i + 1 % n` compared with 0: `%` takes the second term alone, as it binds like a product."""

    sum: ast.BinOp
    remainder: ast.BinOp

    def text(self, file: SourceFile) -> str:
        """The sum, with the remainder taken of all of it."""
        left, right = file.text(self.sum.left), file.text(self.remainder.left)
        sign = "+" if isinstance(self.sum.op, ast.Add) else "-"
        return f"({left} {sign} {right}) % {file.text(self.remainder.right)}"


class BeginsAnew(NamedTuple):
    """A counter that the loop of the passes sets, in an outer loop (or function) that ran more than once."""

    name: str
    loop: ast.For
    outer: ast.AST
    reset: ast.Assign | None  # the statement of the outer one that sets it back, where there is one
    turns: int  # of the outer one


def guard_of(trace: Trace, optimizer: Optimizer, at: Site | None = None) -> Guard | None:
    """What decides when the program's text steps this optimizer; of the call `at` a site, where one is known."""
    for path, function, node in _calls_of_step(trace, optimizer, at):
        branches = tuple(_branches(trace.source_file(path), node))
        if branches:
            test = _assigned(trace.source_file(path), branches[0]) or branches[0].test
            return Guard(path, function, node, branches, test)
    return None


def skipping(trace: Trace, optimizer: Optimizer, at: Site | None = None) -> Guard | None:
    """The branch that goes on with the next round of the loop, or leaves the function that makes one step, before
    this optimizer's step comes."""
    for path, function, node in _calls_of_step(trace, optimizer, at):
        file = trace.source_file(path)
        line = file.statement_of(node)
        around = next(file.above(line), None) if line is not None else None
        leaves = ast.Return if isinstance(around, FUNCTIONS) else ast.Continue
        for before in file.siblings(line) if line is not None else ():
            if before is line:
                break
            if isinstance(before, ast.If) and not before.orelse and isinstance(before.body[-1], leaves):
                return Guard(path, function, node, (before,), _assigned(file, before) or before.test)
    return None


def _calls_of_step(
    trace: Trace, optimizer: Optimizer, at: Site | None = None
) -> Iterator[tuple[str, str, ast.Call]]:
    """Where the program's text steps it, in functions that ran: (path, function, call)."""
    call = trace.source_file(at.path).at(at) if at is not None else None
    if at is not None and isinstance(call, ast.Call):
        yield at.path, at.function.rpartition(".")[2], call
        return
    name = variable(trace, optimizer.site).rpartition(".")[2]
    for path, function, node in nodes_that_ran(trace, ast.Call) if name else ():
        if _steps(node, name):
            yield path, function, node


def _steps(call: ast.Call, name: str) -> bool:
    """`optimizer.step()`, or `scaler.step(optimizer)`."""
    if not isinstance(call.func, ast.Attribute) or call.func.attr != "step":
        return False
    return any(own_name(n) == name for n in (call.func.value, *call.args[:1]))


def _above(file: SourceFile, node: ast.AST) -> Iterator[ast.AST]:
    """What a node stands in, innermost first, up to its function."""
    for above in file.above(node):
        yield above
        if isinstance(above, FUNCTIONS):
            return


def _branches(file: SourceFile, node: ast.AST) -> Iterator[ast.If]:
    for above in _above(file, node):
        if isinstance(above, (*LOOPS, *FUNCTIONS)):
            return
        if isinstance(above, ast.If):
            yield above


def _assigned(file: SourceFile, branch: ast.If) -> ast.expr | None:
    """What was assigned last before the branch to the one name that it asks for."""
    names = names_in(branch.test)
    above = file.parent.get(id(branch))
    values = [
        n.value
        for n in getattr(above, "body", ())
        if isinstance(n, ast.Assign)
        and n.lineno < branch.lineno
        and {ast.unparse(t) for t in n.targets} == names
    ]
    return values[-1] if values else None


def counts_from_zero(loop: ast.For, name: str) -> bool:
    """Whether the loop counts in this variable, from 0 on."""
    call, target = loop.iter, loop.target
    if not isinstance(call, ast.Call) or call.keywords or len(call.args) != 1:
        return False
    if called_name(call) == "range":
        return isinstance(target, ast.Name) and target.id == name
    first = target.elts[0] if isinstance(target, ast.Tuple) and target.elts else None
    return called_name(call) == "enumerate" and isinstance(first, ast.Name) and first.id == name


def without_remainder(test: ast.expr) -> tuple[ast.BinOp, bool] | None:
    """`i % n` of `i % n == 0` and its like, and whether the condition holds where there is no remainder."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = without_remainder(test.operand)
        return (inner[0], not inner[1]) if inner is not None else None
    if isinstance(test, ast.BinOp) and isinstance(test.op, ast.Mod):
        return test, False
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.left, ast.BinOp):
        right = test.comparators[0]
        zero = isinstance(right, ast.Constant) and right.value == 0
        if zero and isinstance(test.left.op, ast.Mod) and isinstance(test.ops[0], (ast.Eq, ast.NotEq)):
            return test.left, isinstance(test.ops[0], ast.Eq)
    return None


def remainder(guard: Guard) -> Remainder | None:
    """What the condition waits for in vain, where that is such a remainder."""
    test = guard.test
    if isinstance(test, ast.BinOp) and isinstance(test.op, ast.Mod):
        text = isinstance(test.left, (ast.Constant, ast.JoinedStr))  # `"%d" % i` is none
        return Remainder(test, None) if len(guard.branches) == 1 and not text else None
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        test = test.operand
    if not isinstance(test, ast.Compare) or len(test.ops) != 1 or not isinstance(test.left, ast.BinOp):
        return None
    number = test.comparators[0]
    if not isinstance(test.left.op, ast.Mod) or not isinstance(test.ops[0], (ast.Eq, ast.NotEq)):
        return None
    if isinstance(number, (ast.Name, ast.Attribute)) and ast.dump(number) == ast.dump(test.left.right):
        return Remainder(test.left, number)
    if not isinstance(number, ast.Constant) or not isinstance(number.value, int) or number.value < 1:
        return None
    return Remainder(test.left, number)


def of_one_part(test: ast.expr) -> OfOnePart | None:
    """The remainder of one term, where a condition, or a part of it that has to hold, asks whether that of a sum is
    0."""
    for part in test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) else [test]:
        if not isinstance(part, ast.Compare) or len(part.ops) != 1 or not isinstance(part.ops[0], ast.Eq):
            continue
        whole, number = part.left, part.comparators[0]
        if not isinstance(whole, ast.BinOp) or not isinstance(whole.op, (ast.Add, ast.Sub)):
            continue
        zero = isinstance(number, ast.Constant) and number.value == 0
        if zero and isinstance(whole.right, ast.BinOp) and isinstance(whole.right.op, ast.Mod):
            return OfOnePart(whole, whole.right)
    return None


def begins_anew(trace: Trace, guard: Guard) -> BeginsAnew | None:
    """The counter that the condition asks for, and for nothing else that changes, where it begins anew too early:
    the condition held in no turn and never will."""
    file = trace.source_file(guard.path)
    loops = [node for node in _above(file, guard.call) if isinstance(node, LOOPS)]
    function = next((node for node in _above(file, guard.call) if isinstance(node, FUNCTIONS)), None)
    outer = loops[1] if len(loops) > 1 else function
    if not loops or not isinstance(loops[0], ast.For) or outer is None:
        return None
    loop, tests = loops[0], [guard.test, *(branch.test for branch in guard.branches[1:])]
    asked = set().union(*(names_in(test, ast.Load) for test in tests))
    counter = _counter(loop, outer, asked)
    if counter is None or not _steady(trace, file, tests, loop, outer, asked - {counter[0]}):
        return None
    turns = _turns(trace, guard, loop, outer)
    return BeginsAnew(counter[0], loop, outer, counter[1], turns) if turns >= 2 else None


def _counter(loop: ast.For, outer: ast.AST, asked: set[str]) -> tuple[str, ast.Assign | None] | None:
    """The counter of a loop, and the statement of the outer one that sets it back where there is one."""
    targets = loop.target.elts if isinstance(loop.target, ast.Tuple) else [loop.target]
    called = ast.unparse(loop.iter.func) if isinstance(loop.iter, ast.Call) else ""
    first = targets[0]
    if called in ("enumerate", "range") and isinstance(first, ast.Name) and first.id in asked:
        stored = [n for n in ast.walk(loop) if isinstance(n, ast.Name) and n.id == first.id]
        return (first.id, None) if sum(isinstance(n.ctx, ast.Store) for n in stored) == 1 else None
    for statement in getattr(outer, "body", ()):
        if statement is loop:
            break
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Constant):
            (name, *more) = [ast.unparse(target) for target in statement.targets]
            if not more and name in asked and _raised(loop, outer, name):
                return name, statement
    return None


def _raised(loop: ast.For, outer: ast.AST, name: str) -> bool:
    """Whether `name += 1` in the loop is all that becomes of it, after it was set."""
    stores = [n for n in ast.walk(outer) if isinstance(n, ast.Name) and n.id == name]
    stores = [n for n in stores if isinstance(n.ctx, ast.Store)]
    adds = [n for n in ast.walk(loop) if isinstance(n, ast.AugAssign) and ast.unparse(n.target) == name]
    return len(stores) == 2 and len(adds) == 1 and isinstance(adds[0].value, ast.Constant)


def _steady(
    trace: Trace, file: SourceFile, tests: list[ast.expr], loop: ast.For, outer: ast.AST, names: set[str]
) -> bool:
    """Whether nothing but the counter can change what the conditions give."""
    nodes = [node for test in tests for node in ast.walk(test)]
    lengths = {f"len({ast.unparse(n)})" for n in ast.walk(loop.iter) if isinstance(n, ast.expr)}
    called = [n for n in nodes if isinstance(n, ast.Call) and ast.unparse(n) not in lengths]
    if not all(ast.unparse(call.func) in _PLAIN_CALLS for call in called):
        return False
    if any(isinstance(n, (ast.Subscript, ast.NamedExpr, ast.Await)) for n in nodes):
        return False
    attributes = {n.attr for n in nodes if isinstance(n, ast.Attribute)}
    if attributes and attributes & _written_attributes(trace):
        return False
    if names & {n for node in ast.walk(outer) for n in _stored(node)}:
        return False
    if not isinstance(outer, FUNCTIONS):
        return True
    given = arguments(outer)
    if names & {argument.arg for argument in given if argument.arg != "self"}:
        return False
    return not names & {n for node in own_nodes(file.tree or outer) for n in _rewritten(node)}


def _stored(node: ast.AST) -> set[str]:
    return {node.id} if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) else set()


def _rewritten(node: ast.AST) -> set[str]:
    """Names that a loop of the file's own code, or an addition, gives one value after the other."""
    if isinstance(node, ast.AugAssign):
        return names_in(node.target, ast.Store)
    return {n for inner in ast.walk(node) for n in _stored(inner)} if isinstance(node, LOOPS) else set()


def _written_attributes(trace: Trace) -> set[str]:
    """Attributes that are set anywhere but where their object is made."""
    made = {
        id(node)
        for function in nodes_of_program(trace)
        if isinstance(function, FUNCTIONS) and function.name == "__init__"
        for node in ast.walk(function)
    }
    return {
        node.attr
        for node in nodes_of_program(trace)
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and id(node) not in made
    }


def _turns(trace: Trace, guard: Guard, loop: ast.For, outer: ast.AST) -> int:
    """How often the outer loop (or function) was seen to come to what stands outside of the inner one."""
    file = trace.source_file(guard.path)
    seen: Counter[int] = Counter()
    outside: dict[int, bool] = {}
    for graph in trace.graphs:
        for site in {op.site.id: op.site for op in graph.ops}.values():
            if site.id not in outside:
                outside[site.id] = any(
                    _once_a_turn(file, frame, below, loop, outer)
                    for frame, below in zip(site.stack, [*site.stack[1:], None], strict=True)
                    if frame.path == guard.path and frame.function.rpartition(".")[2] == guard.function
                )
            seen[site.id] += graph.count * outside[site.id]
    return max(seen.values(), default=0)


def _once_a_turn(file: SourceFile, frame: Site, below: Site | None, loop: ast.For, outer: ast.AST) -> bool:
    node = file.at(frame)
    if node is None or (node is loop.iter and (below is None or not below.function.endswith("__iter__"))):
        return False
    above = [node, *_above(file, node)]
    if outer not in above:
        return False
    inner = above[: above.index(outer)]
    return loop.iter in inner or not any(isinstance(one, REPEATS) for one in inner)
