"""A `view` gives a tensor the sizes of its axes in another order, and a layer works on what comes of that.

Why: `view` and `reshape` leave the elements in the order in which they lie in memory and only cut them anew. Images
of (H, W, 3) cut into (3, H, W) have pixels for channels, heads of (heads, places, d) cut into (places, heads · d) have
parts of one head for a place: what the layer takes for one channel, or one place, is a mixture of all.

Fix: `permute`, or `transpose` and then `reshape`.

Measured: the sizes before and after, of which one can be had from the other by swapping axes only, and not by merging
or splitting them as they lie; and the layer that reads along one of these axes.
Silent on: noise, which has no order; views that another view or `flatten` takes back before a layer; pairs of
neighbouring rows that are put into one.
"""

import ast
from collections.abc import Iterator
from itertools import permutations
from math import prod

from gradscope.analysis.axes import POINTWISE, PRODUCTS, RESHAPES, Shape, place_of
from gradscope.analysis.names import names_of
from gradscope.analysis.ops import ALIASES, ATTENTION, CASTS, DRAWS, LAYERS, RECURRENT
from gradscope.analysis.reach import Key, Paths, paths
from gradscope.analysis.words import code, located, parameter_subjects
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding, Op
from gradscope.rules import rule
from gradscope.store import Trace

NOISE = DRAWS - {"dropout"}
CONVOLUTIONS = LAYERS - {"linear"}
READERS = LAYERS | RECURRENT | ATTENTION | PRODUCTS | {"layer_norm", "batch_norm", "max_pool2d", "avg_pool2d"}
PACKED = "_pack_padded_sequence"  # what a recurrent layer reads then
RANKS = range(3, 6)


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    photos, labels = torch.rand(24, 8, 8, 3).cumsum(1), torch.randint(0, 2, (24,))
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(144, 2))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        images = photos.reshape(-1, 3, 8, 8)  # cause: GS759
        scores = model(images)  # effect: GS759
        opt.zero_grad()
        nn.functional.cross_entropy(scores, labels).backward()
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    photos, labels = torch.rand(24, 8, 8, 3).cumsum(1), torch.randint(0, 2, (24,))
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(144, 2))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        scores = model(photos.permute(0, 3, 1, 2))
        opt.zero_grad()
        nn.functional.cross_entropy(scores, labels).backward()
        opt.step()


@rule("GS759", name="sizes-in-another-order", severity="warning", over=("GS784",))
def sizes_in_another_order(trace: Trace) -> Iterator[Finding]:
    known = paths(trace)
    found: dict[tuple[str, int], tuple[Op, Op, tuple[int, ...]] | None] = {}
    for _, op in known.used_calls(RESHAPES):
        place = op.site.user.location()
        if op.site.kind != "user" or not op.inputs or not op.outputs or found.get(place, op) is None:
            continue
        graph = known.graph(op.graph)
        before, after = (graph.values[i].shape for i in (op.inputs[0], op.outputs[0]))
        order = _order(before, after)
        reader = _reader(known, (op.graph, op.outputs[0])) if order is not None else None
        key = op.graph, op.inputs[0]
        found[place] = None
        if order is None or reader is None or _is_noise(known, key) or _undoes(known, key, after):
            continue
        runs = reader.name in RECURRENT | ATTENTION and before[-1] == after[-1]
        along = reader.name in CONVOLUTIONS or runs
        if along or not _neighbours_joined(before, after):
            found[place] = op, reader, order
    for one in found.values():
        if one is not None:
            yield _finding(trace, *one)


def _order(before: Shape, after: Shape) -> tuple[int, ...] | None:
    """The axes of the one with more of them, as they have to be swapped for the other to be had by merging; None where
    that needs no swap, or none does it. A swap of axes of one size is none."""
    fine, coarse = (before, after) if len(before) >= len(after) else (after, before)
    if len(fine) not in RANKS or len(coarse) < 2 or 1 in fine or prod(fine) != prod(coarse):
        return None
    if _borders(coarse) <= _borders(fine):
        return None
    ways = [
        order
        for order in permutations(range(len(fine)))
        if _borders(coarse) <= _borders([fine[i] for i in order])
    ]
    if not ways:
        return None
    best = min(ways, key=_swaps)
    one_only = len(fine) == len(coarse) or sum(_swaps(way) == _swaps(best) for way in ways) == 1
    return best if one_only else None


def _borders(sizes: Shape | list[int]) -> set[int]:
    """How many elements lie behind each border between two axes."""
    return {prod(sizes[i:]) for i in range(1, len(sizes))}


def _swaps(order: tuple[int, ...]) -> int:
    return sum(a > b for i, a in enumerate(order) for b in order[i + 1 :])


def _neighbours_joined(before: Shape, after: Shape) -> bool:
    """Whether each row of the result is one or several whole rows of the input, or a row's whole part."""
    return len(before) == len(after) and (after[-1] % before[-1] == 0 or before[-1] % after[-1] == 0)


def _reader(known: Paths, key: Key) -> Op | None:
    """The layer that reads a value as it is, or through functions of each number."""
    shape, todo = known.value(key).shape, [key]
    for one in todo:  # grows while it is walked
        for made, op in known.used.feeds.get(one, ()):
            if op is not None and op.name in READERS:
                return op
            if op is not None and op.name == PACKED:
                return next((reader for reader in known.readers(made) if reader is not None), None)
            sorted_rows = op is not None and op.name == "index_select"  # as a sequence is packed
            if op is None or sorted_rows or (op.name in POINTWISE and op.name not in RESHAPES):
                if known.value(made).shape == shape and made not in todo:
                    todo.append(made)
    return None


def _undoes(known: Paths, key: Key, after: Shape) -> bool:
    """Whether a view that gave the value its shape is taken back, with a layer or functions of each number between."""
    maker = known.maker_behind(key, (POINTWISE - RESHAPES) | {"linear"})
    return (
        maker is not None
        and maker.name in RESHAPES
        and bool(maker.inputs)
        and known.value((maker.graph, maker.inputs[0])).shape == after
    )


def _is_noise(known: Paths, key: Key) -> bool:
    maker = known.maker_behind(key, CASTS | ALIASES)
    return maker is not None and maker.name in NOISE


def _finding(trace: Trace, op: Op, reader: Op, order: tuple[int, ...]) -> Finding:
    graph = trace.graph(op.graph)
    before, after = (graph.values[i].shape for i in (op.inputs[0], op.outputs[0]))
    name = names_of(trace).name(graph, op.inputs[0])
    site = op.site.user
    instead, edits = _instead(trace, op, before, after, order)
    here, there, wanted = _astray(before, after, order)
    back = _taken_back(trace, op, before, order)
    if back is not None:
        edits = (*edits, *back[1]) if edits and back[1] else ()
    what = f"`{name}`" if name else "its input"
    filled = {id for event in paths(trace).backwards if event.graph == reader.graph for id in event.filled}
    return Finding(
        message=f"{code(trace, site, f'`{op.name}`')} gives {what} the sizes of its axes in another order: it swaps"
        " none, but cuts the elements anew as they lie in memory",
        cause=site,
        cause_label=f"{before} becomes {after}",
        effect=reader.site.user if reader.site.user.location() != site.location() else None,
        effect_label=f"`{reader.name}` reads along the new axes",
        seen=(
            f"{before} was cut into {after}, and `{reader.name}` reads that: what stands at {here} of the result is"
            f" {there} of the input, where swapped axes put {wanted}",
        ),
        fix=f"swap the axes: {instead} in {located(trace, site)}"
        + (f", and back behind `{reader.name}`: {back[0]}" if back is not None else ""),
        edits=edits,
        subjects=frozenset({("view", *site.location())}) | parameter_subjects(filled),
    )


def _astray(before: Shape, after: Shape, order: tuple[int, ...]) -> tuple[Shape, Shape, Shape]:
    """A place of the result, where in the input its number stands, and which one swapped axes put there."""
    fine, other = (before, after) if len(before) >= len(after) else (after, before)
    swapped = tuple(fine[i] for i in order)
    for number in sorted({prod(shape[i:]) for shape in (fine, swapped, other) for i in range(1, len(shape))}):
        index, mixed = place_of(number, swapped), place_of(number, fine)
        moved = tuple(index[order.index(i)] for i in range(len(order)))
        if moved == mixed:
            continue
        if fine is before:
            return place_of(number, after), mixed, moved
        flat = sum(i * prod(swapped[k + 1 :]) for k, i in enumerate(mixed[axis] for axis in order))
        return mixed, place_of(number, before), place_of(flat, before)
    raise ValueError("no swap")


def _taken_back(trace: Trace, op: Op, before: Shape, order: tuple[int, ...]) -> tuple[str, Edits] | None:
    """The view in the same function that gives the result the sizes of before again, behind a layer, with the axes
    swapped back."""
    known, here = paths(trace), Source(trace, op.site.user.path)
    todo = [(op.graph, op.outputs[0])]
    for key in todo:  # grows while it is walked
        for made, reader in known.used.feeds.get(key, ()):
            if reader is None or made in todo or reader.site.user.function != op.site.user.function:
                continue
            if reader.name in RESHAPES and known.value(made).shape == before:
                first, last = here.file.at(op.site.user), here.file.at(reader.site.user)
                if not isinstance(first, ast.Call) or not isinstance(last, ast.Call):
                    return None
                if not isinstance(first.func, ast.Attribute) or not isinstance(last.func, ast.Attribute):
                    return None
                back = _swap(tuple(order.index(i) for i in range(len(order))))
                new = f"{here.file.text(last.func.value)}.{back}"
                if known.value(key).shape != known.value((op.graph, op.outputs[0])).shape:
                    sizes = f"{here.file.text(first.func.value)}.{_swap(order)}.shape"
                    new = f"{here.file.text(last.func.value)}.view({sizes}).{back}"
                return f"`{new}` in {located(trace, reader.site.user)}", here.replace(last, new)
            if reader.name in (POINTWISE - RESHAPES) | RECURRENT | ATTENTION | {"linear"}:
                todo.append(made)
    return None


def _instead(trace: Trace, op: Op, before: Shape, after: Shape, order: tuple[int, ...]) -> tuple[str, Edits]:
    """The swap, before the axes are merged or after they are split."""
    here = Source(trace, op.site.user.path)
    node = here.file.at(op.site.user)
    call = node if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else None
    given = call.args if call is not None and not call.keywords else []
    plain = (
        call is not None and len(given) == len(after) and not any(isinstance(a, ast.Starred) for a in given)
    )
    value = (
        here.file.text(call.func.value) if call is not None and isinstance(call.func, ast.Attribute) else "x"
    )
    sizes = [here.file.text(one) for one in given] if plain else [str(size) for size in after]
    if len(before) >= len(after):
        text = f".{_swap(order)}"
        if len(before) > len(after):
            text += f".reshape({', '.join(sizes)})"
    else:
        back = tuple(order.index(i) for i in range(len(order)))
        text = f".{op.name}({', '.join(sizes[i] for i in order)}).{_swap(back)}"
    if call is None or not plain or here.file.imported_name(call.func):
        return f"`{text}`", ()
    return f"`{value}{text}`", here.replace(call, f"{value}{text}")


def _swap(order: tuple[int, ...]) -> str:
    moved = [i for i, axis in enumerate(order) if i != axis]
    if len(moved) == 2:
        return f"transpose({moved[0]}, {moved[1]})"
    return f"permute({', '.join(map(str, order))})"
