"""Saved values were overwritten through NumPy or raw storage: backward computes a wrong gradient, silently.

Why: `.numpy()`, `torch.from_numpy`, DLPack and `.untyped_storage()` share memory with a
tensor. A write on their side never reaches autograd's version counter, so backward uses
the new values where the saved ones belong.

Fix: copy at the border: `x.detach().cpu().numpy().copy()`, `torch.tensor(array)`.

Silent on: arrays that are only read, and memory that backward does not read again.
"""

from collections.abc import Iterator

from gradscope.model import Finding
from gradscope.rules import rule
from gradscope.rules.gs101_data_write_corrupts_gradient import OTHER_LIBRARIES, corruption, corruptions
from gradscope.store import Trace


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
    for events in corruptions(trace):
        through = str(events[0].data.get("through"))
        if through in OTHER_LIBRARIES:
            # A write on the other side is no call of torch: the site is where the memory was handed out.
            site = trace.site(events[0].data.get("write"))
            label = "hands out the memory itself: writes on the other side are hidden from autograd's version check"
            fix = "copy at the border: `{name}.detach().numpy().copy()`, `torch.tensor(array)`"
            yield corruption(trace, events, site, through, label, fix)
