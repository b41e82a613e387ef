"""The targets of a language model are shifted twice: each place is asked for the token after the next.

Why: one shift makes each place's target the token that follows it. Where the data, the model and the loss each make
it, or two of them, the model learns to leave out every second word: the loss falls, and the text that it writes by
itself is worth nothing.

Fix: one shift. What is shifted already goes into a loss that shifts nothing, and the labels that a model shifts itself
are the tokens as they are.

Measured: in each call of the loss that was compared, its targets were the ids that an embedding looked up, moved by
two places. Silent where a loss of the same run asks for the next token, as with heads for several tokens ahead.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from gradscope.analysis.words import code, located, plural
from gradscope.events import NextAnswers
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding, Graph, Op, Site
from gradscope.rules import rule
from gradscope.rules.numbers._places import compared
from gradscope.store import Trace

ON_THE_WAY = {
    "__getitem__",
    "pad",
    "contiguous",
    "view",
    "reshape",
    "flatten",
    "to",
    "long",
    "clone",
    "detach",
}


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    embedding, rnn, head = nn.Embedding(9, 8), nn.GRU(8, 16, batch_first=True), nn.Linear(16, 9)
    opt = torch.optim.Adam([p for m in (embedding, rnn, head) for p in m.parameters()], lr=0.01)

    def next_token_loss(scores: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        scores, labels = scores[:, :-1], labels[:, 1:]  # effect: GS763
        return nn.functional.cross_entropy(scores.reshape(-1, 9), labels.reshape(-1))

    for _ in range(3):
        text = torch.randint(0, 9, (6, 12))
        given, following = text[:, :-1], text[:, 1:]
        loss = next_token_loss(head(rnn(embedding(given))[0]), following)  # cause: GS763
        opt.zero_grad()
        loss.backward()
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    embedding, rnn, head = nn.Embedding(9, 8), nn.GRU(8, 16, batch_first=True), nn.Linear(16, 9)
    opt = torch.optim.Adam([p for m in (embedding, rnn, head) for p in m.parameters()], lr=0.01)

    def next_token_loss(scores: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        scores, labels = scores[:, :-1], labels[:, 1:]
        return nn.functional.cross_entropy(scores.reshape(-1, 9), labels.reshape(-1))

    for _ in range(3):
        text = torch.randint(0, 9, (6, 12))
        loss = next_token_loss(head(rnn(embedding(text))[0]), text)
        opt.zero_grad()
        loss.backward()
        opt.step()


class Shift(NamedTuple):
    """`labels[:, 1:]`: where it stands, and the node of the slice itself."""

    site: Site
    node: ast.expr


@rule("GS763", name="targets-shifted-twice", severity="warning", needs=NextAnswers)
def targets_shifted_twice(trace: Trace) -> Iterator[Finding]:
    events = list(trace.of(NextAnswers))
    if any(event.by == 1 for event in events):
        return
    told: set[tuple[str, int]] = set()
    for event in events:
        place = event.site.user.location()
        found = compared(trace, event) if place not in told else None
        if found is not None and len(found[1].inputs) > 1:
            graph, loss, lookups = found
            told.add(place)
            yield _finding(trace, event, graph, loss, lookups[0])


def _finding(trace: Trace, event: NextAnswers, graph: Graph, loss: Op, lookup: Op) -> Finding:
    place = loss.site.user
    shifts = _shifts(trace, graph, loss.inputs[1])
    last = shifts[0].site if shifts else place
    first = shifts[-1].site if len(shifts) > 1 else None
    given = _hands_over(loss, last, first) if shifts else None
    asked = code(trace, place, f"`{event.name}`")
    fix, edits = _once(trace, loss, shifts)
    return Finding(
        message=f"{asked} asks each place for the token after the next: its targets are shifted twice",
        cause=given or last,
        cause_label="hands over what is shifted already" if given else "shifts what is shifted already",
        effect=last if given else place if last != place else None,
        effect_label="shifts it once more" if given else "compares them",
        related=(
            *(((first, "shifts it first"),) if first is not None else ()),
            (lookup.site.user, "looks up the tokens"),
        ),
        seen=(
            f"in {plural(event.calls, 'call')} each target was the id that"
            f" {code(trace, lookup.site.user, 'the embedding')} looked up two places later, number by number",
            "no loss of this run asks for the token one place later",
        ),
        fix=fix,
        edits=edits,
        count=graph.count,
        subjects=frozenset({("targets", *place.location())}),
    )


def _shifts(trace: Trace, graph: Graph, value: int) -> list[Shift]:
    """What leaves out the first place on the way of the targets, the last one first."""
    found = []
    while (op := graph.maker(value)) is not None and op.name in ON_THE_WAY and op.inputs:
        node = trace.source_file(op.site.user.path).at(op.site.user) if op.name == "__getitem__" else None
        if isinstance(node, ast.Subscript):
            entries = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            found += [Shift(op.site.user, one) for one in entries if _from_one(one)]
        value = op.inputs[0]
    return found


def _from_one(node: ast.expr) -> bool:
    return (
        isinstance(node, ast.Slice)
        and isinstance(node.lower, ast.Constant)
        and node.lower.value == 1
        and node.upper is node.step is None
    )


def _hands_over(loss: Op, last: Site, first: Site | None) -> Site | None:
    """The call of the function that shifts once more, by the one that shifts first, or by its caller where that is not
    known."""
    function = (first or last).path, (first or last).function
    for frame in reversed(loss.site.stack):  # the innermost first
        if frame.kind == "user" and ((frame.path, frame.function) == function) is (first is not None):
            return frame if frame.location() != loss.site.user.location() else None
    return None


def _once(trace: Trace, loss: Op, shifts: list[Shift]) -> tuple[str, Edits]:
    """The last shift leaves out the last place in place of the first: the targets that come to it are right already."""
    if not shifts:
        return (
            f"give {located(trace, loss.site.user)} targets that the data have shifted by one place only",
            (),
        )
    here = Source(trace, shifts[0].site.path)
    return (
        f"shift once: `:-1` in place of `1:` in {located(trace, shifts[0].site)}, which leaves each target where it is",
        here.replace(shifts[0].node, ":-1"),
    )
