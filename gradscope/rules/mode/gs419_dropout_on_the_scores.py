"""Dropout works on what the loss compares: some of the answers are zeros, at random.

Why: dropout is for the numbers inside a network, of which the next layer sums many. Behind the last layer each number
is an answer: a score of 0 in place of the real one, for the right class as often as for others, a prediction of 0
where the target is not. The loss of those teaches nothing, and the others are scaled up. In `eval()` the answers are
others than those that the loss was taken of.

Fix: leave the dropout behind the last layer out, or put it before that layer.

Measured: the loss took the result of a dropout that was active, with nothing between; or a difference that is squared,
or a log-softmax, did.
Silent on: embeddings whose distances are compared; targets that went through dropout.
"""

import ast
from collections.abc import Iterator

from gradscope.analysis.bootstraps import squares
from gradscope.analysis.made import layer_site
from gradscope.analysis.ops import LOSSES, PASSING, SUBTRACTIONS
from gradscope.analysis.reach import Key, Paths, paths
from gradscope.analysis.text import written_input
from gradscope.analysis.words import code, located, parameter_subjects, plural
from gradscope.events import Backward
from gradscope.fixes.calls import without_last_layer
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding, Op
from gradscope.rules import rule
from gradscope.source import called_name
from gradscope.store import Trace

DROPOUTS = {"dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout", "feature_alpha_dropout"}


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    first, last, drop = nn.Linear(4, 16), nn.Linear(16, 5), nn.Dropout(0.5)
    opt = torch.optim.SGD([*first.parameters(), *last.parameters()], lr=0.1)
    for _ in range(3):
        x, y = torch.randn(16, 4), torch.randint(0, 5, (16,))
        scores = drop(last(torch.relu(first(x))))  # cause: GS419
        loss = nn.functional.cross_entropy(scores, y)  # effect: GS419
        opt.zero_grad()
        loss.backward()
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    first, last, drop = nn.Linear(4, 16), nn.Linear(16, 5), nn.Dropout(0.5)
    opt = torch.optim.SGD([*first.parameters(), *last.parameters()], lr=0.1)
    for _ in range(3):
        x, y = torch.randn(16, 4), torch.randint(0, 5, (16,))
        scores = last(drop(torch.relu(first(x))))
        loss = nn.functional.cross_entropy(scores, y)
        opt.zero_grad()
        loss.backward()
        opt.step()


@rule("GS419", name="dropout-on-the-scores", severity="warning")
def dropout_on_the_scores(trace: Trace) -> Iterator[Finding]:
    if trace.op_names.isdisjoint(DROPOUTS):
        return
    known = paths(trace)
    told: set[tuple[str, int]] = set()
    for key, loss, given in _compared(known):
        drop = known.maker_behind(given, PASSING)
        event = known.loss_of(key)
        if drop is None or event is None or drop.site.user.location() in told:
            continue
        if drop.name in DROPOUTS and drop.nodes and drop.inputs != drop.outputs:
            told.add(drop.site.user.location())
            yield _finding(trace, known, given, drop, loss, event)


def _compared(known: Paths) -> Iterator[tuple[Key, Op, Key]]:
    """What losses compare with their targets, each with the call that does: of a difference that is squared, or made
    absolute, the side with a graph, where the other one has none; scores whose logarithm of a softmax is taken."""
    for key, loss in known.used_calls(LOSSES | {"log_softmax"} | SUBTRACTIONS):
        values = known.graph(loss.graph).values
        if loss.name not in SUBTRACTIONS:
            yield from [(key, loss, (loss.graph, loss.inputs[0]))] if loss.inputs else []
        elif len(loss.inputs) == 2 and any(
            reader is not None and squares(reader) for reader in known.readers(key)
        ):
            tracked = [index for index in loss.inputs if values[index].requires_grad]
            yield from [(key, loss, (loss.graph, tracked[0]))] if len(tracked) == 1 else []


def _finding(trace: Trace, known: Paths, given: Key, drop: Op, loss: Op, event: Backward) -> Finding:
    layer = layer_site(trace, drop)
    here = located(trace, layer or drop.site.user, f"`{drop.name}`")
    effect = code(trace, loss.site.user, f"`{loss.name}`")
    return Finding(
        message=f"{effect} is given answers of which dropout has made some 0, at random",
        cause=drop.site.user,
        cause_label="the last thing that is done to them",
        effect=loss.site.user,
        effect_label="compares them with the targets",
        related=((layer, "the layer that does it"),) if layer is not None else (),
        seen=(
            f"in {plural(known.alike(event), 'pass')} `{loss.name}` got the {known.value(given).shape} result of"
            f" `{drop.name}`, which was active, with nothing between",
        ),
        fix=f"leave {here} out, or put it before the last layer",
        edits=_left_out(trace, drop) or without_last_layer(trace, drop),
        subjects=parameter_subjects(known.reach([(loss.graph, loss.outputs[0])]).parameters),
    )


def _left_out(trace: Trace, drop: Op) -> Edits:
    """`x` for `drop(x)` and `F.dropout(x, 0.5)`: not where a larger part of the model was called there."""
    site = drop.site.user
    here = Source(trace, site.path)
    node = here.file.at(site)
    module = trace.modules.get(drop.module) if drop.module is not None else None
    called = called_name(node)
    layer = module is not None and called in (module.variable, module.path.rpartition(".")[2])
    given = written_input(trace, drop, 0) if layer or called == drop.name else None
    return (
        here.replace(node, here.file.text(given)) if given is not None and isinstance(node, ast.Call) else ()
    )
