"""A loss of two classes leaves one of them out: all that it is computed from is of the other.

Why: `ignore_index=0` is for labels that say nothing, as padding does. A loss whose label 0 is a class is then computed
from the samples of the other class alone: it falls to nothing, and the network answers that class to every sample.

Fix: give this loss a criterion of its own, without `ignore_index`.

Measured: how many samples of each class the loss was given.
Silent on: more than two classes, labels of which nearly all are of one class.
"""

from collections.abc import Iterator

from gradscope.analysis.words import code, located
from gradscope.events import Labels
from gradscope.model import Finding
from gradscope.rules import rule
from gradscope.store import Trace

FEW = 50  # samples of either class


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    inputs = torch.randn(64, 4)
    labels = (inputs[:, 0] > 0).long()
    model = nn.Linear(4, 2)
    criterion = nn.CrossEntropyLoss(ignore_index=0)
    opt = torch.optim.SGD(model.parameters(), lr=1.0)
    for _ in range(40):
        loss = criterion(model(inputs), labels)  # cause: GS390
        opt.zero_grad()
        loss.backward()
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    inputs = torch.randn(64, 4)
    labels = (inputs[:, 0] > 0).long()
    model = nn.Linear(4, 2)
    criterion = nn.CrossEntropyLoss()
    opt = torch.optim.SGD(model.parameters(), lr=1.0)
    for _ in range(40):
        loss = criterion(model(inputs), labels)
        opt.zero_grad()
        loss.backward()
        opt.step()


@rule("GS390", name="one-class-left-over", severity="warning")
def one_class_left_over(trace: Trace) -> Iterator[Finding]:
    for event in trace.of(Labels):
        left_out, kept = event.ignored, 1 - event.ignored
        counts = {int(label): int(count) for label, count in event.samples.items()}
        if not event.trained or event.classes != 2 or left_out not in (0, 1):
            continue
        if min(counts.get(left_out, 0), counts.get(kept, 0)) < FEW:
            continue
        site = event.site.user
        yield Finding(
            message=f"{code(trace, site, 'the loss')} leaves out class {left_out} of two: only class {kept} is left to"
            " learn",
            cause=site,
            cause_label=f"`ignore_index={left_out}` leaves out every sample of class {left_out}",
            seen=(
                f"{counts[left_out]:,} of {sum(counts.values()):,} samples are of class {left_out}, and count nothing",
            ),
            fix=f"give {located(trace, site, 'this loss')} a criterion of its own, without `ignore_index={left_out}`;"
            " keep that where the label stands for padding",
        )
