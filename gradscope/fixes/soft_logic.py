"""Comparisons and logic of a loss, which have no gradient, written with numbers between 0 and 1, which have: a product
for "and", `1 - a` for "not"."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from gradscope.analysis.ops import PASSING, PROBABILITIES
from gradscope.analysis.text import site_of
from gradscope.fixes.source import Binds, Edits, Source
from gradscope.model import Graph, Op, Site
from gradscope.source import called_name
from gradscope.store import Trace

CASTS = ("float", "int", "long", "double")
_FORMS = {
    "and": "{a} * {b}",
    "or": "{a} + {b} - {a} * {b}",
    "xor": "{a} + {b} - 2 * {a} * {b}",
    "not": "1 - {a}",
}
_SIGNS: dict[type[ast.operator], str] = {ast.BitAnd: "and", ast.BitOr: "or", ast.BitXor: "xor"}


@dataclass
class Soft:
    """What comes in place of such a call; `text` is "" where that is not plain."""

    site: Site
    text: str
    edits: Edits


def softened(trace: Trace, ops: Sequence[Op]) -> list[Soft]:
    """For each of these calls what has a gradient in its place."""
    return [_soft(trace, op) for op in ops]


def _soft(trace: Trace, op: Op) -> Soft:
    site = op.site.user
    here = Source(trace, site.path)
    node = here.file.at(site)
    text = ""
    if isinstance(node, ast.Compare) and isinstance(node.left, ast.expr):
        text = _compared(here, trace.graph(op.graph), op, node)
        if text:
            given, (node, text) = node, _as_numbers(here, node, text)
            text = text if node is not given else _of_no_choice(trace.graph(op.graph), op, text)
    elif isinstance(node, ast.expr):
        text = _logic(here, node)
    if not text or not isinstance(node, ast.expr):
        return Soft(site, "", ())
    site = site_of(site.path, site.function, node)
    statement = here.file.parent.get(id(node))
    if isinstance(statement, ast.Assign) and [here.file.text(one) for one in statement.targets] == [text]:
        return Soft(site, text, here.remove(statement))
    return Soft(site, text, here.replace(node, text))


def _of_no_choice(graph: Graph, op: Op, text: str) -> str:
    """The text, but where what the comparison gives chooses in a `where`, for which a weight is no condition."""
    readers = graph.consumers.get(op.outputs[0], ()) if op.outputs else ()
    return "" if any(one.name == "where" and one.inputs[0] == op.outputs[0] for one in readers) else text


def _compared(here: Source, graph: Graph, op: Op, node: ast.Compare) -> str:
    """`x` for `x > 0.5` of what lies between 0 and 1, else `torch.sigmoid(x - t)`; `1 - …` for the other sense."""
    if len(node.ops) != 1 or not isinstance(node.ops[0], (ast.Lt, ast.LtE, ast.Gt, ast.GtE)):
        return ""
    if not op.inputs or (len(op.inputs) > 1 and graph.values[op.inputs[-1]].shape):
        return ""
    below = isinstance(node.ops[0], (ast.Lt, ast.LtE))
    if _is_probability(graph, op.inputs[0]):
        text = here.part(node.left, Binds.PRODUCT) if below else here.file.text(node.left)
    elif "torch" in here.file.imported:
        text = f"torch.sigmoid({here.part(node.left, Binds.SUM)} - {here.part(node.comparators[0], Binds.PRODUCT)})"
    else:
        return ""
    return f"1 - {text}" if below else text


def _is_probability(graph: Graph, index: int) -> bool:
    """Whether a value has come out of a sigmoid or softmax, in whatever form."""
    op = graph.maker(index)
    while op is not None and op.name in PASSING and op.inputs:
        op = graph.maker(op.inputs[0])
    return op is not None and op.name in PROBABILITIES


def _as_numbers(here: Source, node: ast.Compare, text: str) -> tuple[ast.expr, str]:
    """With what makes numbers of a comparison around it: `(x > 0.5).float()`, `torch.where(x < 0.5, 0, 1)`."""
    above = here.file.parent.get(id(node))
    if isinstance(above, ast.Attribute) and above.attr in CASTS:
        call = here.file.parent.get(id(above))
        if isinstance(call, ast.Call) and call.func is above and not call.args:
            return call, text
    if isinstance(above, ast.Call) and here.file.imported_name(above.func) == "torch.where":
        numbers = [_number(here, one) for one in above.args[1:]]
        rest = text.removeprefix("1 - ") if text.startswith("1 - ") else f"1 - {text}"
        if numbers == [1, 0]:
            return above, text
        if numbers == [0, 1]:
            return above, rest
        if len(numbers) == 2 and above.args[0] is node:
            one, other = (here.part(branch, Binds.PRODUCT) for branch in above.args[1:])
            text, rest = (f"({weight})" if weight.startswith("1 - ") else weight for weight in (text, rest))
            return above, f"({text} * {one} + {rest} * {other})"
    return node, text


def _number(here: Source, node: ast.expr) -> object:
    """The number that an expression is at every place: `0.0`, `torch.ones_like(x)`; None where it may be another."""
    if isinstance(node, ast.Call):
        name = called_name(node).removesuffix("_like")
        return (
            {"ones": 1, "zeros": 0}.get(name)
            if here.file.imported_name(node.func).startswith("torch.")
            else None
        )
    return node.value if isinstance(node, ast.Constant) else None


def _logic(here: Source, node: ast.expr) -> str:
    """`a * b` for `torch.logical_and(a, b)`, `a.logical_and(b)` or `a & b`."""
    operands: list[ast.expr] = []
    kind = ""
    if isinstance(node, ast.BinOp):
        kind, operands = _SIGNS.get(type(node.op), ""), [node.left, node.right]
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Invert):
        kind, operands = "not", [node.operand]
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and not node.keywords:
        of_torch = here.file.imported_name(node.func).startswith("torch.")
        operands = [*([] if of_torch else [node.func.value]), *node.args]
        kind = node.func.attr.removeprefix("logical_").removeprefix("bitwise_")
    if len(operands) != (1 if kind == "not" else 2) or kind not in _FORMS:
        return ""
    if not all(isinstance(one, (ast.Name, ast.Attribute)) for one in operands):
        return ""
    names = dict(zip("ab", map(here.file.text, operands), strict=False))
    return _FORMS[kind].format(**names)
