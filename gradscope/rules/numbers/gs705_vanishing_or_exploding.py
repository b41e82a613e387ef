"""Gradients shrink to nothing on their way to the first layers, or grow without bound.

Why: each layer multiplies the gradient that passes it. Ten factors of a tenth leave the first layers
with nothing to learn from; factors above one, or steps that are too long, make it grow until the
parameters overflow.

A loss that has no lowest value falls without end while its gradients grow.

Fix: against vanishing: ReLU-like activations in place of sigmoid, normalisation, residual connections,
an initialisation that keeps the variance. Against exploding: a smaller learning rate, and
`clip_grad_norm_` between `backward()` and the step.

Silent on: single parameters with a small gradient, layers that begin at zero on purpose and what lies
behind them, gradients that are cleared or left unused (those of a critic in the pass of its actor, of a
model whose inputs are attacked), gradients that grow since nothing clears them (GS201), small ones
that an optimizer such as Adam brings up to size, gradients that are clipped, losses that a `GradScaler`
has scaled.
"""

import itertools
import math
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from statistics import median

from gradscope.analysis.delicate import grown_until_it_broke
from gradscope.analysis.gradients import gradients, thrown_away
from gradscope.analysis.names import place
from gradscope.analysis.ops import ADDITIONS, PASSING
from gradscope.analysis.reach import Paths, paths
from gradscope.analysis.schedules import finds_its_length, goes_up, raises_its_rate
from gradscope.analysis.stale import stale_uses
from gradscope.analysis.words import (
    code,
    listed,
    located,
    numbers,
    parameter_name,
    parameter_names,
    parameter_subjects,
    user,
)
from gradscope.events import Backward, Clip, NonFinite, Scaler
from gradscope.fixes.settings import elsewhere, with_setting
from gradscope.fixes.source import Edits
from gradscope.model import Event, Finding, Graph, Op, Site
from gradscope.rules import rule
from gradscope.store import Trace

DEEP = 5  # weights on the way, at least
TINY = 1e-5  # of the gradient in the last third of the layers
STEADY = 0.7  # of the neighbouring layers (steps) go the same way
GROWN = 1e4  # times the gradient, from the first passes on
SMALL = 10.0  # the norm of all gradients, below which none explodes, whatever it grew from
LOSS_GROWN = 100  # times the loss, with it
VAST = 1e6  # times the loss: no batches' noise, of which a few passes that were looked at may show much
BOTTOMLESS = 1e4  # times what it was at first: so far below zero a loss has fallen
STEADY_ENOUGH = 0.5
HUGE = 1e8
IDLE = 1e3  # times smaller than its weight's, the gradient of a bias says nothing
PASSES = 3  # measured, at least
BLOCKS = 8
SQUASHING = {"sigmoid": 0.25, "tanh": 1.0, "softmax": 0.5, "hardsigmoid": 1 / 6, "softsign": 1.0}


def bad_vanishing() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    layers = [layer for _ in range(9) for layer in (nn.Linear(8, 8), nn.Sigmoid())]
    model = nn.Sequential(*layers, nn.Linear(8, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        opt.zero_grad()
        out = model(torch.randn(8, 8))  # cause: GS705
        loss = (out - 1).pow(2).mean()
        loss.backward()  # effect: GS705
        opt.step()


def good_deep() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    layers = [layer for _ in range(9) for layer in (nn.Linear(8, 8), nn.LayerNorm(8), nn.ReLU())]
    model = nn.Sequential(*layers, nn.Linear(8, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        opt.zero_grad()
        (model(torch.randn(8, 8)) - 1).pow(2).mean().backward()
        opt.step()


@rule("GS705", name="vanishing-or-exploding", severity="warning", over=("GS212", "GS701"), symptom=True)
def vanishing_or_exploding(trace: Trace) -> Iterator[Finding]:
    scaled = {
        e.site.user.location() for e in trace.of(Scaler) if e.call == "backward" and e.scaled is not False
    }
    vanished: set[int] = set()
    for one in _lines(trace):
        if one.event.site.user.location() in scaled:
            continue
        found = list(_shrinking(one, vanished))
        yield from (_vanishing(one, layers) for layers in found)
        if not found and not trace.of(Clip) and grown_until_it_broke(trace):
            yield from _exploding(one)


_WHY_OVERSHOT = (
    "an update goes down the slope only as far as the slope holds. Where it is longer than that the loss is larger"
    " afterwards, and so are the gradients: the next update is longer still, until the parameters overflow."
)


@dataclass
class _Line:
    """The passes of one line: `event` is the last of their kinds; `filled`, the parameters that they give
    a gradient which is not thrown away."""

    trace: Trace
    known: Paths
    event: Backward
    sites: set[int]
    filled: set[int]

    def norms(self, id: int) -> list[float]:
        return [norm for _, norm in self.trace.numbers("grad_norm", id, self.sites)]

    def sizes(self, id: int) -> list[float]:
        """The gradient's mean size by element, in each pass that was measured."""
        elements = math.sqrt(max(1, math.prod(self.trace.parameter(id).shape)))
        return [norm / elements for norm in self.norms(id)]


def _lines(trace: Trace) -> Iterator[_Line]:
    known, thrown = paths(trace), thrown_away(trace)
    events = {event.site.user.location(): event for event in known.backwards}
    for line, event in events.items():
        sites = {e.site.id for e in trace.of(Backward) if e.site.user.location() == line}
        filled = set(event.filled) - thrown.get(line, set())
        yield _Line(trace, known, event, sites, filled)


def _shrinking(one: _Line, vanished: set[int]) -> Iterator[list[tuple[Op, int]]]:
    """The layers of each network of this pass in which the gradient vanishes; not those in `vanished`, which
    is added to."""
    for network in _networks(one, [layer for layer in _layers(one) if layer[1] not in vanished]):
        # Where activations shrink as the gradients do, the weights' are small all along: biases tell.
        series = (network, _biases(one, network))
        layers = next((s for s in series if _vanishes(one, [id for _, id in s])), None)
        if layers is not None:
            vanished.update(id for _, id in network)
            yield layers


def _networks(one: _Line, layers: list[tuple[Op, int]]) -> list[list[tuple[Op, int]]]:
    """Those of which one is given what another made: networks whose losses are only added up have each their own."""
    if len(layers) < DEEP:
        return []
    graph = one.known.graph(one.event.graph)
    own = {op.index: number for number, (op, _) in enumerate(layers)}
    above = list(range(len(layers)))  # of each layer, one that it goes together with; a tree
    behind: dict[int, frozenset[int]] = {}  # value → the layers it was made by

    def top(number: int) -> int:
        while above[number] != number:
            number = above[number]
        return number

    for op in graph.ops:
        made = frozenset(top(n) for i in op.inputs for n in behind.get(i, ()))
        if op.index in own:
            for number in made:
                above[top(number)] = top(own[op.index])
            made = frozenset({own[op.index]})
        if made:
            behind.update(dict.fromkeys(op.outputs, made))
    groups: dict[int, list[tuple[Op, int]]] = {}
    for number, layer in enumerate(layers):
        groups.setdefault(top(number), []).append(layer)
    return list(groups.values())


def _layers(one: _Line) -> list[tuple[Op, int]]:
    """(op, parameter) of each weight that this pass trains and the forward uses once, first layer first."""
    graph = one.known.graph(one.event.graph)
    found: list[tuple[Op, int]] = []
    for value in graph.values:
        if value.parameter is None or value.index >= len(graph.values) or value.kind != "parameter":
            continue
        readers = [op for op in graph.consumers.get(value.index, ()) if op.nodes]
        if len(readers) == 1 and len(value.shape) >= 2 and value.parameter in one.filled:
            found.append((readers[0], value.parameter))
    return sorted(found, key=lambda layer: layer[0].index)


def _biases(one: _Line, layers: list[tuple[Op, int]]) -> list[tuple[Op, int]]:
    """The same layers with their biases, where each has one that counts: before a
    normalisation its gradient is zero but for rounding, and its weight's is not."""
    found = []
    graph = one.known.graph(one.event.graph)
    for op, weight in layers:
        added = (
            reader for _, reader in graph.readers_behind(op.outputs, _hands_on) if reader.name in ADDITIONS
        )
        ids = _vectors(graph, op) or [id for reader in added for id in _vectors(graph, reader)]
        if len(ids) != 1 or ids[0] is None or ids[0] not in one.filled:
            return []
        if median(one.sizes(weight) or [0.0]) > IDLE * median(one.sizes(ids[0]) or [0.0]):
            return []
        found.append((op, ids[0]))
    return found


def _vectors(graph: Graph, op: Op) -> list[int | None]:
    """The parameters of one axis that a call is given; None for what is none."""
    return [value.parameter for value in graph.inputs(op) if len(value.shape) == 1]


def _hands_on(op: Op) -> bool:
    return op.name in PASSING


def _taught(rows: Iterable[list[float]]) -> list[list[float]]:
    """Layer by layer what was measured of them, without the passes in which nothing arrived at the last
    layer either: there the loss has no more to teach."""
    return [list(one) for one in zip(*(row for row in zip(*rows, strict=False) if any(row)), strict=True)]


def _vanishes(one: _Line, ids: list[int]) -> bool:
    series = _taught(one.sizes(id) for id in ids)
    if len(series) < DEEP or len(series[0]) < 2 or _scaled_up(one.trace, ids[0], median(series[0])):
        return False
    half = len(series[0]) // 2
    return all(_falls([median(part) for part in parts]) for parts in (
        [s[:half] for s in series], [s[half:] for s in series],
    ))  # fmt: skip


def _scaled_up(trace: Trace, id: int, size: float) -> bool:
    """Whether its optimizer divides the gradient by its own size, as Adam does, and that is more than the
    `eps` which it adds: then a small gradient moves the parameter as far as a large one."""
    groups = (group for number in trace.parameter(id).optimizers for group in trace.optimizers[number].groups)
    return any(
        isinstance(group.get("eps"), (int, float)) and size > group["eps"]
        for group in groups
        if id in group["parameters"]
    )


def _falls(sizes: list[float]) -> bool:
    """Whether sizes (first layer first) shrink steadily from the last layer to the first. One place may
    shrink them as far as it likes: behind a gate that begins at zero, or a last layer that begins with
    small weights, the gradient grows as training goes on."""
    if not all(math.isfinite(size) and size > 0 for size in sizes):
        return False
    third = max(1, len(sizes) // 3)
    rising = sum(a < b for a, b in itertools.pairwise(sizes))
    factors = [a / b for a, b in itertools.pairwise(sizes)]
    gate = factors.index(min(factors))
    even = [*sizes[: gate + 1], *(size * factors[gate] for size in sizes[gate + 1 :])]
    small = median(even[:third]) < TINY * median(even[-third:])
    return small and rising >= STEADY * (len(sizes) - 1)


def _vanishing(one: _Line, layers: list[tuple[Op, int]]) -> Finding:
    trace, event = one.trace, one.event
    ids = [id for _, id in layers]
    first, last = ids[0], ids[-1]
    series = _taught(one.norms(id) for id in ids)
    norms = {id: median(some) for id, some in zip(ids, series, strict=True)}
    shown = [ids[round(i * (len(ids) - 1) / 4)] for i in range(5)]
    each = [f"`{parameter_name(trace, id)}` {norms[id]:.2g}" for id in shown]
    few = [id for id in ids if norms[id] < norms[last] * 1e-3]
    return Finding(
        message=f"the gradient vanishes on its way to the first layers: {parameter_names(trace, few)} learn nothing",
        cause=layers[0][0].site.user,
        cause_label=f"the gradient that arrives at `{parameter_name(trace, first)}` is "
        f"{norms[first] / norms[last]:.1g} of that at `{parameter_name(trace, last)}`",
        effect=event.site.user,
        effect_label=f"goes back through {len(ids)} layers",
        seen=(f"gradient norms (median of {len(series[0])} passes): {', '.join(each)}",),
        fix=_against_vanishing(trace, one.known, event),
        count=event.count,
        subjects=parameter_subjects(few),
    )


def _against_vanishing(trace: Trace, known: Paths, event: Event) -> str:
    names = [op.name for op in known.graph(event.graph).ops if op.nodes and op.name in SQUASHING]
    general = (
        "add normalisation or residual connections between the layers, and initialise for the activation used"
    )
    if not names:
        return general
    name = max(set(names), key=names.count)
    first = next(op.site.user for op in known.graph(event.graph).ops if op.nodes and op.name == name)
    if SQUASHING[name] >= 1:  # where it is flat the gradient is lost, elsewhere the weights are small
        return f"{general}; or use ReLU in place of `{name}` ({place(first)}) inside the network"
    return (
        f"each of the {names.count(name)} `{name}` calls, from {located(trace, first, 'the first')} on, multiplies"
        f" the gradient by at most {SQUASHING[name]:.2g}: use ReLU in its place inside the network; or {general}"
    )


def _exploding(one: _Line) -> Iterator[Finding]:
    trace, event = one.trace, one.event
    known = {p.id for p in trace.parameters}  # a trace that is still growing may lack some
    taught = known & one.filled & _used(one)
    ids = [id for id in event.filled if id in taught and one.norms(id)]
    if not ids or not trace.parameter(ids[0]).steps:
        return
    totals = [math.hypot(*norms) for norms in zip(*(one.norms(id) for id in ids), strict=False)]
    losses = [value for _, value in trace.numbers("loss", None, one.sites)]
    holding = [trace.optimizers[number] for number in trace.parameter(ids[0]).optimizers]
    meant = any(goes_up(o) or raises_its_rate(o) or finds_its_length(trace, o) for o in holding)
    finite = [total for total in totals if math.isfinite(total)]
    grown = not meant and _grows(totals, losses) and (len(finite) < len(totals) or max(finite) > SMALL)
    if not finite or not (grown or median(finite[:PASSES]) > HUGE):
        return
    sound = [loss for loss in losses if math.isfinite(loss)]
    if grown and _is_bottomless(sound):
        yield _bottomless(one, ids, sound, finite)
        return
    grown = grown or finite[0] <= HUGE
    if grown and _added_up(trace, ids):
        return
    seen = [f"norm of all gradients: {listed([f'{t:.2g}' for t in _some(finite)], 6)}"]
    if losses:
        seen.append(f"the loss went from {numbers(losses[0])} to {numbers(losses[-1])}")
    origins = [user(trace.site(first.origin)) for first in trace.of(NonFinite)]
    if origin := next((site for site in origins if site is not None), None):
        seen.append(f"{code(trace, origin)} is the first to overflow ({place(origin)})")
    fix, edits = _against_exploding(trace, ids, event.site.user, grown)
    yield Finding(
        message=f"the gradients explode: their norm reaches {max(finite):.2g}",
        cause=event.site.user,
        cause_label="each pass leaves larger gradients than the last"
        if grown
        else "leaves gradients this large from the first pass on",
        seen=tuple(seen),
        why=_WHY_OVERSHOT if grown and len(_layers(one)) < DEEP else "",
        fix=fix,
        edits=edits,
        count=event.count,
        subjects=parameter_subjects(ids) | {("exploding", *event.site.user.location())},
    )


def _added_up(trace: Trace, ids: list[int]) -> bool:
    """Whether most steps used these gradients with the older ones still in them: that is GS201's, and they grow for as
    long as nothing clears them."""
    steps, uses = trace.optimizers, Counter[int]()
    for event in stale_uses(trace):
        if event.optimizer is not None:
            uses.update(dict.fromkeys(event.parameters, event.count))
    holding = {id: [steps[number].steps for number in trace.parameter(id).optimizers] for id in ids}
    return all(uses[id] * 2 >= sum(counts) > 0 for id, counts in holding.items())


def _is_bottomless(sound: list[float]) -> bool:
    """Whether the loss has fallen from one measured pass to the next, to numbers far below zero: a step that is too
    long makes it rise."""
    falling = sum(a > b for a, b in itertools.pairwise(sound))
    late = sound[len(sound) // 2 :]
    always = all(a > b for a, b in itertools.pairwise(late))
    return (
        falling >= STEADY * (len(sound) - 1) and always and sound[-1] < -BOTTOMLESS * max(abs(sound[0]), 1.0)
    )


def _bottomless(one: _Line, ids: list[int], sound: list[float], norms: list[float]) -> Finding:
    """A loss that has no lowest value."""
    trace, event = one.trace, one.event
    maker = one.known.maker((event.graph, event.roots[0])) if event.roots else None
    cause = maker.site.user if maker is not None else event.site.user
    return Finding(
        message=f"the loss falls without end, to {numbers(sound[-1])}: nothing that it is made of has a lowest value",
        cause=cause,
        cause_label="can be made lower by larger numbers alone",
        effect=event.site.user if event.site.user.location() != cause.location() else None,
        effect_label="each pass leaves larger gradients than the last",
        seen=(
            f"the loss fell from one measured pass to the next, {listed([numbers(loss) for loss in _some(sound)], 6)}",
            f"norm of all gradients: {listed([f'{norm:.2g}' for norm in _some(norms)], 6)}",
        ),
        why="a product of vectors, a distance or a score grows with the numbers it is made of, so that its loss falls"
        " while nothing is learned but their size. A smaller learning rate only puts that off.",
        fix=f"bound what is made larger in {located(trace, cause, 'the loss')}: `logsigmoid` or a softmax of the scores"
        " in place of the scores themselves, a margin (`torch.relu(margin + far - near)`), or vectors of length 1"
        " (`nn.functional.normalize`)",
        count=event.count,
        subjects=parameter_subjects(ids) | {("exploding", *event.site.user.location())},
    )


def _used(one: _Line) -> set[int]:
    """The parameters that are changed by the gradients of this line: those of others grow without harm, as a
    model's do under an attack on its inputs."""
    line = one.event.site.user.location()
    fills = (fill for fill in gradients(one.trace).fills if fill.line == line)
    return {id for fill in fills for _, ids in fill.uses for id in ids}


def _grows(totals: list[float], losses: list[float]) -> bool:
    """Whether gradients and loss have grown out of proportion, steadily up to the end. A loss that has fallen below
    zero, as that of an attack does, is what its steps are for: it counts only with gradients that are large themselves.
    """
    finite = [total for total in totals if math.isfinite(total)]
    sound = [loss for loss in losses if math.isfinite(loss)]
    if len(finite) < PASSES or len(sound) < PASSES:
        return False
    start = median(finite[: max(1, len(finite) // 4)])
    late = _in_blocks(finite[-max(PASSES, len(finite) // 4) :])
    rising = sum(a < b for a, b in itertools.pairwise(late))
    first = median(map(abs, sound[: max(1, len(sound) // 4)]))
    size = abs(sound[-1]) if finite[-1] > GROWN else sound[-1]
    steady = STEADY if size < VAST * first else STEADY_ENOUGH
    return 0 < start * GROWN < finite[-1] and rising >= steady * (len(late) - 1) and size > LOSS_GROWN * first


def _in_blocks(sizes: list[float]) -> list[float]:
    """The medians of up to BLOCKS stretches of equal length: from batch to batch a gradient that grows may fall."""
    each = math.ceil(len(sizes) / BLOCKS)
    return [median(sizes[start : start + each]) for start in range(0, len(sizes), each)]


def _some(totals: list[float]) -> list[float]:
    """Five of them, spread over the run."""
    places = dict.fromkeys(round(i * (len(totals) - 1) / 4) for i in range(5))
    return [totals[place] for place in places]


def _against_exploding(trace: Trace, ids: list[int], backward: Site, grown: bool) -> tuple[str, Edits]:
    if not grown:
        return (
            "initialise the layers so that activations keep their size (`nn.init.kaiming_normal_`, or torch's "
            "default), or normalise between them; bring inputs and targets to a common scale"
        ), ()
    holding = [trace.optimizers[number] for number in trace.parameter(ids[0]).optimizers]
    rates = {
        group["lr"] for one in holding for group in one.groups if isinstance(group.get("lr"), (int, float))
    }
    rate = rates.pop() if len(rates) == 1 else 0
    smaller = f"{rate / 10:g}"
    made = user(next((one.site for one in holding), None))
    where = f" in {located(trace, made)}" if made is not None else ""
    edits = with_setting(trace, made, "lr", smaller, 1) if rate and len(holding) == 1 else ()
    written = f" (written at {other})" if (other := elsewhere(made, edits)) else ""
    than = f" than {rate:g}{written}, such as {smaller}," if rate else ""
    return (
        f"take a smaller learning rate{than}{where}, or clip with"
        f" `clip_grad_norm_(…, 1.0)` after {located(trace, backward, '`backward()`')}, before the step"
    ), edits
