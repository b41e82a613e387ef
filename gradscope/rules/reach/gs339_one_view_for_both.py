"""Both sides of a comparison are the same part of a batch, and the rest of the batch is read by no loss.

Why: a contrastive loss compares two views of each sample. Where both of its inputs are the first half of the
embeddings, each sample is compared with itself: the pair is alike whatever the network says, nothing pulls the two
views together, and the other half gets a gradient of zero.

Fix: give the loss the other part as its second input.

Measured: the same tensor was cut twice by the same index, or one of its parts was taken twice; both meet in one call,
made by the same operators without weights (its own mean may be one of what they read); nothing that a loss was computed
from reads the rest of it.
Silent on: a part that is compared with itself while another loss reads the rest; one index whose result is used twice.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from math import prod
from typing import Any, NamedTuple

from gradscope.analysis.ops import (
    COMPARING_LOSSES,
    JOINING,
    MULTIPLICATIONS,
    PRODUCTS_OF_MATRICES,
    SLICES,
    SUBTRACTIONS,
)
from gradscope.analysis.reach import Paths, passes, paths
from gradscope.analysis.words import code, located
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding, Graph, Op
from gradscope.rules import rule
from gradscope.source import called_name, own_name
from gradscope.store import Trace

ENOUGH = 3  # passes
PARTS = {"chunk", "split", "unbind", "tensor_split"}
TURNING = {"t", "T", "mT", "transpose", "permute", "unsqueeze", "squeeze", "detach", "contiguous", "swapaxes"}
MEETING = (
    MULTIPLICATIONS
    | SUBTRACTIONS
    | PRODUCTS_OF_MATRICES
    | COMPARING_LOSSES
    | JOINING
    | {
        "cosine_similarity", "pairwise_distance", "cdist", "cosine_embedding_loss",
        "triplet_margin_loss", "kl_div",
    }
)  # fmt: skip
FAR = 6  # calls between a part and where both meet
Way = tuple[Any, ...]  # an operator with the ways of what it read


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    encoder = nn.Linear(4, 3)
    opt = torch.optim.SGD(encoder.parameters(), lr=0.1)
    for _ in range(4):
        x = torch.randn(8, 4)
        z = encoder(torch.cat([x + 0.1 * torch.randn(8, 4), x + 0.1 * torch.randn(8, 4)]))
        first = nn.functional.normalize(z[:8], dim=1)
        second = nn.functional.normalize(z[:8], dim=1)  # cause: GS339
        scores = first @ second.t() / 0.2  # effect: GS339
        loss = nn.functional.cross_entropy(scores, torch.arange(8))
        opt.zero_grad()
        loss.backward()
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    encoder = nn.Linear(4, 3)
    opt = torch.optim.SGD(encoder.parameters(), lr=0.1)
    for _ in range(4):
        x = torch.randn(8, 4)
        z = encoder(torch.cat([x + 0.1 * torch.randn(8, 4), x + 0.1 * torch.randn(8, 4)]))
        first = nn.functional.normalize(z[:8], dim=1)
        second = nn.functional.normalize(z[8:], dim=1)
        scores = first @ second.t() / 0.2
        loss = nn.functional.cross_entropy(scores, torch.arange(8))
        opt.zero_grad()
        loss.backward()
        opt.step()


class _Same(NamedTuple):
    """One part of `whole` on both sides. `cuts`: the calls that took it; one where its result is used twice."""

    whole: int
    part: int
    cuts: tuple[Op, ...]
    meets: Op


@rule("GS339", name="one-view-for-both", severity="warning")
def one_view_for_both(trace: Trace) -> Iterator[Finding]:
    if trace.op_names.isdisjoint(PARTS | SLICES):
        return
    known = paths(trace)
    found: dict[tuple[str, int], tuple[Graph, _Same]] = {}
    seen: set[tuple[int, int]] = set()
    for _, op in known.used_calls(PARTS | SLICES):
        if not op.inputs or (op.graph, op.inputs[0]) in seen:
            continue
        seen.add((op.graph, op.inputs[0]))
        graph = known.graph(op.graph)
        if not graph.values[op.inputs[0]].requires_grad or graph.values[op.inputs[0]].kind == "parameter":
            continue
        same = _same(known, graph, op.inputs[0])
        if same is not None:
            found.setdefault(same.cuts[-1].site.user.location(), (graph, same))
    for graph, same in found.values():
        count = known.times_through(graph.id, same.meets.nodes)
        if count >= ENOUGH:
            yield _finding(trace, graph, same, count)


def _same(known: Paths, graph: Graph, whole: int) -> _Same | None:
    readers = known.readers((graph.id, whole))
    if None in readers or (graph.id, whole) in known.roots:
        return None
    cuts = sorted((op for op in readers if op is not None), key=lambda op: op.index)
    if len(cuts) == 1 and cuts[0].name in PARTS:
        return _taken_twice(known, graph, whole, cuts[0])
    if len(cuts) < 2 or any(op.name not in SLICES or len(op.inputs) != 1 for op in cuts):
        return None
    shapes = {graph.values[op.outputs[0]].shape for op in cuts}
    if len(shapes) != 1 or prod(shapes.pop()) >= prod(graph.values[whole].shape):
        return None
    if not all(_by_the_same_text(known.trace, cuts[0], other) for other in cuts[1:]):
        return None
    ways = [_ways(known, graph, op.outputs[0], with_itself=True) for op in cuts]
    for place, one in enumerate(ways):
        for number, other in enumerate(ways[place + 1 :], place + 1):
            meets = _meeting(known, graph, one, other)
            if meets is not None:
                return _Same(whole, cuts[place].outputs[0], (cuts[place], cuts[number]), meets)
    return None


def _taken_twice(known: Paths, graph: Graph, whole: int, cut: Op) -> _Same | None:
    """Where one of several parts is used in two ways that meet, and no loss reads the others."""
    used = [value for value in cut.outputs if (graph.id, value) in known.used.order]
    if len(used) != 1 or len(cut.outputs) < 2:
        return None
    part = used[0]
    readers = [op for op in known.readers((graph.id, part)) if op is not None and op.outputs]
    for place, one in enumerate(readers):
        if one.name in JOINING and one.inputs.count(part) > 1:
            return _Same(whole, part, (cut,), one)
        for other in readers[place + 1 :]:
            if one.name != other.name or one.site.user.span() == other.site.user.span():
                continue
            meets = _meeting(
                known, graph, _ways(known, graph, one.outputs[0]), _ways(known, graph, other.outputs[0])
            )
            if meets is not None:
                return _Same(whole, part, (cut,), meets)
    return None


def _ways(known: Paths, graph: Graph, start: int, *, with_itself: bool = False) -> dict[int, Way]:
    """What is made of a value alone, by the operators that made it; those that only turn it are left out. A value less
    its own mean is made of it alone as well, if that is asked for."""
    found: dict[int, Way] = {start: ()}
    far = {start: 0}
    todo = [start]
    for value in todo:  # grows while it is walked; a call is met once for each value that it reads
        for op in known.readers((graph.id, value)) if far[value] < FAR else ():
            if op is None or not op.outputs or op.outputs[0] in found:
                continue
            given = dict.fromkeys(op.inputs)
            if (len(given) > 1 and not with_itself) or not all(one in found for one in given):
                continue
            turned = op.name in TURNING and len(given) == 1
            found[op.outputs[0]] = found[value] if turned else (op.name, *(found[one] for one in given))
            far[op.outputs[0]] = max(far[one] for one in given) + (not turned)
            todo.append(op.outputs[0])
    return found


def _meeting(known: Paths, graph: Graph, one: dict[int, Way], other: dict[int, Way]) -> Op | None:
    """The first call that takes both, each made by the same operators."""
    found = [
        op
        for value in one
        if value not in other
        for op in known.readers((graph.id, value))
        if op is not None
        and op.name in MEETING
        and any(i in other and i not in one and other[i] == one[value] for i in op.inputs)
    ]
    return min(found, key=lambda op: op.index, default=None)


def _by_the_same_text(trace: Trace, one: Op, other: Op) -> bool:
    """Whether two places of one function cut by the same index, whose names keep what they are between."""
    here, there = one.site.user, other.site.user
    if here.path != there.path or here.function != there.function or here.span() == there.span():
        return False
    if (here.parent and here.parent.id) != (there.parent and there.parent.id):
        return False
    file = trace.source_file(here.path)
    first, second = file.at(here), file.at(there)
    if not isinstance(first, (ast.Subscript, ast.Call)) or not isinstance(second, (ast.Subscript, ast.Call)):
        return False
    return ast.dump(first) == ast.dump(second) and not file.written_between(here, first, second)


def _finding(trace: Trace, graph: Graph, same: _Same, count: int) -> Finding:
    cause, effect = same.cuts[-1].site.user, same.meets.site.user
    shape, whole = graph.values[same.part].shape, graph.values[same.whole].shape
    part = code(trace, cause, "a part")
    twice = len(same.cuts) > 1
    how, edits = _the_other(trace, graph, same) if twice else _the_other_part(trace, same)
    rest = 1 - prod(shape) / prod(whole)
    does = (
        "puts one part of a batch beside"
        if same.meets.name in JOINING
        else "compares one part of a batch with"
    )
    return Finding(
        message=f"{code(trace, effect, 'a call')} {does} itself: the rest of it trains nothing",
        cause=cause,
        cause_label="the same part as on the other side" if twice else "only one of its parts is used",
        effect=effect,
        effect_label="takes it on both sides",
        related=((same.cuts[0].site.user, "takes it, too"),) if twice else (),
        seen=(
            f"{part} is {shape} of {whole}"
            + (", cut out twice by the same index" if twice else ", used in two ways")
            + f"; no loss reads the other {100 * rest:.0f} %: what comes back to it is zero in all {passes(count)}",
        ),
        fix=how or f"give {located(trace, effect)} the other part as one of the two",
        edits=edits,
        count=count,
        subjects=frozenset({("parts", graph.id, same.whole)}),
    )


def _the_other(trace: Trace, graph: Graph, same: _Same) -> tuple[str, Edits]:
    """The second index as that of the other half."""
    site = same.cuts[-1].site.user
    here = Source(trace, site.path)
    node = here.file.at(site)
    if isinstance(node, ast.Call):
        return _the_other_row(here, node, graph.values[same.whole].shape, located(trace, site))
    if not isinstance(node, ast.Subscript):
        return "", ()
    entries = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    shape, whole = graph.values[same.part].shape, graph.values[same.whole].shape
    for axis, entry in enumerate(entries):
        text = None
        if isinstance(entry, ast.Slice) and entry.step is None and len(shape) == len(whole):
            bounds = [one for one in (entry.lower, entry.upper) if one is not None]
            if len(bounds) == 1 and shape[axis] * 2 == whole[axis]:
                bound = here.file.text(bounds[0])
                text = f":{bound}" if entry.upper is None else f"{bound}:"
        elif isinstance(entry, ast.Constant) and type(entry.value) is int and whole[axis] == 2:
            text = "1" if entry.value in (0, -2) else "0"
        if text is not None:
            old = here.file.text(entry)
            return (
                f"cut out the other half: `[{text}]` in place of `[{old}]` in {located(trace, site)}"
                if len(entries) == 1
                else f"cut out the other one: `{text}` in place of `{old}` in {located(trace, site)}",
                here.replace(entry, text),
            )
    return "", ()


def _the_other_row(here: Source, call: ast.Call, whole: tuple[int, ...], place: str) -> tuple[str, Edits]:
    """The other one of two rows in a call like `x.select(0, 1)`."""
    numbers = [n.value for n in call.args[-2:] if isinstance(n, ast.Constant) and isinstance(n.value, int)]
    if (
        called_name(call) != "select"
        or len(numbers) != 2
        or numbers[0] >= len(whole)
        or whole[numbers[0]] != 2
    ):
        return "", ()
    text = "1" if numbers[1] == 0 else "0"
    return f"take the other one: `{text}` in place of `{numbers[1]}` in {place}", here.replace(
        call.args[-1], text
    )


def _the_other_part(trace: Trace, same: _Same) -> tuple[str, Edits]:
    """The name of the part that is not used, in a call that is given the used one twice."""
    site = same.cuts[0].site.user
    here = Source(trace, site.path)
    statement = here.file.statement(site)
    targets = statement.targets[0] if isinstance(statement, ast.Assign) else None
    names = [own_name(one) for one in targets.elts] if isinstance(targets, ast.Tuple) else []
    if len(names) != len(same.cuts[0].outputs) or len(names) != 2:
        return "", ()
    used = names[list(same.cuts[0].outputs).index(same.part)]
    other = names[1 - names.index(used)]
    for frame in same.meets.site.stack:
        for node in ast.walk(here.file.statement(frame) or ast.Pass()) if frame.path == site.path else ():
            if isinstance(node, (ast.Call, ast.List, ast.Tuple)):
                given = node.args if isinstance(node, ast.Call) else node.elts
                twice = [one for one in given if isinstance(one, ast.Name) and one.id == used]
                if len(twice) == 2:
                    return f"give {located(trace, frame)} `{other}` as the second of the two", here.replace(
                        twice[1], other
                    )
    return f"use `{other}` as one of the two", ()
