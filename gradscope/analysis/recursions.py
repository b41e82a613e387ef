"""Loops from the last step to the first that carry a discounted sum from turn to turn, as the program's text has them:
which terms a flag of the turn masks, and whether it masks what is carried."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from gradscope.source import SourceFile, called_name, names_in, one_less

Product = tuple[ast.expr, ...]
CASTS = {"float", "int", "bool", "double", "long", "to", "type", "astype", "logical_not"}
DEEP = 40  # expressions within each other
MOST = 64  # terms


class Recursion(NamedTuple):
    """`total = total * discount + … following * (1 - flag) …` in a loop."""

    loop: ast.For
    carried: ast.expr  # the total of the turn before, where it is read
    product: ast.expr  # the whole product that it is a factor of
    total: str
    mask: ast.expr  # as a factor of the term that it masks
    flag: str  # what the mask reads: "dones" of `1 - dones[t]`
    inverted: bool  # the mask is 0 where the flag is 1


def recursions(file: SourceFile) -> Iterator[Recursion]:
    """Those whose total is multiplied with nothing that changes from turn to turn, while what may be a flag is a factor
    of another term: once for each such factor."""
    for node in file.nodes:
        if isinstance(node, ast.For) and _goes_back(node):
            yield from _recursions(file, node)


def _recursions(file: SourceFile, loop: ast.For) -> Iterator[Recursion]:
    if any(isinstance(n, ast.Break | ast.Continue | ast.Return) for n in ast.walk(loop)):
        return
    for total in _totals(loop):
        terms = _Turn(loop, total).terms()
        own = [t for t in terms or () if any(_is(f, total) for f in t)]
        rest = [t for t in terms or () if t not in own]
        varies = _varying(loop)
        if not own or not all(_is_constant(f, varies) or _is(f, total) for t in own for f in t):
            continue
        if any(total in names_in(f) and not _is(f, total) for t in (*own, *rest) for f in t):
            continue  # under a condition, or through a call
        for term in rest:
            others = [f for f in term if not _is_constant(f, varies)]
            if len(others) < 2 or not _is_of_next(loop, own, term, varies):
                continue
            carried = next(f for f in own[0] if _is(f, total))
            for mask in others:
                flag = _flag(file, loop, mask)
                if flag is not None:
                    yield Recursion(loop, carried, _product(file, carried), total, mask, *flag)


def _goes_back(loop: ast.For) -> bool:
    """Whether it is written as a loop from the last to the first."""
    for node in ast.walk(loop.iter):
        if isinstance(node, ast.Call) and called_name(node) in ("reversed", "flip"):
            return True
        ends = [node.step] if isinstance(node, ast.Slice) else []
        ends += node.args[2:] if isinstance(node, ast.Call) and called_name(node) == "range" else []
        if any(end is not None and ast.unparse(end) == "-1" for end in ends):
            return True
    return False


def _totals(loop: ast.For) -> list[str]:
    """The names that the loop's own statements assign to, and nothing else in it does."""
    plain = [name for statement in loop.body for name in _assigned(statement)]
    everywhere = [n.id for n in ast.walk(loop) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
    written = {
        base.id
        for n in ast.walk(loop)
        if isinstance(n, ast.Subscript)
        and isinstance(n.ctx, ast.Store)
        and isinstance(base := n.value, ast.Name)
    }
    return [
        name
        for name in dict.fromkeys(plain)
        if plain.count(name) == everywhere.count(name) and name not in written
    ]


def _assigned(statement: ast.stmt) -> list[str]:
    if isinstance(statement, ast.AugAssign):
        return [statement.target.id] if isinstance(statement.target, ast.Name) else []
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    return [target.id for target in targets if isinstance(target, ast.Name)]


class _Turn:
    """One turn of a loop as sums of products."""

    def __init__(self, loop: ast.For, total: str):
        self.loop = loop
        self.total = total
        self.known: dict[str, list[Product]] = {}

    def terms(self) -> list[Product] | None:
        """What the total is after a turn; None where it is not read before it is assigned to, or too long."""
        for statement in self.loop.body:
            names = _assigned(statement)
            if isinstance(statement, ast.Assign) and names:
                made = self._sum(statement.value)
            elif isinstance(statement, ast.AugAssign) and names:
                made = self._sum(ast.BinOp(statement.target, statement.op, statement.value))
            else:
                for name in names_in(statement, ast.Store):
                    self.known.pop(name, None)
                continue
            if len(made) > MOST:
                return None
            self.known |= dict.fromkeys(names, made)
        return self.known.get(self.total)

    def _sum(self, node: ast.expr, depth: int = 0) -> list[Product]:
        if isinstance(node, ast.Name) and node.id in self.known:
            return self.known[node.id]
        if isinstance(node, ast.BinOp) and depth < DEEP:
            if isinstance(node.op, ast.Add | ast.Sub) and one_less(node) is None:
                return self._sum(node.left, depth + 1) + self._sum(node.right, depth + 1)
            if isinstance(node.op, ast.Mult):
                left, right = self._sum(node.left, depth + 1), self._sum(node.right, depth + 1)
                if len(left) * len(right) <= MOST:
                    return [a + b for a in left for b in right]
            if isinstance(node.op, ast.Div):
                return [(*term, node.right) for term in self._sum(node.left, depth + 1)]
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return self._sum(node.operand, depth + 1)
        if called_name(node) in ("detach", "item") and isinstance(node, ast.Call):
            if isinstance(node.func, ast.Attribute):
                return self._sum(node.func.value, depth + 1)
        kept = _kept_where(node)
        if kept is not None and depth < DEEP:
            value, mask = kept
            return [(*term, mask) for term in self._sum(value, depth + 1)]
        return [(node,)]


def _kept_where(node: ast.expr) -> tuple[ast.expr, ast.expr] | None:
    """x and the mask of a choice between x and nothing: `where(flag, 0, x)`, `x.masked_fill(flag, 0)`, `0 if flag else
    x`, and the other way round."""
    turned: ast.unaryop = ast.Invert()
    if isinstance(node, ast.IfExp):
        flag, chosen, other, turned = node.test, node.body, node.orelse, ast.Not()
    elif called_name(node) == "where" and isinstance(node, ast.Call) and len(node.args) == 3:
        flag, chosen, other = node.args
    elif called_name(node) == "masked_fill" and isinstance(node, ast.Call) and len(node.args) in (2, 3):
        flag, chosen = node.args[-2:]
        of = node.func.value if isinstance(node.func, ast.Attribute) else node
        other = node.args[0] if len(node.args) == 3 else of
    else:
        return None
    if _is_nothing(chosen) and not _is_nothing(other):
        mask: ast.expr = ast.copy_location(ast.UnaryOp(turned, flag), flag)
        return other, mask
    return (chosen, flag) if _is_nothing(other) and not _is_nothing(chosen) else None


def _is_nothing(node: ast.expr) -> bool:
    if isinstance(node, ast.Constant):
        return node.value == 0 and node.value is not False
    return called_name(node) in ("zeros", "zeros_like", "new_zeros")


def _is(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _varying(loop: ast.For) -> set[str]:
    return names_in(loop, ast.Store)


def _is_constant(node: ast.expr, varies: set[str]) -> bool:
    """Whether a factor is the same in each turn, as far as the text tells: no call, no part of a row."""
    return names_in(node).isdisjoint(varies) and not any(
        isinstance(n, ast.Call | ast.Subscript) for n in ast.walk(node)
    )


def _is_of_next(loop: ast.For, own: list[Product], term: Product, varies: set[str]) -> bool:
    """Whether a term comes of the step after it, as what is carried does: it has the same discount, or reads a name
    before the turn gives it its value, or the place after this one."""
    discounts = {ast.unparse(f) for t in own for f in t if _is_constant(f, varies)}
    if any(ast.unparse(f) in discounts for f in term):
        return True
    plain = {name for statement in loop.body for name in _assigned(statement)}
    after = (
        isinstance(n, ast.Subscript) and isinstance(n.slice, ast.BinOp) and isinstance(n.slice.op, ast.Add)
        for f in term
        for n in ast.walk(f)
    )
    return any(isinstance(f, ast.Name) and f.id in plain for f in term) or any(after)


def _flag(file: SourceFile, loop: ast.For, factor: ast.expr) -> tuple[str, bool] | None:
    """What a factor reads that may be a flag, and whether it turns that round: ("dones", True) of `1 - dones[t]`, or of
    `1 - done` in a loop over `zip(rewards, dones)`."""
    inverted = False
    for _ in range(DEEP):
        inner = one_less(factor)
        if inner is None and isinstance(factor, ast.UnaryOp) and isinstance(factor.op, ast.Not | ast.Invert):
            inner = factor.operand
        if inner is not None:
            factor, inverted = inner, not inverted
            continue
        if isinstance(factor, ast.Call) and called_name(factor) in CASTS:
            if called_name(factor) == "logical_not":
                inverted = not inverted
            method = isinstance(factor.func, ast.Attribute) and not file.is_imported(factor.func)
            if method and isinstance(factor.func, ast.Attribute):
                factor = factor.func.value
            elif factor.args:
                factor = factor.args[0]
            continue
        break
    if isinstance(factor, ast.Subscript):
        factor = factor.value
    elif isinstance(factor, ast.Name):
        made = [
            n.value
            for n in ast.walk(loop)
            if isinstance(n, ast.Assign) and [ast.unparse(t) for t in n.targets] == [factor.id]
        ]
        if made:
            found = [_flag(file, loop, value) for value in made if not _is(value, factor.id)]
            known = next((one for one in found if one is not None), None)
            return (known[0], known[1] != inverted) if known is not None else None
        if (row := _row(loop, factor.id)) is None:
            return None
        factor = row
    else:
        return None
    name = ast.unparse(factor)
    plain = isinstance(factor, ast.Name) or (
        isinstance(factor, ast.Attribute) and ast.unparse(factor.value) == "self"
    )
    return (name, inverted) if plain else None


def _row(loop: ast.For, name: str) -> ast.expr | None:
    """What a `for` takes the values of a name from: `dones` in `for r, d in reversed(list(zip(rewards, dones)))`."""
    targets, given = loop.target, loop.iter
    while True:
        given = _plain_order(given)
        name_of = called_name(given)
        if (
            name_of == "enumerate"
            and isinstance(given, ast.Call)
            and isinstance(targets, ast.Tuple)
            and given.args
        ):
            targets, given = targets.elts[1], given.args[0]
            continue
        break
    if isinstance(targets, ast.Name):
        return given if targets.id == name else None
    if not isinstance(targets, ast.Tuple) or called_name(given) != "zip" or not isinstance(given, ast.Call):
        return None
    for target, row in zip(targets.elts, given.args, strict=False):
        if isinstance(target, ast.Name) and target.id == name:
            return _plain_order(row)
    return None


def _plain_order(given: ast.expr) -> ast.expr:
    """A row without `reversed()`, `list()`, `tqdm()` and slices around it."""
    while True:
        if (
            isinstance(given, ast.Call)
            and called_name(given) in ("reversed", "list", "tuple", "flip")
            and given.args
        ):
            given = given.args[0]
        elif isinstance(given, ast.Subscript) and isinstance(given.slice, ast.Slice):
            given = given.value
        else:
            return given


def _product(file: SourceFile, factor: ast.expr) -> ast.expr:
    """The whole product that a factor stands in."""
    while isinstance(above := file.parent.get(id(factor)), ast.BinOp) and isinstance(
        above.op, ast.Mult | ast.Div
    ):
        if isinstance(above.op, ast.Div) and above.right is factor:
            break
        factor = above
    return factor
