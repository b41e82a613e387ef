"""Calls that take a boolean mask, how it is turned round in their text, and what tells a mask from other factors."""

from __future__ import annotations

import ast
from typing import NamedTuple

from gradscope.analysis.ops import COMPARISONS, LOGIC, MASKING, MULTIPLICATIONS, PASSING, SCALES, ZEROS
from gradscope.analysis.reach import Key, Paths
from gradscope.analysis.words import quoted
from gradscope.fixes.source import Edits, Source
from gradscope.model import Op, Site
from gradscope.rules.numbers._losses import makers, shape_of
from gradscope.store import Trace

MASKED = {  # → the name of the mask's argument, its place in a function, and in a method
    "scaled_dot_product_attention": ("attn_mask", 3, -1),
    "masked_fill": ("mask", 1, 0),
    "masked_fill_": ("mask", -1, 0),
}
TURNED = {
    **MASKED,
    "where": ("condition", 0, 0),
    "multi_head_attention_forward": ("attn_mask", -1, 5),
}
CHOOSING = {"__getitem__", "masked_select"}  # the places that it is true for
MAKING = COMPARISONS | LOGIC | {"isin", "tril", "triu", "one_hot"}
CHANCES = {
    "rand",
    "rand_like",
    "bernoulli",
    "bernoulli_",
    "randn",
    "randn_like",
    "uniform_",
    "normal_",
    "dropout",
}
TRIANGLES = {"tril", "triu", "tril_", "triu_"}
WHOLE = {"bool", "uint8", "int8", "int16", "int32", "int64"}
AFTER = PASSING | SCALES | {"dropout", "exp", "neg", "where", *MASKING}


def turned(trace: Trace, function: str, site: Site) -> tuple[str, Edits]:
    """`~mask` for the mask that a call is given: the text, and the edits."""
    here = Source(trace, site.path)
    call = here.file.at(site)
    if not isinstance(call, ast.Call):
        return "", ()
    name, place, of_method = TURNED[function]
    place = place if here.file.is_imported(call.func) else of_method
    given = [word.value for word in call.keywords if word.arg == name]
    given += call.args[place : place + 1] if place >= 0 else []
    if len(given) != 1:
        return "", ()
    new = f"~{here.file.operand(given[0])}"
    return quoted(new).strip("`"), here.replace(given[0], new)


def is_mask(known: Paths, key: Key) -> bool:
    """Whether it holds nothing but 0 and 1, or whole numbers, by what the program computes without its parameters."""
    if known.fed_by(key):
        return False
    made = makers(known, key)
    if not made:
        flow = list(known.flow([key]).order)
        return any(known.graph(g).values[v].dtype in WHOLE for g, v in flow)
    for own, op in made:
        if op.name not in MAKING and known.value(own).dtype not in WHOLE:
            return False
        given = [maker.name for value in op.inputs for _, maker in makers(known, (op.graph, value))]
        if not CHANCES.isdisjoint(given) or op.name in CHANCES:
            return False
    return True


class Zeroed(NamedTuple):
    """What `torch.where(mask, kept, 0)` takes; `turned`: it keeps the places outside of the mask."""

    mask: Key
    kept: Key
    turned: bool


def zeroed_by_where(known: Paths, op: Op) -> Zeroed | None:
    """The mask by which a `where` sets places of a trained value to zero, with zeros or the number 0."""
    keys = [(op.graph, value) for value in op.inputs]
    masks = [key for key in keys if known.value(key).dtype == "bool"]
    trained = [key for key in keys if known.value(key).requires_grad]
    if len(masks) != 1 or len(trained) != 1:
        return None
    others = [key for key in keys if key not in (masks[0], trained[0])]
    node = known.trace.source_file(op.site.user.path).at(op.site.user)
    last = node.args[-1] if isinstance(node, ast.Call) and node.args else None
    zero = isinstance(last, ast.Constant) and last.value == 0
    zero = zero or (len(others) == 1 and all(made.name in ZEROS for _, made in makers(known, others[0])))
    turned = bool(others) and keys.index(others[0]) < keys.index(trained[0])
    return Zeroed(masks[0], trained[0], turned) if zero else None


def masked_again(known: Paths, key: Key, mask: Key) -> bool:
    """Whether the weights are masked once more after the softmax."""
    own = {(op.graph, op.index) for _, op in makers(known, mask)} or {known.made(mask)}
    graph, weighs = known.graph(key[0]), set[int]()
    for value, op in graph.readers_behind([key[1]], lambda op: op.name in AFTER and op.index not in weighs):
        if op.name in MASKING or op.name == "where":
            return True
        if op.name in SCALES and len(op.inputs) == 2:
            other = (op.graph, next((i for i in op.inputs if i != value), value))
            made = {(o.graph, o.index) for _, o in makers(known, other)} or {known.made(other)}
            if own & made:
                return True
            if known.value(other).requires_grad:
                weighs.add(op.index)
    return False


class Masked(NamedTuple):
    """Scores, or weights, that a mask sets to 0."""

    op: Op
    mask: Key | None  # None of a triangle, which needs none
    scores: Key


def zeroed(known: Paths, op: Op) -> Masked | None:
    """What this call sets to 0 where a mask says so."""
    if op.name in MULTIPLICATIONS and len(op.inputs) == 2:
        pair = [(op.graph, value) for value in op.inputs]
        trained = [k for k in pair if known.value(k).requires_grad]
        masks = [k for k in pair if k not in trained]
        return Masked(op, masks[0], trained[0]) if len(trained) == len(masks) == 1 else None
    if op.name == "where":
        chosen = zeroed_by_where(known, op)
        return Masked(op, chosen.mask, chosen.kept) if chosen is not None else None
    if op.name in TRIANGLES:
        return Masked(op, None, (op.graph, op.inputs[0]))
    if op.name in MASKING | {"__setitem__"} and len(op.inputs) >= 2 and _fills_with_zero(known.trace, op):
        return Masked(op, (op.graph, op.inputs[1]), (op.graph, op.inputs[0]))
    return None


def _fills_with_zero(trace: Trace, op: Op) -> bool:
    file = trace.source_file(op.site.user.path)
    node = file.at(op.site.user)
    if op.name == "__setitem__":
        value = written_value(file.statement(op.site.user))
        return isinstance(value, ast.Constant) and value.value == 0
    if (
        not isinstance(node, ast.Call)
        or not isinstance(node.func, ast.Attribute)
        or node.func.attr not in MASKING
    ):
        return False
    given = [word.value for word in node.keywords if word.arg == "value"] or node.args[-1:]
    return isinstance(given[0], ast.Constant) and given[0].value == 0 if given else False


def written_value(line: ast.stmt | None) -> ast.expr | None:
    """`0` of `scores[mask] = 0`."""
    return line.value if isinstance(line, ast.Assign) and isinstance(line.targets[0], ast.Subscript) else None


def softmax_axis(known: Paths, op: Op) -> int | None:
    """The axis of the softmax, counted from the last."""
    rank = len(shape_of(known, (op.graph, op.inputs[0])))
    dims = op.extra.get("dims", []) if op.name != "cross_entropy" else [1 if rank > 1 else 0]
    return dims[0] % rank - rank if rank and len(dims) == 1 and -rank <= dims[0] < rank else None


def varies_along(known: Paths, found: Masked, axis: int) -> bool:
    """Whether the mask can differ along this axis, and the scores have the shape that the result has."""
    if found.mask is None:
        return axis in (-1, -2)
    shape = shape_of(known, found.mask)
    result = shape_of(known, (found.op.graph, (*found.op.outputs, *found.op.written)[0]))
    return len(shape) >= -axis and shape[axis] > 1 and shape_of(known, found.scores) == result
