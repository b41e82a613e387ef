"""The labels of an evaluation mean other classes than those of the training.

Why: a label is a number, and what it stands for is decided where the names are numbered: folders sorted by name, a set
of words, the persons of one file. Where the samples of the evaluation are numbered by themselves, 3 is another class
there than the network has learned. It answers the same for all samples of a class, and is counted wrong each time.

Fix: make one table of names to numbers, from the training, and use it for both; samples of classes that the training
never had belong in no evaluation of this classifier.

Measured: what a classification loss, or a comparison of the highest scores' places with `==`, is given in the
evaluation, beside what the network answers.

Silent on: an evaluation that is right more often than a quarter of what chance would give, few samples, a training
that is not mostly right, inputs that are changed by their gradient (adversarial examples).
"""

from collections import Counter
from collections.abc import Iterator
from statistics import fmean

from gradscope.analysis.samples import source_of
from gradscope.analysis.words import located, percent
from gradscope.events import AnswersCompared, Backward, Labels
from gradscope.model import Finding, Site
from gradscope.rules import rule
from gradscope.store import Trace

FEW = 64  # samples
OF_A_CLASS = 5
LEARNED = 0.8  # share of the training's samples that are answered rightly
BY_CHANCE = 4  # times as often as the evaluation is right
SURE = 0.6  # share of a class's samples that are answered alike


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    centers = 3 * torch.randn(4, 8)
    names = ["cat", "dog", "fox", "owl"]
    trained = {name: number for number, name in enumerate(names)}
    judged = {name: number for number, name in enumerate(reversed(names))}

    def samples(table: dict[str, int]) -> tuple[torch.Tensor, torch.Tensor]:
        x = torch.cat([centers[k] + torch.randn(32, 8) for k in range(4)])
        return x, torch.tensor([table[name] for name in names]).repeat_interleave(32)

    model = nn.Linear(8, 4)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    x, y = samples(trained)
    for _ in range(40):
        loss = nn.functional.cross_entropy(model(x), y)  # effect: GS414
        opt.zero_grad()
        loss.backward()
        opt.step()
    model.eval()
    with torch.no_grad():
        given, right = samples(judged)
        nn.functional.cross_entropy(model(given), right)  # cause: GS414


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    centers = 3 * torch.randn(4, 8)
    names = ["cat", "dog", "fox", "owl"]
    table = {name: number for number, name in enumerate(names)}

    def samples() -> tuple[torch.Tensor, torch.Tensor]:
        x = torch.cat([centers[k] + torch.randn(32, 8) for k in range(4)])
        return x, torch.tensor([table[name] for name in names]).repeat_interleave(32)

    model = nn.Linear(8, 4)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    x, y = samples()
    for _ in range(40):
        loss = nn.functional.cross_entropy(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    model.eval()
    with torch.no_grad():
        given, right = samples()
        nn.functional.cross_entropy(model(given), right)


@rule("GS414", name="evaluation-numbers-otherwise", severity="warning", needs=(AnswersCompared, Labels))
def evaluation_numbers_otherwise(trace: Trace) -> Iterator[Finding]:
    if any(event.leaves for event in trace.of(Backward)):
        return
    events = [event for event in trace.of(Labels) if event.answers]
    learned = [event for event in events if event.trained and _share_right(_table(event)) >= LEARNED]
    for event in events:
        others = [other for other in learned if other.classes == event.classes]
        if event.trained or not others or len(others) < sum(e.trained for e in events):
            continue
        table = _table(event)
        if _numbered_otherwise(table):
            yield _finding(trace, source_of(trace, event), others[0], table)
    for compared in trace.of(AnswersCompared):
        others = [other for other in learned if other.classes == compared.classes]
        table = _table(compared)
        if others and len(others) == sum(event.trained for event in events) and _numbered_otherwise(table):
            yield _finding(trace, compared.site.user, others[0], table)


_Answers = Counter[tuple[int, int]]


def _table(event: Labels | AnswersCompared) -> _Answers:
    return Counter({(int(label), int(answer)): int(n) for label, answer, n in event.answers})


def _share_right(table: _Answers) -> float:
    return _right(table) / max(1, table.total())


def _right(table: _Answers) -> int:
    return sum(n for (label, answer), n in table.items() if label == answer)


def _numbered_otherwise(table: _Answers) -> bool:
    """Whether the samples of a class are mostly answered alike, those of several classes apart, and hardly any rightly:
    far fewer than answers drawn by their frequency would be."""
    total = table.total()
    if total < FEW:
        return False
    labels, answers = Counter[int](), Counter[int]()
    for (label, answer), n in table.items():
        labels[label] += n
        answers[answer] += n
    by_chance = sum(n * answers[label] for label, n in labels.items()) / total
    if by_chance < BY_CHANCE or _right(table) * BY_CHANCE > by_chance:
        return False
    most = [_most(table, label) for label, n in labels.items() if n >= OF_A_CLASS]
    return (
        len(most) > 1
        and fmean(share for _, share in most) >= SURE
        and 2 * len({answer for answer, _ in most}) > len(most)
    )


def _most(table: _Answers, label: int) -> tuple[int, float]:
    """(the commonest answer to the samples of a class, its share)."""
    own = Counter({answer: n for (of, answer), n in table.items() if of == label})
    ((answer, n),) = own.most_common(1)
    return answer, n / own.total()


def _finding(trace: Trace, given: Site, learned: Labels, table: _Answers) -> Finding:
    taught = source_of(trace, learned)
    labels = Counter[int]()
    for (label, _), n in table.items():
        labels[label] += n
    shown = []
    for label in sorted(labels, key=lambda label: -_most(table, label)[1] * labels[label])[:3]:
        answer, share = _most(table, label)
        shown.append(
            f"{round(share * labels[label])} of {labels[label]} samples of class {label} for class {answer}"
        )
    return Finding(
        message="the labels of the evaluation mean other classes than those of the training: it takes"
        f" {shown[0]}",
        cause=given,
        cause_label="the classes of these are numbered otherwise",
        effect=taught,
        effect_label="than those of the training",
        seen=(
            f"{_right(table)} of {table.total()} answers of the evaluation were right, where the network answers"
            f" {percent(_share_right(_table(learned)))} of its training samples rightly; by chance there would be more",
            f"it takes {', '.join(shown)}",
        ),
        why="the network tells the classes apart and answers each alike: only what their numbers stand for differs",
        fix=f"number the classes of {located(trace, given)} by the table of {located(trace, taught)}; where they are"
        " other classes (other persons, other words), evaluate on held-out samples of those that were trained",
    )
