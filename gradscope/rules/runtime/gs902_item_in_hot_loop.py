"""A number is taken out of a tensor in every training step.

Why: `item()`, `tolist()`, `float(loss)` and `print(loss)` need the value now. On a GPU the
program then waits until everything queued before is done, and the device idles until the next
kernels arrive.

Fix: keep the detached tensors and turn them into numbers once in a while, for example every
hundred steps or at the end of the epoch.

Silent on: evaluation; numbers taken only now and then; tensors that are printed or formatted as they are, which is not
watched.
"""

from collections.abc import Iterator

from gradscope.analysis.names import names_of
from gradscope.analysis.ops import DISTRIBUTIONS, WAITS
from gradscope.analysis.words import code, located, plural
from gradscope.model import Finding, Graph, Op, Site
from gradscope.rules import rule
from gradscope.store import Trace

MANY = 5  # steps that it takes to be a loop


def bad_item_each_step() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    total = 0.0
    for _ in range(8):
        opt.zero_grad()
        loss = model(torch.randn(8, 4)).pow(2).mean()
        loss.backward()
        total += loss.item()  # cause: GS902
        opt.step()


def good_evaluation() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(8):
        opt.zero_grad()
        model(torch.randn(8, 4)).pow(2).mean().backward()
        opt.step()
    with torch.no_grad():
        for _ in range(8):
            model(torch.randn(8, 4)).mean().item()


@rule("GS902", name="item-in-hot-loop", severity="note", default=False)
def item_in_hot_loop(trace: Trace) -> Iterator[Finding]:
    steps = sum(s.repeat for s in trace.segments if s.graph is not None and s.is_step)
    found: dict[tuple[str, int], tuple[Op, str, int]] = {}
    for segment in trace.segments:
        if segment.graph is None:
            continue
        graph = trace.graph(segment.graph)
        for place, op in {o.site.user.location(): o for o in graph.ops if _trains(graph, o)}.items():
            device = graph.values[op.inputs[0]].device if op.inputs else "cpu"
            before = found.get(place)
            found[place] = (op, device, segment.repeat + (before[2] if before else 0))
    for op, device, times in found.values():
        if steps >= MANY and times >= 0.8 * steps and op.site.user.kind == "user":
            waits = "" if device != "cpu" else "; on this device it costs nothing to speak of"
            yield Finding(
                message=f"{code(trace, op.site.user, f'`{op.name}()`')} runs in every training step",
                cause=op.site.user,
                cause_label="waits for the device"
                if device != "cpu"
                else "on a GPU each of them waits for the device",
                seen=(f"in {times} of {plural(steps, 'step')} looked at, on {device}{waits}",),
                fix=_fix(trace, op),
                count=times,
            )


def _trains(graph: Graph, op: Op) -> bool:
    """Whether this reads a number where gradients are at work: in a part of the run with a graph, or of
    a value that has one (the loss, after the step)."""
    return op.name in WAITS and bool(graph.nodes or any(value.requires_grad for value in graph.inputs(op)))


def _fix(trace: Trace, op: Op) -> str:
    here = located(trace, op.site.user)
    if any(frame.kind == "torch" and DISTRIBUTIONS in frame.path for frame in op.site.stack):
        return f"give `validate_args=False` to the distribution of {here}: it checks its arguments each time"
    return (
        f"keep `{_value(trace, op.site.user)}.detach()` in place of {here}, and turn it into a number once in a"
        " while: every hundred steps, or at the end of the epoch"
    )


def _value(trace: Trace, site: Site) -> str:
    """`loss` of `loss.item()`."""
    return names_of(trace).receiver(site) or "loss"
