"""Rows are taken by their position in the loop, for a batch that a loader has drawn at random.

Why: `kept[step * size : (step + 1) * size]` are the first rows, then the next ones. A loader with `shuffle=True` gives
others in each pass: the answers of a teacher, soft labels or weights that were kept in the order of the dataset meet
other samples than their own, new ones in each epoch.

Fix: let the dataset give each sample's number beside it, and take `kept[numbers]`; or go through the data in order,
`shuffle=False`.

Measured: a loss compares what was computed of a batch from a `DataLoader` that draws its samples with a slice of
another tensor, which holds more rows and was there before the batch came. Silent on rows that are taken by a tensor of
numbers, on tensors that are of no sample (drawn or equal numbers, `arange`), and on slices of the batch itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from gradscope.analysis.ops import DRAWS, FILLED, LIKE, LOSSES, SORTS, SUBTRACTIONS
from gradscope.analysis.reach import Key, Paths, paths
from gradscope.analysis.samples import KEPT, collated, handed, loaders_of
from gradscope.analysis.words import code, located, parameter_subjects, plural
from gradscope.events import Loader
from gradscope.fixes.calls import with_argument
from gradscope.model import Finding, Graph, Op
from gradscope.rules import rule
from gradscope.store import Trace


def bad() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    data = torch.randn(64, 4)
    teacher, student = nn.Linear(4, 3), nn.Linear(4, 3)
    with torch.no_grad():
        kept = teacher(data)
    loader = DataLoader(TensorDataset(data), batch_size=16, shuffle=True)  # cause: GS430
    opt = torch.optim.SGD(student.parameters(), lr=0.1)
    for _ in range(2):
        for step, (x,) in enumerate(loader):
            answers = kept[step * 16 : step * 16 + 16]  # related: GS430
            loss = nn.functional.mse_loss(student(x), answers)  # effect: GS430
            opt.zero_grad()
            loss.backward()
            opt.step()


def good() -> None:
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(0)
    data = torch.randn(64, 4)
    teacher, student = nn.Linear(4, 3), nn.Linear(4, 3)
    with torch.no_grad():
        kept = teacher(data)
    loader = DataLoader(TensorDataset(data, torch.arange(64)), batch_size=16, shuffle=True)
    opt = torch.optim.SGD(student.parameters(), lr=0.1)
    for _ in range(2):
        for x, numbers in loader:
            loss = nn.functional.mse_loss(student(x), kept[numbers])
            opt.zero_grad()
            loss.backward()
            opt.step()


# Noise, and numbers that are the same for each sample or count the places of a batch.
OF_NO_SAMPLE = DRAWS | FILLED | LIKE | {"arange", "eye", "linspace"}


class _Slice(NamedTuple):
    op: Op
    rows: int  # of what it is cut out of


@rule("GS430", name="taken-by-position", severity="warning", over=("GS784",))
def taken_by_position(trace: Trace) -> Iterator[Finding]:
    known = paths(trace)
    if not any(event.order == "drawn" for event in trace.of(Loader)):
        return
    told: set[tuple[str, int]] = set()
    for event in known.backwards:
        graph = known.graph(event.graph)
        for op in graph.called(LOSSES | SUBTRACTIONS):
            place = op.site.user.location()
            if len(op.inputs) < 2 or not op.nodes or place in told:
                continue
            for answer, target in (op.inputs[:2], op.inputs[1::-1]):
                loader = _drawn(known, graph, answer)
                taken = _slice(known, graph, target) if loader is not None else None
                if loader is None or taken is None or _drawn(known, graph, target) is not None:
                    continue
                if not all(_row_by_row(known, graph, side, taken) for side in (answer, target)):
                    continue
                told.add(place)
                yield _finding(trace, op, taken, loader, set(event.filled), graph.count)
                break


def _row_by_row(known: Paths, graph: Graph, side: int, taken: _Slice) -> bool:
    """Whether one side of a comparison still has a row, or several, for each sample, in the order in which they came:
    no mean over them, and nothing that was sorted."""
    rows, shape = known.value((taken.op.graph, taken.op.outputs[0])).shape[0], graph.values[side].shape
    makers = (graph.maker(index) for index in graph.upstream(side))
    return (
        shape[:1] != () and shape[0] % rows == 0 and all(op is None or op.name not in SORTS for op in makers)
    )


def _entered(graph: Graph, value: int) -> Iterator[Key]:
    """The tensors from outside the graph that a value of it was computed from, and those that it cut out of others."""
    for index in graph.upstream(value):
        one = graph.values[index]
        if (
            one.parameter is None
            and one.shape
            and (one.op is None or graph.ops[one.op].name in ("__getitem__", "narrow"))
        ):
            yield graph.id, index


def _drawn(known: Paths, graph: Graph, value: int) -> Loader | None:
    """The loader that has drawn the samples which this was computed from."""
    for key in _entered(graph, value):
        maker = known.maker_behind(key, KEPT)
        if maker is not None and (collated(known.trace, maker) or handed(known.trace, maker)):
            found = [one for one in loaders_of(known.trace, maker) if one.order == "drawn"]
            if found:
                return found[0]
    return None


def _slice(known: Paths, graph: Graph, value: int) -> _Slice | None:
    """The slice of the rows of another tensor that this was computed from."""
    for key in _entered(graph, value):
        maker = known.maker(key)
        while maker is not None and maker.name in KEPT and maker.inputs:
            before, after = (
                known.value((maker.graph, at)).shape for at in (maker.inputs[0], maker.outputs[0])
            )
            if _cuts_rows(maker) and before[0] > after[0] > 1:
                origin = known.maker_behind((maker.graph, maker.inputs[0]), KEPT)
                of_samples = origin.name not in OF_NO_SAMPLE if origin is not None else len(before) > 1
                return _Slice(maker, before[0]) if of_samples else None
            maker = known.maker((maker.graph, maker.inputs[0]))
    return None


def _cuts_rows(op: Op) -> bool:
    """Whether it takes a stretch, perhaps of its first axis."""
    return op.name == "narrow" or (
        op.name == "__getitem__" and str(op.extra.get("at", "")).startswith(":") and len(op.inputs) == 1
    )


def _finding(trace: Trace, loss: Op, taken: _Slice, loader: Loader, filled: set[int], count: int) -> Finding:
    made, cut = loader.site.user, taken.op.site.user
    text = code(trace, cut, "a slice")
    return Finding(
        message=f"{code(trace, loss.site.user, 'the loss')} compares the answers to drawn samples with rows that are"
        f" taken by their position: {text} belongs to other samples",
        cause=made,
        cause_label="gives its samples in a new order in each pass",
        effect=loss.site.user,
        effect_label="compares the answers with the rows of other samples",
        related=((cut, f"the next rows of {taken.rows}, whatever the batch holds"),),
        seen=(
            f"the batch came from a loader that draws its samples; what it is compared with is a slice of a tensor of"
            f" {plural(taken.rows, 'row')} that was there before",
        ),
        fix=f"let the dataset give each sample's number beside it, and take the rows by these numbers in place of"
        f" {located(trace, cut, 'the slice')}; or make the loader with `shuffle=False`"
        f" ({located(trace, made, 'the loader')}), which goes through the data in order",
        edits=with_argument(trace, made, "shuffle", "False"),
        count=count,
        subjects=parameter_subjects(filled),
    )
