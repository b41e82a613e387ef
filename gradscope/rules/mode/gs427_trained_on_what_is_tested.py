"""The loss takes all rows, and the evaluation takes them in parts: what is tested was trained on.

Why: in a graph of nodes, or a table that is given to the network as a whole, a mask says which rows are for training.
It has to be applied to what the loss compares, too: a loss over all rows teaches the answers of the test as well, and
the test measures memory.

Fix: give the loss the rows of the training alone: `loss(out[train_mask], labels[train_mask])`.

Measured: the loss compares each row with labels that were there before the pass, and without gradients the same labels
are compared by two or more masks, or indices, that were there as well and together take no more than all rows. A note
unless these were drawn at random: parts may be groups of which each is to be looked at. Silent on: masks that are made
anew each time.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator
from typing import NamedTuple

from gradscope.analysis.bootstraps import squared
from gradscope.analysis.ops import COMPARISONS, DRAWS, INVERSIONS, LOSSES, PARTS, SUBTRACTIONS
from gradscope.analysis.reach import Key, Paths, paths
from gradscope.analysis.words import located
from gradscope.events import Backward
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding, Graph, Op, Site
from gradscope.rules import rule
from gradscope.store import Trace

FORMS = 8  # that a comparison may go through before it is one number
FEW = 16  # rows of which nobody keeps a part for a test


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(60, 8)
    labels = (x[:, 0] > 0).long()
    train_mask = torch.rand(60) < 0.7
    test_mask = ~train_mask
    model = nn.Linear(8, 2)
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(5):
        out = model(x)
        loss = nn.functional.cross_entropy(out, labels)  # cause: GS427
        opt.zero_grad()
        loss.backward()
        opt.step()
    with torch.no_grad():
        right = model(x).argmax(1) == labels
        print(right[train_mask].float().mean(), right[test_mask].float().mean())  # effect: GS427


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(60, 8)
    labels = (x[:, 0] > 0).long()
    train_mask = torch.rand(60) < 0.7
    test_mask = ~train_mask
    model = nn.Linear(8, 2)
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(5):
        out = model(x)
        loss = nn.functional.cross_entropy(out[train_mask], labels[train_mask])
        opt.zero_grad()
        loss.backward()
        opt.step()
    with torch.no_grad():
        right = model(x).argmax(1) == labels
        print(right[train_mask].float().mean(), right[test_mask].float().mean())


SELECTING = {"__getitem__", "index_select", "masked_select"}  # rows, by a mask or an index

Mask = tuple[Key, bool]


class _Part(NamedTuple):
    """What takes some of the rows to compare them."""

    op: Op
    rows: int


@rule("GS427", name="trained-on-what-is-tested", severity="warning")
def trained_on_what_is_tested(trace: Trace) -> Iterator[Finding]:
    if trace.op_names.isdisjoint(SELECTING):
        return
    known = paths(trace)
    told: set[tuple[str, int]] = set()
    for event in {event.graph: event for event in reversed(known.backwards)}.values():
        for op, given, target in _comparisons(known, known.graph(event.graph)):
            place = op.site.user.location()
            if place in told or not _goes_on_as_a_whole(known, op):
                continue
            labels = known.memory_made((event.graph, target))
            rows = _rows(known, (op.graph, given), (op.graph, target), labels)
            parts = _parts(known, labels, rows) if rows > FEW and labels[0] != event.graph else {}
            if len(parts) > 1 and sum(part.rows for part in parts.values()) <= rows:
                told.add(place)
                yield _finding(trace, known, event, op, rows, parts)


def _comparisons(known: Paths, graph: Graph) -> Iterator[tuple[Op, int, int]]:
    """The calls that compare predictions with labels, and both: losses, differences that are squared, and those that
    take the place of the label in each row (`logp.gather(1, y)`, `logp[rows, y]`)."""
    for op in graph.called(LOSSES | SUBTRACTIONS | {"gather", "__getitem__"}):
        if len(op.inputs) < 2 or not op.outputs:
            continue
        if op.name in LOSSES:
            yield op, op.inputs[0], op.inputs[1]
        elif op.name in SUBTRACTIONS:
            if op.nodes and len(op.inputs) == 2 and squared(known, op):
                yield op, op.inputs[0], op.inputs[1]
                yield op, op.inputs[1], op.inputs[0]
        elif op.nodes and (op.name == "gather" or len(op.inputs) > 2):
            yield op, op.inputs[0], op.inputs[-1]


def _goes_on_as_a_whole(known: Paths, op: Op) -> bool:
    """Whether what a comparison gives becomes one number with nothing between that may take some of its rows."""
    key = op.graph, op.outputs[0]
    for _ in range(FORMS):
        if not known.value(key).shape:
            return True
        readers = known.readers(key)
        reader = readers[0] if len(readers) == 1 else None
        if reader is None or reader.name in PARTS or len(set(reader.inputs)) != 1 or not reader.outputs:
            return False
        key = reader.graph, reader.outputs[0]
    return False


def _rows(known: Paths, prediction: Key, compared: Key, labels: Key) -> int:
    """How many rows are compared, where those are all of the labels that were there; else 0."""
    given, target, all_of_them = (known.value(key).shape for key in (prediction, compared, labels))
    whole = bool(given) and bool(target) and given[0] == target[0] == (all_of_them or (0,))[0]
    return target[0] if whole and math.prod(target) == math.prod(all_of_them) else 0


def _parts(known: Paths, labels: Key, rows: int) -> dict[Mask, _Part]:
    """The masks by which these labels, or what was compared with them, are taken without a gradient."""
    found: dict[Mask, _Part] = {}
    for number in known.graph_ids:
        graph = known.graph(number)
        for op in graph.called(SELECTING):
            if op.extra.get("at", "t") != "t" or len(op.inputs) != 2 or op.nodes:
                continue
            mask = _mask(known, (number, op.inputs[1]))
            taken = known.value((number, op.outputs[0])).shape if op.outputs else ()
            if mask[0][0] == number or not taken or not 0 < taken[0] < rows or mask in found:
                continue
            if (number, op.outputs[0]) in known.used.feeds:  # another training takes these rows
                continue
            if labels in _compared(known, (number, op.inputs[0])):
                found[mask] = _Part(op, taken[0])
    return found


def _mask(known: Paths, key: Key) -> Mask:
    """What was made elsewhere, and whether it is turned round here: of `labels[~train_mask]`."""
    maker = known.maker(key)
    if maker is not None and maker.graph == key[0] and maker.name in INVERSIONS and maker.inputs:
        return known.made((maker.graph, maker.inputs[0])), True
    return known.made(key), False


def _compared(known: Paths, key: Key) -> list[Key]:
    """The tensor itself, and what it compares: of `labels[mask]` and `(out == labels)[mask]`."""
    maker = known.maker(key)
    inputs = maker.inputs if maker is not None and maker.name in COMPARISONS else ()
    graph = maker.graph if maker is not None else key[0]
    return [known.memory_made(key), *(known.memory_made((graph, index)) for index in inputs)]


def _drawn(known: Paths, mask: Key) -> bool:
    return any(op is not None and op.name in DRAWS for op in map(known.maker, known.flow([mask]).order))


def _finding(
    trace: Trace, known: Paths, event: Backward, op: Op, rows: int, parts: dict[Mask, _Part]
) -> Finding:
    ordered = sorted(parts.values(), key=lambda part: part.rows)
    loss, tested = op.site.user, ordered[0].op.site.user
    sizes = " and ".join(f"{part.rows:,}" for part in ordered)
    names = _names(trace, loss, ordered)
    training = [name for name in names if "train" in name.lower()] if op.name in LOSSES else []
    text, edits = _of_the_training(trace, loss, training)
    return Finding(
        message=f"the loss is taken over all {rows:,} rows, and parts of them are tested apart: what is tested was"
        " trained on",
        cause=loss,
        cause_label=f"compares all {rows:,} rows",
        effect=tested,
        effect_label="looks at a part of the same rows",
        seen=(
            f"outside of the loss {sizes} of the same {rows:,} labels are compared, by masks or indices"
            + (f" ({', '.join(f'`{name}`' for name in names)})" if names else ""),
        ),
        fix=f"give the loss the rows of the training alone: {text or '`loss(out[train_mask], labels[train_mask])`'}"
        f" in place of {located(trace, loss)}"
        if op.name in LOSSES
        else "take the rows of the training alone on both sides, `out[train_mask]` and `labels[train_mask]`, for"
        f" {located(trace, loss)}",
        edits=edits,
        count=known.alike(event),
        severity="" if all(_drawn(known, mask) for mask, _ in parts) else "note",
        subjects=frozenset({("loss", *loss.location())}),
    )


def _names(trace: Trace, loss: Site, parts: list[_Part]) -> list[str]:
    """What the masks are called in the function of the loss: the names by which the calls that use them differ."""
    read = [_read_at(trace, loss, part.op.site.stack) for part in parts]
    both = set.intersection(*read) if read else set()
    apart = [sorted(names - both) for names in read]
    return [names[0] for names in apart if len(names) == 1]


def _read_at(trace: Trace, loss: Site, stack: tuple[Site, ...]) -> set[str]:
    for frame in stack:
        if (frame.path, frame.function) == (loss.path, loss.function):
            node = trace.source_file(frame.path).at(frame)
            given = [node.slice] if isinstance(node, ast.Subscript) else getattr(node, "args", [])
            return {ast.unparse(one) for one in given if isinstance(one, (ast.Name, ast.Attribute))}
    return set()


def _of_the_training(trace: Trace, loss: Site, names: list[str]) -> tuple[str, Edits]:
    """`loss(out[train_mask], labels[train_mask])`, where one of the names is that of the training."""
    here = Source(trace, loss.path)
    call = here.file.at(loss)
    if len(names) != 1 or not isinstance(call, ast.Call) or len(call.args) < 2:
        return "", ()
    edits = tuple(edit for one in call.args[:2] for edit in here.behind(one, f"[{names[0]}]"))
    return f"`{here.text_after(call, edits)}`", edits
