"""The mean is taken before the weights are multiplied in: every sample gets the same weight.

Why: a weight for each sample, or an advantage for each action, has to meet the loss of that sample. Multiplied with the
mean of all losses each weight meets the same number, and the sum over them is that mean times the sum of the weights:
which weight belongs to which sample plays no part any more.

Fix: multiply first, then take the mean or the sum.

The same of a weight that is made of the loss itself, as a focal loss has it: of the mean of all losses it makes one
weight for all of them, whether they are easy or hard.

Silent on: weights of another number than the samples, as of several losses; products that are not reduced again.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from gradscope.analysis.ops import DIVISIONS, LOSSES, MEANS, MULTIPLICATIONS, NEGATIONS, POWERS, SUBTRACTIONS
from gradscope.analysis.reach import Paths, paths
from gradscope.analysis.words import code, holds, located
from gradscope.fixes.calls import with_argument
from gradscope.fixes.source import Source
from gradscope.model import Edit, Finding, Graph, Op
from gradscope.rules import rule
from gradscope.store import Trace

REDUCES = MEANS | {"sum"}
WEIGHING = (
    POWERS | NEGATIONS | SUBTRACTIONS | MULTIPLICATIONS | {"exp", "mean", "sum"}
)  # from a loss to its weight
DEEP = 12


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(3, 4)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        x, y, weight = torch.randn(16, 3), torch.randint(0, 4, (16,)), torch.rand(16)
        loss = (nn.functional.cross_entropy(model(x), y) * weight).mean()  # cause: GS751
        opt.zero_grad()
        loss.backward()
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(3, 4)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        x, y, weight = torch.randn(16, 3), torch.randint(0, 4, (16,)), torch.rand(16)
        loss = (nn.functional.cross_entropy(model(x), y, reduction="none") * weight).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


@dataclass(frozen=True)
class _Late:
    """A product of one number with a weight for each of the samples that it was reduced from."""

    product: Op
    reduced: Op
    count: int  # samples
    weights: int | None  # value; None where they are made of the same number


@rule("GS751", name="reduced-before-it-is-weighted", severity="warning")
def reduced_before_it_is_weighted(trace: Trace) -> Iterator[Finding]:
    known = paths(trace)
    found: dict[tuple[str, int], tuple[Graph, _Late]] = {}
    for number in known.graph_ids:
        graph = known.graph(number)
        for op in graph.ops:
            late = (
                _late(known, graph, op) if op.name in MULTIPLICATIONS and len(set(op.inputs)) == 2 else None
            )
            if late is not None:
                found.setdefault(op.site.user.location(), (graph, late))
    for graph, late in found.values():
        yield _finding(trace, known, graph, late)


def _late(known: Paths, graph: Graph, op: Op) -> _Late | None:
    if not op.outputs or (graph.id, op.outputs[0]) not in known.used.order or not op.nodes:
        return None
    for one, weights in (op.inputs[:2], op.inputs[1::-1]):
        shape = graph.values[weights].shape
        if (
            not shape
            and not graph.values[one].shape
            and (focal := _focal(graph, op, one, weights)) is not None
        ):
            return focal
        if graph.values[one].shape or not graph.values[one].requires_grad or prod(shape) < 2:
            continue
        if graph.values[weights].requires_grad or graph.values[weights].kind == "parameter":
            continue
        reduced = _reduced(graph, one)
        count = _samples(graph, reduced) if reduced is not None else 0
        if (
            reduced is not None
            and count == max(shape) == prod(shape)
            and _reduced_again(graph, op.outputs[0])
        ):
            return _Late(op, reduced, count, weights)
    return None


def _focal(graph: Graph, op: Op, one: int, weight: int) -> _Late | None:
    """The product of a reduced loss with a power of one minus the probability that was made of it."""
    loss = _reduced(graph, one)
    if loss is None or loss.name not in LOSSES or loss.extra.get("reduction", "mean") == "none":
        return None
    count = prod(graph.values[loss.inputs[1]].shape) if len(loss.inputs) > 1 else 0
    maker, powers, exponentials = graph.maker(weight), 0, 0
    for _ in range(DEEP):
        if maker is None or maker is loss or maker.name not in WEIGHING or not maker.inputs:
            break
        powers += maker.name in POWERS and not exponentials
        exponentials += maker.name == "exp"
        tracked = [i for i in maker.inputs if graph.values[i].requires_grad]
        maker = graph.maker(tracked[0]) if len(set(tracked)) == 1 else None
    made = maker is loss and bool(powers) and exponentials == 1
    return _Late(op, loss, count, None) if made and count > 1 else None


def _reduced(graph: Graph, value: int) -> Op | None:
    """The call that made one number of many, negated or scaled since, perhaps."""
    op = graph.maker(value)
    while (
        op is not None
        and op.inputs
        and (op.name in NEGATIONS or (op.name in DIVISIONS and len(op.inputs) == 1))
    ):
        op = graph.maker(op.inputs[0])
    return op if op is not None and op.name in REDUCES | LOSSES and op.inputs else None


def _samples(graph: Graph, op: Op) -> int:
    """Of how many samples, one number each, an op makes its one; 0 where it is another kind of number."""
    if op.name in LOSSES:
        if op.extra.get("reduction", "mean") == "none" or len(op.inputs) < 2:
            return 0
        shape = graph.values[op.inputs[1]].shape
        return shape[0] if shape and prod(shape) == shape[0] else 0
    shape = graph.values[op.inputs[0]].shape
    return shape[0] if shape and prod(shape) == shape[0] else 0


def _reduced_again(graph: Graph, value: int) -> bool:
    """Whether all that is made of the product is its sum or mean."""
    readers = graph.consumers.get(value, [])
    return len(readers) == 1 and (
        (readers[0].name in REDUCES and not graph.values[readers[0].outputs[0]].shape)
        if readers[0].name not in NEGATIONS
        else _reduced_again(graph, readers[0].outputs[0])
    )


def _finding(trace: Trace, known: Paths, graph: Graph, late: _Late) -> Finding:
    product, reduced = late.product.site.user, late.reduced.site.user
    if late.weights is None:
        return _finding_of_focal(trace, known, graph, late)
    weights = _operand(trace, graph, late)
    inner = product == reduced or holds(product, reduced)
    total = code(trace, reduced, f"`{late.reduced.name}`")
    first, edits = _unreduced(trace, late)
    return Finding(
        message=f"{weights} weighs one number: {total} is taken of the {late.count} samples before",
        cause=product,
        cause_label=f"each of the {late.count} weights meets the same number",
        related=() if inner else ((reduced, "makes one number of all samples"),),
        seen=(
            f"{total} is one number, of {late.count} samples; {weights} has {late.count}, one for each of them, and"
            " what the product is summed up to is that number times the sum of the weights",
        ),
        fix=f"multiply before the sum or the mean is taken: {first}",
        edits=edits,
        count=known.times_through(graph.id, late.product.nodes) or graph.count,
        subjects=frozenset({("weights", *product.location())}),
    )


def _finding_of_focal(trace: Trace, known: Paths, graph: Graph, late: _Late) -> Finding:
    product, reduced = late.product.site.user, late.reduced.site.user
    total = code(trace, reduced, f"`{late.reduced.name}`")
    again = _reduced_again(graph, late.product.outputs[0])
    how, edits = _unreduced(trace, late)
    return Finding(
        message=f"the weight is made of {total}, which is one number for all {late.count} targets: easy and hard ones"
        " get the same",
        cause=reduced,
        cause_label="makes one number of all of them",
        effect=product,
        effect_label="weighs that number by a power of itself",
        seen=(
            f"{total} is the mean or the sum over {late.count} targets; the exponential of it, and the power of one"
            " minus that, are one number too",
        ),
        fix=how if again else f"{how}, and take the mean of {located(trace, product, 'the product')}",
        edits=edits if again else (),
        count=known.times_through(graph.id, late.product.nodes) or graph.count,
        subjects=frozenset({("weights", *product.location())}),
    )


def _operand(trace: Trace, graph: Graph, late: _Late) -> str:
    """The weights as the product names them."""
    node = trace.source_file(late.product.site.user.path).at(late.product.site.user)
    if isinstance(node, ast.BinOp):
        side = node.right if late.product.inputs[1] == late.weights else node.left
        return f"`{ast.unparse(side)}`"
    return "the vector"


def _unreduced(trace: Trace, late: _Late) -> tuple[str, tuple[Edit, ...]]:
    """How the product gets the samples one by one, and the edits."""
    product, reduced = late.product.site.user, late.reduced.site.user
    here = Source(trace, product.path)
    call = trace.source_file(reduced.path).at(reduced)
    if late.reduced.name in LOSSES:
        plain = isinstance(call, ast.Call) and late.reduced.name in ast.unparse(call.func)
        edits = with_argument(trace, reduced, "reduction", '"none"') if plain else ()
        how = "" if plain else ", where that is made"
        return f'give {located(trace, reduced)} `reduction="none"`{how}', edits
    node = here.file.at(product)
    if not isinstance(call, ast.Call) or reduced.path != product.path:
        return f"leave {located(trace, reduced)} out", ()
    whole = call.args[0] if call.args else call.func.value if isinstance(call.func, ast.Attribute) else None
    if whole is None or not isinstance(node, ast.BinOp):
        return f"leave {located(trace, reduced)} out", ()
    name = here.file.variable(reduced)
    for side in (node.left, node.right):
        if side is call or (isinstance(side, ast.Name) and side.id == name):
            text = here.file.operand(whole)
            return f"`{text}` in place of `{ast.unparse(side)}` in {located(trace, product)}", here.replace(
                side, text
            )
    return f"leave {located(trace, reduced)} out", ()
