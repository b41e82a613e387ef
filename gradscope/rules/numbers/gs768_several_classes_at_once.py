"""`cross_entropy` is given several classes at once for a sample: it takes them for one probability distribution.

Why: its targets are one class, or probabilities that add up to one. Of a row with three ones it makes three times the
loss, and asks a softmax, whose numbers add up to one, to be one in three places: that can't be, so that the loss stays
above zero, and a threshold at one half finds one class at most.

Fix: `binary_cross_entropy_with_logits`, one yes or no for each class.

Where each column has exactly one 1, rows and columns are exchanged: that is told in its place.

Measured: the targets at the first call: zeros and ones only, and more than one of them in a row.
"""

import ast
from collections.abc import Iterator

from gradscope.analysis.made import layer_site
from gradscope.analysis.reach import Paths, paths
from gradscope.analysis.words import located
from gradscope.events import Targets
from gradscope.fixes.calls import argument_as
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding, Op, Site
from gradscope.rules import rule
from gradscope.rules.numbers._losses import loss_event, of_zeros_and_ones
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
        if event.most is None or event.most < 2:
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
