"""ReLUs as a program writes them itself."""

from __future__ import annotations

import ast

from gradscope.analysis.ops import CASTS, MULTIPLICATIONS, ORDERINGS, ZEROS
from gradscope.fixes.source import Edits, Source
from gradscope.model import Graph, Op
from gradscope.store import Trace

LARGER_OF_TWO = {"maximum", "max", "fmax"}
CHOSEN = {"where"} | MULTIPLICATIONS
ABOVE = {"gt", "ge"}


def chosen_by_its_size(graph: Graph, op: Op) -> bool:
    """Whether this has the form of a ReLU by hand, `x * (x > 0)`, `torch.where(x > 0, x, 0)` or `torch.maximum(x,
    zero)`, whatever its bound."""
    if op.name not in LARGER_OF_TWO | CHOSEN or not op.inputs:
        return False
    cut = cut_by(graph, op)
    others = [index for index in op.inputs if index != cut]
    if op.name in LARGER_OF_TWO:
        return len(others) == 1 and not graph.values[others[0]].requires_grad
    return _comparison(graph, op, cut) is not None


def cut_by(graph: Graph, relu: Op) -> int:
    """What a ReLU is given."""
    return next((i for i in relu.inputs if graph.values[i].requires_grad), relu.inputs[0])


def relu_by_hand(trace: Trace, graph: Graph, op: Op) -> bool:
    """Whether it keeps what is above 0, and gives 0 for all else."""
    if len(op.inputs) < 2 or not chosen_by_its_size(graph, op):
        return False
    cut = cut_by(graph, op)
    others = [index for index in op.inputs if index != cut]
    if op.name in LARGER_OF_TWO:
        return _zeros(graph, others[0])
    compared = _comparison(graph, op, cut)
    if compared is None or compared.name not in ABOVE or not _with_zero(trace, graph, compared, cut):
        return False
    return op.name != "where" or _else_zero(trace, graph, op, cut)


def without_relu_by_hand(trace: Trace, op: Op) -> Edits:
    """`x` for `x * (x > 0)`, `torch.where(x > 0, x, …)` and `torch.maximum(x, …)`."""
    here = Source(trace, op.site.user.path)
    node = here.file.at(op.site.user)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        sides = [side for side in (node.left, node.right) if isinstance(side, ast.Name)]
    elif isinstance(node, ast.Call) and here.file.is_imported(node.func) and len(node.args) == 3:
        sides = [side for side in node.args[1:2] if isinstance(side, ast.Name)]
    else:
        sides = []
    if not isinstance(node, ast.expr) or len(sides) != 1:
        return ()
    return here.replace(node, here.file.text(sides[0]))


def _comparison(graph: Graph, op: Op, cut: int) -> Op | None:
    """The comparison of what is cut that chooses what is kept."""
    makers = (graph.maker_behind(index, CASTS) for index in op.inputs if index != cut)
    return next((m for m in makers if m is not None and m.name in ORDERINGS and cut in m.inputs), None)


def _zeros(graph: Graph, index: int) -> bool:
    """Whether these are zeros that torch made, in no shape of their own perhaps."""
    made = graph.maker_behind(index, CASTS)
    return made is not None and made.name in ZEROS


def _with_zero(trace: Trace, graph: Graph, op: Op, cut: int) -> bool:
    others = [index for index in op.inputs if index != cut]
    if others:
        return len(others) == 1 and op.inputs[0] == cut and _zeros(graph, others[0])
    node = trace.source_file(op.site.user.path).at(op.site.user)
    if isinstance(node, ast.Compare):
        return any(_is_zero(side) for side in (node.left, *node.comparators))
    return isinstance(node, ast.Call) and any(_is_zero(given) for given in node.args)


def _else_zero(trace: Trace, graph: Graph, op: Op, cut: int) -> bool:
    """Whether a `where` takes what is cut where the condition holds, and 0 elsewhere."""
    if len(op.inputs) == 3:
        return op.inputs[1] == cut and _zeros(graph, op.inputs[2])
    node = trace.source_file(op.site.user.path).at(op.site.user)
    return isinstance(node, ast.Call) and len(node.args) == 3 and _is_zero(node.args[2])


def _is_zero(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value == 0 and node.value is not False
