"""A loss leaves a class out that is asked for all the same.

Why: `ignore_index=0` is for labels that say nothing, as padding does. A loss whose label 0 is a class is then computed
from the samples of the other classes alone. Of two it falls to nothing, and the network answers the other one to
every sample; of several it never answers this one.

Fix: give this loss a criterion of its own, without `ignore_index`.

Measured: how many samples of each class the loss was given, and of more than two classes, how many of that class an
evaluation compared answers with. Silent on: labels of which nearly all are of one class, and comparisons of which a
mask takes some.
"""

from collections.abc import Iterator

from gradscope.analysis.ops import CASTS, EQUALITIES, LOGIC, MASKING, MULTIPLICATIONS
from gradscope.analysis.words import code, located
from gradscope.events import AnswersCompared, Labels
from gradscope.model import Finding, Site
from gradscope.rules import rule
from gradscope.store import Trace

CHOOSING = LOGIC | MASKING | MULTIPLICATIONS | {"__getitem__", "masked_select"}
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


@rule("GS390", name="one-class-left-over", severity="warning", needs=Labels)
def one_class_left_over(trace: Trace) -> Iterator[Finding]:
    for event in trace.of(Labels):
        left_out = event.ignored
        counts = {int(label): int(count) for label, count in event.samples.items()}
        others = sum(counts.values()) - counts.get(left_out, 0)
        if not event.trained or left_out < 0 or min(counts.get(left_out, 0), others) < FEW:
            continue
        if event.classes == 2:
            yield _one_left(trace, event, counts)
        elif (asked := _asked_for(trace, event)) is not None:
            yield _asked_all_the_same(trace, event, counts, *asked)


def _asked_for(trace: Trace, event: Labels) -> tuple[Site, int, int] | None:
    """Where an evaluation compares answers with labels of the class that the loss leaves out: (line, such labels, all
    of them)."""
    for compared in trace.of(AnswersCompared):
        asked = sum(int(count) for label, _, count in compared.answers if label == event.ignored)
        if compared.classes == event.classes and asked >= FEW and not _picked_from(trace, compared):
            return compared.site.user, asked, sum(int(count) for _, _, count in compared.answers)
    return None


def _picked_from(trace: Trace, compared: AnswersCompared) -> bool:
    """Whether a mask chooses among the answers that were compared, or among the labels beside that: those to the
    padding may be left out, in one of two numbers at least."""
    for op in trace.called_at(compared.site.id, EQUALITIES):
        graph = trace.graph(op.graph)
        behind = graph.readers_behind(op.outputs, lambda one: one.name in CASTS)
        beside = (reader for value in op.inputs for reader in graph.consumers.get(value, ()))
        if any(reader.name in CHOOSING for reader in (*(reader for _, reader in behind), *beside)):
            return True
    return False


def _one_left(trace: Trace, event: Labels, counts: dict[int, int]) -> Finding:
    left_out, kept = event.ignored, 1 - event.ignored
    site = event.site.user
    return Finding(
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


def _asked_all_the_same(
    trace: Trace, event: Labels, counts: dict[int, int], place: Site, asked: int, of: int
) -> Finding:
    left_out, site = event.ignored, event.site.user
    return Finding(
        message=f"{code(trace, site, 'the loss')} leaves out class {left_out}, and the evaluation asks for it",
        cause=site,
        cause_label=f"`ignore_index={left_out}` leaves out every sample of class {left_out}",
        effect=place,
        effect_label=f"counts the answers to class {left_out}, too",
        seen=(
            f"{counts[left_out]:,} of {sum(counts.values()):,} labels in training are {left_out}, and count nothing",
            f"{asked:,} of {of:,} labels that answers were compared with are {left_out}",
        ),
        why="a class that no loss ever asks for is one that the network learns never to answer: all its samples are"
        " counted as mistakes.",
        fix=f"take `ignore_index={left_out}` out of the criterion of {located(trace, site, 'this loss')}; where the"
        f" label stands for padding, leave its places out of what {located(trace, place)} counts",
    )
