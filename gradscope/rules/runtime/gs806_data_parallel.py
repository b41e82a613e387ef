"""`nn.DataParallel` wraps the model, where `DistributedDataParallel` serves.

Why: DataParallel copies the model to every device in each forward, gathers all results on one,
and drives them from one Python process: it scales badly and does not reach past one machine.
Buffers that a replica changes are lost.

Fix: start one process per device (`torchrun`) and wrap with
`torch.nn.parallel.DistributedDataParallel`; with a single device leave the wrapper out.

A note where the wrapper has one device, and so passes every call on. Silent where it has none: without a GPU it does
nothing.
"""

from collections.abc import Iterator

from gradscope.analysis.words import code, plural, variable
from gradscope.events import DataParallel
from gradscope.model import Finding
from gradscope.rules import rule
from gradscope.store import Trace


def bad_wrapped_on_cuda() -> None:
    import torch
    from torch import nn

    model = nn.DataParallel(nn.Linear(4, 1).cuda())  # cause: GS806
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        opt.zero_grad()
        model(torch.randn(8, 4)).pow(2).mean().backward()
        opt.step()


def good_plain() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        opt.zero_grad()
        model(torch.randn(8, 4)).pow(2).mean().backward()
        opt.step()


@rule("GS806", name="data-parallel", severity="warning", needs=DataParallel)
def data_parallel(trace: Trace) -> Iterator[Finding]:
    for event in trace.of(DataParallel):
        site, devices = event.site.user, event.devices
        name = variable(trace, site) or "the model"
        several = devices > 1
        fix = (
            f"wrap `{name}` with `DistributedDataParallel`, one process per device (`torchrun`)"
            if several
            else f"leave the wrapper of `{name}` out, or use `DistributedDataParallel` where there are several devices"
        )
        yield Finding(
            message=f"{code(trace, site, '`nn.DataParallel`')} runs all devices from one process",
            cause=site,
            cause_label="copies the model in every forward" if several else "passes every call on as it is",
            seen=(f"made with {plural(devices, 'device')}",),
            fix=fix,
            count=event.count,
            severity="" if several else "note",
        )
