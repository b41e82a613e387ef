"""The prediction stands where a loss takes its target, and the target where it takes the prediction.

Why: `binary_cross_entropy` and its like take the prediction first. The other way round the gradient comes to
the target: the loss is linear in it and has no bottom, so that the outputs run away, and the loss goes below
zero where no right one can.

Fix: swap the two arguments.

Measured: the first argument was computed from no parameter, the second from those that the pass trains. Of `kl_div` and
`cross_entropy`: the first one has no graph and was made by a softmax, the second one by what makes predictions.
Silent on: losses whose both sides are computed from parameters, and those that take them in any order; divergences from
a network to a fixed distribution, which have logarithms first.
"""

import ast
from collections.abc import Iterator

from gradscope.analysis.names import names_of
from gradscope.analysis.ops import BINARY_LOSSES, LAYERS, PROBABILITIES
from gradscope.analysis.reach import Key, Paths, paths
from gradscope.analysis.words import located, parameter_subjects
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding, Op, Site
from gradscope.rules import rule
from gradscope.rules.numbers._losses import loss_event, makers
from gradscope.store import Trace

SAID_BY_MAKERS = {"kl_div", "cross_entropy"}  # take numbers on both sides that may be trained, too


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(3, 4)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        x, wanted = torch.randn(8, 3), torch.randint(0, 2, (8, 4)).float()
        opt.zero_grad()
        loss = nn.functional.binary_cross_entropy_with_logits(wanted, model(x))  # cause: GS722
        loss.backward()  # effect: GS722
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(3, 4)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        x, wanted = torch.randn(8, 3), torch.randint(0, 2, (8, 4)).float()
        opt.zero_grad()
        nn.functional.binary_cross_entropy_with_logits(model(x), wanted).backward()
        opt.step()


@rule("GS722", name="loss-arguments-swapped", severity="error", over=("GS701", "GS705"))
def loss_arguments_swapped(trace: Trace) -> Iterator[Finding]:
    known = paths(trace)
    told: set[tuple[str, int]] = set()
    for number in known.graph_ids:
        for op in known.graph(number).ops:
            if op.name not in BINARY_LOSSES | SAID_BY_MAKERS or len(op.inputs) < 2 or not op.outputs:
                continue
            given, target = (known.made((number, i)) for i in op.inputs[:2])
            if (number, op.outputs[0]) not in known.used.order or op.site.user.location() in told:
                continue
            if op.name in BINARY_LOSSES:
                swapped = not _trains(known, given) and _trains(known, target)
            else:
                swapped = _made_the_other_way(known, op, given, target)
            if swapped:
                told.add(op.site.user.location())
                yield _finding(trace, known, op)


def _made_the_other_way(known: Paths, op: Op, given: Key, target: Key) -> bool:
    """Whether probabilities that nothing trains stand for the prediction, and what a trained network says of them for
    the target: its logarithms, or its raw scores where the loss takes the softmax. A divergence the other way round,
    from a network to what it learns of, has logarithms first and probabilities behind."""
    if known.value(given).requires_grad or not known.value(target).requires_grad:
        return False
    said = {maker.name for _, maker in makers(known, target)}
    shares = {maker.name for _, maker in makers(known, given)}
    if op.name == "kl_div":
        return said == {"log_softmax"} and bool(shares) and shares <= PROBABILITIES | {"one_hot"}
    return bool(said) and said <= LAYERS and bool(shares) and shares <= PROBABILITIES | {"one_hot"}


def _trains(known: Paths, key: Key) -> bool:
    """Whether a parameter takes part in it, cut off or not."""
    return known.value(key).requires_grad or any(
        known.parameter_of(other) is not None for other in known.flow([key]).order
    )


def _finding(trace: Trace, known: Paths, op: Op) -> Finding:
    names = [names_of(trace).name(known.graph(op.graph), i) for i in op.inputs[:2]]
    first, second = (f"`{name}`" if name else "" for name in names)
    plain = not _trains(known, known.made((op.graph, op.inputs[0])))
    edits, swapped = _swapped(trace, op.site.user)
    event = loss_event(known, op)
    return Finding(
        message=f"`{op.name}` takes {first or 'the target'} for the prediction and {second or 'the prediction'}"
        " for the target: they are the wrong way round",
        cause=op.site.user,
        cause_label="the prediction comes first",
        effect=event.site.user if event is not None else None,
        effect_label="the gradient comes to what stands for the target",
        seen=(
            f"{first or 'the first argument'} was computed {'from no parameter' if plain else 'without a graph'},"
            f" {second or 'the second argument'} from those that this pass trains",
        ),
        fix=f"swap the two{f': `{swapped}`' if swapped else f' in {located(trace, op.site.user)}'}",
        edits=edits,
        subjects=parameter_subjects(known.reach([(op.graph, op.outputs[0])]).parameters),
    )


def _swapped(trace: Trace, site: Site) -> tuple[Edits, str]:
    here = Source(trace, site.path)
    call = here.file.at(site)
    if not isinstance(call, ast.Call) or len(call.args) < 2:
        return (), ""
    if any(isinstance(argument, ast.Starred) for argument in call.args[:2]):
        return (), ""
    one, other = call.args[:2]
    texts = here.file.text(one), here.file.text(other)
    rest = ", …" if len(call.args) + len(call.keywords) > 2 else ""
    shown = f"{ast.unparse(call.func)}({texts[1]}, {texts[0]}{rest})"
    return (*here.replace(one, texts[1]), *here.replace(other, texts[0])), shown
