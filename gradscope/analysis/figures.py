"""The figures that a program computes of its batches: what a loop adds up, where that begins, what it is divided by.

All of it is read in the program's text, of loops that ran.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from gradscope.analysis.memo import once
from gradscope.analysis.text import nodes_that_ran, own_nodes, ran_in
from gradscope.analysis.words import user
from gradscope.events import LoaderPassed
from gradscope.source import SourceFile, called_name, method_name, own_name, stands_in
from gradscope.store import Trace

_MEANS = ("mean", "average", "fmean")
_SAME_NUMBER = ("float", "sum", "item", "cpu", "double", "detach")
_SHOWN_BY = ("enumerate", "iter", "tqdm", "track")
_ZEROS = {("zeros", "()"), ("zeros", "1"), ("tensor", "0"), ("tensor", "0.0"), ("tensor", "[0.0]")}
_QUOTIENTS = ("div", "true_divide", "divide")
_JOINED = ("cat", "concat", "concatenate", "hstack", "vstack")
_MADE_EMPTY = ("zeros", "empty", "tensor", "Tensor", "FloatTensor", "array")
_EMPTIED = ("clear", "reset", "zero_", "fill_")


class Quotient(NamedTuple):
    """Where a sum is divided. `divisor`: None for its own length, as `mean` has it."""

    node: ast.expr | ast.stmt
    divisor: ast.expr | None


@dataclass(frozen=True)
class Addition:
    """What one statement of a loop adds something to in each round: a number, or a list."""

    path: str
    function: str
    name: str  # `total`, `self.total`, `meter['total']`
    loop: ast.For | ast.While  # the innermost loop around the statement
    add: ast.stmt
    term: ast.expr  # what is added
    is_list: bool
    file: SourceFile

    @property
    def scope(self) -> ast.AST:
        """The function that the loop stands in, or the file."""
        return self.file.scope_of(self.loop) or self.loop

    def begins(self, within: ast.AST) -> list[ast.stmt]:
        """The statements of a block or function that give it a value which does not hang on the old one, or empty
        it."""
        found = []
        for node in _mentions(self.name, within):
            statement = self.file.statement_of(node)
            if statement is None or isinstance(statement, ast.AugAssign):
                continue
            if isinstance(getattr(node, "ctx", None), ast.Store):
                value = getattr(statement, "value", None)
                if value is None or not _mentions(self.name, value):
                    found.append(statement)
            else:
                method = self.file.parent.get(id(node))
                call = self.file.parent.get(id(method))
                if method_name(call) in _EMPTIED and getattr(call, "func", None) is method:
                    found.append(statement)
        if self.name.endswith("]"):
            found += [
                node for node in own_nodes(within) if isinstance(node, ast.Assign) and _entry(node, self.name)
            ]
        return found

    def reads(self, within: ast.AST) -> list[ast.expr]:
        """Where it is read there but for the addition itself."""
        added = {id(node) for node in ast.walk(self.add)}
        return [node for node in _mentions(self.name, within) if _is_read(node) and id(node) not in added]

    def quotients(self, within: ast.AST) -> Iterator[Quotient]:
        """Where it is divided there."""
        yield from quotients(self.name, within)
        for node in own_nodes(within):
            if self.is_list and isinstance(node, ast.Call) and called_name(node) in _MEANS:
                if any(is_it(part, self.name) for part in ast.walk(node)):
                    yield Quotient(node, None)


@dataclass(frozen=True)
class Sum(Addition):
    """An addition in a loop that goes through something."""

    loop: ast.For


@once
def sums(trace: Trace) -> list[Sum]:
    """Those of all loops that ran, in the order of the text."""
    return [one for one in additions(trace) if isinstance(one, Sum)]


@once
def additions(trace: Trace) -> list[Addition]:
    """The same, with those of loops that go on under a condition (`while`)."""
    found: list[Addition] = []
    for path, function, loop in nodes_that_ran(trace, ast.For, ast.While):
        file = trace.source_file(path)
        if ran_in(trace, path, loop.lineno, file.siblings(loop)[-1].end_lineno):  # it, or what follows it
            for statement in (node for node in own_nodes(loop) if isinstance(node, ast.stmt)):
                added = added_by(statement)
                if added is None or file.loop_of(statement) is not loop:
                    continue
                name, term, is_list = added
                if isinstance(loop, ast.For):
                    found.append(Sum(path, function, name, loop, statement, term, is_list, file))
                elif isinstance(loop, ast.While):
                    found.append(Addition(path, function, name, loop, statement, term, is_list, file))
    return sorted(found, key=lambda one: (one.path, one.add.lineno))


def quotients(name: str, within: ast.AST) -> Iterator[Quotient]:
    """Where a block or function divides the number of that name."""
    for node in own_nodes(within):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div) and is_it(node.left, name):
            yield Quotient(node, node.right)
        elif isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Div) and is_it(node.target, name):
            yield Quotient(node, node.value)
        elif isinstance(node, ast.Call) and called_name(node) in _QUOTIENTS:
            of_it = isinstance(node.func, ast.Attribute) and is_it(node.func.value, name)
            given = [node.func, *node.args] if of_it else node.args
            if len(given) == 2 and (of_it or is_it(given[0], name)):
                yield Quotient(node, given[1])


def is_it(node: ast.AST, name: str) -> bool:
    """Whether it is the number of that name: itself, `float(total)`, `total.item()`, `100 * total`."""
    while True:
        if isinstance(node, ast.Call) and called_name(node) in _SAME_NUMBER:
            node = node.args[0] if node.args else getattr(node.func, "value", node.func)
        elif isinstance(node, ast.Attribute) and node.attr == "data":
            node = node.value
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult) and _is_hundred(node.left):
            node = node.right
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult) and _is_hundred(node.right):
            node = node.left
        else:
            return isinstance(node, (ast.Name, ast.Attribute, ast.Subscript)) and ast.unparse(node) == name


def gone_through(loop: ast.For) -> ast.Name | ast.Attribute | ast.Subscript | None:
    """`loader` of `for … in enumerate(loader)` and `tqdm(loader)`, or `loaders["val"]`; None where that has no name."""
    node = loop.iter
    while called_name(node) in _SHOWN_BY and isinstance(node, ast.Call) and node.args:
        node = node.args[0]
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        return node if isinstance(node.value, (ast.Name, ast.Attribute)) else None
    return node if isinstance(node, (ast.Name, ast.Attribute)) else None


def passes_of(trace: Trace, path: str, loop: ast.For) -> list[LoaderPassed]:
    """The `DataLoader`s that a loop of the text went through to their end."""
    found = []
    for event in trace.of(LoaderPassed):
        site = user(trace.site(event.loop))
        if site is not None and site.path == path and site.line == loop.lineno and stands_in(loop, site):
            found.append(event)
    return found


def first_value(statement: ast.stmt, name: str) -> str:
    """The text of what an assignment gives a name: "0.0" of `total = 0.0` and of `total, n = 0.0, 0`; "" where it is
    no plain number, or empty list."""
    if not isinstance(statement, ast.Assign):
        return ""
    value: ast.expr = _entry(statement, name) or statement.value
    for target in statement.targets:
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            names = [ast.unparse(one) for one in target.elts]
            if name in names and len(names) == len(value.elts):
                value = value.elts[names.index(name)]
    plain = isinstance(value, ast.Constant) and isinstance(value.value, (int, float))
    empty = isinstance(value, ast.List) and not value.elts
    return ast.unparse(value) if plain or empty or _is_zero(value) or _is_empty(value) else ""


def _is_zero(value: ast.expr) -> bool:
    """`torch.zeros(())`, `torch.zeros(1)`, `torch.tensor(0.0)`."""
    if not isinstance(value, ast.Call) or len(value.args) != 1:
        return False
    given = ast.unparse(value.args[0])
    return (called_name(value), given) in _ZEROS


def _is_empty(value: ast.expr) -> bool:
    """`list()`, and a tensor or array without any row: `torch.zeros(0, 3)`, `torch.tensor([])`."""
    name = called_name(value)
    if not isinstance(value, ast.Call) or not value.args:
        return name == "list"
    first = value.args[0]
    if isinstance(first, (ast.Tuple, ast.List)) and first.elts:
        first = first.elts[0]
    return name in _MADE_EMPTY and ast.unparse(first) in ("0", "[]") and not _is_zero(value)


def _entry(statement: ast.Assign, name: str) -> ast.expr | None:
    """What `meter = {"total": 0.0}` gives `meter['total']`."""
    if not isinstance(statement.value, ast.Dict) or not name.startswith(
        f"{ast.unparse(statement.targets[0])}["
    ):
        return None
    entries = zip(statement.value.keys, statement.value.values, strict=True)
    keys = {ast.unparse(key): value for key, value in entries if key is not None}
    return keys.get(name.partition("[")[2].removesuffix("]"))


def is_length(file: SourceFile, divisor: ast.expr | None, loop: ast.stmt) -> bool:
    """Whether it is `len(…)` of what a loop goes through, or of its data, or a name for that."""
    given = file.assigned.get(divisor.id, []) if isinstance(divisor, ast.Name) else []
    given = [node for node in given if file.scope_of(node) is file.scope_of(loop)] or given
    divisor = given[0] if len(given) == 1 else divisor
    if not isinstance(loop, ast.For) or not isinstance(divisor, ast.Call) or len(divisor.args) != 1:
        return False
    through = [
        node for node in ast.walk(loop.iter) if isinstance(node, (ast.Name, ast.Attribute, ast.Subscript))
    ]
    tables = {ast.unparse(node.value) for node in through if isinstance(node, ast.Subscript)}
    counted = ast.unparse(divisor.args[0]).removesuffix(".dataset")
    return called_name(divisor) == "len" and counted in {ast.unparse(node) for node in through} - tables


def added_by(statement: ast.stmt) -> tuple[str, ast.expr, bool] | None:
    """(name, what is added, whether it is a list) of `total += x`, `total[i] += x`, `total = total + x`,
    `total.append(x)`, `total.extend(x)` and `total = torch.cat([total, x])`."""
    if isinstance(statement, ast.AugAssign) and isinstance(statement.op, ast.Add):
        name = _name(statement.target)
        return (name, statement.value, isinstance(statement.value, ast.List)) if name else None
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        value, name = statement.value, _name(statement.targets[0])
        if name and isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add):
            sides = [ast.unparse(value.left), ast.unparse(value.right)]
            if name in sides:
                return name, (value.right, value.left)[sides.index(name)], isinstance(value.right, ast.List)
        joined = _joined(value)
        if name and joined and ast.unparse(joined[0]) == name:
            return name, joined[1], True
    if isinstance(statement, ast.Expr) and method_name(statement.value) in ("append", "extend"):
        call = statement.value
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and len(call.args) == 1:
            name = _name(call.func.value)
            return (name, call.args[0], True) if name else None
    return None


def _joined(value: ast.expr) -> list[ast.expr]:
    """The two that `torch.cat([rows, new])` joins."""
    if called_name(value) not in _JOINED or not isinstance(value, ast.Call) or not value.args:
        return []
    given = value.args[0]
    return given.elts if isinstance(given, (ast.List, ast.Tuple)) and len(given.elts) == 2 else []


def _is_hundred(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value == 100


def _name(node: ast.expr) -> str:
    if _is_entry(node):
        return ast.unparse(node)
    while isinstance(node, ast.Subscript):
        node = node.value
    return ast.unparse(node) if isinstance(node, (ast.Name, ast.Attribute)) else ""


def _is_entry(node: ast.AST) -> bool:
    """`meter["total"]`, of a table that has a name."""
    if not isinstance(node, ast.Subscript) or not isinstance(node.value, (ast.Name, ast.Attribute)):
        return False
    return isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str)


def _mentions(name: str, within: ast.AST) -> list[ast.expr]:
    if name.endswith("]"):
        nodes = (within, *own_nodes(within))
        return [n for n in nodes if isinstance(n, ast.Subscript) and _is_entry(n) and ast.unparse(n) == name]
    last = name.rpartition(".")[2]  # compared first: to write each node out takes the time
    return [
        node
        for node in (within, *own_nodes(within))
        if isinstance(node, (ast.Name, ast.Attribute))
        and own_name(node) == last
        and ast.unparse(node) == name
    ]


def _is_read(node: ast.expr) -> bool:
    return isinstance(getattr(node, "ctx", None), ast.Load)
