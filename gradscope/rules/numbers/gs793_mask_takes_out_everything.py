"""A mask takes out every place of every row: the softmax is what it would be without it.

Why: a softmax doesn't change where the same number is added to all scores of a row. A mask of -10000 everywhere, or
one that is True everywhere, so masks nothing: padding takes part like everything else. Mostly another tensor stands
where the mask is meant, such as the token types, which are all 0.

Fix: hand over the mask itself; arguments that are given by name don't change places.

Measured: the mask was one and the same number, -1000 or less, or True (with `where` False), at all places in
all calls looked at.
Silent on: masks that let anything in, in any of these calls, and those that no softmax follows.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.analysis.ops import ADDITIONS, CASTS, FILLED, FILLED_WHERE, LIKE, SOFTMAXES
from gradscope.analysis.reach import Key, Paths, paths
from gradscope.analysis.words import code, located, plural
from gradscope.events import WholeMask
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding, Op, Site
from gradscope.rules import rule
from gradscope.source import FUNCTIONS, names_in
from gradscope.store import Trace

DIRECT = "scaled_dot_product_attention"
BETWEEN = (
    CASTS
    | ADDITIONS
    | FILLED_WHERE
    | {"view", "reshape", "squeeze", "unsqueeze", "flatten", "unflatten", "clone"}
)
CONSTANTS = LIKE | FILLED
ENOUGH = 3  # calls
DEEP = 8


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Pooled(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.word, self.kind, self.score = nn.Embedding(9, 6), nn.Embedding(2, 6), nn.Linear(6, 1)

        def forward(self, tokens: torch.Tensor, kinds: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
            x = self.word(tokens) + self.kind(kinds)
            scores = self.score(x).squeeze(-1) + (1 - mask.float()) * -10000.0  # effect: GS793
            pooled: torch.Tensor = (torch.softmax(scores, dim=1).unsqueeze(-1) * x).sum(1)
            return pooled

    model, head = Pooled(), nn.Linear(6, 2)
    opt = torch.optim.Adam([*model.parameters(), *head.parameters()], lr=0.01)
    for _ in range(4):
        tokens = torch.randint(1, 9, (8, 5)) * (torch.arange(5) < torch.randint(1, 5, (8, 1)))
        mask = (tokens > 0).long()
        kinds = torch.zeros_like(tokens)
        loss = nn.functional.cross_entropy(head(model(tokens, mask, kinds)), tokens[:, 0] % 2)  # cause: GS793
        opt.zero_grad()
        loss.backward()
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Pooled(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.word, self.kind, self.score = nn.Embedding(9, 6), nn.Embedding(2, 6), nn.Linear(6, 1)

        def forward(self, tokens: torch.Tensor, kinds: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
            x = self.word(tokens) + self.kind(kinds)
            scores = self.score(x).squeeze(-1) + (1 - mask.float()) * -10000.0
            pooled: torch.Tensor = (torch.softmax(scores, dim=1).unsqueeze(-1) * x).sum(1)
            return pooled

    model, head = Pooled(), nn.Linear(6, 2)
    opt = torch.optim.Adam([*model.parameters(), *head.parameters()], lr=0.01)
    for _ in range(4):
        tokens = torch.randint(1, 9, (8, 5)) * (torch.arange(5) < torch.randint(1, 5, (8, 1)))
        mask = (tokens > 0).long()
        kinds = torch.zeros_like(tokens)
        loss = nn.functional.cross_entropy(head(model(tokens, kinds, mask)), tokens[:, 0] % 2)
        opt.zero_grad()
        loss.backward()
        opt.step()


@rule("GS793", name="mask-takes-out-everything", severity="warning", needs=WholeMask)
def mask_takes_out_everything(trace: Trace) -> Iterator[Finding]:
    events = {event.site.user.span(): event for event in trace.of(WholeMask) if event.calls >= ENOUGH}
    if not events:
        return
    known = paths(trace)
    told: set[tuple[str, int]] = set()
    for _, softmax in known.used_calls(SOFTMAXES | {DIRECT}):
        for op in _before(known, softmax):
            event = events.get(op.site.user.span())
            if event is not None and event.name == op.name and op.site.user.location() not in told:
                told.add(op.site.user.location())
                yield _finding(trace, known, op, softmax, event)


def _before(known: Paths, softmax: Op) -> Iterator[Op]:
    """The softmax itself, and what was done to its scores."""
    yield softmax
    key: Key | None = (softmax.graph, softmax.inputs[0]) if softmax.name != DIRECT else None
    for _ in range(DEEP):
        sources, op = known.sources(key) if key is not None else ([], None)
        if op is None or op.name not in BETWEEN:
            return
        yield op
        key = next((one for one in sources if known.value(one).requires_grad), None)


def _finding(trace: Trace, known: Paths, op: Op, softmax: Op, event: WholeMask) -> Finding:
    effect = op.site.user
    boolean = event.value in (0, 1)
    number = str(event.value == 1) if boolean else f"{event.value:g}"
    made = _constant(known, op)
    handed = _handed_over(trace, made, op) if made is not None else None
    cause = handed or effect
    swapped, edits = (
        _swapped(trace, handed, made, op) if handed is not None and made is not None else ("", ())
    )
    given = trace.source_file(made.site.user.path).variable(made.site.user) if made is not None else None
    fix = f"hand over the mask there, which tells the places apart: in {located(trace, cause)}"
    if swapped:
        fix = f"two arguments stand in each other's place: {swapped}"
    elif handed is None:
        fix = f"take the mask that tells the places apart in {located(trace, cause)}"
        fix += f": it is given what {located(trace, made.site.user)} has made" if made is not None else ""
    return Finding(
        message=f"the mask in {code(trace, effect, f'`{op.name}`')} is {number} at every place: the softmax is what it"
        " would be without it, nothing is masked out",
        cause=cause,
        cause_label=(f"hands over `{given}` for the mask" if given else "hands over the mask")
        if handed is not None
        else f"is given {number} everywhere",
        effect=effect if handed is not None else softmax.site.user,
        effect_label=f"{'fills' if boolean else 'adds'} the same at all places",
        related=((made.site.user, f"makes it, by `{made.name}`"),) if made is not None else (),
        seen=(
            f"in {plural(event.calls, 'call')} looked at the mask was {number} at all its places: rows whose scores all"
            " change alike have the same softmax",
        ),
        fix=fix,
        count=event.calls,
        edits=edits,
    )


def _constant(known: Paths, op: Op) -> Op | None:
    """The one call that made the numbers which the mask was computed from, where it is one that fills them in."""
    values = known.graph(op.graph).values
    booleans = [value for value in op.inputs if values[value].dtype == "bool"]
    for value in booleans or op.inputs:
        if values[value].requires_grad:
            continue
        first = {
            (maker.graph, maker.index): maker
            for key in known.flow([(op.graph, value)]).order
            if (maker := known.maker(key)) is not None and (not maker.inputs or maker.name in CONSTANTS)
        }
        constants = [maker for maker in first.values() if maker.name in CONSTANTS]
        if len(constants) == 1:
            return constants[0]
    return None


def _handed_over(trace: Trace, made: Op, op: Op) -> Site | None:
    """The call by which what was made in one function came into another: where the ways to both part."""
    for own, other in zip(made.site.stack, op.site.stack, strict=False):
        if own.span() != other.span():
            if other == op.site.user or other.kind != "user" or own.kind != "user":
                return None
            call = trace.source_file(other.path).at(other)
            name = trace.source_file(own.path).variable(own)
            return other if call is not None and name in names_in(call) else None
    return None


def _swapped(trace: Trace, handed: Site, made: Op, op: Op) -> tuple[str, Edits]:
    """The call with two arguments exchanged, where a variable is handed to one parameter and the function has another
    of just that name."""
    here, there = Source(trace, handed.path), trace.source_file(op.site.user.path)
    call, function = here.file.at(handed), there.scope(op.site.user)
    name = trace.source_file(made.site.user.path).variable(made.site.user)
    if not isinstance(call, ast.Call) or not isinstance(function, FUNCTIONS) or call.keywords:
        return "", ()
    names = [argument.arg for argument in function.args.args]
    names = names[1:] if names[:1] == ["self"] else names
    given = dict(zip(names, call.args, strict=False))
    own = [one for one, node in given.items() if isinstance(node, ast.Name) and node.id == name]
    if len(own) != 1 or name not in given or own[0] == name:
        return "", ()
    first, second = given[own[0]], given[name]
    texts = here.file.text(first), here.file.text(second)
    edits = here.replace(first, texts[1]) + here.replace(second, texts[0])
    return f"`{texts[0]}` is handed to `{own[0]}`, and `{texts[1]}` to `{name}`", edits
