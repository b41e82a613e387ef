"""The same data goes to the CPU and back to the device inside a step.

Why: each way is a copy over the bus, and the way to the CPU makes the program wait until the
device has done all that was queued. The device then idles until the data is back.

Fix: compute on the device: torch has the operation there too, or another one that does the same.

Silent on: numbers for a log; results that stay on the CPU; models spread over several devices.
"""

from collections.abc import Iterator
from math import prod

from gradscope.analysis.ops import CASTS, TO_DEVICE, bytes_of
from gradscope.analysis.reach import paths
from gradscope.analysis.words import code, plural
from gradscope.model import Finding, Graph, Op, Value
from gradscope.rules import rule
from gradscope.store import Trace


def bad_there_and_back_on_cuda() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 4).cuda()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        hidden = model(torch.randn(8, 4, device="cuda"))
        order = hidden.detach().cpu().argsort(dim=1)  # cause: GS502
        loss = hidden.gather(1, order.cuda()).diff(dim=1).pow(2).mean()  # effect: GS502
        loss.backward()
        opt.step()


def good_results_collected() -> None:
    import torch
    from torch import nn

    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = nn.Linear(4, 4).to(device).eval()
    found = []
    with torch.no_grad():
        for _ in range(3):
            found.append(model(torch.randn(8, 4).to(device)).cpu())
    torch.cat(found).argsort(dim=1)


@rule("GS502", name="device-ping-pong", severity="warning")
def device_ping_pong(trace: Trace) -> Iterator[Finding]:
    known = paths(trace)
    told: set[tuple[str, int]] = set()
    for number in known.graph_ids:
        graph = known.graph(number)
        if not graph.nodes:
            continue  # no training: results are put together as the program likes
        for op in graph.ops:
            if not _leaves(graph, op) or op.site.user.location() in told:
                continue
            back = _comes_back(graph, op)
            if back is not None:
                told.add(op.site.user.location())
                yield _finding(trace, graph, op, back)


def _moved(graph: Graph, op: Op) -> tuple[Value, Value] | None:
    """(what was moved, what came of it) where this op took data to another device."""
    if op.name not in TO_DEVICE | CASTS or not op.inputs or not op.outputs:
        return None
    before, after = graph.values[op.inputs[-1 if op.name == "copy_" else 0]], graph.values[op.outputs[0]]
    return (before, after) if before.device != after.device and prod(after.shape) > 1 else None


def _leaves(graph: Graph, op: Op) -> bool:
    moved = _moved(graph, op)
    return moved is not None and moved[1].device == "cpu"


def _comes_back(graph: Graph, op: Op) -> Op | None:
    """The op that takes what was computed of it on the CPU back to the device it came from."""
    device = graph.values[op.inputs[0]].device

    def stays(reader: Op) -> bool:
        made = [graph.values[output] for output in reader.outputs]
        return all(value.device == "cpu" and prod(value.shape) > 1 for value in made)

    for _, reader in graph.readers_behind(op.outputs, stays):
        moved = _moved(graph, reader)
        if moved is not None and moved[1].device == device:
            return reader
    return None


def _finding(trace: Trace, graph: Graph, there: Op, back: Op) -> Finding:
    device = graph.values[there.inputs[0]].device
    out, into = graph.values[there.outputs[0]], graph.values[back.outputs[0]]
    size = sum(prod(v.shape) * bytes_of(v.dtype) for v in (out, into))
    first, second = there.site.user, back.site.user
    return Finding(
        message=f"data goes from {device} to the CPU and back inside a step",
        cause=first,
        cause_label="to the CPU: the program waits for the device",
        effect=second,
        effect_label=f"back to {device}",
        seen=(f"{size:,} bytes a time, {plural(graph.count, 'time')} in the steps looked at",),
        fix=f"leave out {code(trace, first, 'the copy to the CPU')} and compute on {device}",
        count=graph.count,
        subjects=frozenset({("device", first.location())}),
    )
