"""Saved values were overwritten through `.data`: backward computes a wrong gradient, silently.

Why: `.data` gives a tensor that shares the memory but not the version counter. Autograd
saved that memory for backward and cannot see that it was written, so it uses the new
values where the old ones belong.

Fix: write to a copy (`x.detach().clone()`), or go through `x.detach()`: then autograd
notices the write and stops instead of computing a wrong gradient.

Silent on: parameter updates through `.data` after backward; writes before anything was
saved; memory that backward does not read again.
"""

from collections.abc import Iterator

from gradscope.model import Event, Finding, Site
from gradscope.rules import rule
from gradscope.rules._common import code, listed, memory_root, numbers, owner, source, user
from gradscope.store import Trace

OTHER_LIBRARIES = {"numpy", "from_numpy", "dlpack", "storage", "untyped_storage", "memoryview"}  # GS103's


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
    for event in trace.of("corrupted"):
        if event.data.get("through") not in OTHER_LIBRARIES:
            yield corruption(trace, event, trace.site(event.data.get("write")), "`.data`", "data")


def corruption(trace: Trace, event: Event, write: Site | None, through: str, attribute: str) -> Finding:
    """The finding for saved memory that was overwritten through `through` (also GS103's)."""
    data, graph = event.data, trace.graph(event.graph)
    cause, effect = user(write), user(trace.site(data.get("backward")) or event.site)
    name = owner(source(trace, cause), attribute)
    value, read = data.get("value"), data.get("read")
    wrong: dict[str, object] = data.get("wrong") or {}
    right: dict[str, object] = data.get("right") or {}
    saved_by = data.get("saved_by")
    saver = graph.ops[saved_by] if saved_by is not None else None
    shown = f" as {numbers(data['saved'])}" if data.get("saved") is not None else ""
    seen = [_measured(leaf, values, right.get(leaf)) for leaf, values in wrong.items()]
    if not seen and read is not None:
        seen = [f"saved as {numbers(data.get('saved'))}, read by backward as {numbers(read)}"]
    subject = f"`{name}`" if name else "a tensor that backward needs"
    leaves = listed([f"`{leaf}`" for leaf in wrong]) or "the leaves below it"
    written = code(trace, cause, "the write")
    copy = f"`{name}.detach().clone()`" if name else "`x.detach().clone()`"
    return Finding(
        message=f"{subject} was overwritten behind autograd's back: the gradient of {leaves} is wrong",
        cause=cause,
        cause_label=f"written through {through}, which hides the write from autograd's version check",
        effect=effect,
        effect_label=f"read {numbers(read)}" if read is not None else "read the new values",
        related=((saver.site.user, f"saved here for backward,{shown}".rstrip(",")),) if saver else (),
        seen=tuple(seen),
        why=f"{through} shares memory with {subject} but not its version counter: "
        f"backward used what {written} left there",
        fix=f"write to a copy ({copy}), or use {copy.replace('.clone()', '')}, so that autograd can catch it",
        count=event.count,
        subjects=frozenset({("memory", event.graph, memory_root(graph, value))} if value is not None else ()),
    )


def _measured(leaf: str, wrong: object, right: object) -> str:
    text = f"{leaf}.grad is {numbers(wrong)}"
    return f"{text}; with the saved values it is {numbers(right)}" if right is not None else text
