"""`nll_loss` is given something that is no log-probability.

Why: `nll_loss` takes no logarithm: it returns minus the number in the place of the label. Of
probabilities that is between -1 and 0, and its gradient does not grow where the model is wrong; of
raw scores it has no lower bound at all.

Fix: apply `log_softmax` before `nll_loss`, or use `cross_entropy` on the raw scores. `ctc_loss`
and `kl_div` want log-probabilities in the same way.

A note where no backward pass depends on it: only the number that an evaluation reports is wrong.

Silent on: `log_softmax`, the logarithm of a softmax, logarithms computed by hand.
"""

from collections.abc import Iterator
from math import isfinite

from gradscope.analysis.delicate import grown_until_it_broke
from gradscope.analysis.made import layer_site
from gradscope.analysis.ops import DIVISIONS, LOG_LOSSES, PASSING, PROBABILITIES
from gradscope.analysis.reach import Paths, paths
from gradscope.analysis.words import code, located, numbers, parameter_subjects, plural
from gradscope.events import NonFinite
from gradscope.fixes.calls import argument_as, call_around_taken, renamed
from gradscope.fixes.source import Edits
from gradscope.model import Finding, Op, Site
from gradscope.rules import rule
from gradscope.rules.numbers._chances import by_own_sum
from gradscope.rules.numbers._losses import evaluated, loss_values, losses, makers, unused
from gradscope.store import Trace

FAR_BELOW = -100.0  # a loss that has no lowest value got so by larger scores alone
SCORES = {
    "linear",
    "conv1d",
    "conv2d",
    "conv3d",
    "addmm",
    "bilinear",
    "relu",
    "dropout",
    "layer_norm",
    "batch_norm",
}


def bad() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        probabilities = torch.softmax(model(torch.randn(8, 4)), dim=1)  # cause: GS706
        loss = nn.functional.nll_loss(probabilities, torch.randint(0, 3, (8,)))  # effect: GS706
        loss.backward()
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    model = nn.Linear(4, 3)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        logs = torch.log_softmax(model(torch.randn(8, 4)), dim=1)
        nn.functional.nll_loss(logs, torch.randint(0, 3, (8,))).backward()
        opt.step()


@rule("GS706", name="nll-without-log", severity="warning", over=("GS701", "GS705"))
def nll_without_log(trace: Trace) -> Iterator[Finding]:
    known = paths(trace)
    groups: dict[tuple[tuple[str, int], tuple[str, int]], list[tuple[Op, Op]]] = {}
    for key, op in losses(known, LOG_LOSSES):
        made = [maker for _, maker in makers(known, key)]
        wrong = [maker for maker in made if maker.name in SCORES or _gives_chances(known, maker)]
        if not wrong and op.name.startswith("nll_loss") and _below_zero(trace, known, op):
            wrong = made[:1]
        for maker in wrong:
            places = (maker.site.user.location(), op.site.user.location())
            groups.setdefault(places, []).append((op, maker))
    trained = {place for place, _ in groups}
    for key, op in evaluated(known, LOG_LOSSES):
        for _, maker in makers(known, key):
            if _gives_chances(known, maker) and maker.site.user.location() not in trained:
                places = (maker.site.user.location(), op.site.user.location())
                groups.setdefault(places, []).append((op, maker))
    for (place, _), found in groups.items():
        yield _finding(trace, known, found, "" if place in trained else "note")


def _gives_chances(known: Paths, maker: Op) -> bool:
    """Whether a call makes probabilities, also as a softmax by hand does."""
    return maker.name in PROBABILITIES or by_own_sum(known, maker) is not None


def _below_zero(trace: Trace, known: Paths, op: Op) -> bool:
    """Whether the loss was measured below zero, where the logarithm of a probability cannot take it."""
    return any(value < 0 for value in loss_values(trace, known, (op.graph, op.outputs[0])))


def _finding(trace: Trace, known: Paths, found: list[tuple[Op, Op]], severity: str) -> Finding:
    op, maker = found[0]
    made = located(trace, maker.site.user, f"`{maker.name}`")
    layer = layer_site(trace, op, alone=True) if _is_a_layer(trace, op) else None
    shares = _divides_by_its_sum(known, maker)
    kind = (
        "probabilities"
        if maker.name in PROBABILITIES or shares
        else "raw scores"
        if maker.name in SCORES
        else "numbers above 0"
    )
    back = _exponential(known, op) if op.name.startswith("nll_loss") and kind == "probabilities" else None
    if back is not None:
        return _taken_back(trace, known, found, back, severity)
    return Finding(
        message=f"`{op.name}` wants log-probabilities and is given {kind}",
        cause=maker.site.user,
        cause_label=f"`{maker.name}` gives {kind}",
        effect=op.site.user,
        effect_label="takes no logarithm",
        seen=(unused(len(found)),) if severity else tuple(_seen(trace, known, found, kind)),
        why=""
        if op.name.startswith("nll_loss")
        else f"`{op.name}` takes no logarithm of its own: of {kind} what it computes is not the quantity that it is"
        " named for",
        fix=f"give {located(trace, op.site.user, f'`{op.name}`')} the logarithm of these (`.log()`); another softmax,"
        " as `cross_entropy` has one, would flatten them"
        if shares
        else f"use `log_softmax` in place of `softmax` in {made}"
        if maker.name == "softmax"
        else f"apply `log_softmax` to {made} first"
        if not op.name.startswith("nll_loss")
        else f"use {'`cross_entropy`' if layer is None else '`CrossEntropyLoss`'} in place of"
        f" {located(trace, layer or op.site.user, '`nll_loss`')}, or apply `log_softmax` to {made} first",
        count=len(found),
        subjects=_subjects(trace, known, op) | _no_floor(known, op, kind, severity),
        severity=severity,
        edits=argument_as(
            trace, op.site.user, "log_probs" if op.name == "ctc_loss" else "input", 0, "{}.log()"
        )
        if shares
        else renamed(trace, maker.site.user, "softmax", "log_softmax")
        if maker.name == "softmax"
        else _all_renamed(trace, known, maker)
        if op.name.startswith("nll_loss") and layer is None
        else renamed(trace, layer, "NLLLoss", "CrossEntropyLoss")
        if op.name.startswith("nll_loss")
        else argument_as(trace, op.site.user, "log_probs", 0, "{}.log_softmax(-1)")
        if op.name == "ctc_loss"
        else (),
    )


def _is_a_layer(trace: Trace, op: Op) -> bool:
    """Whether a loss is torch's layer, and no call within a module of the program's."""
    module = trace.modules.get(op.module) if op.module is not None else None
    return module is not None and op.site.kind == "torch" and module.cls in ("NLLLoss", "NLLLoss2d")


def _no_floor(known: Paths, op: Op, kind: str, severity: str) -> frozenset[object]:
    """The line of the pass whose loss can fall without end by it: that is this finding's to tell."""
    event = known.loss_of((op.graph, op.outputs[0])) if kind == "raw scores" and not severity else None
    return frozenset({("exploding", *event.site.user.location())} if event is not None else ())


def _divides_by_its_sum(known: Paths, maker: Op) -> bool:
    """Whether a call makes shares of one, as a softmax by hand does: each number over the sum of its row."""
    if maker.name not in DIVISIONS or len(maker.inputs) != 2:
        return False
    above, below = ((maker.graph, index) for index in maker.inputs)
    total = known.maker_behind(below, PASSING)
    return (
        total is not None
        and total.name == "sum"
        and known.made((total.graph, total.inputs[0])) == known.made(above)
    )


def _exponential(known: Paths, op: Op) -> Op | None:
    """The exponential that alone reads the loss."""
    readers = [r for r in known.readers((op.graph, op.outputs[0])) if r is not None]
    return readers[0] if len(readers) == 1 and readers[0].name == "exp" else None


def _taken_back(trace: Trace, known: Paths, found: list[tuple[Op, Op]], back: Op, severity: str) -> Finding:
    """An exponential of the loss takes no logarithm: with log-probabilities it would be that of a cross entropy."""
    op, maker = found[0]
    given = argument_as(trace, op.site.user, "input", 0, "{}.log()")
    bare = call_around_taken(trace, back.site.user)
    values = loss_values(trace, known, (back.graph, back.outputs[0]))
    measured = f"nothing but {code(trace, back.site.user, '`exp`')} reads what `{op.name}` gave" + (
        f", and gave {numbers(min(values))} to {numbers(max(values))}" if values else ""
    )
    made, loss = located(trace, maker.site.user, f"`{maker.name}`"), code(trace, op.site.user, f"`{op.name}`")
    return Finding(
        message=f"`{op.name}` wants log-probabilities and is given probabilities; `exp` of what it gives does not make"
        " up for that",
        cause=op.site.user,
        cause_label="takes no logarithm",
        effect=back.site.user,
        effect_label="the exponential of minus the mean probability, between 1/e and 1",
        related=((maker.site.user, f"`{maker.name}` gives probabilities"),),
        seen=(unused(len(found)),) if severity else (measured,),
        fix=f"give {loss} the logarithm of its input (`.log()`), or that of `log_softmax` in place of {made}, and take"
        f" the exponential of {located(trace, back.site.user, '`exp`')} away: of a cross entropy it"
        " grows without bound, and each gradient is multiplied by it",
        count=len(found),
        subjects=_subjects(trace, known, op),
        severity=severity,
        edits=(*given, *bare) if given and bare else (),
    )


def _all_renamed(trace: Trace, known: Paths, maker: Op) -> Edits:
    """`cross_entropy` for each `nll_loss` that is given what is made at this line, in an evaluation, too."""
    calls: dict[tuple[object, ...], Site] = {}
    for key, op in (*losses(known, LOG_LOSSES), *evaluated(known, LOG_LOSSES)):
        made = {m.site.user.location() for _, m in makers(known, key)}
        if op.name.startswith("nll_loss") and maker.site.user.location() in made:
            calls.setdefault(op.site.user.span(), op.site.user)
    edits = [renamed(trace, site, "nll_loss", "cross_entropy") for site in calls.values()]
    return tuple(edit for one in edits for edit in one) if all(edits) else ()


def _subjects(trace: Trace, known: Paths, op: Op) -> frozenset[object]:
    """The parameters that it teaches. Numbers that are not finite come of it only where the loss fell far below zero
    and they got so by growing."""
    lowest = min(
        (v for v in loss_values(trace, known, (op.graph, op.outputs[0])) if isfinite(v)), default=0.0
    )
    if trace.of(NonFinite) and not (lowest < FAR_BELOW and grown_until_it_broke(trace)):
        return frozenset()
    return parameter_subjects(known.reach([(op.graph, op.outputs[0])]).parameters)


def _seen(trace: Trace, known: Paths, found: list[tuple[Op, Op]], kind: str) -> Iterator[str]:
    op = found[0][0]
    values = [v for one, _ in found for v in loss_values(trace, known, (one.graph, one.outputs[0]))]
    if any(value < 0 for value in values):
        yield f"the loss was {numbers(min(values))}; of log-probabilities it cannot be below 0"
    elif values and op.name.startswith("nll_loss"):
        yield f"the loss was {numbers(min(values))} to {numbers(max(values))}: a mean of the {kind} themselves"
    if not values:
        made = code(trace, found[0][1].site.user, f"`{found[0][1].name}`")
        yield f"in {plural(len(found), 'graph')} no logarithm stands between {made} and `{op.name}`"
