"""Numbers are divided by a standard deviation that was taken of a single one.

Why: the standard deviation of one number is 0, and its mean is the number itself. What is divided by it is divided by
the small constant that stands beside it: advantages, rewards or features become thousands of times too large, or all
0, instead of numbers around 1.

Fix: take the statistics over all that are to be compared: the whole group, another axis.

Measured: the shapes, in all calls of the line that were looked at.
Silent on: lines that got more than one number in some call (a last batch of one), results that no loss uses.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from gradscope.analysis.ops import ADDITIONS, DIVISIONS, PASSING
from gradscope.analysis.reach import Key, Paths, paths
from gradscope.analysis.words import code, located, plural
from gradscope.model import Finding, Graph, Op
from gradscope.rules import rule
from gradscope.rules.numbers._losses import shape_of
from gradscope.store import Trace

SPREADS = {"std", "var"}
KEPT = ADDITIONS | PASSING | {"sqrt", "max", "maximum", "nan_to_num"}
AT_LEAST = 3  # calls: fewer may be a trial


def bad() -> None:
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
    if not trace.op_names & SPREADS:
        return
    known = paths(trace)
    found: dict[tuple[str, int], list[Op]] = {}
    times: Counter[tuple[str, int]] = Counter()
    several: set[tuple[str, int]] = set()
    for graph in map(known.graph, known.graph_ids):
        for op in graph.ops:
            if op.name in SPREADS and op.inputs and op.outputs:
                place = op.site.user.location()
                found.setdefault(place, []).append(op)
                times[place] += graph.count
                if _numbers(graph, op) != 1:
                    several.add(place)
    for place, ops in found.items():
        if place in several or times[place] < AT_LEAST:
            continue
        used = next(((op, divided) for op in ops if (divided := _divides(known, op)) is not None), None)
        if used is not None:
            yield _finding(trace, known, *used, times[place])


def _numbers(graph: Graph, op: Op) -> int:
    """Of how many numbers each one of its results is the spread."""
    given, made = graph.values[op.inputs[0]].shape, graph.values[op.outputs[0]].shape
    counts = [1, 1]
    for place, shape in enumerate((given, made)):
        for size in shape:
            counts[place] *= size
    return counts[0] // counts[1] if counts[1] else 0


def _divides(known: Paths, spread: Op) -> Op | None:
    """The division by its result, perhaps with a small constant, that a backward pass depends on."""
    todo: list[Key] = [(spread.graph, spread.outputs[0])]
    for key in todo:  # grows while it is walked
        for given, op in known.used.feeds.get(key, ()):
            if op is None or given[0] != key[0]:
                continue
            if op.name in DIVISIONS and len(op.inputs) > 1 and op.inputs[1] == key[1]:
                return op
            if op.name in KEPT and shape_of(known, given) == shape_of(known, key) and given not in todo:
                todo.append(given)
    return None


def _finding(trace: Trace, known: Paths, op: Op, divided: Op, calls: int) -> Finding:
    key = (op.graph, op.inputs[0])
    maker = known.maker(key)
    made = maker.site.user if maker is not None and maker.site.user.kind == "user" else op.site.user
    shape = shape_of(known, key)
    whole, kind = (
        code(trace, op.site.user, f"`{op.name}`"),
        "variance" if op.name == "var" else "standard deviation",
    )
    return Finding(
        message=f"{whole} is taken of a single number: the {kind} is 0, and what is divided by it only by the constant"
        " beside it",
        cause=made,
        cause_label=f"gives the {shape} that the statistics are taken of",
        effect=divided.site.user,
        effect_label="divides by it",
        related=((op.site.user, "of one number each"),) if op.site.user.location() != made.location() else (),
        seen=(f"in {plural(calls, 'call')} its input had the shape {shape}, one number a result",),
        fix=f"take the statistics over all that are compared with each other: give {located(trace, op.site.user)} more"
        f" than {located(trace, made, 'this one')}, or another axis",
    )
