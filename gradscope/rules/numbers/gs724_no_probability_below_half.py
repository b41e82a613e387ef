"""What a sigmoid turns into probabilities is never below 0: no probability is below one half.

Why: sigmoid of 0 is 0.5, and it needs numbers below 0 to give less. After a ReLU (a softplus, another sigmoid) there
are none, so that a binary cross entropy asks in vain for the class 0: its best answer is 0.5, and where the ReLU
is off no gradient comes back either.

Fix: leave the activation of the last layer out: sigmoid and loss want its plain numbers.

A likelihood that is written out asks the same: `y * logsigmoid(s) + (1 - y) * logsigmoid(-s)`.

Silent on: gates and weights that no loss takes for probabilities, targets that are all above one half, outputs that
are shifted or weighed before the sigmoid.
"""

from collections.abc import Iterator

from gradscope.analysis.made import layer_site
from gradscope.analysis.ops import (
    ADDITIONS,
    BINARY_LOSSES,
    CASTS,
    MULTIPLICATIONS,
    NEGATIONS,
    PASSING,
    RELUS,
    SIGMOIDS,
    SUBTRACTIONS,
    SUMS,
)
from gradscope.analysis.reach import Key, Paths, paths
from gradscope.analysis.words import located, parameter_subjects, percent
from gradscope.events import Targets
from gradscope.model import Finding, Op
from gradscope.rules import rule
from gradscope.rules.numbers._losses import cuts_at_zero, losses, makers, measured_targets, without_cut
from gradscope.store import Trace

SHARE = 0.05  # of the targets, at least
NEVER_BELOW_ZERO = RELUS | SIGMOIDS | {"softplus", "abs", "square", "softmax"}
LOGARITHMS = {"log_sigmoid", "softplus", "log", "log1p"}  # that make a likelihood of scores
DEEP = 4  # small numbers that are added before a logarithm


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    first, last = nn.Linear(4, 8), nn.Linear(8, 1)
    opt = torch.optim.SGD([*first.parameters(), *last.parameters()], lr=0.1)
    for _ in range(3):
        x, y = torch.randn(16, 4), torch.randint(0, 2, (16, 1)).float()
        out = torch.relu(last(torch.relu(first(x))))  # cause: GS724
        loss = nn.functional.binary_cross_entropy(torch.sigmoid(out), y)  # effect: GS724
        opt.zero_grad()
        loss.backward()
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    first, last = nn.Linear(4, 8), nn.Linear(8, 1)
    opt = torch.optim.SGD([*first.parameters(), *last.parameters()], lr=0.1)
    for _ in range(3):
        x, y = torch.randn(16, 4), torch.randint(0, 2, (16, 1)).float()
        out = last(torch.relu(first(x)))
        loss = nn.functional.binary_cross_entropy(torch.sigmoid(out), y)
        opt.zero_grad()
        loss.backward()
        opt.step()


@rule("GS724", name="no-probability-below-half", severity="warning", over=("GS707", "GS761"))
def no_probability_below_half(trace: Trace) -> Iterator[Finding]:
    known = paths(trace)
    measured = measured_targets(trace)
    told: set[tuple[str, int]] = set()
    for key, op in losses(known, BINARY_LOSSES):
        event = measured.get((op.site.user.span(), op.name))
        maker = _never_below_zero(known, key, op)
        if maker is None or event is None or event.below_half < SHARE:
            continue
        if maker.site.user.location() not in told:
            told.add(maker.site.user.location())
            yield _finding(trace, known, op, maker, event)
    for key, op in _written_out(known):
        maker = _below(known, key, NEVER_BELOW_ZERO)
        if maker is not None and maker.site.user.location() not in told:
            told.add(maker.site.user.location())
            yield _finding(trace, known, op, maker, None)


def _never_below_zero(known: Paths, key: Key, op: Op) -> Op | None:
    """The call whose result the sigmoid before this loss, or the one in it, is given."""
    if op.name == "binary_cross_entropy":
        found = makers(known, key)
        if len(found) != 1 or found[0][1].name not in SIGMOIDS:
            return None
        sigmoid = found[0][1]
        return _below(known, (sigmoid.graph, sigmoid.inputs[0]), NEVER_BELOW_ZERO)
    return _below(known, key, NEVER_BELOW_ZERO - SIGMOIDS - {"softmax"})  # of a probability GS702 tells


def _below(known: Paths, key: Key, names: set[str]) -> Op | None:
    """The call that made this, where it gives nothing below 0."""
    found = makers(known, key, cut=True)
    return (
        found[0][1] if len(found) == 1 and (found[0][1].name in names or cuts_at_zero(found[0][1])) else None
    )


def _written_out(known: Paths) -> Iterator[tuple[Key, Op]]:
    """What both logarithms of a sigmoid are taken of, that of the class 1 and that of the class 0, each weighed by
    numbers that nothing is trained for: the targets."""
    asked: dict[Key, list[Op]] = {}
    for _, op in known.used_calls(LOGARITHMS):
        key = _asked(known, op)
        if key is not None and _weighed(known, op):
            asked.setdefault(key, []).append(op)
    for key, ops in asked.items():
        if len({_is_negated(known, op) for op in ops}) == 2:
            yield key, ops[0]


def _sigmoid(known: Paths, op: Op) -> Op | None:
    """The sigmoid that a logarithm is taken of, perhaps of one less it, with a small number added."""
    maker = known.maker_behind((op.graph, op.inputs[-1]), PASSING)
    for _ in range(DEEP):
        if maker is None or maker.name not in SUMS or len(maker.inputs) != 1:
            break
        maker = known.maker_behind((maker.graph, maker.inputs[0]), PASSING)
    return maker if maker is not None and maker.name in SIGMOIDS else None


def _asked(known: Paths, op: Op) -> Key | None:
    """The scores, without their sign."""
    if op.name in ("log", "log1p"):
        sigmoid = _sigmoid(known, op)
        return (sigmoid.graph, sigmoid.inputs[0]) if sigmoid is not None else None
    maker = known.maker((op.graph, op.inputs[0]))
    negated = maker is not None and maker.name in NEGATIONS
    return (maker.graph, maker.inputs[0]) if maker is not None and negated else (op.graph, op.inputs[0])


def _is_negated(known: Paths, op: Op) -> bool:
    """Whether it is of the other class than a call of the same function with the scores, or their sigmoid, as given."""
    if op.name == "log1p":
        return True
    maker = known.maker_behind((op.graph, op.inputs[0]), CASTS)
    if op.name == "log":
        while maker is not None and maker.name in (ADDITIONS | PASSING) and len(maker.inputs) == 1:
            maker = known.maker((maker.graph, maker.inputs[0]))
        return maker is not None and maker.name in SUBTRACTIONS
    return maker is not None and maker.name in NEGATIONS


def _weighed(known: Paths, op: Op) -> bool:
    """Whether the logarithms are multiplied by as many numbers that need no gradient."""
    graph = known.graph(op.graph)
    for value, reader in graph.readers_behind(op.outputs, lambda op: op.name in NEGATIONS):
        others = [index for index in reader.inputs if index != value]
        if reader.name in MULTIPLICATIONS and len(others) == 1:
            other = graph.values[others[0]]
            if not other.requires_grad and other.shape == graph.values[value].shape:
                return True
    return False


def _finding(trace: Trace, known: Paths, op: Op, maker: Op, event: Targets | None) -> Finding:
    last = _alone(known, maker)
    layer = layer_site(trace, maker)
    here = located(trace, maker.site.user, f"`{maker.name}`")
    place = f"the layer {located(trace, layer)}" if layer is not None else f"`{maker.name}` in {here}"
    upper = " nor above 0.731" if maker.name in SIGMOIDS | {"softmax"} else ""
    asked = (
        f"{percent(event.below_half)} of the targets are"
        if event is not None
        else "the loss asks for such ones, too"
    )
    seen = (
        f"at the first call {percent(event.below_half)} of the targets were below 0.5, for each of which the loss"
        " is 0.693 or more whatever the model learns"
        if event is not None
        else "both the logarithm of the probability and that of one less it are weighed by targets: for the class 0"
        " the loss is 0.693 or more whatever the model learns"
    )
    return Finding(
        message=f"`{maker.name}` gives no number below 0, and the sigmoid of it no probability below 0.5{upper}:"
        f" {asked}",
        cause=maker.site.user,
        cause_label="gives numbers from 0 on, of which a sigmoid is to make probabilities",
        effect=op.site.user,
        effect_label="asks for probabilities below 0.5 as well",
        related=((layer, "the layer that applies it"),) if layer is not None else (),
        seen=(seen,),
        fix=f"leave {place} out{'' if last else ' behind the last layer'}: the sigmoid wants numbers on both sides of"
        " 0",
        edits=without_cut(trace, maker) if last or layer else (),
        subjects=parameter_subjects(known.reach([(op.graph, op.outputs[0])]).parameters)
        | {("squashed", *maker.site.user.location())},
    )


def _alone(known: Paths, maker: Op) -> bool:
    """Whether its line makes nothing else of that kind, and one call reads what it makes, or the likelihood alone."""
    graph = known.graph(maker.graph)
    same = [o for o in graph.ops if o.name == maker.name and o.site.user == maker.site.user]
    readers = {op.name for op in graph.consumers.get(maker.outputs[0], ())}
    once = len(graph.consumers.get(maker.outputs[0], ())) == 1
    return len(same) == 1 and (once or readers <= LOGARITHMS | NEGATIONS)
