"""Numbers are divided by a standard deviation that was taken of a single one.

Why: the standard deviation of one number is 0, and its mean is the number itself. What is divided by it is divided by
the small constant that stands beside it: advantages, rewards or features become thousands of times too large, or all
0, instead of numbers around 1. Where the mean alone is taken along an axis of size 1 and subtracted, the difference is
0 everywhere, whatever it is divided by.

Fix: take the statistics over all that are to be compared: the whole group, another axis. Both alike.

Measured: the shapes, in all calls of the line that were looked at: three or more, or one that gives many results.
Silent on: lines that got more than one number in some call (a last batch of one), results that no loss uses.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from math import prod

from gradscope.analysis.ops import (
    ADDITIONS,
    DIVISIONS,
    MEANS,
    MULTIPLICATIONS,
    PASSING,
    RECIPROCALS,
    SPREADS,
    SUBTRACTIONS,
)
from gradscope.analysis.reach import Key, Paths, paths
from gradscope.analysis.words import code, listed, located, plural
from gradscope.fixes.calls import along
from gradscope.model import Edit, Finding, Graph, Op
from gradscope.rules import rule
from gradscope.rules.numbers._losses import shape_of
from gradscope.store import Trace

VARIANCES = {"var", "var_mean"}
KEPT = ADDITIONS | PASSING | {"sqrt", "max", "maximum", "nan_to_num"}
AT_LEAST = 3  # calls: fewer may be a trial
MANY = 8  # results of one call: as good as several calls


def bad() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    policy = nn.Linear(4, 3)
    opt = torch.optim.SGD(policy.parameters(), lr=1e-4)
    for _ in range(4):
        x, rewards = torch.randn(8, 4), torch.rand(8)
        first = rewards[:1]  # cause: GS752
        advantages = (rewards - first.mean()) / (first.std(unbiased=False) + 1e-4)  # effect: GS752
        loss = -(advantages * torch.log_softmax(policy(x), dim=1)[:, 0]).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    policy = nn.Linear(4, 3)
    opt = torch.optim.SGD(policy.parameters(), lr=0.1)
    for _ in range(4):
        x, rewards = torch.randn(8, 4), torch.rand(8)
        advantages = (rewards - rewards.mean()) / (rewards.std(unbiased=False) + 1e-4)
        loss = -(advantages * torch.log_softmax(policy(x), dim=1)[:, 0]).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


@rule("GS752", name="spread-of-one", severity="warning")
def spread_of_one(trace: Trace) -> Iterator[Finding]:
    if not trace.op_names & (SPREADS | MEANS):
        return
    known = paths(trace)
    calls = _of_one(known)
    told: set[tuple[str, int]] = set()
    for (place, name), (ops, times) in calls.items():
        used = next(((op, by) for op in ops if (by := _divides(known, op)) is not None), None)
        if name in SPREADS and used is not None:
            op = used[0]
            here = (o for (_, other), (all_, _) in calls.items() if other in MEANS for o in all_)
            mean = next((o for o in here if (o.graph, o.inputs[0]) == (op.graph, op.inputs[0])), None)
            mean = op if name.endswith("_mean") else mean
            mean = mean if mean is not None and _subtracts(known, mean) is not None else None
            told |= {place} | ({mean.site.user.location()} if mean is not None else set())
            yield _finding(trace, known, *used, mean, times)
    for (place, name), (ops, times) in calls.items():
        taken = next(((op, by) for op in ops if (by := _subtracts(known, op)) is not None), None)
        if name in MEANS and place not in told and taken is not None and _longer(known, taken[0]):
            yield _of_mean(trace, known, *taken, times)


def _of_one(known: Paths) -> dict[tuple[tuple[str, int], str], tuple[list[Op], int]]:
    """The statistics that got one number for each result in all their calls, by line and name."""
    found: dict[tuple[tuple[str, int], str], list[Op]] = {}
    times: Counter[tuple[tuple[str, int], str]] = Counter()
    several: set[tuple[tuple[str, int], str]] = set()
    for graph in map(known.graph, known.graph_ids):
        for op in graph.ops:
            if op.name in SPREADS | MEANS and op.inputs and op.outputs:
                place = op.site.user.location(), op.name
                found.setdefault(place, []).append(op)
                times[place] += graph.count
                if _numbers(graph, op) != 1:
                    several.add(place)
    return {
        place: (ops, times[place])
        for place, ops in found.items()
        if place not in several and (times[place] >= AT_LEAST or _of_many(known, ops[0]))
    }


def _of_many(known: Paths, op: Op) -> bool:
    """Whether one call gives many results, of one number each: it was taken along another axis."""
    return prod(shape_of(known, (op.graph, op.outputs[0]))) >= MANY


def _numbers(graph: Graph, op: Op) -> int:
    """Of how many numbers each one of its results is the statistic."""
    made = prod(graph.values[op.outputs[0]].shape)
    return prod(graph.values[op.inputs[0]].shape) // made if made else 0


def _longer(known: Paths, op: Op) -> list[int]:
    """The axes of what it is taken of that have more than one place."""
    return [i for i, size in enumerate(shape_of(known, (op.graph, op.inputs[0]))) if size > 1]


def _readers(known: Paths, made: Op) -> Iterator[tuple[Key, Op]]:
    """The calls that a backward pass depends on and that take its result, perhaps with a small constant, as `Key`."""
    todo: list[Key] = [(made.graph, made.outputs[0])]
    for key in todo:  # grows while it is walked
        for given, op in known.used.feeds.get(key, ()):
            if op is None or given[0] != key[0]:
                continue
            yield key, op
            if op.name in KEPT and shape_of(known, given) == shape_of(known, key) and given not in todo:
                todo.append(given)


def _divides(known: Paths, spread: Op) -> Op | None:
    for key, op in _readers(known, spread):
        if op.name in DIVISIONS and len(op.inputs) > 1 and op.inputs[1] == key[1]:
            return op
        if op.name in RECIPROCALS:
            times = (by for _, by in _readers(known, op) if by.name in MULTIPLICATIONS and len(by.inputs) > 1)
            if (product := next(times, None)) is not None:
                return product
    return None


def _subtracts(known: Paths, mean: Op) -> Op | None:
    """The difference of what a mean was taken of and that mean, which is 0."""
    result = mean.outputs[-1]  # of `var_mean` the second
    for _, op in known.used.feeds.get((mean.graph, result), ()):
        if op is not None and op.name in SUBTRACTIONS and set(op.inputs) == {mean.inputs[0], result}:
            return op
    return None


def _finding(trace: Trace, known: Paths, op: Op, divided: Op, mean: Op | None, calls: int) -> Finding:
    key = (op.graph, op.inputs[0])
    maker = known.maker(key)
    made = maker.site.user if maker is not None and maker.site.user.kind == "user" else op.site.user
    shape, longer = shape_of(known, key), _longer(known, op)
    whole, kind = (
        code(trace, op.site.user, f"`{op.name}`"),
        "variance" if op.name in VARIANCES else "standard deviation",
    )
    zero = mean is not None and bool(longer)
    related = [
        (other.site.user, "the mean of one number each")
        for other in (mean,)
        if other is not None and zero and other.site.user.location() != op.site.user.location()
    ]
    if made.location() != op.site.user.location():
        related.append(
            (made, f"gives the {shape} that they are taken of")
            if longer
            else (op.site.user, "of one number each")
        )
    both = [op, mean] if zero and mean is not None and mean is not op else [op]
    fix, edits = _along(trace, longer, shape, both)
    return Finding(
        message=f"{whole} is taken of a single number: the {kind} is 0, and what is divided by it only by the constant"
        " beside it" + (": the numerator is 0, too, since the mean is the number itself" if zero else ""),
        cause=op.site.user if longer else made,
        cause_label="of one number each" if longer else f"gives the {shape} that the statistics are taken of",
        effect=divided.site.user,
        effect_label="divides by it",
        related=tuple(related),
        seen=(f"in {plural(calls, 'call')} its input had the shape {shape}, one number a result",),
        fix=fix
        if longer
        else f"take the statistics over all that are compared with each other: give {located(trace, op.site.user)} more"
        f" than {located(trace, made, 'this one')}",
        edits=edits,
    )


def _of_mean(trace: Trace, known: Paths, mean: Op, difference: Op, calls: int) -> Finding:
    longer, shape = _longer(known, mean), shape_of(known, (mean.graph, mean.inputs[0]))
    fix, edits = _along(trace, longer, shape, [mean])
    return Finding(
        message=f"{code(trace, mean.site.user, '`mean`')} is taken of a single number: it is that number, and what it"
        f" is subtracted from becomes 0 in all {prod(shape)} places",
        cause=mean.site.user,
        cause_label="of one number each",
        effect=difference.site.user,
        effect_label="0 everywhere",
        seen=(f"in {plural(calls, 'call')} its input had the shape {shape}, one number a result",),
        fix=fix,
        edits=edits,
    )


def _along(
    trace: Trace, longer: list[int], shape: tuple[int, ...], ops: list[Op]
) -> tuple[str, tuple[Edit, ...]]:
    """The statistics along the axes that have more than one place, and the edits where that is one axis."""
    where = {op.site.user.location(): located(trace, op.site.user) for op in ops}
    axes = " or ".join(f"axis {i} ({plural(shape[i], 'place')})" for i in longer)
    own = [along(trace, op.site.user, op.name, longer[0]) if len(longer) == 1 else () for op in ops]
    return (
        f"take {'both' if len(ops) > 1 else 'it'} over {axes}: {listed(list(where.values()))}",
        tuple(edit for edits in own for edit in edits) if all(own) else (),
    )
