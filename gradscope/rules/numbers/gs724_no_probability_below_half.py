"""What a sigmoid turns into probabilities is never below 0: no probability is below one half.

Why: sigmoid of 0 is 0.5, and it needs numbers below 0 to give less. After a ReLU (a softplus, another sigmoid) there
are none, so that a binary cross entropy asks in vain for the class 0: its best answer is 0.5, and where the ReLU
is off no gradient comes back either.

Fix: leave the activation of the last layer out: sigmoid and loss want its plain numbers.

Silent on: gates and weights that no loss takes for probabilities, targets that are all above one half, outputs that
are shifted or weighed before the sigmoid.
"""

from collections.abc import Iterator

from gradscope.analysis.made import layer_site
from gradscope.analysis.ops import BINARY_LOSSES, RELUS, SIGMOIDS
from gradscope.analysis.reach import Key, Paths, paths
from gradscope.analysis.words import located, parameter_subjects, percent
from gradscope.events import Targets
from gradscope.fixes.calls import unwrapped, without_last_layer
from gradscope.model import Finding, Op
from gradscope.rules import rule
from gradscope.rules.numbers._losses import losses, makers, measured_targets
from gradscope.store import Trace

SHARE = 0.05  # of the targets, at least
NEVER_BELOW_ZERO = RELUS | SIGMOIDS | {"softplus", "abs", "square", "softmax"}
HALF = 0.5


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


def _never_below_zero(known: Paths, key: Key, op: Op) -> Op | None:
    """The call whose result the sigmoid before this loss, or the one in it, is given."""
    if op.name == "binary_cross_entropy":
        found = makers(known, key)
        if len(found) != 1 or found[0][1].name not in SIGMOIDS:
            return None
        sigmoid = found[0][1]
        found, names = makers(known, (sigmoid.graph, sigmoid.inputs[0])), NEVER_BELOW_ZERO
    else:  # of a probability GS702 tells
        found, names = makers(known, key), NEVER_BELOW_ZERO - SIGMOIDS - {"softmax"}
    return found[0][1] if len(found) == 1 and found[0][1].name in names else None


def _finding(trace: Trace, known: Paths, op: Op, maker: Op, event: Targets) -> Finding:
    last = _alone(known, maker)
    layer = layer_site(trace, maker)
    here = located(trace, maker.site.user, f"`{maker.name}`")
    place = f"the layer {located(trace, layer)}" if layer is not None else f"`{maker.name}` in {here}"
    upper = " nor above 0.731" if maker.name in SIGMOIDS | {"softmax"} else ""
    return Finding(
        message=f"`{maker.name}` gives no number below 0, and the sigmoid of it no probability below 0.5{upper}:"
        f" {percent(event.below_half)} of the targets are",
        cause=maker.site.user,
        cause_label="gives numbers from 0 on, of which a sigmoid is to make probabilities",
        effect=op.site.user,
        effect_label="asks for probabilities below 0.5 as well",
        related=((layer, "the layer that applies it"),) if layer is not None else (),
        seen=(
            f"at the first call {percent(event.below_half)} of the targets were below 0.5, for each of which the loss"
            " is 0.693 or more whatever the model learns",
        ),
        fix=f"leave {place} out{'' if last else ' behind the last layer'}: the sigmoid wants numbers on both sides of"
        " 0",
        edits=(unwrapped(trace, maker.site.user) or without_last_layer(trace, maker))
        if last or layer
        else (),
        subjects=parameter_subjects(known.reach([(op.graph, op.outputs[0])]).parameters)
        | {("squashed", *maker.site.user.location())},
    )


def _alone(known: Paths, maker: Op) -> bool:
    """Whether its line makes nothing else of that kind, and one call reads what it makes."""
    graph = known.graph(maker.graph)
    same = [o for o in graph.ops if o.name == maker.name and o.site.user == maker.site.user]
    return len(same) == 1 and len(graph.consumers.get(maker.outputs[0], ())) == 1
