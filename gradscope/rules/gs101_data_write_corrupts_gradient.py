"""Saved values were overwritten through `.data`: backward computes a wrong gradient, silently.

Why: `.data` gives a tensor that shares the memory but not the version counter. Autograd
saved that memory for backward and cannot see that it was written, so it uses the new
values where the old ones belong.

Fix: give the call that saved it a copy (`f(x.clone())`), or make a new tensor; and go through `x.detach()`:
then autograd notices such a write and stops instead of computing a wrong gradient.

Silent on: parameter updates through `.data` after backward; writes before anything was
saved; memory that backward does not read again.
"""

from collections.abc import Iterator
from dataclasses import replace

from gradscope.model import Event, Finding, Site
from gradscope.names import names_of
from gradscope.rules import rule
from gradscope.rules._common import listed, memory_root, numbers, owner, source, user
from gradscope.rules._edits import Edits
from gradscope.rules._in_place import copied_where_saved, names_of_memory
from gradscope.store import Trace

SHARING = {"__dlpack__": "DLPack", "from_numpy": "`torch.from_numpy`"}
OTHER_LIBRARIES = {"numpy", "from_numpy", "__dlpack__", "storage", "untyped_storage"}  # GS103's


def bad() -> None:
    import torch

    a = torch.tensor([7.0, 0.0, 0.0], requires_grad=True)
    b = a + 2
    loss = torch.mean(b * b)
    b.data.zero_()  # cause: GS101
    loss.backward()  # effect: GS101


def bad_in_forward() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Clamped(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = nn.Linear(4, 4)
            self.outer = nn.Linear(4, 1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            h = torch.tanh(self.inner(x))
            y: torch.Tensor = self.outer(h)
            h.data.mul_(0.5)  # cause: GS101
            return y

    model = Clamped()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        model(torch.randn(8, 4)).mean().backward()  # effect: GS101
        opt.step()


def good_update_after_backward() -> None:
    import torch

    w = torch.ones(3, requires_grad=True)
    for _ in range(3):
        loss = (w * w).sum()
        loss.backward()
        w.data.sub_(w.grad, alpha=0.1)  # type: ignore[arg-type]  # the graph is done: nothing reads the old values again
        w.grad = None


def good_write_before_use() -> None:
    import torch
    from torch import nn

    layer = nn.Linear(3, 1)
    layer.weight.data.normal_(0.0, 0.02)
    layer.bias.data.fill_(0.0)
    opt = torch.optim.SGD(layer.parameters(), lr=0.1)
    for _ in range(2):
        opt.zero_grad()
        layer(torch.randn(4, 3)).sum().backward()
        opt.step()


def good_not_read_by_backward() -> None:
    import torch

    a = torch.ones(3, requires_grad=True)
    b = a + 2
    loss = (b + 1).sum()  # an addition saves nothing
    b.data.zero_()
    loss.backward()


def good_clone() -> None:
    import torch

    a = torch.tensor([7.0, 0.0, 0.0], requires_grad=True)
    b = a + 2
    loss = torch.mean(b * b)
    c = b.detach().clone()
    c.zero_()
    loss.backward()


@rule("GS101", name="data-write-corrupts-gradient", severity="error", over=("GS102",))
def data_write_corrupts_gradient(trace: Trace) -> Iterator[Finding]:
    for events in corruptions(trace):
        if events[0].data.get("through") not in OTHER_LIBRARIES:
            write = trace.site(events[0].data.get("write"))
            label = "written through `.data`, which hides the write from autograd's version check"
            found = corruption(trace, events, write, "data", label, "")
            fix, edits = copied_for_backward(trace, events, owner(source(trace, found.cause), "data"))
            fix = fix or "make a new tensor in place of the write, or write after the backward"
            detach = "`.detach()` in place of `.data` lets torch stop such a backward"
            yield replace(found, fix=f"{fix}; {detach}", edits=edits)


def copied_for_backward(trace: Trace, events: list[Event], name: str) -> tuple[str, Edits]:
    """The copies that the calls need whose saved memory, called `name`, was overwritten."""
    spoilt = []
    names = {name} - {""}
    for event in events:
        graph = trace.graph(event.graph) if event.graph >= 0 else None
        saved, value = event.data.get("saved_by"), event.data.get("value")
        op = graph.ops[saved] if graph is not None and saved is not None and saved < len(graph.ops) else None
        if graph is not None and isinstance(value, int) and value < len(graph.values):
            names |= names_of_memory(trace, graph.id, [value])
            memory = memory_root(graph, value)
            result = op is not None and any(memory_root(graph, v) == memory for v in op.outputs)
        else:
            result = False
        kept = ["result"] if result else ["self", "other"]
        spoilt.append({"site": event.data.get("saved_site"), "op": saved or 0, "as": kept})
    return copied_where_saved(trace, events[0].graph, spoilt, names)


def corruptions(trace: Trace) -> list[list[Event]]:
    """One write that one backward suffers from may have changed what several ops had saved.
    In each list the event with the measured gradient stands first."""
    groups: dict[tuple[object, object], list[Event]] = {}
    for event in trace.of("corrupted"):
        groups.setdefault((event.data.get("write"), event.data.get("backward")), []).append(event)
    for events in groups.values():
        events.sort(key=lambda e: (not e.data.get("right"), not e.data.get("wrong")))
    return list(groups.values())


def corruption(
    trace: Trace, events: list[Event], write: Site | None, attribute: str, label: str, fix: str
) -> Finding:
    """The finding for saved memory that was overwritten at `write` (also GS103's)."""
    event, data, read = events[0], events[0].data, events[0].data.get("read")
    cause, effect = user(write), user(trace.site(data.get("backward")) or event.site)
    memory = _memory(trace, event, write)
    name = owner(source(trace, cause), attribute) or _name(trace, memory)
    right: dict[str, object] = data.get("right") or {}
    wrong = {leaf: values for leaf, values in (data.get("wrong") or {}).items() if values != right.get(leaf)}
    saved = {
        site: f"saved here for backward, as {numbers(e.data.get('saved'))}"
        for e in reversed(events)
        if (site := user(trace.site(e.data.get("saved_site")))) is not None
    }
    seen = [_measured(leaf, values, right.get(leaf)) for leaf, values in wrong.items()]
    if not seen and read is not None:
        seen = [f"saved as {numbers(data.get('saved'))}, read by backward as {numbers(read)}"]
    subject = f"`{name}`" if name else "a tensor that backward needs"
    leaves = listed([f"`{leaf}`" for leaf in wrong]) or "the leaves below it"
    return Finding(
        message=f"{subject} was overwritten behind autograd's back: the gradient of {leaves} is wrong",
        cause=cause,
        cause_label=label,
        effect=effect,
        effect_label=f"read {numbers(read)}" if read is not None else "read the new values",
        related=tuple(reversed(saved.items())),
        seen=tuple(seen),
        why=f"{SHARING.get(attribute, f'`.{attribute}`')} shares memory with {subject} but not its version"
        " counter, so autograd does not see the write: backward used the new values where it needs the saved ones",
        fix=fix.format(name=name or "x"),
        count=max(e.count for e in events),
        subjects=frozenset({("memory", *memory)} if memory is not None else ()),
    )


def _memory(trace: Trace, event: Event, write: Site | None) -> tuple[int, int] | None:
    """(graph, first value) of the memory that was written at `write`."""
    if write is None or event.graph < 0:
        return None
    graph = trace.graph(event.graph)
    op = next((op for op in graph.ops if op.site.id == write.id and (op.writes or op.inputs)), None)
    return (graph.id, memory_root(graph, (op.writes or op.inputs)[0])) if op is not None else None


def _name(trace: Trace, memory: tuple[int, int] | None) -> str:
    return (names_of(trace).name(trace.graph(memory[0]), memory[1]) if memory is not None else None) or ""


def _measured(leaf: str, wrong: object, right: object) -> str:
    text = f"{leaf}.grad is {numbers(wrong)}"
    return f"{text}; with the saved values it is {numbers(right)}" if right is not None else text
