"""cuDNN's benchmark mode is on where it can't help: the shapes keep changing.

Why: with `cudnn.benchmark` torch tries every algorithm for each new shape of a convolution's
input and keeps the fastest. That pays for shapes that repeat; where they keep changing, each
call is a trial. Together with `cudnn.deterministic` it chooses among the deterministic ones by
time, so two runs may still choose differently.

Fix: leave `torch.backends.cudnn.benchmark` off for inputs of many shapes, or pad them to a few;
leave it off too where runs are to be repeated.

Silent on: a last batch that is smaller. A note on a machine whose convolutions run without cuDNN.
"""

from collections.abc import Iterator

from gradscope.analysis.names import place, shape_words
from gradscope.analysis.words import listed, located, plural
from gradscope.events import InputShapes, Setting
from gradscope.fixes.blocks import switched_off
from gradscope.model import Event, Finding
from gradscope.rules import rule
from gradscope.store import Trace

MANY = 4  # shapes of one call that are no last batch


def bad_many_shapes() -> None:
    import torch
    from torch import nn

    before = torch.backends.cudnn.benchmark
    torch.backends.cudnn.benchmark = True  # cause: GS805
    model = nn.Conv2d(3, 4, 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for size in range(8, 16):
        opt.zero_grad()
        model(torch.randn(2, 3, size, size)).pow(2).mean().backward()  # effect: GS805
        opt.step()
    torch.backends.cudnn.benchmark = before


def good_off() -> None:
    import torch
    from torch import nn

    model = nn.Conv2d(3, 4, 3)
    for size in range(8, 16):
        model(torch.randn(2, 3, size, size))


@rule("GS805", name="cudnn-benchmark-varying-shapes", severity="warning", needs=Setting)
def cudnn_benchmark_varying_shapes(trace: Trace) -> Iterator[Finding]:
    settings = trace.of(Setting)
    on = [e for e in settings if e.name == "cudnn.benchmark" and e.to]
    if not on:
        return
    for event in trace.of(InputShapes):
        if len(event.shapes) >= MANY and _convolves(trace, event):
            yield _varying(trace, event, on[0])
            return
    both = _both(settings)
    if both is not None:
        yield _together(trace, *both)


def _varying(trace: Trace, event: InputShapes, on: Setting) -> Finding:
    shapes = [shape_words(shape) for shape in event.shapes]
    return Finding(
        message="`cudnn.benchmark` is on, and the shapes of the input keep changing: every new one is a trial",
        cause=on.site.user,
        cause_label="switched on here",
        effect=event.site.user,
        effect_label=f"called with {plural(len(shapes), 'shape')}",
        seen=(f"inputs of {listed(shapes, 4)}",),
        fix=f"leave `torch.backends.cudnn.benchmark` off ({place(on.site.user)}), or pad what goes into"
        f" {located(trace, event.site.user, 'the model')} to a few shapes",
        edits=switched_off(trace, on.site.user),
        severity="" if _on_cuda(trace) else "note",
    )


def _together(trace: Trace, benchmark: Setting, deterministic: Setting) -> Finding:
    return Finding(
        message="`cudnn.benchmark` is on together with `cudnn.deterministic`: runs may still differ",
        cause=benchmark.site.user,
        cause_label="chooses algorithms by time",
        related=((deterministic.site.user, "repeatable runs are wanted here"),),
        seen=(f"both were on from {place(max(benchmark, deterministic, key=_order).site.user)} on",),
        fix=f"leave `torch.backends.cudnn.benchmark` off ({place(benchmark.site.user)}) where runs are to be repeated",
        edits=switched_off(trace, benchmark.site.user),
        severity="" if _on_cuda(trace) else "note",
    )


def _order(event: Event) -> tuple[int, int]:
    return event.segment, event.position


def _both(settings: list[Setting]) -> tuple[Setting, Setting] | None:
    """The events that left both switches on at one time."""
    now: dict[str, Setting] = {}
    for event in settings:
        if event.to:
            now[event.name] = event
        else:
            now.pop(event.name, None)
        if "cudnn.benchmark" in now and "cudnn.deterministic" in now:
            return now["cudnn.benchmark"], now["cudnn.deterministic"]
    return None


def _convolves(trace: Trace, event: InputShapes) -> bool:
    called = trace.modules.get(event.module)
    inside = {m.id for m in trace.modules.values() if called is not None and m.root == called.root}
    ops = (op for graph in trace.graphs for op in graph.ops)
    return any(op.module in inside and op.name.startswith("conv") for op in ops)


def _on_cuda(trace: Trace) -> bool:
    return any(p.device.startswith("cuda") for p in trace.parameters)
