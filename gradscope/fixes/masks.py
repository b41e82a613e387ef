"""A mean over the places that a mask lets in, in place of one over all; a mask turned round."""

from __future__ import annotations

import ast
from collections.abc import Collection
from typing import NamedTuple

from gradscope.analysis.text import site_of
from gradscope.analysis.words import located, quoted
from gradscope.fixes.source import Binds, Edits, Source
from gradscope.model import Site
from gradscope.source import FUNCTIONS, PRIMARIES, arguments, one_less
from gradscope.store import Trace


def kept_places(mask: str, turned: bool) -> str:
    """What is True where a mask lets in."""
    if turned and mask.startswith("~"):
        return mask[1:]
    return f"(~{mask})" if turned else mask


def mean_over(
    trace: Trace, mean: Site, product: Site, place: int, *, direct: bool, turned: bool = False
) -> tuple[str, str, Edits]:
    """The text of the mask that is factor `place` of the product, what to write in place of the mean, and the edits.
    `direct`: the mean is of that product. `turned`: the mask is true where it lets nothing in."""
    mask = _factor(trace, product, place)
    where = located(trace, mean, "the mean")
    here = Source(trace, mean.path)
    call = here.file.at(mean)
    given = _given(here, call) if isinstance(call, ast.Call) else None
    name = kept_places(mask or "mask", turned)
    two = (
        isinstance(call, ast.Call)
        and len(call.args) == 2
        and bool(mask)
        and mask in here.file.text(call.args[1])
    )
    if two and isinstance(call, ast.Call):  # a loss of two products
        new = f"{here.file.text(call)} * ({name}.numel() / {name}.sum())"
        plain = (
            bool(mask) and mean.path == product.path and mean.function == product.function and "\n" not in new
        )
        whole = f"count what is no padding: multiply {where} by `{name}.numel() / {name}.sum()`"
        return mask, whole, here.replace(call, new) if plain else ()
    if given is None or not isinstance(call, ast.Call):
        return mask, f"divide by what counts in {where}: the sum over `{name}.sum()`", ()
    text = here.file.operand(given)
    if not direct:
        text = f"({text} * {name})"
    elif not text.startswith("("):
        text = f"({text})"
    new = f"({text}.sum() / {name}.sum())"
    same = mean.path == product.path and mean.function == product.function
    plain = bool(mask) and same and "\n" not in new
    return (
        mask,
        f"divide by what counts: {quoted(new[1:-1])} in place of {where}",
        (here.replace(call, new) if plain else ()),
    )


def pooled_over(
    trace: Trace, mean: Site, product: Site, place: int, *, alike: bool, turned: bool = False
) -> tuple[str, str, Edits]:
    """The same of a mean over some axes, which the other numbers keep. `alike`: the mask has as many axes as what it
    is multiplied with."""
    mask, where = _factor(trace, product, place), located(trace, mean, "the mean")
    name = kept_places(mask or "mask", turned)
    here = Source(trace, mean.path)
    call = here.file.at(mean)
    plain = f"divide the sum by what counts of each sequence in {where}: by the sum of `{name}` over the same axis"
    given = here.file.asked_of(call)
    if (
        not alike
        or given is None
        or not isinstance(call, ast.Call)
        or any(k.arg is None for k in call.keywords)
    ):
        return mask, plain, ()
    along = [here.file.text(one) for one in call.args if one is not given]
    along += [f"{one.arg}={here.file.text(one.value)}" for one in call.keywords]
    new = f"{here.part(given)}.sum({', '.join(along)}) / {name}.sum({', '.join(along)})"
    same = (mean.path, mean.function) == (product.path, product.function)
    edits = here.replace(call, new) if mask and same and "\n" not in new else ()
    return mask, f"divide by what counts of each sequence: {quoted(new)} in place of {where}", edits


def sum_over(trace: Trace, total: Site, counted: Site | None) -> tuple[str, str, Edits]:
    """The text of the mask that is summed at `counted`, what to write so that the sum at `total` is over its places
    alone, and the edits."""
    here = Source(trace, total.path)
    given = [_asked_of(trace, total), _asked_of(trace, counted) if counted is not None else None]
    mask = ""
    if counted is not None and isinstance(given[1], PRIMARIES):
        mask = " ".join(trace.source_file(counted.path).text(given[1]).split())
    name, where = mask or "mask", located(trace, total, "the sum")
    if given[0] is None:
        return mask, f"set what the mask leaves out to zero before {where}: `x * {name}`", ()
    new = f"({here.part(given[0], Binds.PRODUCT)} * {name})"
    same = counted is not None and (total.path, total.function) == (counted.path, counted.function)
    fix = f"set what the mask leaves out to zero before it is added up: {quoted(new[1:-1])} in {where}"
    return mask, fix, here.replace(given[0], new) if mask and same and "\n" not in new else ()


def _asked_of(trace: Trace, site: Site) -> ast.expr | None:
    file = trace.source_file(site.path)
    return file.asked_of(file.at(site))


def _factor(trace: Trace, product: Site, place: int) -> str:
    """The text of one factor of `a * b`, or of what a call or an index is given, where it is a name or the like."""
    file = trace.source_file(product.path)
    node = file.at(product)
    factor: ast.expr | None = None
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        factor = (node.left, node.right)[place]
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        given = node.args if file.is_imported(node.func) else [node.func.value, *node.args]
        factor = given[place] if place < len(given) else None
    elif isinstance(node, ast.Subscript):
        factor = node.slice
    inner = (
        factor.operand if isinstance(factor, ast.UnaryOp) and isinstance(factor.op, ast.Invert) else factor
    )
    return " ".join(file.text(factor).split()) if factor is not None and isinstance(inner, PRIMARIES) else ""


def _given(here: Source, call: ast.Call) -> ast.expr | None:
    """What a mean over all places is of: `x` of `torch.mean(x)` and of `x.mean()`."""
    if call.keywords or not isinstance(call.func, ast.Attribute):
        return None
    if here.file.is_imported(call.func):
        return call.args[0] if len(call.args) == 1 else None
    return call.func.value if not call.args else None


class Turned(NamedTuple):
    """A mask that a call is given, turned round: its text, where to change it, what to write there, and the edits."""

    text: str
    site: Site
    new: str
    edits: Edits


OPPOSITES: dict[type[ast.cmpop], str] = {
    ast.Lt: ">=", ast.GtE: "<", ast.Gt: "<=", ast.LtE: ">", ast.Eq: "!=", ast.NotEq: "==",
}  # fmt: skip
_CASTS = ("float", "bool", "int", "long", "to", "type", "type_as", "view", "reshape", "unsqueeze", "squeeze",
          "flatten", "contiguous", "cuda", "cpu", "double", "half", "expand_as", "t")  # fmt: skip


def turned_round(trace: Trace, site: Site, place: int, *, boolean: bool, picks: bool = False) -> Turned:
    """The mask that stands at `place` of the call at `site` turned round: where it is made, or else where it is
    used. Where its count is asked for too, all of them get the other one; picks: and where it picks from others."""
    here = Source(trace, site.path)
    mask = _mask_of(here, site, place)
    if mask is None:
        return Turned("", site, "", ())
    text = " ".join(here.file.text(mask).split())
    scope = here.file.scope(site)
    name = _behind_casts(mask)
    if not isinstance(name, ast.Name):
        return _turned(here, site, text, mask, boolean)
    same = [n for n in ast.walk(scope) if isinstance(n, ast.Name) and n.id == name.id]
    given = [n for n in same if isinstance(n.ctx, ast.Store)]
    others = [n for n in same if isinstance(n.ctx, ast.Load) and n is not name and not _counts(here, n)]
    others = [n for n in others if not (picks and _picks(here, n))]
    taker = scope if isinstance(scope, FUNCTIONS) else None  # what the mask is an argument of
    taker = taker if taker is not None and any(one.arg == name.id for one in arguments(taker)) else None
    if others or len(given) + (taker is not None) > 1:
        return _turned(here, site, text, mask, boolean)
    if given:
        assigned = here.file.parent.get(id(given[0]))
        if isinstance(assigned, ast.Assign) and assigned.targets == given:
            return _turned(here, site, text, assigned.value, boolean)
        return _turned(here, site, text, mask, boolean)
    if len(same) > 1:  # an argument, that is counted too: turned round before all that reads it
        new = f"{name.id} = ~{name.id}" if boolean and mask is name else f"{name.id} = 1 - {name.id}"
        if (boolean and mask is not name) or taker is None:
            return Turned(text, site, new, ())
        first = next((s for s in taker.body if any(node in same for node in ast.walk(s))), None)
        return Turned(text, site, new, here.before(first, new))
    return _turned(here, site, text, mask, boolean)


# What attention, and layers that hold some, call the masks they are given.
ATTENTION_MASKS = ("attn_mask", "mask", "src_mask", "tgt_mask", "memory_mask")
PADDING_MASKS = (
    "key_padding_mask", "src_key_padding_mask", "tgt_key_padding_mask", "memory_key_padding_mask",
)  # fmt: skip


def argument(here: Source, site: Site, names: Collection[str]) -> ast.expr | None:
    """What the call at `site` is given under one of these names, if it is under one alone."""
    call = here.file.at(site)
    given = [k.value for k in call.keywords if k.arg in names] if isinstance(call, ast.Call) else []
    return given[0] if len(given) == 1 else None


def turned_argument(trace: Trace, site: Site, names: Collection[str], *, boolean: bool) -> Turned:
    """The same of a mask that is given under one of these names: what else reads it has it as it is. boolean: what
    arrives is, else the text has to tell."""
    here = Source(trace, site.path)
    mask = argument(here, site, names)
    if mask is None:
        return Turned("mask", site, "~mask", ())
    text = here.file.text(mask)
    values = [mask, *here.file.assigned.get(text, ())]
    if boolean or any(isinstance(value, ast.Compare) for value in values):
        return _turned(here, site, text, mask, True)
    return Turned(text, site, f"~{here.part(mask, Binds.SIGN)}", ())


def _turned(here: Source, site: Site, text: str, mask: ast.expr, boolean: bool) -> Turned:
    inner = mask
    while (called := _cast(inner)) is not None:
        inner = called
    new = ""
    if isinstance(inner, ast.Compare) and len(inner.ops) == 1 and type(inner.ops[0]) in OPPOSITES:
        sides = [here.part(side, Binds.BIT_OR) for side in (inner.left, inner.comparators[0])]
        new = f"{sides[0]} {OPPOSITES[type(inner.ops[0])]} {sides[1]}"
    elif isinstance(inner, ast.UnaryOp) and isinstance(inner.op, ast.Invert):
        new = here.file.text(inner.operand)
    elif (rest := one_less(inner)) is not None:
        new = here.file.text(rest)
    else:
        inner = mask
        new = f"~{here.part(mask, Binds.SIGN)}" if boolean else f"(1 - {here.part(mask, Binds.PRODUCT)})"
    place = site_of(here.path, site.function, inner)
    return Turned(text, place, new, here.replace(inner, new) if "\n" not in new else ())


def _mask_of(here: Source, site: Site, place: int) -> ast.expr | None:
    """The expression of the mask in `x * mask`, `x[mask]`, `x.masked_fill(mask, 0)`, `torch.where(mask, x, 0)`."""
    node = here.file.at(site)
    if isinstance(node, ast.BinOp):
        return (node.left, node.right)[place] if place < 2 else None
    if isinstance(node, ast.AugAssign):
        return node.value
    if isinstance(node, ast.Assign) and len(node.targets) == 1:
        node = node.targets[0]
    if isinstance(node, ast.Subscript):
        return node.slice
    if not isinstance(node, ast.Call):
        return None
    at = place if here.file.is_imported(node.func) else place - 1
    return node.args[at] if 0 <= at < len(node.args) else None


def _cast(node: ast.expr) -> ast.expr | None:
    """`x` of `x.float()` and the like, also of `(x).view(-1)`."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _CASTS:
        return node.func.value
    return None


def _behind_casts(node: ast.expr) -> ast.expr:
    while (inner := _cast(node)) is not None:
        node = inner
    return node


def _picks(here: Source, name: ast.Name) -> bool:
    """Whether it is the index of `x[mask]`, that is read."""
    above = here.file.parent.get(id(name))
    return isinstance(above, ast.Subscript) and above.slice is name and isinstance(above.ctx, ast.Load)


def _counts(here: Source, name: ast.Name) -> bool:
    """Whether only the number of places is asked for there: `mask.sum()`."""
    above: ast.AST | None = here.file.parent.get(id(name))
    while isinstance(above, (ast.Attribute, ast.Call)):
        if isinstance(above, ast.Attribute) and above.attr in ("sum", "mean", "count_nonzero"):
            return True
        if isinstance(above, ast.Attribute) and above.attr not in _CASTS:
            return False
        above = here.file.parent.get(id(above))
    return False
