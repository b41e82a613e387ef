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

from gradscope.analysis.words import owner, source
from gradscope.analysis.writes import memory_root
from gradscope.events import Corrupted
from gradscope.fixes.in_place import copied_where_saved, names_of_memory
from gradscope.fixes.source import Edits
from gradscope.model import Finding
from gradscope.rules import rule
from gradscope.rules.memory._corruption import OTHER_LIBRARIES, corruption, corruptions
from gradscope.store import Trace


def bad() -> None:
    import torch

    a = torch.tensor([7.0, 0.0, 0.0], requires_grad=True)
    b = a + 2
    loss = torch.mean(b * b)
    b.data.zero_()  # cause: GS101
    loss.backward()  # effect: GS101


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
        if events[0].through not in OTHER_LIBRARIES:
            write = trace.site(events[0].write)
            label = "written through `.data`, which hides the write from autograd's version check"
            found = corruption(trace, events, write, "data", label, "")
            fix, edits = copied_for_backward(trace, events, owner(source(trace, found.cause), "data"))
            fix = fix or "make a new tensor in place of the write, or write after the backward"
            detach = "`.detach()` in place of `.data` lets torch stop such a backward"
            yield replace(found, fix=f"{fix}; {detach}", edits=edits)


def copied_for_backward(trace: Trace, events: list[Corrupted], name: str) -> tuple[str, Edits]:
    """The copies that the calls need whose saved memory, called `name`, was overwritten."""
    spoilt = []
    names = {name} - {""}
    for event in events:
        graph = trace.graph(event.graph) if event.graph >= 0 else None
        saved, value = event.saved_by, event.value
        op = graph.ops[saved] if graph is not None and saved is not None and saved < len(graph.ops) else None
        if graph is not None and isinstance(value, int) and value < len(graph.values):
            names |= names_of_memory(trace, graph.id, [value])
            memory = memory_root(graph, value)
            result = op is not None and any(memory_root(graph, v) == memory for v in op.outputs)
        else:
            result = False
        kept = ["result"] if result else ["self", "other"]
        spoilt.append({"site": event.saved_site, "op": saved or 0, "as": kept})
    return copied_where_saved(trace, events[0].graph, spoilt, names)
