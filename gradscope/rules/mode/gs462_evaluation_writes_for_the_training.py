"""An evaluation writes into a buffer that the training goes on with: what is only to be measured is trained on.

Why: `model.eval()` and `torch.no_grad()` keep nobody from writing into a buffer. A queue of keys, a memory bank or a
moving average that `forward` brings up to date in each call takes in what it is evaluated on, too, and the training's
next loss is made of that.

Fix: write where `self.training` says so, or behind the optimizer's step.

Measured: the line that wrote into a buffer ran in calls in training mode and in calls in evaluation mode without
gradients, behind which the training went on, and a loss was computed from that buffer. A note: a model that is to learn
from whatever it sees may do so. Silent on: numbers that count (integers), buffers that no loss is made of, an
evaluation after the training.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from gradscope.analysis.reach import paths
from gradscope.analysis.words import code, located, plural
from gradscope.events import ModuleCall
from gradscope.fixes.source import Source
from gradscope.model import Finding, Graph, Op, Site, Span
from gradscope.rules import rule
from gradscope.store import Trace


def bad() -> None:
    import torch
    from torch import nn

    class Compared(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = nn.Linear(4, 8)
            self.queue: torch.Tensor
            self.register_buffer("queue", torch.randn(32, 8))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            made = nn.functional.normalize(self.net(x), dim=1)
            scores = made @ self.queue.clone().T  # effect: GS462
            self.queue[:] = torch.cat([self.queue[8:], made.detach()])  # cause: GS462
            return scores.logsumexp(1).mean()

    torch.manual_seed(0)
    model = Compared()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        model.train()
        for _ in range(4):
            opt.zero_grad()
            model(torch.randn(8, 4)).backward()
            opt.step()
        model.eval()
        with torch.no_grad():
            print(model(torch.randn(8, 4)))


def good() -> None:
    import torch
    from torch import nn

    class Compared(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = nn.Linear(4, 8)
            self.queue: torch.Tensor
            self.register_buffer("queue", torch.randn(32, 8))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            made = nn.functional.normalize(self.net(x), dim=1)
            scores = made @ self.queue.clone().T
            if self.training:
                self.queue[:] = torch.cat([self.queue[8:], made.detach()])
            return scores.logsumexp(1).mean()

    torch.manual_seed(0)
    model = Compared()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        model.train()
        for _ in range(4):
            opt.zero_grad()
            model(torch.randn(8, 4)).backward()
            opt.step()
        model.eval()
        with torch.no_grad():
            print(model(torch.randn(8, 4)))


class _Buffer(NamedTuple):
    """What tells buffers of a run apart: the module that owns it, and its form."""

    module: int
    shape: tuple[int, ...]


class _Write(NamedTuple):
    op: Op
    buffer: _Buffer


@rule("GS462", name="evaluation-writes-for-the-training", severity="note")
def evaluation_writes_for_the_training(trace: Trace) -> Iterator[Finding]:
    trains, evaluates = _modes(trace)
    if not trains or not evaluates:
        return
    newest = max((s.index for s in trace.segments if s.graph in trains), default=-1)
    before = evaluates & {s.graph for s in trace.segments if s.graph is not None and s.index < newest}
    learned = {(w.op.site.user.span(), w.buffer) for graph in trains for w in _writes(trace, graph)}
    told: dict[tuple[Span, _Buffer], list[_Write]] = {}
    for graph in sorted(before):
        for write in _writes(trace, graph):
            told.setdefault((write.op.site.user.span(), write.buffer), []).append(write)
    for (place, buffer), writes in told.items():
        reader = _reader(trace, trains, buffer) if (place, buffer) in learned else None
        if reader is not None:
            times = sum(trace.graph(number).count for number in {write.op.graph for write in writes})
            yield _finding(trace, writes[0], reader, times)


def _modes(trace: Trace) -> tuple[set[int], set[int]]:
    """The graphs with calls in training mode and gradients, and those whose calls were all in evaluation mode, without
    any."""
    calls: dict[int, list[ModuleCall]] = {}
    for event in trace.of(ModuleCall):
        if event.graph >= 0:
            calls.setdefault(event.graph, []).append(event)
    trains = {graph for graph, events in calls.items() if any(e.training and e.grad for e in events)}
    evaluates = {graph for graph, events in calls.items() if not any(e.training or e.grad for e in events)}
    return trains, evaluates


def _writes(trace: Trace, number: int) -> Iterator[_Write]:
    """The user's writes into buffers of real numbers within a module's call."""
    graph = trace.graph(number)
    for op in graph.writing:
        buffer = _buffer(trace, graph, op.writes[0]) if op.module is not None else None
        if buffer is not None and op.site.user.kind == "user":
            yield _Write(op, buffer)


def _buffer(trace: Trace, graph: Graph, index: int) -> _Buffer | None:
    value = graph.values[paths(trace).memory(graph.id, index)]
    real = value.dtype.startswith(("float", "bfloat"))
    return _Buffer(value.module, value.shape) if real and value.module is not None else None


def _reader(trace: Trace, trains: set[int], buffer: _Buffer) -> Op | None:
    """What reads the buffer on its way into a loss of the training."""
    known = paths(trace)
    for number in sorted(trains):
        graph = known.graph(number)
        for value in graph.values:
            if value.kind == "buffer" and (value.module, value.shape) == buffer:
                for _, reader in known.used.feeds.get((number, value.index), ()):
                    if reader is not None:
                        return reader
    return None


def _finding(trace: Trace, write: _Write, reader: Op, times: int) -> Finding:
    site = _in_forward(write.op.site)
    here = Source(trace, site.path)
    statement = here.file.statement(site)
    plain = isinstance(statement, (ast.Expr, ast.AugAssign)) or (
        isinstance(statement, ast.Assign) and all(not isinstance(t, ast.Name) for t in statement.targets)
    )
    edits = here.under(statement, "if self.training:") if plain and statement is not None else ()
    owner = trace.modules[write.buffer.module].cls
    wrote = code(trace, write.op.site.user, "this line")
    return Finding(
        message=f"{wrote} writes into a buffer of `{owner}` in evaluation as well, and the training goes on with it",
        cause=site,
        cause_label="runs in evaluation mode, too",
        effect=reader.site.user,
        effect_label="makes the training's loss of what was written",
        related=((write.op.site.user, "writes"),) if site.location() != write.op.site.user.location() else (),
        seen=(
            f"it ran in {plural(times, 'call')} in evaluation mode, without gradients, and the training went on",
        ),
        fix=f"let {located(trace, site)} run in training only: `if self.training:` around it",
        edits=edits,
        count=times,
    )


def _in_forward(site: Site) -> Site:
    """The innermost line of a `forward` that leads to a write."""
    found = [f for f in site.stack if f.kind == "user" and f.function.rpartition(".")[2] == "forward"]
    return found[-1] if found else site.user
