"""A size is the index where a slice is meant: the one row behind the last place is added to all places.

Why: `pe[:, x.shape[1]]` takes the row of one place, `pe[:, : x.shape[1]]` those of all places in `x`. Broadcasting
hides the difference: each place gets the same row, which is no more than a bias, and a model that knows the order by
nothing else can't learn what depends on it.

Fix: put the colon before the size.

Measured: in all calls of the line the result had one axis less than the tensor whose size was asked for, and was spread
over that very axis, along which the slice would have fitted.
Silent on: rows that are added along no axis of that size (the place of the next token); tables of which other rows are
read too; a table that is trained and of which calls of different sizes take different rows, one for each length.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from gradscope.analysis.ops import ADDITIONS, CASTS, MULTIPLICATIONS
from gradscope.analysis.reach import Paths, paths
from gradscope.analysis.words import code, located
from gradscope.fixes.source import Source
from gradscope.model import Finding, Graph, Op, Site, Span
from gradscope.rules import rule
from gradscope.source import FUNCTIONS, SourceFile
from gradscope.store import Trace

SPREADING = ADDITIONS | MULTIPLICATIONS
BETWEEN = CASTS | {"clone", "contiguous", "detach", "dropout", "unsqueeze"}
ASKED = {"shape", "size", "device", "dtype", "dim", "ndim", "requires_grad"}  # of a table without reading it


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Places(nn.Module):
        pe: torch.Tensor

        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("pe", torch.sin(torch.arange(20.0)[:, None] * torch.rand(8)))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x + self.pe[x.shape[1]]  # cause: GS796

    places, layer, head = Places(), nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), nn.Linear(8, 1)
    opt = torch.optim.Adam([*layer.parameters(), *head.parameters()], lr=0.01)
    for _ in range(4):
        x = torch.randn(6, 5, 8)
        loss = (head(layer(places(x))).squeeze(-1) - torch.arange(5.0)).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Places(nn.Module):
        pe: torch.Tensor

        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("pe", torch.sin(torch.arange(20.0)[:, None] * torch.rand(8)))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x + self.pe[: x.shape[1]]

    places, layer, head = Places(), nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), nn.Linear(8, 1)
    opt = torch.optim.Adam([*layer.parameters(), *head.parameters()], lr=0.01)
    for _ in range(4):
        x = torch.randn(6, 5, 8)
        loss = (head(layer(places(x))).squeeze(-1) - torch.arange(5.0)).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


class _Index(NamedTuple):
    """A subscript of the program with a size among its entries."""

    node: ast.Subscript
    entry: ast.expr  # the size, as it stands there
    place: int  # among the entries
    asked: str  # text of the tensor whose size it is
    axis: int  # of that tensor


class _Spread(NamedTuple):
    """What a row was added to."""

    op: Op
    table: tuple[int, ...]  # shapes
    row: tuple[int, ...]
    whole: tuple[int, ...]
    size: int


@rule("GS796", name="size-for-an-index", severity="warning")
def size_for_an_index(trace: Trace) -> Iterator[Finding]:
    if "__getitem__" not in trace.op_names:
        return
    known = paths(trace)
    looked: dict[Span, _Index | None] = {}
    for _, op in known.used_calls({"__getitem__"}):
        span = op.site.span()
        if op.site.kind == "user" and span not in looked and "i" in op.extra.get("at", ""):
            looked[span] = _index(trace.source_file(op.site.path), op.site)
    indices = {span: index for span, index in looked.items() if index is not None}
    calls = _calls(known, indices)
    for span, index in indices.items():
        spreads = [_spread(known, op, index) for op in calls[span]]
        if None not in spreads:
            found = [one for one in spreads if one is not None]
            if not (_trained(known, calls[span][0]) and len({one.size for one in found}) > 1):
                yield _finding(trace, known, calls[span][0], index, found)


def _calls(known: Paths, indices: dict[Span, _Index]) -> dict[Span, list[Op]]:
    """All calls of these places, also those of evaluations."""
    found: dict[Span, list[Op]] = {span: [] for span in indices}
    for number in known.graph_ids if indices else ():
        for op in known.graph(number).called(["__getitem__"]):
            if op.site.span() in found:
                found[op.site.span()].append(op)
    return found


def _index(file: SourceFile, site: Site) -> _Index | None:
    node = file.at(site)
    if not isinstance(node, ast.Subscript):
        return None
    entries = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    sizes = [(place, size) for place, entry in enumerate(entries) if (size := _size(file, entry)) is not None]
    if len(sizes) != 1 or _read_elsewhere(file, node):
        return None
    place, (asked, axis) = sizes[0]
    return _Index(node, entries[place], place, asked, axis)


def _size(file: SourceFile, node: ast.expr) -> tuple[str, int] | None:
    """The text of a tensor and the axis whose size this is: `x.shape[1]`, `x.size(1)`, `len(x)`, or a name for it."""
    if isinstance(node, ast.Name):
        return _named(file, node)
    if isinstance(node, ast.Subscript):
        axis = _number(node.slice)
        return (held, axis) if axis is not None and (held := _all_sizes(node.value)) else None
    if not isinstance(node, ast.Call) or len(node.args) != 1 or node.keywords:
        return None
    if isinstance(node.func, ast.Name) and node.func.id == "len":
        return ast.unparse(node.args[0]), 0
    axis = _number(node.args[0])
    if isinstance(node.func, ast.Attribute) and node.func.attr == "size" and axis is not None:
        return ast.unparse(node.func.value), axis
    return None


def _all_sizes(node: ast.expr) -> str:
    """`x` of `x.shape` and of `x.size()`."""
    if isinstance(node, ast.Attribute) and node.attr == "shape":
        return ast.unparse(node.value)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "size":
        return ast.unparse(node.func.value) if not node.args and not node.keywords else ""
    return ""


def _number(node: ast.expr) -> int | None:
    try:
        number = ast.literal_eval(node)
    except ValueError:
        return None
    return number if type(number) is int else None


def _named(file: SourceFile, node: ast.Name) -> tuple[str, int] | None:
    """The same of a name that its function gives a size, once."""
    function = file.function_of(node)
    if function is None:
        return None
    given = [
        one
        for one in ast.walk(function)
        if isinstance(one, ast.Name) and one.id == node.id and isinstance(one.ctx, ast.Store)
    ]
    above = file.parent.get(id(given[0])) if len(given) == 1 else None
    if isinstance(above, ast.Assign) and above.targets == given and not isinstance(above.value, ast.Name):
        return _size(file, above.value)
    if isinstance(above, ast.Tuple) and not any(isinstance(one, ast.Starred) for one in above.elts):
        assigned = file.parent.get(id(above))
        if isinstance(assigned, ast.Assign) and (held := _all_sizes(assigned.value)):
            return held, above.elts.index(given[0])
    return None


def _read_elsewhere(file: SourceFile, node: ast.Subscript) -> bool:
    """Whether the program reads the same table at another place too, by this name."""
    text = ast.unparse(node.value)
    for other in ast.walk(_home(file, node.value)):
        if not isinstance(other, ast.Name | ast.Attribute) or other is node.value:
            continue
        if not isinstance(other.ctx, ast.Load) or ast.unparse(other) != text:
            continue
        above = file.parent.get(id(other))
        if isinstance(above, ast.Attribute) and above.attr in ASKED | CASTS:
            continue
        if not (isinstance(above, ast.Subscript) and isinstance(above.ctx, ast.Store)):
            return True
    return False


def _home(file: SourceFile, node: ast.expr) -> ast.AST:
    """Where a name means the same: the class of an attribute, the function that gives the name."""
    first = node
    while isinstance(first, ast.Attribute):
        first = first.value
    for above in file.above(node):
        if first is not node and isinstance(above, ast.ClassDef):
            return above
        if first is node and isinstance(above, FUNCTIONS) and _gives(file, above, ast.unparse(node)):
            return above
    return file.tree or node


def _gives(file: SourceFile, function: ast.AST, name: str) -> bool:
    return any(
        isinstance(one, ast.Name) and one.id == name and isinstance(one.ctx, ast.Store)
        for one in ast.walk(function)
        if file.function_of(one) is function
    )


def _spread(known: Paths, op: Op, index: _Index) -> _Spread | None:
    """The addition of a row to all places along an axis of the size that is its number, if that is what came of it."""
    graph, at = known.graph(op.graph), op.extra.get("at", "")
    if index.place >= len(at) or at[index.place] != "i" or not set(at) <= set("i:n."):
        return None
    table, row = graph.values[op.inputs[0]].shape, graph.values[op.outputs[0]].shape
    behind = sum(letter in ":n" for letter in at[index.place + 1 :])
    taken = sum(letter in "i:" for letter in at)
    if "." not in at[: index.place]:
        behind += len(table) - taken  # axes that no entry is for
    place = len([letter for letter in at[: index.place] if letter in "i:"])
    length = table[place] if "." not in at[: index.place] else table[-1 - (len(at) - 1 - index.place)]
    used = _used(graph, op.outputs[0], row)
    if used is None or all(size == 1 for size in row):
        return None
    other = next(iter(set(used.inputs) - {_last(graph, used, op)}), None)
    whole = graph.values[used.outputs[0]].shape
    if other is None or graph.values[other].shape != whole or len(whole) < behind + 1:
        return None
    size = whole[len(whole) - 1 - behind]
    sliced = [*row[: len(row) - behind], size, *row[len(row) - behind :]]
    fits = len(sliced) <= len(whole) and all(
        own in (1, its) for own, its in zip(reversed(sliced), reversed(whole), strict=False)
    )
    if not fits or not 1 < size < length or not _is_size_of(known, used, other, index, size):
        return None
    return _Spread(used, table, row, whole, size)


def _used(graph: Graph, value: int, row: tuple[int, ...]) -> Op | None:
    """The one call that spreads a row, whose axes stay the last ones until then."""
    while True:
        readers = [
            op for op in graph.consumers.get(value, []) if value not in op.outputs
        ]  # not `to()` itself
        if len(readers) != 1 or not readers[0].outputs:
            return None
        op = readers[0]
        if op.name in SPREADING:
            return op if len(op.inputs) == 2 else None
        value = op.outputs[0]
        shape = graph.values[value].shape
        if op.name not in BETWEEN or shape[len(shape) - len(row) :] != row or set(shape[: -len(row)]) - {1}:
            return None


def _last(graph: Graph, used: Op, op: Op) -> int | None:
    """Which operand of `used` the row is."""
    return next((value for value in used.inputs if op.outputs[0] in graph.upstream(value)), None)


def _is_size_of(known: Paths, used: Op, other: int, index: _Index, size: int) -> bool:
    """Whether what the row is added to, or what that was computed from, has this size along the axis asked for."""
    shapes = (
        known.graph(graph).values[value].shape for graph, value in known.flow([(used.graph, other)]).order
    )
    return any(-len(shape) <= index.axis < len(shape) and shape[index.axis] == size for shape in shapes)


def _trained(known: Paths, op: Op) -> bool:
    return bool(known.fed_by((op.graph, op.inputs[0])))


def _finding(trace: Trace, known: Paths, op: Op, index: _Index, spreads: list[_Spread]) -> Finding:
    here = Source(trace, op.site.path)
    entry = here.file.text(index.entry)
    first, used = spreads[0], spreads[0].op.site.user
    sizes = sorted({one.size for one in spreads})
    shown = str(sizes[0]) if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]}"
    table = here.file.text(index.node.value)
    new = here.file.text(index.node).replace("\n", " ")
    edits = here.insert(index.entry, ": ")
    offset = new.find(entry, len(table))
    sliced = f"{new[:offset]}: {new[offset:]}" if offset >= 0 else ""
    return Finding(
        message=f"{code(trace, op.site)} takes the one row whose number is the size of `{index.asked}`: all {shown}"
        f" places get the same, and those below `{entry}` are never read",
        cause=op.site,
        cause_label="one row, where a slice would give one for each place",
        effect=used if used.location() != op.site.location() else None,
        effect_label=f"spreads it over an axis of {first.size}",
        seen=(
            f"of `{table}`, of shape {first.table}, a row of shape {first.row} was taken and spread over {first.whole}"
            " in each call of this line that was looked at: the slice would have fitted along the axis of"
            f" {shown}",
        ),
        fix=f"put a colon before the size: {f'`{sliced}` in place of ' if sliced else ''}{located(trace, op.site)}",
        edits=edits,
        count=sum(known.graph(one.op.graph).count for one in spreads),
    )
