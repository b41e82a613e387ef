"""An averaged copy of a model is evaluated with running statistics that nobody averaged.

Why: a moving average of the weights leaves buffers alone: the copy's batch norm still has the
mean and variance it was made with (0 and 1, mostly). In evaluation mode it normalises by them,
and the averaged weights look far worse than they are.

Fix: copy the buffers along with each average, as `torch.optim.swa_utils.AveragedModel` does, or
call `torch.optim.swa_utils.update_bn(loader, averaged)` before evaluating.

A warning where the parameters were kept elsewhere, in a dict, say, and given to another network as a whole.

Silent on: copies whose statistics follow; models without such buffers; models that are not averaged.
"""

from collections.abc import Iterator

from gradscope.analysis.calls import Call, Calls, calls
from gradscope.analysis.counted import at_least
from gradscope.analysis.names import place
from gradscope.analysis.own_writes import kept_up, taken_over
from gradscope.analysis.unread import module_name
from gradscope.analysis.words import numbers
from gradscope.events import RunningStats, Update
from gradscope.fixes.blocks import buffers_copied
from gradscope.fixes.source import receiver
from gradscope.model import Finding, Module, Site
from gradscope.rules import rule
from gradscope.store import Trace


def bad_average_by_hand() -> None:
    import copy

    import torch
    from torch import nn

    model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Linear(8, 2))
    averaged = copy.deepcopy(model)
    averaged.eval()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        model(torch.randn(8, 4) + 2).pow(2).mean().backward()
        opt.step()
        with torch.no_grad():
            for slow, fast in zip(averaged.parameters(), model.parameters(), strict=True):
                slow.mul_(0.9).add_(fast, alpha=0.1)
    with torch.no_grad():
        averaged(torch.randn(8, 4) + 2).pow(2).mean().item()  # cause: GS407


def good_buffers_too() -> None:
    import torch
    from torch import nn
    from torch.optim.swa_utils import AveragedModel

    model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Linear(8, 2))
    averaged = AveragedModel(model, use_buffers=True)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        model(torch.randn(8, 4) + 2).pow(2).mean().backward()
        opt.step()
        averaged.update_parameters(model)
    averaged.eval()
    with torch.no_grad():
        averaged(torch.randn(8, 4) + 2).pow(2).mean().item()


@rule("GS407", name="averaged-buffers-ignored", severity="error", needs=RunningStats)
def averaged_buffers_ignored(trace: Trace) -> Iterator[Finding]:
    known = calls(trace)
    written = kept_up(trace)
    told: set[int] = set()
    for event in trace.of(RunningStats):
        if not _untouched(event):
            continue
        part = _averaged(trace, known, event, written)
        sources = _sources(trace, known, event, part) if part is not None and part.id not in told else []
        if part is not None and sources:
            told.add(part.id)
            yield _finding(trace, known, event, part, sources)


def _untouched(event: RunningStats) -> bool:
    """Whether the layer has never seen a batch nor been given another one's statistics: they are
    as they were made, or stayed the same while its parameters changed. What is loaded is given, though it may be the
    same."""
    first, last = event.first, event.last
    if first["written"] != last["written"]:
        return False
    fresh = all(x == 0 for x in last["mean"]) and all(x == 1 for x in last["var"])
    still = all(first[k] == last[k] for k in ("mean", "var", "batches"))
    return (fresh and not last["batches"]) or (still and first["version"] != last["version"])


def _averaged(trace: Trace, known: Calls, event: RunningStats, written: set[int]) -> Module | None:
    """The largest module around a layer whose parameters the program writes while it trains, and no
    gradient trains: a model, or a part of the one that holds both copies. A teacher whose
    weights were loaded before is none."""
    layer, found = trace.modules[event.module], None
    moved = event.first["version"] != event.last["version"]
    above: int | None = layer.id
    while above is not None and above in trace.modules:
        members = known.members(above)
        mine = [p for p in trace.parameters if p.module in members]
        if any(p.steps or p.passes for p in mine):
            break
        written_to = any(p.id in written or p.updates or (moved and p.changed) for p in mine)
        if written_to or (mine and all(p.id in taken_over(trace) for p in mine)):
            found = trace.modules[above]
        above = trace.modules[above].parent
    return found


def _sources(trace: Trace, known: Calls, event: RunningStats, part: Module) -> list[Call]:
    """Training calls of models with the same layer, which moved its statistics: one of each."""
    found: dict[int, Call] = {}
    layer, members = trace.modules[event.module], known.members(part.id)
    inside = layer.path.removeprefix(f"{part.path}.") if part.path else layer.path
    for call in known.all:
        if not call.trains or known.called(call.event) in members:
            continue
        for number in call.event.train_layers:
            other = trace.modules.get(number)
            if other is not None and number not in members and other.cls == layer.cls:
                if _alike(other.path, inside):
                    found.setdefault(known.called(call.event), call)
    return list(found.values())


def _alike(a: str, b: str) -> bool:
    """Whether two dotted paths name the same layer, one perhaps inside a wrapper."""
    return a == b or a.endswith(f".{b}") or b.endswith(f".{a}")


def _averaging(trace: Trace, members: set[int]) -> Site | None:
    """Where the program writes the parameters of these modules."""
    ids = {p.id for p in trace.parameters if p.module in members}
    return next((e.site.user for e in trace.of(Update) if e.parameter in ids), None)


def _given(trace: Trace, members: set[int]) -> Site | None:
    """Where it writes them as a whole, from an average or copy that it kept elsewhere."""
    ops = (taken_over(trace).get(p.id) for p in trace.parameters if p.module in members)
    return next((op.site.user for op in ops if op is not None), None)


def _finding(trace: Trace, known: Calls, event: RunningStats, part: Module, sources: list[Call]) -> Finding:
    source = sources[0]
    site = event.site.user
    layer = trace.modules[event.module]
    called = receiver(trace, site) if part.parent is None and not part.name else ""
    copy = f"`{called}`" if called else module_name(trace, part.id)
    original = known.name(source.event)
    last = event.last
    others, whose = (" and of others like it", "their") if len(sources) > 1 else ("", "its")
    times = sum(c.event.count for c in known.all if c.trains and c.event.module == source.event.module)
    members = known.members(part.id)
    averaging = _averaging(trace, members)
    given = _given(trace, members) if averaging is None else None
    at = f" ({place(averaging)})" if averaging else ""
    text, edits = buffers_copied(trace, averaging) if len(sources) == 1 else ("", ())
    if len(sources) > 1:  # the clients of federated learning
        fix = f"average the buffers of all of these models too{at}: `state_dict()` holds both"
    elif given is not None:
        fix = f"give {copy} the buffers of {original} too ({place(given)}): keep `state_dict()`, which holds them, in"
        fix += f" place of the parameters alone, or make {copy} as a `copy.deepcopy` of {original}"
    else:
        text = (
            text
            or f"for b, s in zip({copy.strip('`')}.buffers(), {original.strip('`')}.buffers()): b.copy_(s)"
        )
        fix = f"copy the buffers of {original} with each average{at}: `{text}`"
    verb = "averages" if given is None else "is given"
    return Finding(
        message=f"{copy} {verb} the parameters of {original}{others} but not {whose} running statistics",
        cause=site,
        cause_label="normalises by statistics that nobody updated",
        related=(
            (source.entry, "trains with batch statistics here"),
            *(((averaging, "averages the parameters, not the buffers"),) if averaging is not None else ()),
            *(((given, "writes parameters, not buffers"),) if given is not None else ()),
        ),
        seen=(
            f"`{layer.path}.running_mean` of {copy} is {numbers(last['mean'])} and `running_var` is "
            f"{numbers(last['var'])} after {at_least(trace, times, 'training call')} of {original}",
        ),
        fix=fix,
        edits=edits,
        severity="warning" if given is not None else "",
        subjects=frozenset({("call", site.location())}),
    )
