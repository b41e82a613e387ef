"""The backward of a program's own Function, as the derivative of the one expression that its forward returns.

Gives nothing where forward and backward are not plain enough: every call in that expression must be one whose
derivative stands here, and backward must have what it was given.
"""

from __future__ import annotations

import ast

from gradscope.analysis.own_functions import arguments, results
from gradscope.fixes.source import Edits, Source
from gradscope.source import called_name, names_in
from gradscope.store import Trace

SHORT = 160  # characters that a derivative may have
DEEP = 8  # names that stand for each other

_OF: dict[str, str] = {
    "sigmoid": "({call}) * (1 - ({call}))",
    "tanh": "1 - ({call}) ** 2",
    "exp": "({call})",
    "expm1": "({given}).exp()",
    "log": "1 / ({given})",
    "log1p": "1 / (1 + ({given}))",
    "sin": "({given}).cos()",
    "cos": "-({given}).sin()",
    "sqrt": "0.5 / ({call})",
    "square": "2 * ({given})",
    "softplus": "({given}).sigmoid()",
    "abs": "({given}).sign()",
}


def backward_as_derivative(
    trace: Trace, path: str, forward: ast.FunctionDef, backward: ast.FunctionDef, argument: int
) -> tuple[str, Edits]:
    """What `backward` is to return for an argument, and the edit that lets it do so; "" where that can't be told."""
    here = Source(trace, path)
    names, made, ends = arguments(forward), results(forward), results(backward)
    if len(made) != 1 or len(ends) != 1 or argument >= len(names) or not arguments(backward):
        return "", ()
    own = names[argument]
    kept = _kept(forward, backward, own)
    whole = _written_out(forward, made[0], own)
    slope = _slope(here, whole, own) if kept and whole is not None else None
    if slope is None:
        return "", ()
    text = ast.unparse(_Renamed({own: ast.Name(kept)}).visit(slope))
    end = ends[0]
    if isinstance(end, ast.Tuple):
        if len(end.elts) != len(names):
            return "", ()
        end = end.elts[argument]
    elif len(names) != 1:
        return "", ()
    text = f"{arguments(backward)[0]} * ({text})"
    return (text, here.replace(end, text)) if len(text) <= SHORT else ("", ())


class _Renamed(ast.NodeTransformer):
    """Puts expressions in the place of names."""

    def __init__(self, given: dict[str, ast.expr]):
        self.given = given

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self.given.get(node.id, node)


def _kept(forward: ast.FunctionDef, backward: ast.FunctionDef, own: str) -> str:
    """What `backward` calls the argument that `forward` has kept for it; "" where it doesn't have it."""
    saves = [n for n in ast.walk(forward) if called_name(n) == "save_for_backward"]
    places = [
        place
        for call in saves
        if isinstance(call, ast.Call)
        for place, one in enumerate(call.args)
        if isinstance(one, ast.Name) and one.id == own
    ]
    if len(saves) != 1 or len(places) != 1:
        return ""
    found = []
    stored = [n.id for n in ast.walk(backward) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
    for node in ast.walk(backward):
        if not isinstance(node, ast.Assign) or len(node.targets) != 1:
            continue
        target, value = node.targets[0], node.value
        if (
            isinstance(target, ast.Tuple)
            and isinstance(value, ast.Attribute)
            and value.attr == "saved_tensors"
        ):
            target = target.elts[places[0]] if places[0] < len(target.elts) else target
        elif not isinstance(value, ast.Subscript) or ast.unparse(value.slice) != str(places[0]):
            continue
        elif not isinstance(value.value, ast.Attribute) or value.value.attr != "saved_tensors":
            continue
        if isinstance(target, ast.Name) and stored.count(target.id) == 1:
            found.append(target.id)
    return found[0] if len(found) == 1 else ""


def _written_out(forward: ast.FunctionDef, value: ast.expr, own: str) -> ast.expr | None:
    """What is returned, with what each name was given in its place."""
    given: dict[str, ast.expr] = {}
    for node in ast.walk(forward):
        if isinstance(node, (ast.AugAssign, ast.For, ast.With, ast.NamedExpr, ast.If)):
            return None
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    if target.id in given or target.id == own:
                        return None
                    given[target.id] = node.value
    for _ in range(DEEP):
        if not names_in(value) & set(given):
            return value
        value = _Renamed(given).visit(ast.parse(ast.unparse(value), mode="eval").body)
    return None


def _slope(here: Source, node: ast.expr, own: str) -> ast.expr | None:
    """The derivative of an expression by a name; None where it can't be told. 0 is a constant."""
    if isinstance(node, ast.Name) and node.id == own:
        return ast.Constant(1)
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return ast.Constant(0)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = _slope(here, node.operand, own)
        return _expression(f"-({_text(inner)})") if inner is not None and not _is(inner, 0) else inner
    if isinstance(node, ast.BinOp):
        return _of_two(here, node, own)
    name = called_name(node)
    if not isinstance(node, ast.Call) or name not in _OF or node.keywords:
        return None
    operands = list(node.args)
    if isinstance(node.func, ast.Attribute) and not here.file.is_imported(node.func):
        operands.insert(0, node.func.value)
    inner = _slope(here, operands[0], own) if len(operands) == 1 else None
    if inner is None:
        return None
    return _times(_expression(_OF[name].format(call=_text(node), given=_text(operands[0]))), inner)


def _of_two(here: Source, node: ast.BinOp, own: str) -> ast.expr | None:
    left, right = _slope(here, node.left, own), _slope(here, node.right, own)
    if left is None or right is None:
        return None
    if isinstance(node.op, ast.Add):
        return _plus(left, right)
    if isinstance(node.op, ast.Sub):
        return left if _is(right, 0) else _expression(f"({_text(left)}) - ({_text(right)})")
    if isinstance(node.op, ast.Mult):
        return _plus(_times(left, node.right), _times(node.left, right))
    if isinstance(node.op, ast.Div):
        first = _expression(f"({_text(left)}) / ({_text(node.right)})")
        second = _times(_times(node.left, right), _expression(f"1 / ({_text(node.right)}) ** 2"))
        if _is(right, 0):
            return left if _is(left, 0) else first
        return _expression(f"{'' if _is(left, 0) else _text(first)} - ({_text(second)})")
    power = node.right.value if isinstance(node.right, ast.Constant) else None
    if isinstance(node.op, ast.Pow) and isinstance(power, int | float):
        base = node.left if power == 2 else _expression(f"({_text(node.left)}) ** {power - 1}")
        return _times(_times(ast.Constant(power), base), left)
    return None


def _plus(one: ast.expr, other: ast.expr) -> ast.expr:
    if _is(one, 0) or _is(other, 0):
        return other if _is(one, 0) else one
    return _expression(f"({_text(one)}) + ({_text(other)})")


def _times(one: ast.expr, other: ast.expr) -> ast.expr:
    if _is(one, 0) or _is(other, 0):
        return ast.Constant(0)
    if _is(one, 1) or _is(other, 1):
        return other if _is(one, 1) else one
    return _expression(f"({_text(one)}) * ({_text(other)})")


def _is(node: ast.expr, number: int) -> bool:
    return isinstance(node, ast.Constant) and node.value == number


def _text(node: ast.expr) -> str:
    return ast.unparse(node)


def _expression(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body
