"""The largest place of a whole table is compared with a label for each row: `argmax` was given no axis.

Why: `scores.argmax()` flattens what it is given, and gives one number: the place of the largest of all scores, up to
rows times columns. Compared with labels it is stretched to each of them. What that counts is no accuracy: it is near
zero however good the network is.

Fix: name the axis of the classes: `scores.argmax(dim=1)`.

Measured: the call was given a tensor of several axes and no `dim`, gave a single number, and that was compared for
equality with a tensor of as many labels as one of the axes is long. Silent on the largest of one row, and on places
that are compared with nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from gradscope.analysis.names import shape_words
from gradscope.analysis.ops import EQUALITIES
from gradscope.analysis.words import code, located
from gradscope.fixes.calls import with_argument
from gradscope.model import Finding, Graph, Op, Value
from gradscope.rules import rule
from gradscope.store import Trace


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        x = torch.randn(16, 4)
        y = x[:, :3].argmax(dim=1)
        scores = model(x)
        loss = nn.functional.cross_entropy(scores, y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        hits = torch.argmax(scores) == y  # cause: GS465
        print(hits.float().mean().item())


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        x = torch.randn(16, 4)
        y = x[:, :3].argmax(dim=1)
        scores = model(x)
        loss = nn.functional.cross_entropy(scores, y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        hits = torch.argmax(scores, dim=1) == y
        print(hits.float().mean().item())


@rule("GS465", name="largest-of-all", severity="warning")
def largest_of_all(trace: Trace) -> Iterator[Finding]:
    if "argmax" not in trace.op_names:
        return
    told: set[tuple[str, int]] = set()
    for graph in trace.graphs:
        for op in graph.called({"argmax"}):
            place = op.site.user.location()
            compared = _compared(graph, op) if place not in told else None
            if compared is not None:
                told.add(place)
                yield _finding(trace, graph, op, *compared)


def _compared(graph: Graph, op: Op) -> tuple[Op, Value] | None:
    """The comparison of the one place of a whole table with a tensor of labels, and these."""
    if op.extra.get("dims") or not op.inputs or len(op.outputs) != 1 or graph.values[op.outputs[0]].shape:
        return None
    table = graph.values[op.inputs[0]].shape
    for reader in graph.consumers.get(op.outputs[0], ()) if len(table) > 1 else ():
        for index in reader.inputs if reader.name in EQUALITIES | {"ne"} else ():
            labels = graph.values[index]
            if (
                index != op.outputs[0]
                and len(labels.shape) == 1
                and labels.shape[0] > 1
                and labels.shape[0] in table
            ):
                return reader, labels
    return None


def _finding(trace: Trace, graph: Graph, op: Op, reader: Op, labels: Value) -> Finding:
    site, table = op.site.user, graph.values[op.inputs[0]].shape
    rows = table.index(labels.shape[0])
    axis = next((n for n in range(len(table) - 1, -1, -1) if n != rows), 1)
    return Finding(
        message=f"{code(trace, site, 'argmax')} gives one place of the whole table, which is compared with"
        f" {labels.shape[0]} labels",
        cause=site,
        cause_label="is given no axis: one number for all rows",
        effect=reader.site.user if reader.site.user.location() != site.location() else None,
        effect_label="compares that number with each label",
        seen=(
            f"its input is {shape_words(table)}, it gave a single number, and there are {labels.shape[0]} labels",
        ),
        fix=f"name the axis of the classes: `dim={axis}` in {located(trace, site)}",
        edits=with_argument(trace, site, "dim", str(axis)),
        count=graph.count,
    )
