"""A mean over the places that a mask lets in, in place of one over all."""

from __future__ import annotations

import ast

from gradscope.analysis.words import located, quoted
from gradscope.fixes.source import Edits, Source
from gradscope.model import Site
from gradscope.source import PRIMARIES
from gradscope.store import Trace


def mean_over(trace: Trace, mean: Site, product: Site, place: int, *, direct: bool) -> tuple[str, str, Edits]:
    """The text of the mask that is factor `place` of the product, what to write in place of the mean, and the edits.
    `direct`: the mean is of that product."""
    mask = _factor(trace, product, place)
    where = located(trace, mean, "the mean")
    here = Source(trace, mean.path)
    call = here.file.at(mean)
    given = _given(here, call) if isinstance(call, ast.Call) else None
    name = mask or "mask"
    if given is None or not isinstance(call, ast.Call):
        return mask, f"divide by what counts in {where}: the sum over `{name}.sum()`", ()
    text = here.file.operand(given)
    if not direct:
        text = f"({text} * {name})"
    elif not text.startswith("("):
        text = f"({text})"
    new = f"({text}.sum() / {name}.sum())"
    same = mean.path == product.path and mean.function == product.function
    plain = bool(mask) and (direct or same) and "\n" not in new
    return (
        mask,
        f"divide by what counts: {quoted(new[1:-1])} in place of {where}",
        (here.replace(call, new) if plain else ()),
    )


def _factor(trace: Trace, product: Site, place: int) -> str:
    """The text of one factor of `a * b`, where it is a name or the like."""
    file = trace.source_file(product.path)
    node = file.at(product)
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Mult):
        return ""
    factor = (node.left, node.right)[place]
    return " ".join(file.text(factor).split()) if isinstance(factor, PRIMARIES) else ""


def _given(here: Source, call: ast.Call) -> ast.expr | None:
    """What a mean over all places is of: `x` of `torch.mean(x)` and of `x.mean()`."""
    if call.keywords or not isinstance(call.func, ast.Attribute):
        return None
    if here.file.is_imported(call.func):
        return call.args[0] if len(call.args) == 1 else None
    return call.func.value if not call.args else None
