"""Saved values were overwritten through NumPy or raw storage: backward computes a wrong gradient, silently.

Why: `.numpy()`, `torch.from_numpy`, DLPack and `.untyped_storage()` share memory with a
tensor. A write on their side never reaches autograd's version counter, so backward uses
the new values where the saved ones belong.

Fix: copy at the border: `x.detach().cpu().numpy().copy()`, `torch.tensor(array)`. Where the tensor is
meant to change with the array (a buffer that is filled again), give the call that saves it a copy:
`layer(batch.clone())`.

Silent on: arrays that are only read, and memory that backward does not read again.
"""

import ast
from collections.abc import Iterator
from dataclasses import replace

from gradscope.model import Finding, Site
from gradscope.names import place
from gradscope.rules import rule
from gradscope.rules._array_writes import array_writes
from gradscope.rules._common import source
from gradscope.rules._edits import LOOPS, Source
from gradscope.rules._in_place import root_name
from gradscope.rules._keepers import own_nodes
from gradscope.rules._rewrites import beside, copied
from gradscope.rules.gs101_data_write_corrupts_gradient import (
    OTHER_LIBRARIES,
    copied_for_backward,
    corruption,
    corruptions,
)
from gradscope.store import Trace

HANDED_OUT = "hands out the memory itself: writes on the other side are hidden from autograd's version check"
MAX_WRITES = 2


def bad() -> None:
    import torch

    a = torch.tensor([7.0, 0.0, 0.0], requires_grad=True)
    b = a + 2
    loss = torch.mean(b * b)
    array = b.detach().numpy()
    array[:] = 0  # cause: GS103
    loss.backward()  # effect: GS103


def bad_storage() -> None:
    import torch

    a = torch.tensor([7.0, 0.0, 0.0], requires_grad=True)
    b = a + 2
    loss = torch.mean(b * b)
    memory = b.detach().untyped_storage()
    memory.copy_(torch.zeros(3).untyped_storage())  # cause: GS103
    loss.backward()  # effect: GS103


def bad_given_to_numpy() -> None:
    import numpy as np
    import torch

    a = torch.tensor([7.0, 0.0, 0.0], requires_grad=True)
    b = a + 2
    loss = torch.mean(b * b)
    array = np.asarray(b.detach())
    np.subtract(array, array.mean(), out=array)  # cause: GS103
    loss.backward()  # effect: GS103


def bad_dlpack() -> None:
    import torch

    a = torch.tensor([7.0, 0.0, 0.0], requires_grad=True)
    b = a + 2
    loss = torch.mean(b * b)
    torch.utils.dlpack.from_dlpack(b.detach()).zero_()  # cause: GS103
    loss.backward()  # effect: GS103


def bad_given_to_a_function_at_once() -> None:
    import numpy as np
    import torch
    from torch import nn

    torch.manual_seed(0)

    def blank(values: np.ndarray) -> None:
        values[:, ::2] = 0.0  # cause: GS103

    first, second = nn.Linear(3, 4), nn.Linear(4, 1)
    opt = torch.optim.SGD([*first.parameters(), *second.parameters()], lr=0.1)
    for _ in range(2):
        h = torch.tanh(first(torch.randn(8, 3)))
        blank(values=h.detach().numpy())
        opt.zero_grad()
        second(h).pow(2).mean().backward()  # effect: GS103
        opt.step()


def good_storage_read() -> None:
    import numpy as np
    import torch

    a = torch.tensor([7.0, 0.0, 0.0], requires_grad=True)
    b = a + 2
    loss = torch.mean(b * b)
    assert b.untyped_storage().data_ptr() == b.detach().untyped_storage().data_ptr()
    assert np.asarray(b.detach()).max() == np.from_dlpack(b.detach()).max()
    memory = b.detach().untyped_storage()
    loss.backward()
    memory.copy_(torch.zeros(3).untyped_storage())


def bad_in_another_function() -> None:
    import numpy as np
    import torch

    def shared(t: torch.Tensor) -> np.ndarray:
        array = t.detach().numpy()
        return array.reshape(-1)

    def clear(values: np.ndarray, start: int) -> None:
        rest = values[start:]
        rest *= 0  # cause: GS103

    a = torch.tensor([7.0, 0.0, 0.0], requires_grad=True)
    b = a + 2
    loss = torch.mean(b * b)
    numbers = shared(b)
    print(numbers.max())
    clear(numbers, start=0)
    loss.backward()  # effect: GS103


def bad_in_a_library() -> None:
    import struct

    import torch

    a = torch.tensor([7.0, 1.0, 2.0, 3.0], requires_grad=True)
    b = a + 2
    loss = torch.mean(b * b)
    array = b.detach().numpy()
    assert len(array) == 4
    struct.pack_into("f", array.data, 0, 1.5)  # cause: GS103
    loss.backward()  # effect: GS103


def bad_from_numpy() -> None:
    import numpy as np
    import torch

    weight = torch.ones(3, requires_grad=True)
    buffer = np.zeros(3, dtype=np.float32)
    for step in range(3):
        buffer[:] = step + 1
        x = torch.from_numpy(buffer)
        loss = (weight * x).sum()
        buffer.fill(0)  # cause: GS103
        loss.backward()  # effect: GS103
        weight.grad = None


def bad_batch_filled_again() -> None:
    import numpy as np
    import torch

    class Batches:
        def __init__(self) -> None:
            self.array = np.zeros((8, 3), dtype=np.float32)
            self.view = torch.from_numpy(self.array)

        def fill(self, step: int) -> torch.Tensor:
            self.array[:] = step + np.arange(3)  # cause: GS103
            return self.view

    layer, batches = torch.nn.Linear(3, 1), Batches()
    opt = torch.optim.SGD(layer.parameters(), lr=0.001)
    batch = batches.fill(0)
    for step in range(3):
        loss = layer(batch).mean()
        batch = batches.fill(step + 1)
        opt.zero_grad()
        loss.backward()  # effect: GS103
        opt.step()


def good_batch_filled_after_its_step() -> None:
    import numpy as np
    import torch

    array = np.zeros((8, 3), dtype=np.float32)
    batch = torch.from_numpy(array)
    layer = torch.nn.Linear(3, 1)
    opt = torch.optim.SGD(layer.parameters(), lr=0.001)
    for step in range(3):
        array[:] = step + np.arange(3)
        opt.zero_grad()
        layer(batch).mean().backward()
        opt.step()


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
    for events in corruptions(trace):
        through = str(events[0].data.get("through"))
        if through in OTHER_LIBRARIES:
            # A write on the other side is no call of torch: the site is where the memory was handed out.
            site = trace.site(events[0].data.get("write"))
            found = corruption(trace, events, site, through, HANDED_OUT, "")
            told = _at_the_write(trace, found)
            fix, edits = _fix(trace, found.cause), copied(trace, found.cause)
            if _changes_with_it(trace, found.cause, told.cause):
                kept, copies = copied_for_backward(trace, events, "")
                fix, edits = kept or "give the call that saves this memory a copy of it (`.clone()`)", copies
            yield replace(told, fix=fix, edits=edits)


def _changes_with_it(trace: Trace, handed_out: Site | None, write: Site | None) -> bool:
    """Whether the tensor is meant to hold what is written: the memory is shared once and written again
    and again, from a loop or a method, or the tensor is read behind the write."""
    if handed_out is None or write is None or handed_out.location() == write.location():
        return False
    file = trace.source_file(handed_out.path)
    if not beside(trace, handed_out, write):
        target = file.variable(handed_out) or ""
        return target.startswith("self.")
    loops = [[n for n in file.around(site) if isinstance(n, LOOPS)] for site in (handed_out, write)]
    if any(loop not in loops[0] for loop in loops[1]):
        return True
    call = file.at(handed_out)
    method = call.func if isinstance(call, ast.Call) else None
    of_torch = method is not None and file.is_imported(method)
    name = file.variable(handed_out) if of_torch else root_name(method)
    return any(
        isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Load) and n.lineno > write.line
        for n in own_nodes(Source(trace, write.path).scope(write))
    )


def _fix(trace: Trace, handed_out: Site | None) -> str:
    text = source(trace, handed_out)
    if handed_out is None or not text:
        return "copy at the border: `x.detach().numpy().copy()`, `torch.tensor(array)`"
    of_torch = text.startswith("torch.") or text.endswith("storage()")
    copy = (
        text.replace("from_numpy(", "tensor(")
        if "from_numpy(" in text
        else f"{text}.{'clone' if of_torch else 'copy'}()"
    )
    return f"hand out a copy: `{copy}` ({place(handed_out)})"


def _at_the_write(trace: Trace, found: Finding) -> Finding:
    """The finding at the line that writes, where the text of the program has one such line."""
    if found.cause is None:
        return found
    writes = array_writes(trace, found.cause)
    lines = _between(found.cause, found.effect, writes.plain or writes.calls)
    if len(lines) == 1 or (lines and writes.plain):
        (first, label), *others = lines
        return replace(
            found,
            cause=first,
            cause_label=f"{label}: hidden from autograd's version check",
            related=((found.cause, "hands out the memory itself"), *others[: MAX_WRITES - 1], *found.related),
        )
    return replace(found, related=(*lines[:MAX_WRITES], *found.related))


def _between(start: Site, end: Site | None, lines: list[tuple[Site, str]]) -> list[tuple[Site, str]]:
    """Those that stand between the hand-over and the backward, or in other functions; else all."""
    last = end.line if end is not None and end.path == start.path and end.line > start.line else None
    fitting = [
        (site, label)
        for site, label in lines
        if last is None or site.path != start.path or start.line < site.line < last
    ]
    return fitting or lines
