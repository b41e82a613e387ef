"""A term is in the sum of the losses twice: its gradient counts double.

Why: a function adds an auxiliary loss to the one it returns, and gives it back by itself as well, to be logged; where
the losses are put together it is added once more. The sum is higher than its parts, and the term weighs twice what its
weight says.

Fix: add it in one of both places.

Measured: from the loss back through sums and means alone the same value is reached by two additions in different lines,
other terms by one; within a module through sums of single numbers.
Silent on: values of more than one axis (a skip path within a network), the same line come to twice, a term that is all
there is.
"""

from __future__ import annotations

from collections.abc import Iterator

from gradscope.analysis.names import names_of
from gradscope.analysis.ops import ADDITIONS, CASTS, MEANS, STACKS
from gradscope.analysis.reach import Key, Paths, passes, paths
from gradscope.analysis.words import code, located, parameter_subjects
from gradscope.events import Backward
from gradscope.model import Finding, Op
from gradscope.rules import rule
from gradscope.store import Trace

TOTALS = MEANS | CASTS | {"sum", "squeeze", "view", "reshape"}
MOST = 200  # calls that a loss is added up by


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 4)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)

    def losses(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        out = model(x)
        smooth = 0.5 * (out[:, 1:] - out[:, :-1]).pow(2).sum(1)
        main = (out - x).pow(2).sum(1)
        main = main + smooth  # effect: GS446
        return main.mean(), smooth.mean()

    for _ in range(3):
        main, smooth = losses(torch.randn(16, 4))
        loss = main + smooth  # cause: GS446
        opt.zero_grad()
        loss.backward()
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 4)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)

    def losses(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        out = model(x)
        smooth = 0.5 * (out[:, 1:] - out[:, :-1]).pow(2).sum(1)
        main = (out - x).pow(2).sum(1)
        return main.mean(), smooth.mean()

    for _ in range(3):
        main, smooth = losses(torch.randn(16, 4))
        loss = main + smooth
        opt.zero_grad()
        loss.backward()
        opt.step()


@rule("GS446", name="term-added-twice", severity="warning")
def term_added_twice(trace: Trace) -> Iterator[Finding]:
    known, told = paths(trace), set[tuple[str, int]]()
    for event in known.backwards:
        if event.call != "backward" or not event.roots:
            continue
        added = _terms(known, (event.graph, event.roots[0]))
        once = sum(len(places) == 1 for places in added.values())
        for key, places in added.items():
            lines = {op.site.user.location() for op in places}
            if len(lines) > 1 and once and not lines <= told and len(known.value(key).shape) < 2:
                told |= lines
                yield _finding(trace, known, event, key, places)


def _terms(known: Paths, root: Key) -> dict[Key, list[Op]]:
    """What a loss is added up of → the additions that take it. What a term that is reached
    twice is made of counts once."""
    found: dict[Key, list[Op]] = {}
    todo: list[tuple[Key, Op | None]] = [(known.made(root), None)]
    seen: set[Key] = set()
    calls = 0
    while todo and calls < MOST:
        (key, by), calls = todo.pop(), calls + 1
        if by is not None and known.value(key).requires_grad:
            found.setdefault(key, []).append(by)
        op = known.maker(key)
        if key in seen or op is None or (op.module is not None and not _of_numbers(known, op)):
            continue
        seen.add(key)
        if (op.name in ADDITIONS and len(op.inputs) == 2) or op.name in STACKS:
            todo += [(known.made((op.graph, index)), op) for index in op.inputs]
        elif op.name in TOTALS | ADDITIONS and op.inputs:
            todo.append((known.made((op.graph, op.inputs[0])), by))
    return found


def _of_numbers(known: Paths, op: Op) -> bool:
    """Whether it works on single numbers alone: a module adds its losses up so, but not a path within a network."""
    return not any(known.value((op.graph, index)).shape for index in op.inputs)


def _finding(trace: Trace, known: Paths, event: Backward, key: Key, places: list[Op]) -> Finding:
    ordered = sorted(places, key=lambda op: (op.graph, op.index))
    first, last = ordered[0].site.user, ordered[-1].site.user
    name = names_of(trace).name(known.graph(key[0]), key[1])
    shown = f"`{name}`" if name else "the same term"
    ids = known.reach([key]).parameters
    return Finding(
        message=f"{shown} is added to the loss twice: {code(trace, last, 'here')} adds what"
        f" {code(trace, first, 'the other sum')} has in it already, and its gradient counts double",
        cause=last,
        cause_label="adds it once more",
        effect=first,
        effect_label="has added it already",
        related=((event.site.user, "goes back through it twice"),),
        seen=(
            f"between the loss and {shown} are sums and means alone, by way of both lines; other terms are reached by"
            f" one; in {passes(known.alike(event))} of this line",
        ),
        fix=f"leave it out of {located(trace, last)}, or of {located(trace, first)}",
        subjects=parameter_subjects(ids) | {("sum", *last.location())},
    )
