"""A sample has several classes at once, and what the loss compares takes them for one probability distribution.

Why: the targets of `cross_entropy` are one class, or probabilities that add up to one. Of a row with three ones it
makes three times the loss, and asks a softmax, whose numbers add up to one, to be one in three places: that can't be,
so that the loss stays above zero, and a threshold at one half finds one class at most. So does
`binary_cross_entropy` of a softmax.

Fix: `binary_cross_entropy_with_logits`, one yes or no for each class; a sigmoid in place of the softmax.

Where each column has exactly one 1, rows and columns are exchanged: that is told in its place. Where there is exactly
one along the last of several axes, that is the axis of the classes (GS716).

Measured: the targets at the first call: zeros and ones only, and more than one of them in a row, or none in one.
"""

import ast
from collections.abc import Iterator

from gradscope.analysis.made import layer_site, softmax_site
from gradscope.analysis.ops import CASTS
from gradscope.analysis.reach import Paths, paths
from gradscope.analysis.words import code, located
from gradscope.events import Targets
from gradscope.fixes.calls import argument_as
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding, Op, Site
from gradscope.rules import rule
from gradscope.rules.numbers._losses import loss_event, of_zeros_and_ones, one_along_the_last
from gradscope.store import Trace


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(64, 6)
    y = (x[:, :4] > 0).float()
    model = nn.Linear(6, 4)
    criterion = nn.CrossEntropyLoss()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        loss = criterion(model(x), y)  # cause: GS768
        loss.backward()  # effect: GS768
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    x = torch.randn(64, 6)
    y = (x[:, :4] > 0).float()
    model = nn.Linear(6, 4)
    criterion = nn.BCEWithLogitsLoss()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        opt.step()


@rule("GS768", name="several-classes-at-once", severity="warning")
def several_classes_at_once(trace: Trace) -> Iterator[Finding]:
    known = paths(trace)
    for event, op in of_zeros_and_ones(trace, known, {"cross_entropy"}):
        site = op.site.user
        if event.most is None or event.most < 2 or one_along_the_last(event):
            continue
        if event.columns == (1, 1):
            yield _transposed(trace, known, event, op)
            continue
        passed = loss_event(known, op)
        place = layer_site(trace, op, alone=True) or site
        new, edits = _for_each_class(trace, place)
        yield Finding(
            message="`cross_entropy` is given several classes at once: it takes them for one probability distribution",
            cause=site,
            cause_label=f"up to {event.most:.0f} ones in a row of its targets",
            effect=passed.site.user if passed is not None and passed.site.user != site else None,
            effect_label="goes back from it",
            seen=(
                f"at the first call its targets were zeros and ones, of which {event.least:.0f} to {event.most:.0f}"
                " in a row",
            ),
            fix=f"ask each class by itself: `{new}` in place of {located(trace, place)}",
            edits=edits,
            subjects=frozenset({("targets", site.location())}),
        )

    for event, op in of_zeros_and_ones(trace, known, {"binary_cross_entropy"}):
        maker = known.maker_behind((op.graph, op.inputs[0]), CASTS)
        if maker is None or maker.name != "softmax" or event.most is None or event.least is None:
            continue
        shape, dims = known.value((op.graph, op.inputs[0])).shape, maker.extra.get("dims")
        if len(shape) == 2 and dims in ([1], [-1]) and (event.most >= 2 or event.least < 1):
            yield _of_a_softmax(trace, known, event, op, maker)


def _of_a_softmax(trace: Trace, known: Paths, event: Targets, op: Op, maker: Op) -> Finding:
    """Probabilities that add up to one, and labels of which a sample may have any number."""
    site, place = op.site.user, softmax_site(trace, maker)
    new, edits = _as_sigmoid(trace, place)
    return Finding(
        message="`binary_cross_entropy` asks for each class by itself, and"
        f" {code(trace, place, 'a softmax')} makes them add up to one",
        cause=place,
        cause_label="gives one distribution over the classes",
        effect=site,
        effect_label=f"compares it with {event.least:.0f} to {event.most:.0f} ones in a row",
        seen=(
            f"at the first call its targets were zeros and ones, of which {event.least:.0f} to {event.most:.0f} in a"
            f" row; `{op.name}` got the result of `softmax` as it is",
        ),
        why="numbers that add up to one can't be near one in several places, nor near zero in all: the loss stays above"
        " zero, and each class can only rise where the others fall.",
        fix=f"ask each class by itself: `{new}` in place of {located(trace, place)}",
        edits=edits,
        subjects=frozenset({("targets", site.location())}),
    )


def _as_sigmoid(trace: Trace, site: Site) -> tuple[str, Edits]:
    """The sigmoid for a softmax, or for the layer of one, and the edit."""
    here = Source(trace, site.path)
    node = here.file.at(site)
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return "torch.sigmoid(scores)", ()
    if node.func.attr == "Softmax":
        new = f"{ast.unparse(node.func.value)}.Sigmoid()"
    elif here.file.is_imported(node.func) and node.args and "torch" in here.file.imported:
        new = f"torch.sigmoid({here.file.text(node.args[0])})"
    elif node.func.attr == "softmax" and not here.file.is_imported(node.func):
        new = f"{here.part(node.func.value)}.sigmoid()"
    else:
        return "torch.sigmoid(scores)", ()
    return new, here.replace(node, new)


def _transposed(trace: Trace, known: Paths, event: Targets, op: Op) -> Finding:
    """Each column has one 1: as many samples as classes, and the two exchanged."""
    site, passed = op.site.user, loss_event(known, op)
    return Finding(
        message="`cross_entropy` is given targets whose rows are the classes, and whose columns are the samples",
        cause=site,
        cause_label=f"up to {event.most:.0f} ones in a row of its targets, one in each column",
        effect=passed.site.user if passed is not None and passed.site.user != site else None,
        effect_label="goes back from it",
        seen=(
            f"at the first call its targets were zeros and ones: {event.least:.0f} to {event.most:.0f} in a row,"
            " exactly one in each column",
        ),
        why="with as many samples as classes in a batch nothing fails. A dataset that gives its target as a list is"
        " collated class by class: one tensor for each place of the list, over all samples",
        fix=f"exchange the two axes, `.t()` behind what {located(trace, site)} is given as targets; or let the dataset"
        " give a tensor, or the number of the class",
        edits=argument_as(trace, site, "target", 1, "{}.t()"),
        subjects=frozenset({("targets", site.location())}),
    )


def _for_each_class(trace: Trace, site: Site) -> tuple[str, Edits]:
    """The loss with a sigmoid, where it was made or called, and the edit where it is given nothing else."""
    here = Source(trace, site.path)
    node = here.file.at(site)
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return "nn.BCEWithLogitsLoss()", ()
    prefix = ast.unparse(node.func.value)
    if node.func.attr == "CrossEntropyLoss":
        new = f"{prefix}.BCEWithLogitsLoss()"
        return new, here.replace(node, new) if not node.args and not node.keywords else ()
    name = f"{prefix}.binary_cross_entropy_with_logits"
    plain = node.func.attr == "cross_entropy" and not node.keywords and len(node.args) == 2
    return name, here.replace(node.func, name) if plain else ()
