"""A loss only draws two results of one network together, and they have become the same for every sample.

Why: where both sides of a comparison are trained and nothing holds the results of different samples apart, the least
loss is that of a network which gives one and the same answer to everything. A loss of this kind needs its
`detach()` on one side (SimSiam, BYOL: with a predictor on the other), negatives, or a term for the spread.

Fix: `detach()` the side without the predictor.

Measured: all terms of all losses that train the network compare two of its results, both with their graph, and what
the rows differ by has gone, from the first call to the last that was looked at.
Silent on: losses with another term, or with another pass for the same network; results that still differ.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.analysis.calls import calls
from gradscope.analysis.drawn_together import Drawn, Pair, drawn_together
from gradscope.analysis.ops import JOINING, PASSING
from gradscope.analysis.reach import Paths
from gradscope.analysis.text import written_input
from gradscope.analysis.words import (
    code,
    listed,
    located,
    parameter_names,
    parameter_subjects,
    percent,
    quoted,
)
from gradscope.events import RowSpread
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding
from gradscope.rules import rule
from gradscope.store import Trace

GONE = 0.02  # of the rows' squares
FALL = 20


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    encoder = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 4))
    head = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 4))
    opt = torch.optim.Adam([*encoder.parameters(), *head.parameters()], lr=0.05)
    for turn in range(100):
        if turn % 25 == 0:
            with torch.no_grad():
                print(encoder(torch.randn(32, 8)).std(dim=0).mean())
        x = torch.randn(32, 8)
        one, two = encoder(x + torch.randn(32, 8)), encoder(x + torch.randn(32, 8))
        loss = -nn.functional.cosine_similarity(head(one), two).mean()  # cause: GS373
        opt.zero_grad()
        loss.backward()  # effect: GS373
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    encoder = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 4))
    head = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 4))
    opt = torch.optim.Adam([*encoder.parameters(), *head.parameters()], lr=0.05)
    for turn in range(100):
        if turn % 25 == 0:
            with torch.no_grad():
                print(encoder(torch.randn(32, 8)).std(dim=0).mean())
        x = torch.randn(32, 8)
        one, two = encoder(x + torch.randn(32, 8)), encoder(x + torch.randn(32, 8))
        loss = -nn.functional.cosine_similarity(head(one), two.detach()).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


@rule("GS373", name="drawn-together", severity="warning", needs=RowSpread)
def only_drawn_together(trace: Trace) -> Iterator[Finding]:
    spreads = {event.site.id: event for event in trace.of(RowSpread)}
    if not any(_gone(event) for event in spreads.values()):
        return
    known = calls(trace)
    for drawn in drawn_together(known.paths, known.trained):
        found = [_spreads(known.paths, pair, spreads) for pair in drawn.pairs]
        if all(found) and all(_gone(event) for events in found for event in events):
            yield _finding(trace, known.paths, drawn, max(found[0], key=lambda event: event.last))


def _gone(event: RowSpread) -> bool:
    return event.last < GONE and event.last * FALL < event.first


def _spreads(known: Paths, pair: Pair, spreads: dict[int, RowSpread]) -> list[RowSpread]:
    """What was measured where a pair is compared, or where its rows were given the length 1."""
    made = (known.maker_behind(side, PASSING - JOINING) for side in pair.sides)
    sites = [pair.op.site.id, *(op.site.id for op in made if op is not None)]
    return [spreads[site] for site in sites if site in spreads]


def _finding(trace: Trace, known: Paths, drawn: Drawn, event: RowSpread) -> Finding:
    place = drawn.pairs[0].op.site.user
    names = parameter_names(trace, sorted(drawn.parameters))
    parts = list(dict.fromkeys(_detached(trace, known, pair) for pair in drawn.pairs))
    texts = [text for text, _ in parts]
    pair = located(trace, place, "the pair")
    return Finding(
        message=f"all that trains {names} draws two of its results together: by now they are alike for all samples",
        cause=place,
        cause_label="both sides are trained, and nothing holds the samples apart",
        effect=drawn.loss.site.user,
        effect_label="goes back through both sides",
        related=tuple(
            (other.op.site.user, "and here")
            for other in drawn.pairs[1:]
            if other.op.site.user.line != place.line
        ),
        seen=(
            f"what the {event.rows} rows of {code(trace, place, 'the pair')} differ by was {percent(event.first, 1)} of"
            f" their squares in the first call, and {percent(event.last, 2)} in the last of {event.calls} looked at",
        ),
        fix=f"write {listed(texts)}"
        if all(texts)
        else f"detach one side of {pair}, with a predictor on the other, or add a term that holds different samples"
        " apart",
        edits=tuple(edit for _, edits in parts for edit in edits) if all(edits for _, edits in parts) else (),
        count=known.passes_beside([known.parameters[id] for id in sorted(drawn.parameters)]),
        subjects=parameter_subjects(drawn.parameters),
    )


def _detached(trace: Trace, known: Paths, pair: Pair) -> tuple[str, Edits]:
    """The side that fewer parameters made, the other one having a predictor, without its graph."""
    mine = [known.behind(side) for side in pair.sides]
    side = 0 if mine[0] < mine[1] else 1 if mine[1] < mine[0] else None
    node = written_input(trace, pair.op, side) if side is not None else None
    if side is None or not isinstance(node, (ast.Name, ast.Attribute, ast.Subscript, ast.Call)):
        return "", ()
    here = Source(trace, pair.op.site.user.path)
    new = f"{here.text_of(node)}.detach()"
    return (
        f"{quoted(new)} for {quoted(here.text_of(node))} in {located(trace, pair.op.site.user)}",
        here.append(node, ".detach()"),
    )
