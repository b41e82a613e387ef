"""The weights of the classes are the wrong way round: the frequent class has the large one.

Why: a weight for each class is to make up for how seldom it comes. Where it grows with how often it comes, the rare
class, which hardly counts by itself, counts even less, and the network learns to answer the frequent one always.

Fix: weights that fall with the number of samples, `n / (classes * count)`; the order of the weights is that of the
class indices.

A note: costs that are meant so look the same.

Silent on: weights in another order than that of the counts, classes that differ little, few samples.
"""

from collections.abc import Iterator

from gradscope.analysis.reach import paths
from gradscope.analysis.samples import calls_at
from gradscope.analysis.words import located
from gradscope.events import Labels
from gradscope.model import Finding, Site
from gradscope.rules import rule
from gradscope.store import Trace

FEW = 100  # samples, to tell which class is frequent
CLEAR = 2.0  # times: how much the most frequent class and its weight are above the rarest and its own


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 2)
    weight = torch.tensor([9.0, 1.0])  # cause: GS749
    loss_of = nn.CrossEntropyLoss(weight)  # nine of ten samples are of class 0
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        labels = (torch.arange(50) % 10 == 0).long()
        loss = loss_of(model(torch.randn(50, 4)), labels)  # effect: GS749
        opt.zero_grad()
        loss.backward()
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 2)
    loss_of = nn.CrossEntropyLoss(torch.tensor([1.0, 9.0]))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        labels = (torch.arange(50) % 10 == 0).long()
        loss = loss_of(model(torch.randn(50, 4)), labels)
        opt.zero_grad()
        loss.backward()
        opt.step()


@rule("GS749", name="weights-favour-the-frequent", severity="note", needs=Labels)
def weights_favour_the_frequent(trace: Trace) -> Iterator[Finding]:
    for event in trace.of(Labels):
        counts = {int(label): count for label, count in event.samples.items()}
        if not event.trained or len(event.weights) != event.classes or sum(counts.values()) < FEW:
            continue
        rising = sorted(counts, key=lambda label: counts[label])
        rare, frequent = rising[0], rising[-1]
        weights = [event.weights[label] for label in rising]
        if len(rising) < 2 or counts[frequent] < CLEAR * counts[rare] or weights[-1] < CLEAR * weights[0]:
            continue
        if weights != sorted(weights):
            continue
        total = sum(event.weights[label] * count for label, count in counts.items())
        share, count = counts[rare] * event.weights[rare] / total, sum(counts.values())
        place = _made(trace, event)
        often, seldom = f"class {frequent}", f"class {rare}"
        yield Finding(
            message=f"the weights of the classes grow with how often they come: {often}, {counts[frequent]} of {count} "
            f"samples, has {weights[-1]:.3g}, {seldom}, {counts[rare]} of them, has {weights[0]:.3g}",
            cause=place,
            cause_label=f"gives class {rare} {weights[0]:.3g}, class {frequent} {weights[-1]:.3g}",
            effect=event.site.user if event.site.user != place else None,
            effect_label=f"{100 * share:.2g}% of it is of class {rare}",
            seen=(
                f"of {count} targets that were looked at "
                + ", ".join(f"{counts[label]} were of class {label}" for label in rising[::-1][:4])
                + "; its weights: "
                + ", ".join(f"{weight:.3g}" for weight in event.weights[:8]),
            ),
            fix=f"turn the weights of {located(trace, place)} round, so that the rare class has the large one: "
            "`counts.sum() / (len(counts) * counts)` of the targets' `bincount`",
        )


def _made(trace: Trace, event: Labels) -> Site:
    """The call that made the weights; where that is not known, the loss."""
    known = paths(trace)
    for op in calls_at(known, event.name, event.site.user):
        given = [i for i in op.inputs[2:] if known.graph(op.graph).values[i].shape == (event.classes,)]
        maker = known.maker((op.graph, given[0])) if given else None
        if maker is not None:
            return maker.site.user
    return event.site.user
