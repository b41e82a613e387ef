"""The scores of attention are multiplied by the root of their width, where they are to be divided by it.

Why: a score is a sum over the width d of query and key, and grows with `d**0.5`: divided by that it is of the size of
one number. `q @ k.mT / d**-0.5` multiplies by it instead. The softmax of scores that large takes one place alone, its
gradient is next to nothing, and queries and keys learn nothing.

Fix: multiply by `d**-0.5`, or divide by `d**0.5`.

Measured: the number, the same in each looked-at call, by which the product or one of its sides is multiplied, beside
the width of the product. Silent on: queries or keys that
are normalised before, scales that are learned, numbers that are not the root of the width.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope import equations
from gradscope.analysis.ops import (
    ADDITIONS,
    CASTS,
    JOINING,
    LAYERS,
    MASKING,
    PASSING,
    PRODUCTS_OF_MATRICES,
    SCALES,
)
from gradscope.analysis.reach import Paths, paths
from gradscope.analysis.words import code, located, numbers
from gradscope.events import ScaledScores
from gradscope.fixes.calls import without_argument
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding, Op
from gradscope.rules import rule
from gradscope.store import Trace

ATTENTION = "scaled_dot_product_attention"
THE_SAME = (PASSING | CASTS) - JOINING
TURNED = {"mul", "mul_", "div", "div_"}
NEAR = 0.01  # of the root
NARROW = 4  # width: a root of less is a factor like others


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    project, head = nn.Linear(8, 48), nn.Linear(16, 2)
    opt = torch.optim.SGD([*project.parameters(), *head.parameters()], lr=0.1)
    scale = 16**-0.5
    for _ in range(3):
        q, k, v = project(torch.randn(4, 6, 8)).chunk(3, dim=-1)
        weights = torch.softmax(q @ k.transpose(1, 2) / scale, dim=-1)  # cause: GS369
        opt.zero_grad()
        nn.functional.cross_entropy(head((weights @ v).mean(1)), torch.randint(0, 2, (4,))).backward()
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    project, head = nn.Linear(8, 48), nn.Linear(16, 2)
    opt = torch.optim.SGD([*project.parameters(), *head.parameters()], lr=0.1)
    scale = 16**-0.5
    for _ in range(3):
        q, k, v = project(torch.randn(4, 6, 8)).chunk(3, dim=-1)
        weights = torch.softmax(q @ k.transpose(1, 2) * scale, dim=-1)
        opt.zero_grad()
        nn.functional.cross_entropy(head((weights @ v).mean(1)), torch.randint(0, 2, (4,))).backward()
        opt.step()


@rule("GS369", name="scores-times-the-root", severity="warning", needs=ScaledScores)
def scores_times_the_root(trace: Trace) -> Iterator[Finding]:
    wrong = {e.site.user.span(): e for e in trace.of(ScaledScores) if _is_root(e.factor, e.width)}
    sides = {e.site.user.span(): e for e in trace.of(ScaledScores) if not e.width}
    if not wrong and not sides:
        return
    known = paths(trace)
    for _, attention in known.used_calls({ATTENTION}):
        event = wrong.pop(attention.site.user.span(), None)
        if event is not None and _are_of_layers(known, attention):
            yield _finding(trace, attention, attention, event.factor, event.width)
    for _, softmax in known.used_calls({"softmax"}):
        made = _scores(known, softmax)
        if made is None:
            continue
        if made.name in SCALES:
            event = wrong.get(made.site.user.span())
            if event is not None and _of_layers(known, made):
                del wrong[made.site.user.span()]
                yield _finding(trace, made, softmax, event.factor, event.width)
        elif made.name in PRODUCTS_OF_MATRICES:
            scale, width = _scaled_side(known, made), _width(known, made)
            event = sides.get(scale.site.user.span()) if scale is not None else None
            if event is not None and scale is not None and _is_root(event.factor, width):
                del sides[scale.site.user.span()]
                yield _finding(trace, scale, softmax, event.factor, width)


def _is_root(factor: float, width: int) -> bool:
    return width >= NARROW and abs(factor / width**0.5 - 1) <= NEAR


def _scores(known: Paths, softmax: Op) -> Op | None:
    """The call that gave the scores of a softmax, behind masks that take places out of them."""
    made = known.maker_behind((softmax.graph, softmax.inputs[0]), THE_SAME) if softmax.inputs else None
    while made is not None and made.inputs:
        mask = made.inputs[1:]
        added = (
            made.name in ADDITIONS and len(mask) == 1 and not known.value((made.graph, mask[0])).requires_grad
        )
        if made.name not in MASKING and not added:
            break
        made = known.maker_behind((made.graph, made.inputs[0]), THE_SAME)
    return made


def _scaled_side(known: Paths, product: Op) -> Op | None:
    """What scales one side of the products of what two layers gave, where nothing scales the other side."""
    made = [known.maker_behind((product.graph, index), THE_SAME) for index in product.inputs[:2]]
    scales = [op for op in made if op is not None and op.name in SCALES]
    if len(made) != 2 or len(scales) != 1 or not scales[0].inputs:
        return None
    behind = known.maker_behind((scales[0].graph, scales[0].inputs[0]), PASSING | CASTS)
    other = known.maker_behind((product.graph, product.inputs[1 - made.index(scales[0])]), PASSING | CASTS)
    return scales[0] if all(op is not None and op.name in LAYERS for op in (behind, other)) else None


def _width(known: Paths, product: Op) -> int:
    """Of how many numbers each product is a sum."""
    shape = known.value((product.graph, product.inputs[0])).shape
    if product.name != "einsum":
        return shape[-1] if shape else 0
    equation = equations.of(product)
    return equation.width(shape) if equation is not None else 0


def _of_layers(known: Paths, scale: Op) -> bool:
    """Whether what is scaled are products of what two layers gave, as they gave it."""
    product = known.maker_behind((scale.graph, scale.inputs[0]), THE_SAME)
    if product is None or product.name not in PRODUCTS_OF_MATRICES:
        return False
    return _are_of_layers(known, product)


def _are_of_layers(known: Paths, product: Op) -> bool:
    made = [known.maker_behind((product.graph, index), PASSING | CASTS) for index in product.inputs[:2]]
    return all(op is not None and op.name in LAYERS for op in made)


def _finding(trace: Trace, scale: Op, softmax: Op, factor: float, width: int) -> Finding:
    site, root = scale.site.user, numbers(width**0.5)
    here = located(trace, site)
    if scale.name == ATTENTION:
        fix, edits = (
            f"leave `scale` out, in {here}: it is one by the root then",
            without_argument(trace, site, "scale"),
        )
    else:
        divides, edits = _turned(trace, scale)
        way = "multiply where it divides" if divides else "divide where it multiplies"
        fix = f"{way}, in {here}: the scores are to be {root} times smaller than the sums"
    return Finding(
        message=f"{code(trace, site, 'the scale')} multiplies the scores by {root}, the root of their width"
        f" {width}, where they are to be divided by it",
        cause=site,
        cause_label=f"makes scores {root} times as large",
        effect=softmax.site.user if softmax.site.user.location() != site.location() else None,
        effect_label="takes one place alone of scores that far apart",
        seen=(
            f"each score is a sum of {width} products, and was multiplied by {numbers(factor)} in all"
            " looked-at calls of this line",
        ),
        fix=fix,
        edits=edits,
        subjects=frozenset({("weights", *site.location())}),
    )


def _turned(trace: Trace, scale: Op) -> tuple[bool, Edits]:
    """Whether the line divides, and the sign, or the method, turned round."""
    here = Source(trace, scale.site.user.path)
    node = here.file.at(scale.site.user)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and len(node.args) == 1:
        divides = node.func.attr.startswith("div")
        other = node.func.attr.replace("div", "mul") if divides else node.func.attr.replace("mul", "div")
        of = here.part(node.func.value)
        return divides, here.replace(node.func, f"{of}.{other}") if other in TURNED else ()
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, (ast.Div, ast.Mult)):
        return isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Div), ()
    divides = isinstance(node.op, ast.Div)
    sign = "*" if divides else "/"
    return divides, here.replace(node, f"{here.part(node.left)} {sign} {here.part(node.right)}")
