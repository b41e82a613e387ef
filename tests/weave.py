"""Two wrong programs made one: both set-ups, then one training loop with both bodies in it.

The bodies share one `(a + b).backward()` where each has one plain `loss.backward()` of its own. Names that
both use are told apart by an ending; what can't be woven into one loop (a `return`, no loop, a `break`) stands
one after the other.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable

SECOND = "_b"  # ending of the second program's names, where the first one has them too
LOOPS = (ast.For, ast.While)
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
NAME = "both"


def woven(first: Callable[[], object], second: Callable[[], object]) -> str:
    """The text of a function `both` that does what the two do."""
    one, two = _body(first), _body(second)
    taken = _bound(one) & _bound(two) - _imported(two)
    two = [_Renamed({name: name + SECOND for name in taken}).visit(statement) for statement in two]
    together = _in_one_loop(one, two) or [*one, *two]
    function = ast.FunctionDef(NAME, ast.arguments([], [], None, [], [], None, []), together, [])
    return ast.unparse(ast.fix_missing_locations(ast.Module([function], []))) + "\n"


def _body(function: Callable[[], object]) -> list[ast.stmt]:
    (definition,) = ast.parse(textwrap.dedent(inspect.getsource(function))).body
    assert isinstance(definition, ast.FunctionDef)
    return definition.body


def _bound(statements: list[ast.stmt]) -> set[str]:
    """The names that a function of these statements makes its own."""
    found: set[str] = set()
    todo: list[ast.AST] = [*statements]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            found.add(node.name)
        elif isinstance(node, ast.alias):
            found.add((node.asname or node.name).partition(".")[0])
        if not isinstance(node, (*FUNCTIONS, ast.ClassDef)):
            todo += ast.iter_child_nodes(node)
    return found


def _imported(statements: list[ast.stmt]) -> set[str]:
    return {
        (alias.asname or alias.name).partition(".")[0]
        for node in statements
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for alias in node.names
    }


class _Renamed(ast.NodeTransformer):
    """Gives a function's own names others, also where functions and classes inside it read them."""

    def __init__(self, names: dict[str, str]):
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.AST:
        node.id = self.names.get(node.id, node.id)
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.name = self.names.get(node.name, node.name)
        node.decorator_list = [self.visit(one) for one in node.decorator_list]
        return self._inside(node)

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        return self._inside(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        node.name = self.names.get(node.name, node.name)
        node.bases = [self.visit(base) for base in node.bases]
        inner = _Renamed({n: new for n, new in self.names.items() if n not in _bound(node.body)})
        node.body = [
            self._method(one) if isinstance(one, ast.FunctionDef) else inner.visit(one) for one in node.body
        ]
        return node

    def _method(self, node: ast.FunctionDef) -> ast.AST:
        name = node.name
        node = self.visit_FunctionDef(node)  # type: ignore[assignment]
        node.name = name
        return node

    def _inside(self, node: ast.FunctionDef | ast.Lambda) -> ast.AST:
        given = {a.arg for a in ast.walk(node.args) if isinstance(a, ast.arg)}
        body = node.body if isinstance(node.body, list) else []
        outer = {name for one in body if isinstance(one, (ast.Nonlocal, ast.Global)) for name in one.names}
        own = given | (_bound(body) - outer)
        inner = _Renamed({n: new for n, new in self.names.items() if n not in own})
        node.args.defaults = [self.visit(one) for one in node.args.defaults]
        node.args.kw_defaults = [self.visit(one) if one else None for one in node.args.kw_defaults]
        if isinstance(node, ast.Lambda):
            node.body = inner.visit(node.body)
        else:
            node.body = [inner.visit(one) for one in node.body]
        return node

    def visit_Nonlocal(self, node: ast.Nonlocal) -> ast.AST:
        node.names = [self.names.get(name, name) for name in node.names]
        return node


def _in_one_loop(one: list[ast.stmt], two: list[ast.stmt]) -> list[ast.stmt] | None:
    """Both set-ups, one loop, both endings; None where a body leaves its loop by itself."""
    places = [_loop(one), _loop(two)]
    if None in places:
        return None
    (i, first), (j, second) = places  # type: ignore[misc]
    targets = [first.target, second.target]
    for loop in (first, second):
        if any(isinstance(node, (ast.Break, ast.Continue, ast.Return)) for node in ast.walk(loop)):
            return None
    # A `None` says that the shorter of the two loops is over.
    rounds = ast.parse(
        f"[(a, b) for a, b in __import__('itertools').zip_longest("
        f"[(x,) for x in {ast.unparse(first.iter)}], [(x,) for x in {ast.unparse(second.iter)}])]",
        mode="eval",
    ).body
    body = _shared_pass(first, second) if _count(first.iter) == _count(second.iter) else None
    bodies = [first.body, second.body] if body is None else []
    inside: list[ast.stmt] = []
    for number, (target, own) in enumerate(zip(targets, bodies, strict=False)):
        test = ast.parse(f"_round_{number} is not None", mode="eval").body
        given = ast.Assign([target], ast.parse(f"_round_{number}[0]", mode="eval").body)
        inside.append(ast.If(test, [given, *own], []))
    if body is not None:
        inside = [
            *(
                ast.Assign([target], ast.parse(f"_round_{number}[0]", mode="eval").body)
                for number, target in enumerate(targets)
            ),
            *body,
        ]
    both = ast.Tuple([ast.Name(f"_round_{n}", ast.Store()) for n in (0, 1)], ast.Store())
    loop = ast.For(both, rounds, inside, [])
    return [*one[:i], *two[:j], loop, *one[i + 1 :], *two[j + 1 :]]


def _loop(statements: list[ast.stmt]) -> tuple[int, ast.For] | None:
    """The one loop of a program that trains in it."""
    found = [(i, node) for i, node in enumerate(statements) if isinstance(node, LOOPS)]
    if len(found) != 1 or not isinstance(found[0][1], ast.For) or found[0][1].orelse:
        return None
    return found[0][0], found[0][1]


def _count(iterable: ast.expr) -> int | None:
    """How often a loop over `range(4)` runs."""
    if isinstance(iterable, ast.Call) and ast.unparse(iterable.func) == "range" and len(iterable.args) == 1:
        given = iterable.args[0]
        return given.value if isinstance(given, ast.Constant) and isinstance(given.value, int) else None
    return None


def _shared_pass(first: ast.For, second: ast.For) -> list[ast.stmt] | None:
    """The two bodies around one `(loss + loss_b).backward()`, where each has one such statement."""
    parts = []
    for loop in (first, second):
        at = [i for i, node in enumerate(loop.body) if _plain_backward(node)]
        others = [
            node for node in ast.walk(loop) if isinstance(node, ast.Attribute) and node.attr == "backward"
        ]
        if len(at) != 1 or len(others) != 1:
            return None
        parts.append((loop.body[: at[0]], loop.body[at[0]].value.func.value, loop.body[at[0] + 1 :]))  # type: ignore[attr-defined]
    if _count(first.iter) is None:
        return None
    (before, loss, after), (before_b, loss_b, after_b) = parts
    total = ast.BinOp(loss, ast.Add(), loss_b)
    call = ast.Expr(ast.Call(ast.Attribute(total, "backward", ast.Load()), [], []))
    return [*before, *before_b, call, *after, *after_b]


def _plain_backward(node: ast.stmt) -> bool:
    call = node.value if isinstance(node, ast.Expr) else None
    return (
        isinstance(call, ast.Call)
        and isinstance(call.func, ast.Attribute)
        and call.func.attr == "backward"
        and not call.args
        and not call.keywords
    )
