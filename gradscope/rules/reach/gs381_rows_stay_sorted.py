"""A recurrent layer gets its rows sorted by length, and what is computed from its result is never put back in order.

Why: `pack_padded_sequence` may ask for rows sorted by length. All that the layer gives is in that order then: the
output and the hidden state. Where one of them goes on without being put back, each row meets the target of another
sample, and there is nothing to learn.

Fix: put the result back by the inverse order, `hidden[:, order.argsort()]`, or leave the sorting to torch
(`enforce_sorted=False`).

Measured: in the recorded graph the rows were indexed by the order that a sort gave, packed, and reach a loss; nothing
behind the layer was given that order or its inverse, nor were the targets.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from gradscope.analysis.names import names_of
from gradscope.analysis.ops import LOSSES, RECURRENT, SORTS
from gradscope.analysis.reach import Key, Paths, paths
from gradscope.analysis.samples import KEPT, TAKING
from gradscope.analysis.words import code, located
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding, Op
from gradscope.rules import rule
from gradscope.store import Trace

PACKS = {"_pack_padded_sequence"}
HANDED_ON = KEPT | {"unsqueeze", "expand", "expand_as", "view_as", "repeat"}
MOST = 2000  # values behind a loss that are looked at


def bad() -> None:
    import torch
    from torch import nn
    from torch.nn.utils.rnn import pack_padded_sequence

    torch.manual_seed(0)
    rnn, head = nn.GRU(3, 4, batch_first=True), nn.Linear(4, 2)
    opt = torch.optim.Adam([*rnn.parameters(), *head.parameters()])
    for _ in range(3):
        x, lengths, y = torch.randn(8, 5, 3), torch.randint(1, 6, (8,)), torch.randint(0, 2, (8,))
        lengths, order = lengths.sort(descending=True)
        packed = pack_padded_sequence(x[order], lengths, batch_first=True)  # cause: GS381
        _, hidden = rnn(packed)
        opt.zero_grad()
        nn.functional.cross_entropy(head(hidden[-1]), y).backward()  # effect: GS381
        opt.step()


def good() -> None:
    import torch
    from torch import nn
    from torch.nn.utils.rnn import pack_padded_sequence

    torch.manual_seed(0)
    rnn, head = nn.GRU(3, 4, batch_first=True), nn.Linear(4, 2)
    opt = torch.optim.Adam([*rnn.parameters(), *head.parameters()])
    for _ in range(3):
        x, lengths, y = torch.randn(8, 5, 3), torch.randint(1, 6, (8,)), torch.randint(0, 2, (8,))
        lengths, order = lengths.sort(descending=True)
        packed = pack_padded_sequence(x[order], lengths, batch_first=True)
        _, hidden = rnn(packed)
        hidden = hidden[:, order.argsort()]
        opt.zero_grad()
        nn.functional.cross_entropy(head(hidden[-1]), y).backward()
        opt.step()


class _Way(NamedTuple):
    """Back from a loss. `undone`: the sorts whose order was used behind what was packed, to put rows back; `result`:
    the layer's result that it comes from; `packed`: it was packed, in an order that is not known yet."""

    at: Key
    undone: frozenset[Key] = frozenset()
    result: Key | None = None
    packed: bool = False


@dataclass(frozen=True)
class _Sorted:
    """`index`: takes the rows in the order of a sort; `result`: what the layer then gives."""

    index: Op
    sort: Key
    result: Key


@rule("GS381", name="rows-stay-sorted", severity="warning")
def rows_stay_sorted(trace: Trace) -> Iterator[Finding]:
    if trace.op_names.isdisjoint(SORTS):
        return
    known = paths(trace)
    told: set[tuple[str, int]] = set()
    for _, op in known.used_calls(LOSSES):
        if len(op.inputs) < 2 or op.site.user.location() in told:
            continue
        found = _left_sorted(known, (op.graph, op.inputs[0]))
        if found is None or found.sort in _sorts_of(known, (op.graph, op.inputs[1])):
            continue
        rows = known.graph(op.graph).values[op.inputs[1]].shape[:1]
        if rows == known.value((found.index.graph, found.index.inputs[1])).shape:
            told.add(op.site.user.location())
            yield _finding(trace, known, op, found)


def _left_sorted(known: Paths, key: Key) -> _Sorted | None:
    """The first index by a sort's order behind a prediction that no inverse of it follows."""
    todo, seen = [_Way(key)], set[_Way]()
    while todo and len(seen) < MOST:
        way = todo.pop()
        if way in seen:
            continue
        seen.add(way)
        sources, op = known.sources(way.at)
        if op is None:
            todo += [way._replace(at=source) for source in sources]
            continue
        if way.packed and op.name in TAKING and len(op.inputs) > 1 and op.site.user == op.site:
            sort = _sort_behind(known, (op.graph, op.inputs[-1]))
            if sort is not None and way.result is not None and sort not in way.undone:
                return _Sorted(op, sort, way.result)
            way, sources = way._replace(packed=sort is None), sources[:1]
        elif not way.packed and op.name not in RECURRENT | PACKS:
            sorts = (_sort_behind(known, (op.graph, i)) for i in op.inputs)
            way = way._replace(undone=way.undone | {sort for sort in sorts if sort is not None})
        if op.name in RECURRENT:
            way = way._replace(result=way.result or known.made(way.at))
            sources = sources[:1]  # not its weights
        if op.name in PACKS:
            way, sources = way._replace(packed=True), sources[:1]
        todo += [way._replace(at=source) for source in sources]
    return None


def _sorts_of(known: Paths, key: Key) -> set[Key]:
    """The sorts by whose order the targets were put."""
    ops = (known.maker(at) for at in list(known.flow([key]).order)[:MOST])
    sorts = (_sort_behind(known, (op.graph, i)) for op in ops if op is not None for i in op.inputs)
    return {sort for sort in sorts if sort is not None}


def _sort_behind(known: Paths, key: Key) -> Key | None:
    """The sort that gave this order of rows; of an order that was sorted in turn, whose inverse this is, the first."""
    sort, first = None, known.maker_behind(key, HANDED_ON)
    while first is not None and first.name in SORTS and first.inputs and first is not sort:
        sort, first = first, known.maker_behind((first.graph, first.inputs[0]), HANDED_ON)
    return (sort.graph, sort.index) if sort is not None else None


def _finding(trace: Trace, known: Paths, loss: Op, found: _Sorted) -> Finding:
    cause, order = found.index.site.user, _written(trace, found.index)
    back, edits = _put_back(trace, known, found, order)
    return Finding(
        message=f"{code(trace, cause, 'this')} sorts the rows, and what the loss gets is never put back in order",
        cause=cause,
        cause_label="takes the rows in the order of their lengths",
        effect=loss.site.user,
        effect_label="compares each row with the target of another sample",
        seen=(
            f"the rows were indexed by the order of a sort, {code(trace, cause)}, packed and given to a recurrent"
            " layer; nothing behind it was put back by that order, and the targets were not sorted",
        ),
        fix=f"put its result back in order: {back}; or don't sort, and pack with `enforce_sorted=False`",
        edits=edits,
        subjects=frozenset({("loss", loss.site.user.location())}),
    )


def _written(trace: Trace, index: Op) -> str:
    """`order` of `x[order]`."""
    node = trace.source_file(index.site.user.path).at(index.site.user)
    if isinstance(node, ast.Subscript) and isinstance(node.slice, (ast.Name, ast.Attribute)):
        return ast.unparse(node.slice)
    if isinstance(node, ast.Call) and node.args and isinstance(node.args[-1], (ast.Name, ast.Attribute)):
        return ast.unparse(node.args[-1])
    return ""


def _put_back(trace: Trace, known: Paths, found: _Sorted, order: str) -> tuple[str, Edits]:
    """`hidden = hidden[:, order.argsort()]`, before the first line that goes on with the layer's result."""
    graph, value = known.graph(found.result[0]), known.value(found.result)
    count = known.value((found.index.graph, found.index.inputs[1])).shape
    axes = [axis for axis, length in enumerate(value.shape) if (length,) == count]
    name = names_of(trace).name(graph, value.index) or ""
    readers = [op.site.user for op in graph.consumers.get(value.index, ())]
    index = f"[{':, ' * axes[0]}{order}.argsort()]" if len(axes) == 1 and order else ""
    if not index or not name.isidentifier():
        return f"`result[{order or 'order'}.argsort()]` along its samples", ()
    text = f"{name} = {name}{index}"
    same = readers and all(
        (r.path, r.function) == (found.index.site.user.path, found.index.site.user.function) for r in readers
    )
    if not same:
        return f"`{text}`", ()
    here = Source(trace, readers[0].path)
    return f"`{text}` before {located(trace, readers[0])}", here.before(here.file.statement(readers[0]), text)
