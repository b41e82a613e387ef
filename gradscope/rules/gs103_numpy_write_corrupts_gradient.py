"""Saved values were overwritten through NumPy or raw storage: backward computes a wrong gradient, silently.

Why: `.numpy()`, `torch.from_numpy`, DLPack and `.untyped_storage()` share memory with a
tensor. A write on their side never reaches autograd's version counter, so backward uses
the new values where the saved ones belong.

Fix: copy at the border: `x.detach().cpu().numpy().copy()`, `torch.tensor(array)`.

Silent on: arrays that are only read, and memory that backward does not read again.
"""

from collections.abc import Iterator

from gradscope.model import Event, Finding, Site
from gradscope.rules import rule
from gradscope.rules._common import memory_root
from gradscope.rules.gs101_data_write_corrupts_gradient import OTHER_LIBRARIES, corruption
from gradscope.store import Trace

_EXPOSING = {
    "numpy", "__array__", "from_numpy", "to_dlpack", "__dlpack__", "from_dlpack",
    "untyped_storage", "storage",
}  # fmt: skip


def bad() -> None:
    import torch

    a = torch.tensor([7.0, 0.0, 0.0], requires_grad=True)
    b = a + 2
    loss = torch.mean(b * b)
    array = b.detach().numpy()  # cause: GS103
    array[:] = 0
    loss.backward()  # effect: GS103


def good_read_only() -> None:
    import torch

    a = torch.tensor([7.0, 0.0, 0.0], requires_grad=True)
    b = a + 2
    loss = torch.mean(b * b)
    largest = float(b.detach().numpy().max())
    assert largest == 9.0
    loss.backward()


def good_copy() -> None:
    import torch

    a = torch.tensor([7.0, 0.0, 0.0], requires_grad=True)
    b = a + 2
    loss = torch.mean(b * b)
    array = b.detach().numpy().copy()
    array[:] = 0
    loss.backward()


def good_written_after_backward() -> None:
    import torch

    a = torch.tensor([7.0, 0.0, 0.0], requires_grad=True)
    b = a + 2
    array = b.detach().numpy()
    torch.mean(b * b).backward()
    array[:] = 0


@rule("GS103", name="numpy-write-corrupts-gradient", severity="error", over=("GS102",))
def numpy_write_corrupts_gradient(trace: Trace) -> Iterator[Finding]:
    for event in trace.of("corrupted"):
        through = event.data.get("through")
        if through in OTHER_LIBRARIES:
            site = trace.site(event.data.get("write")) or _exposed(trace, event)
            yield corruption(trace, event, site, f"`{through}`", str(through))


def _exposed(trace: Trace, event: Event) -> Site | None:
    """Where the memory was handed out: the write itself is no call of torch and leaves no mark."""
    value = event.data.get("value")
    if value is None:
        return None
    graph = trace.graph(event.graph)
    memory = memory_root(graph, value)
    found = None
    for op in graph.ops[: event.position + 1]:
        touched = {memory_root(graph, v) for v in (*op.inputs, *op.outputs)}
        if op.name in _EXPOSING and memory in touched:
            found = op.site
    return found
