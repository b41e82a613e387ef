"""The model is trained on inputs of one scale and evaluated on inputs of another.

Why: what is subtracted from the training data and divided out of it belongs to the model: a network that has only seen
numbers of about 1 answers nonsense for the same pictures with values up to 255. It happens where the two are prepared
in two places, and one of them is forgotten or uses statistics of its own.

Fix: one function, with the statistics of the training data, for both.

Measured: what the first layer is given, in its first training call and in the first call without gradients of each
place. Silent where the evaluation's numbers are as large, or smaller, as where a text or a series is begun with zeros,
but for those that are the training's divided by 50 or more, and for pictures from 0 to 1 that one of the two gets with
their mean taken away and their deviation divided out.
"""

from collections.abc import Iterator
from math import prod

from gradscope.analysis.reach import paths
from gradscope.analysis.words import located
from gradscope.events import RawInput
from gradscope.fixes.calls import argument_as
from gradscope.model import Finding, Op, Site
from gradscope.rules import rule
from gradscope.store import Trace

WIDER = 8.0  # deviations
AWAY = 10.0  # of the training's deviations
FACTOR = 50.0  # by which the training's deviation is larger: as of numbers up to 255
BYTE = 255.0  # the largest number of a picture that is not scaled
FEW = 8  # inputs of a unit: quantities of their own, and no picture
SHIFTED = 0.6  # of the training's deviation: what that of pictures from 0 to 1 is at most
ENDS = 0.2  # of the evaluation's range: how far its ends may lie from the training's, brought back
# Of the training's deviation: how far its mean may lie from the evaluation's, once that is scaled.
ALIKE = 0.3


def bad() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    images = torch.randint(0, 256, (96, 16)).float()
    labels = (images[:, :8].mean(1) > images[:, 8:].mean(1)).long()
    train, test = images[:64], images[64:]
    train = (train - train.mean()) / train.std()
    model = nn.Linear(16, 2)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(5):
        loss = nn.functional.cross_entropy(model(train), labels[:64])  # effect: GS789
        opt.zero_grad()
        loss.backward()
        opt.step()
    with torch.no_grad():
        (model(test).argmax(1) == labels[64:]).float().mean().item()  # cause: GS789


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    images = torch.randint(0, 256, (96, 16)).float()
    labels = (images[:, :8].mean(1) > images[:, 8:].mean(1)).long()
    train, test = images[:64], images[64:]
    mean, std = train.mean(), train.std()
    train, test = (train - mean) / std, (test - mean) / std
    model = nn.Linear(16, 2)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(5):
        loss = nn.functional.cross_entropy(model(train), labels[:64])
        opt.zero_grad()
        loss.backward()
        opt.step()
    with torch.no_grad():
        (model(test).argmax(1) == labels[64:]).float().mean().item()


@rule("GS789", name="evaluated-on-another-scale", severity="warning", needs=RawInput)
def evaluated_on_another_scale(trace: Trace) -> Iterator[Finding]:
    trained: dict[int, RawInput] = {}
    told: set[Site] = set()
    for event in trace.of(RawInput):
        if event.trains:
            trained.setdefault(event.parameter, event)
    for event in trace.of(RawInput):
        first = trained.get(event.parameter)
        if event.trains or first is None:
            continue
        times = _times_larger(first, event)
        picture = prod(trace.parameter(event.parameter).shape[1:]) > FEW
        shift = _standardised(first, event) if picture else None
        other = shift or (picture and _standardised(event, first)) or _other(first, event)
        if not (times or other) or _of_a_network(trace, event):
            continue
        here, there = _parted(event.site, first.site)
        within = _given_within(trace, event), _given_within(trace, first)
        if within[0] is not None and within[1] is not None:
            here, there = within[0], within[1]
        if here in told:
            continue
        told.add(here)
        given, trained_with = f"is given {_range(event)}", f"was trained with {_range(first)}"
        if times:  # what is odd is what the training gets
            here, there, given, trained_with = there, here, trained_with, given
        larger = first if times else event
        divisor = _divisor(larger, times or _times_larger(event, first))
        yield Finding(
            message=f"trained on inputs of {_about(first)}, evaluated on inputs of {_about(event)}"
            + (f": {times:.3g} times smaller" if times else ""),
            cause=here,
            cause_label=given,
            effect=there,
            effect_label=trained_with,
            seen=(
                f"what `{first.name}` was given at first in training: {_range(first)}, on the average {first.mean:.4g},"
                f" with a deviation of {first.std:.4g}",
                f"in evaluation: {_range(event)}, on the average {event.mean:.4g}, with a deviation of {event.std:.4g}",
            ),
            fix=f"prepare what {located(trace, here)} is given as it is done for {located(trace, there)}"
            + (f": divided by {divisor:.3g}" if divisor else ", with the training data's numbers")
            + (f" (about `(x - {shift[0]:.2g}) / {shift[1]:.2g}`)" if shift is not None else ""),
            edits=argument_as(trace, here, "input", 0, "{} / 255") if divisor == BYTE else (),
        )


def _parted(one: Site, other: Site) -> tuple[Site, Site]:
    """The program's own calls, from the layer outwards, in which two stacks differ first: of the network, mostly."""
    ours = ([f for f in reversed(site.stack) if f.kind == "user"] for site in (one, other))
    pairs = ((a, b) for a, b in zip(*ours, strict=False) if a.location() != b.location())
    return next(pairs, (one.user, other.user))


def _times_larger(first: RawInput, later: RawInput) -> float:
    """How many times the inputs of a training are those of an evaluation, where they are the same but for a factor."""
    if not later.std > 0 or first.std < FACTOR * later.std:
        return 0.0
    times = first.std / later.std
    alike = abs(first.mean - times * later.mean) < ALIKE * first.std
    ranges = ((first.high, later.high), (first.low, later.low))
    return times if alike and all(abs(a - times * b) < 2 * first.std for a, b in ranges) else 0.0


def _standardised(first: RawInput, later: RawInput) -> tuple[float, float] | None:
    """The mean and the deviation by which the one's inputs were standardised, where the other is given pictures from 0
    to 1 that were not: both have the same ends, but for these."""
    if (
        not (first.std > 0 and later.std > 0 and first.low < 0 <= later.low and later.high <= 1)
        or first.means
    ):
        return None
    deviation = later.std / first.std
    mean = later.mean - deviation * first.mean
    ends = ((first.low, later.low), (first.high, later.high))
    alike = all(abs(mean + deviation * a - b) <= ENDS * (later.high - later.low) for a, b in ends)
    return (mean, deviation) if alike and deviation <= SHIFTED else None


def _divisor(larger: RawInput, times: float) -> float:
    """What the larger numbers are to be divided by: of two batches only about what they are times the others."""
    return BYTE if 0.7 < times / BYTE < 1.4 and larger.low >= 0 and 1 < larger.high <= BYTE else times


def _range(event: RawInput) -> str:
    return f"{event.low:.4g} to {event.high:.4g}"


def _of_a_network(trace: Trace, event: RawInput) -> bool:
    """Whether parameters have made what a layer is given, as in the direction that draws samples from a flow."""
    op = _call(trace, event)
    if op is None:
        return False
    known = paths(trace)
    return any(known.parameter_of(key) is not None for key in known.flow([(op.graph, op.inputs[0])]).order)


def _call(trace: Trace, event: RawInput) -> Op | None:
    """The call of the layer, in the first graph that has it."""
    for op in trace.called_at(event.site.id, {event.name}):
        values = trace.graph(op.graph).values
        if event.parameter in {values[index].parameter for index in op.inputs}:
            return op
    return None


def _given_within(trace: Trace, event: RawInput) -> Site | None:
    """The program's own call of the network, where the function that makes it also makes the tensor that it gives."""
    op = _call(trace, event)
    if op is None:
        return None
    graph = trace.graph(op.graph)
    sites = (graph.values[index].site for index in graph.upstream(op.inputs[0]))
    made = {(site.user.path, site.user.function) for site in sites if site is not None}
    frames = [frame for frame in event.site.stack if frame.kind == "user" and frame.function != "<module>"]
    return next((frame for frame in frames if (frame.path, frame.function) in made), None)


def _other(first: RawInput, later: RawInput) -> bool:
    """Whether the inputs of an evaluation lie far wider, or elsewhere, than those of the training."""
    if not first.std > 0 or not later.std > 0:
        return False
    wide = later.std > WIDER * first.std or abs(later.mean - first.mean) > AWAY * max(first.std, later.std)
    return wide and not _in_the_middle_alike(first, later)


def _in_the_middle_alike(first: RawInput, later: RawInput) -> bool:
    """Whether half of the numbers lie where they lay in the training: a few large ones make the deviation."""
    if len(first.quartiles) != 3 or len(later.quartiles) != 3:
        return False
    low, _, high = first.quartiles
    later_low, later_middle, later_high = later.quartiles
    return 0 < later_high - later_low < 2 * (high - low) and low <= later_middle <= high


def _about(event: RawInput) -> str:
    return f"{event.mean:.3g} ± {event.std:.3g}"
