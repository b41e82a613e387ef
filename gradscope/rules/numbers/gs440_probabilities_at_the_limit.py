"""A sigmoid is rounded to exactly 0 or 1, and `BCELoss` is at its limit of 100 there: nothing comes back to be learned.

Why: in float32 a sigmoid is exactly 1 from a score of 17 on, and 0 below -104. The loss of such a probability is
infinite; `BCELoss` cuts it off at 100, and the slope of the sigmoid is 0 there. The samples that are most wrong, or all
of them, give no gradient: a discriminator stays at a loss of 100, or a generator gets nothing from it.

Fix: `BCEWithLogitsLoss`, given the scores without the sigmoid: it computes both in one, and its gradient is never lost.

Measured: how many of the probabilities that the loss is given are exactly 0 or 1 where the target is something else;
and the last losses of a pass, which cannot be as large without such probabilities.
Silent on: probabilities that are right, single calls with some of them, losses of scores.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.analysis.made import layer_site
from gradscope.analysis.ops import CASTS
from gradscope.analysis.reach import Paths, paths
from gradscope.analysis.text import nodes_of_functions, site_of
from gradscope.analysis.words import code, located, numbers, parameter_subjects, percent, plural
from gradscope.events import AtTheLimit, Backward
from gradscope.model import Finding, Op, Site
from gradscope.rules import rule
from gradscope.source import called_name
from gradscope.store import Trace

CALLS = 3  # that show it
NEARLY_ALL = 0.9  # of the elements, in the last call that was looked at: one is enough
WITHOUT = 28  # the largest loss of one whose gradient is not lost: of 1e-12
SAME = CASTS | {"squeeze", "view", "reshape", "flatten"}
LIMIT = "is cut off at 100, and has no slope"


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(64, 4) * 60
    model = nn.Sequential(nn.Linear(4, 1), nn.Sigmoid())  # cause: GS440
    opt = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(12):
        prob = model(x).squeeze(1)
        opt.zero_grad()
        nn.functional.binary_cross_entropy(prob, (x[:, 0] > 0).float()).backward()  # effect: GS440
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(64, 4) * 60
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(12):
        score = model(x).squeeze(1)
        opt.zero_grad()
        nn.functional.binary_cross_entropy_with_logits(score, (x[:, 0] > 0).float()).backward()
        opt.step()


@rule("GS440", name="probabilities-at-the-limit", severity="warning", over=("GS707", "GS784"))
def probabilities_at_the_limit(trace: Trace) -> Iterator[Finding]:
    told: set[tuple[str, int]] = set()
    for event in trace.of(AtTheLimit):
        if event.calls >= CALLS or (event.still and event.cut >= NEARLY_ALL * event.elements):
            told.add(event.site.user.location())
            yield _finding(trace, paths(trace), event)
    yield from _of_losses(trace, told)


def _of_losses(trace: Trace, told: set[tuple[str, int]]) -> Iterator[Finding]:
    """Passes whose losses are so large at the end that many probabilities must be at the limit: where sampling slept
    through the calls, the losses are still known."""
    known = paths(trace)
    calls: dict[tuple[str, int], list[Op]] = {}
    events: dict[tuple[str, int], Backward] = {}
    for key, op in known.used_calls({"binary_cross_entropy"}):
        event = known.loss_of(key)
        made = known.maker_behind((key[0], op.inputs[0]), SAME) if op.inputs else None
        mean = op.extra.get("reduction", "mean") == "mean"
        if event is not None and mean and made is not None and "sigmoid" in made.name:
            line = event.site.user.location()
            events[line] = event
            if all(one.site.user.location() != op.site.user.location() for one in calls.setdefault(line, [])):
                calls[line].append(op)
    for line, ops in calls.items():
        sites = {e.site.id for e in trace.of(Backward) if e.site.user.location() == line}
        last = [loss for _, loss in trace.numbers("loss", None, sites)][-CALLS:]
        if (
            len(last) == CALLS
            and min(last) > WITHOUT * len(ops) + 10
            and told.isdisjoint(o.site.user.location() for o in ops)
        ):
            yield _of_a_pass(trace, known, events[line], ops[0], last)


def _criterion(trace: Trace, op: Op) -> Site | None:
    """Where the text makes the layer that computes this loss, or the only one of its kind."""
    made = [
        site_of(path, function, call)
        for path, function, call in nodes_of_functions(trace, ast.Call)
        if called_name(call) == "BCELoss"
    ]
    only = made[0] if len(made) == 1 and op.module is not None else None
    return layer_site(trace, op, alone=True) or only


def _of_a_pass(trace: Trace, known: Paths, event: Backward, op: Op, last: list[float]) -> Finding:
    made = known.maker_behind((op.graph, op.inputs[0]), SAME)
    sigmoid = (layer_site(trace, made, alone=True) or made.site.user) if made is not None else op.site.user
    criterion = _criterion(trace, op) or op.site.user
    return Finding(
        message=f"probabilities are rounded to exactly 0 or 1 where the target is something else: `BCELoss` {LIMIT}"
        " there",
        cause=sigmoid,
        cause_label="is rounded to 0 or 1",
        effect=event.site.user,
        effect_label="gets no gradient from these",
        related=((criterion, "the loss that is cut off"),),
        seen=(
            f"the last losses were {', '.join(map(numbers, last))}: of a probability that is not rounded away it is"
            f" {WITHOUT} at most",
        ),
        fix=f"leave the sigmoid of {located(trace, sigmoid)} out, and take the loss of scores,"
        f" `nn.BCEWithLogitsLoss()`, in place of {located(trace, criterion)}; with scores that large,"
        " inputs of mean 0 and deviation 1 help as well",
        subjects=parameter_subjects(known.reach([(op.graph, op.outputs[0])]).parameters),
    )


def _sigmoid(known: Paths, event: AtTheLimit) -> tuple[Op, Op] | None:
    """The call of the loss, and that of the sigmoid before it."""
    line = event.site.user.location()
    for key, op in known.used_calls({"binary_cross_entropy"}):
        if op.site.user.location() == line and op.inputs:
            made = known.maker_behind((key[0], op.inputs[0]), SAME)
            if made is not None and "sigmoid" in made.name:
                return op, made
    return None


def _finding(trace: Trace, known: Paths, event: AtTheLimit) -> Finding:
    place, found = event.site.user, _sigmoid(known, event)
    loss = code(trace, place, "`binary_cross_entropy`")
    layer = layer_site(trace, found[1], alone=True) if found is not None else None
    sigmoid = found[1].site.user if found is not None else None
    cause = layer or sigmoid or place
    which = "0" if event.zeros * 2 > event.cut else "1"
    ids = known.reach([(found[0].graph, found[0].outputs[0])]).parameters if found is not None else ()
    criterion = _criterion(trace, found[0]) if found is not None else None
    scores = f"leave the sigmoid of {located(trace, cause)} out" if cause != place else "give the scores"
    with_logits = (
        f"`nn.BCEWithLogitsLoss()` in place of {located(trace, criterion)}"
        if criterion is not None
        else f"`binary_cross_entropy_with_logits` in {located(trace, place)}"
    )
    return Finding(
        message=f"{loss} is given probabilities of exactly {which} where the target is not: there it {LIMIT}",
        cause=cause,
        cause_label=f"is rounded to {which}",
        effect=place if cause != place else None,
        effect_label="gives no gradient for these",
        related=((sigmoid, "called here"),)
        if layer is not None and sigmoid is not None and sigmoid != place
        else (),
        seen=(
            f"in {plural(event.calls, 'call')} of those that were looked at, the first the {event.since}. of its line,"
            f" a tenth or more of the elements were so; in the last {event.cut} of {event.elements}"
            f" ({percent(event.cut / max(1, event.elements))})",
        ),
        fix=f"{scores}, and take {with_logits}; where the scores are that large, inputs of mean 0 and deviation 1 help"
        " as well",
        count=event.calls,
        subjects=parameter_subjects(ids),
    )
