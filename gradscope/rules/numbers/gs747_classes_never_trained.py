"""A classifier is evaluated on classes that its training never had, and on none of those that it had.

Why: a set that is sorted by class and cut in two has other classes in each half. The loss of the training falls, and
that of the evaluation rises: what it asks for is what the network has learned never to answer.

Fix: mix the samples before they are divided (`torch.utils.data.random_split`, a permutation of the indices).

Silent on: a single batch of an evaluation, a class that both have, few samples, a training whose samples do not come
in a random order: of that not all classes may have been seen.
"""

from collections.abc import Iterator

from gradscope.analysis.reach import Paths, paths
from gradscope.analysis.samples import batch_of, calls_at, is_shuffled, source_of
from gradscope.analysis.words import located
from gradscope.events import Labels
from gradscope.model import Finding
from gradscope.rules import rule
from gradscope.store import Trace

FEW = 50  # samples: of so many drawn at random a class that is there hardly stays out
SHOWN = 6  # classes


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    inputs, labels = torch.randn(120, 4), torch.arange(4).repeat_interleave(30)
    model = nn.Linear(4, 4)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for chosen in torch.randperm(60).split(20):  # the first half: the first two classes
        loss = nn.functional.cross_entropy(model(inputs[chosen]), labels[chosen])  # effect: GS747
        opt.zero_grad()
        loss.backward()
        opt.step()
    model.eval()
    with torch.no_grad():
        for rows, right in zip(inputs[60:].split(30), labels[60:].split(30), strict=True):
            nn.functional.cross_entropy(model(rows), right)  # cause: GS747


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    mixed = torch.randperm(120)
    inputs, labels = torch.randn(120, 4)[mixed], torch.arange(4).repeat_interleave(30)[mixed]
    model = nn.Linear(4, 4)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for chosen in torch.randperm(60).split(20):
        loss = nn.functional.cross_entropy(model(inputs[chosen]), labels[chosen])
        opt.zero_grad()
        loss.backward()
        opt.step()
    model.eval()
    with torch.no_grad():
        for rows, right in zip(inputs[60:].split(30), labels[60:].split(30), strict=True):
            nn.functional.cross_entropy(model(rows), right)


@rule("GS747", name="classes-never-trained", severity="warning", needs=Labels)
def classes_never_trained(trace: Trace) -> Iterator[Finding]:
    events = trace.of(Labels)
    trained = [e for e in events if e.trained and sum(e.samples.values()) >= FEW]
    if not trained or all(e.trained for e in events):
        return
    known = paths(trace)
    for event in events:
        if event.trained or len(event.alone) < 2 or sum(event.samples.values()) < FEW:
            continue
        others = [e for e in trained if e.classes == event.classes]
        before = {label for e in others for label in e.samples}
        if not others or len(before) < 2 or len(event.samples) < 2 or not before.isdisjoint(event.samples):
            continue
        if not all(_is_shuffled(known, e) for e in others):
            continue
        given, learned = source_of(trace, event), source_of(trace, others[0])
        yield Finding(
            message=f"the evaluation has classes that the training never had: {_listed(set(event.samples))}",
            cause=given,
            cause_label=f"gives the classes {_listed(set(event.samples))}",
            effect=learned,
            effect_label=f"gives the classes {_listed(before)}",
            seen=(
                f"{sum(event.samples.values())} targets of the evaluation and "
                f"{sum(sum(e.samples.values()) for e in others)} of the training were looked at, of {event.classes} "
                "classes: they have none in common",
            ),
            fix=f"mix the samples before they are divided into those of {located(trace, learned)} and those of "
            f"{located(trace, given)}: `torch.randperm(n).tolist()` for the indices, or `random_split`",
        )


def _is_shuffled(known: Paths, event: Labels) -> bool:
    taken = [batch_of(known, op) for op in calls_at(known, event.name, event.site.user)]
    return any(batch is not None and is_shuffled(known, batch) for batch in taken)


def _listed(labels: set[str]) -> str:
    shown = sorted(labels, key=int)
    return ", ".join(shown[:SHOWN]) + (f" and {len(shown) - SHOWN} more" if len(shown) > SHOWN else "")
