"""Every gradient that a pass leaves is exactly zero: an activation is flat, or the loss compares constants.

Why: sigmoid, tanh and softmax are flat where their input is large, ReLU and `clamp` on a whole side. Once all
that is fed to them lies there, for every sample, no gradient passes: each step moves nothing, and the loss stays
where it is, however long the training goes on. So it is with a prediction whose numbers are all replaced by constants
before the loss (`p[p >= 0.5] = 1`, `p[p < 0.5] = 0`).

Fix: a threshold only where a metric is computed, the loss of the numbers before it; at the end of a network no
activation before a loss that takes scores (`cross_entropy`, `binary_cross_entropy_with_logits`, `mse_loss`); smaller
initial weights (torch's own, or `nn.init.xavier_uniform_`), normalised inputs, a smaller learning rate.

Measured, once gradients were exactly zero: how steep each such call is, and which elements a mask's writes replace.
Silent on: losses that became zero (nothing is left to learn), passes after which gradients come again, gradients
that are thrown away.
"""

import ast
import math
from collections.abc import Iterator

from gradscope.analysis.gradients import thrown_away
from gradscope.analysis.made import made_at
from gradscope.analysis.names import place
from gradscope.analysis.ops import (
    CUTTING_OFF,
    LAYERS,
    PASSING,
    PRODUCTS_OF_MATRICES,
    SATURATING,
    ZERO_GRADIENT,
)
from gradscope.analysis.reach import Paths, passes, paths
from gradscope.analysis.scales import under_a_scaler
from gradscope.analysis.since import since_step
from gradscope.analysis.words import code, located, numbers, parameter_names, parameter_subjects, plural
from gradscope.events import AllConstants, Backward, Flatness, Moved
from gradscope.fixes.first_values import ZEROS, at_random, filled_at
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding, Op, Parameter
from gradscope.rules import rule
from gradscope.rules.numbers._relus import relu_by_hand
from gradscope.store import Trace

PASSES = 3  # measured, if there were none before with a gradient
LATE = 8  # measured, if there were
STEEP = 1e-3  # slope of a call that does not make a gradient exactly zero
START = (
    "smaller initial weights (`nn.init.xavier_uniform_(w)`, or those that `nn.Linear` has by itself), inputs of mean 0 "
    "and deviation 1, a smaller learning rate"
)


def bad() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    nn.init.constant_(model.weight, 60.0)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(5):
        opt.zero_grad()
        out = torch.sigmoid(model(torch.rand(8, 4) + 1))  # cause: GS707
        loss = nn.functional.mse_loss(out, torch.zeros(8, 1))
        loss.backward()  # effect: GS707
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(5):
        opt.zero_grad()
        out = torch.sigmoid(model(torch.rand(8, 4) + 1))
        nn.functional.mse_loss(out, torch.zeros(8, 1)).backward()
        opt.step()


@rule(
    "GS707",
    name="flat-activation",
    severity="warning",
    over=("GS212", "GS705", "GS720", "GS784"),
    symptom=True,
)
def flat_activation(trace: Trace) -> Iterator[Finding]:
    known, thrown, scaled = paths(trace), thrown_away(trace), under_a_scaler(trace)
    lines = {event.site.user.location(): event for event in known.backwards}
    for line, event in lines.items():
        sites = {e.site.id for e in trace.of(Backward) if e.site.user.location() == line}
        filled = sorted(set(event.filled) - thrown.get(line, set()))
        if not scaled.isdisjoint(filled):
            continue  # zeros of an overflow that the scaler skips
        ways = known.reach(((event.graph, root) for root in event.roots), ZERO_GRADIENT).parameters
        if not ways & set(filled):
            continue  # behind `round()` or `sign()`, of which GS305 tells
        stepped = any(trace.parameter(id).steps for id in filled)
        since = _zero_since(trace, filled, sites) if stepped else None
        if since is not None:
            yield _finding(trace, known, event, filled, sites, since)


def _zero_since(trace: Trace, filled: list[int], sites: set[int]) -> tuple[int, int | None] | None:
    """The step from which on, to the end, every gradient was exactly zero while there was something to learn; and the
    one that was measured before it. A loss of exactly zero has nothing left to teach, but for one that never taught
    anything, nor did another."""
    norms = [_by_step(trace.numbers("grad_norm", id, sites)) for id in filled]
    measured = sorted(set.intersection(*map(set, norms))) if norms else []
    late = list(measured)
    for number, step in enumerate(measured):
        if any(known[step] != 0 for known in norms):
            late = measured[number + 1 :]
    losses = _by_step(trace.numbers("loss", None, sites))
    never = late == measured and not any(losses.values()) and _alone(trace, filled, sites)
    wrong = {step for step, loss in losses.items() if math.isfinite(loss) and (loss != 0 or never)}
    if sum(step in wrong for step in late) < (PASSES if late == measured and not never else LATE):
        return None
    at = measured.index(late[0])
    return late[0], measured[at - 1] if at else None


def _by_step(measured: list[tuple[int, float]]) -> dict[int, float]:
    """Of the passes of each step the number that is farthest from zero."""
    found: dict[int, float] = {}
    for step, number in measured:
        if step not in found or not abs(number) <= abs(found[step]):
            found[step] = number
    return found


def _alone(trace: Trace, filled: list[int], sites: set[int]) -> bool:
    """Whether no other pass gives these parameters gradients."""
    return not any(set(filled) & set(e.filled) for e in trace.of(Backward) if e.site.id not in sites)


def _finding(
    trace: Trace,
    known: Paths,
    event: Backward,
    filled: list[int],
    sites: set[int],
    measured: tuple[int, int | None],
) -> Finding:
    since, before = measured
    others = set(event.filled) - set(filled)
    alive = {id for id in others if any(n for at, n in trace.numbers("grad_norm", id, sites) if at >= since)}
    if (written := _all_constants(trace, known, event, filled)) is not None:
        return _of_constants(trace, event, filled, sites, measured, *written)
    op, flat = _flat(trace, known, event, filled, alive, since)
    zeros = _nothing_to_begin_with(trace, known, op) if op is not None and before is None else []
    if op is not None and zeros:
        return _of_zeros(trace, event, filled, sites, since, op, zeros)
    losses = _losses(trace, sites, since)
    cause, label = event.site.user, "leaves zeros in every `.grad`"
    return Finding(
        message=f"every gradient is exactly zero: {parameter_names(trace, filled)} learn nothing",
        cause=cause if op is None else op.site.user,
        cause_label=label if op is None else _label(op, flat),
        effect=None if op is None else cause,
        effect_label=label,
        seen=(_seen(trace, filled, sites, since), *_slope(op, flat)),
        why=""
        if any(losses)
        else "a loss that is exactly zero in every pass, from the first on, teaches nothing",
        fix=_fix(trace, event, op) if any(losses) else _fix_of_nothing(trace, event, op),
        subjects=parameter_subjects(filled),
        since=since_step(trace, since, before) if before is not None else None,
        severity="" if any(losses) else "note",  # all may be learnt already
    )


def _losses(trace: Trace, sites: set[int], since: int) -> list[float]:
    return [
        loss for step, loss in trace.numbers("loss", None, sites) if step >= since and math.isfinite(loss)
    ]


def _seen(trace: Trace, filled: list[int], sites: set[int], since: int) -> str:
    steps = [step for step, _ in trace.numbers("grad_norm", filled[0], sites)]
    zero = [step for step in steps if step >= since]
    losses = _losses(trace, sites, since)
    told = numbers(losses[0]) + (f", then {numbers(losses[-1])}" if len(set(losses)) > 1 else " each time")
    return (
        f"the gradients were exactly 0 in {passes(len(zero))} of {len(steps)} measured; the loss was {told}"
    )


def _slope(op: Op | None, flat: Flatness | None) -> tuple[str, ...]:
    if op is None or flat is None:
        return ()
    calls = plural(flat.calls, "call")
    if op.name not in SATURATING:
        return (f"in {calls} looked at after that there was one in which `{op.name}` let nothing through",)
    return (f"in {calls} looked at after that `{op.name}` had a slope of {flat.slope:.2g} at most in one",)


def _all_constants(
    trace: Trace, known: Paths, event: Backward, filled: list[int]
) -> tuple[Op, AllConstants] | None:
    """The write before the loss that leaves nothing but constants, and that lies on every way to these parameters."""
    found = {one.site.id: one for one in trace.of(AllConstants)}
    for op in known.graph(event.graph).ops[::-1] if found else ():
        if op.site.id in found and op.nodes and _on_every_way(known, event, op, filled):
            return op, found[op.site.id]
    return None


def _on_every_way(known: Paths, event: Backward, op: Op, filled: list[int]) -> bool:
    return not set(filled) & _beside(known, event, op)


def _beside(known: Paths, event: Backward, op: Op) -> frozenset[int]:
    """The parameters that the pass reaches by other ways than this call."""
    roots = [(event.graph, root) for root in event.roots]
    return known.reach(roots, stop={(op.graph, node) for node in op.nodes}).parameters


def _of_constants(
    trace: Trace,
    event: Backward,
    filled: list[int],
    sites: set[int],
    measured: tuple[int, int | None],
    op: Op,
    found: AllConstants,
) -> Finding:
    since, before = measured
    writes = [(site.user, n) for id, n in found.writes if (site := trace.site(id)) is not None]
    lines = list(dict.fromkeys(site for site, _ in writes))
    here = Source(trace, op.site.user.path)
    statements = [here.file.statement(site) for site in lines]
    what = _written_to(here, statements[-1]) or "what is written to"
    replaced = " and ".join(f"{n} at {place(site)}" for site, n in writes)
    texts = " and ".join(located(trace, site) for site in lines)
    return Finding(
        message=f"every gradient is exactly zero: {parameter_names(trace, filled)} learn nothing, each element of"
        f" {what} is replaced by a constant before the loss",
        cause=lines[0],
        cause_label="writes constants over what the model gave",
        effect=event.site.user,
        effect_label="leaves zeros in every `.grad`",
        related=tuple((site, "and here the rest") for site in lines[1:]),
        seen=(
            _seen(trace, filled, sites, since),
            f"of {found.elements} elements {replaced} were set to a constant: none is left that has a gradient"
            f" ({plural(found.calls, 'call')} looked at)",
        ),
        why="the loss does not change where what the model gives does: a threshold has the slope 0 everywhere",
        fix=f"give the loss {what} as it is before: leave {texts} out, and set a threshold only where a metric is"
        " computed",
        edits=_without(here, statements),
        subjects=parameter_subjects(filled),
        since=since_step(trace, since, before) if before is not None else None,
    )


def _of_zeros(
    trace: Trace,
    event: Backward,
    filled: list[int],
    sites: set[int],
    since: int,
    op: Op,
    zeros: list[Parameter],
) -> Finding:
    """Weights of zeros before a call that is flat at 0."""
    ids = [p.id for p in zeros]
    places = filled_at(trace, zeros[0], ZEROS)
    one = places[0] if len(places) == 1 else None
    cause = one or made_at(trace, zeros[0])
    new, edits = at_random(trace, one) if one is not None else ("", ())
    names = parameter_names(trace, ids)
    return Finding(
        message=f"every gradient is exactly zero: {parameter_names(trace, filled)} learn nothing, as {names}"
        f" {'begins' if len(ids) == 1 else 'begin'} with zeros",
        cause=cause,
        cause_label="fills it with zeros" if one is not None else "made here",
        effect=event.site.user,
        effect_label="leaves zeros in every `.grad`",
        related=((op.site.user, f"`{op.name}` is given 0, and is flat there"),),
        seen=(
            _seen(trace, filled, sites, since),
            f"{names} {'was' if len(ids) == 1 else 'were'} 0 before the first step, and still"
            f" {'is' if len(ids) == 1 else 'are'}",
        ),
        why=f"what is computed with weights of zeros is 0, `{op.name}` has the slope 0 there, so no gradient comes back"
        " to what is before it; and it gives 0, so that what is behind it gets none either",
        fix=f"give it random numbers: `{new}` in place of {located(trace, cause)}"
        if new
        else f"give {names} random numbers to begin with: the layers of `nn` do so by themselves",
        edits=edits,
        subjects=parameter_subjects(filled),
    )


def _written_to(here: Source, statement: ast.stmt | None) -> str:
    """In backticks, the name of what a statement writes to."""
    if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], (ast.Subscript, ast.Name)):
        target = statement.targets[0]
        return f"`{here.text_of(target.value if isinstance(target, ast.Subscript) else target)}`"
    return ""


def _without(here: Source, statements: list[ast.stmt | None]) -> Edits:
    """Takes writes to what a mask picks out of the text."""
    edits: Edits = ()
    for one in statements:
        if not isinstance(one, ast.Assign) or not isinstance(one.targets[0], ast.Subscript):
            return ()
        edits += here.remove(one)
    return edits


def _fix_of_nothing(trace: Trace, event: Backward, op: Op | None) -> str:
    """Where the loss was zero all the time."""
    if op is None or op.name in SATURATING:
        return f"look at what {code(trace, event.site.user, 'the loss')} is made of: it is 0 whatever the model says"
    here = located(trace, op.site.user, f"`{op.name}`")
    return (
        f"look at what is given to {here}: all of it is on the side that is cut off, for every sample"
        " (a mask's `inf` with the wrong sign, a margin that nothing reaches)"
    )


def _flat(
    trace: Trace, known: Paths, event: Backward, filled: list[int], alive: set[int], since: int
) -> tuple[Op | None, Flatness | None]:
    """The nearest call before the loss that can be flat and lies on every way to these parameters, and on none that
    leads only by it to others whose gradients, which nothing uses, are not zero. None that was measured, since the
    gradients are zero, to be steep."""
    looked = {(one.site.id, one.name): one for one in trace.of(Flatness) if one.step >= since}
    for op in known.graph(event.graph).ops[::-1]:
        if op.nodes and (
            op.name in SATURATING | CUTTING_OFF or relu_by_hand(trace, known.graph(op.graph), op)
        ):
            flat = looked.get((op.site.id, op.name))
            beside = _beside(known, event, op) if flat is None or flat.slope < STEEP else frozenset(filled)
            if set(filled) & beside <= _multiplied_by(known, op) and alive <= beside:
                return op, flat
    return None, None


def _multiplied_by(known: Paths, op: Op) -> set[int]:
    """The weights whose gradient is zero where what they are multiplied by is: a ReLU that lets nothing through gives
    zeros."""
    if op.name not in ("relu", "relu_"):
        return set()
    graph = known.graph(op.graph)
    behind = graph.readers_behind((*op.outputs, *op.written), lambda reader: reader.name in PASSING)
    weights = (
        known.parameter_of((graph.id, reader.inputs[1]))
        for value, reader in behind
        if reader.name in LAYERS | PRODUCTS_OF_MATRICES
        and reader.inputs[0] == value
        and len(reader.inputs) > 1
    )
    return {parameter.id for parameter in weights if parameter is not None}


def _nothing_to_begin_with(trace: Trace, known: Paths, op: Op) -> list[Parameter]:
    """The weights behind a call that were zeros before the first step, and still are."""
    behind = known.behind((op.graph, op.inputs[0])) if op.inputs else frozenset()
    return [
        trace.parameter(id)
        for event in trace.of(Moved)
        for id, begun, now in zip(event.parameters, event.begun, event.now, strict=False)
        if id in behind and begun == now == 0
    ]


def _label(op: Op, flat: Flatness | None) -> str:
    """Where it was not looked at, the label says what can be, not that it is."""
    if op.name not in SATURATING:
        label = f"nothing passes `{op.name}` where its result is at the bound"
    else:
        label = f"`{op.name}` is flat where its input is large"
    return f"{label}, and all of it is" if flat is not None else label


def _fix(trace: Trace, event: Backward, op: Op | None) -> str:
    if op is None:
        loss = code(trace, event.site.user, "the loss")
        return f"find the call between the parameters and {loss} that is flat there; {START}"
    here = located(trace, op.site.user, f"`{op.name}`")
    if op.name not in SATURATING:
        return f"leave {here} out at the end of a network, or take `leaky_relu` in its place inside it; or {START}"
    loss = "a loss on scores (`binary_cross_entropy_with_logits`, `cross_entropy`)"
    return f"leave {here} out and take {loss}; or {START}"
