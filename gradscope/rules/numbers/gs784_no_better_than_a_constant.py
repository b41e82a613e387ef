"""The loss is still no lower than if the model gave one and the same answer to every sample.

Why: a classifier that always answers with the shares of the classes has the entropy of these shares as its loss, a
regression that always answers with the mean of the targets has their variance. A network finds that answer in its
first steps, by its last bias alone. Where the target is the place of the right one among candidates, as in
contrastive learning, scores that prefer none have the log of their number as their loss. Many networks stand there
for some hundred steps, the longer the smaller the rate, before their loss begins to fall. Where it stays there,
nothing that the network sees of a sample helps it: the targets do not belong to the inputs, the inputs are out of the
layers' scale, the layers are dead, or the rate is too small or too large to learn more.

Fix: after a short run, train on first. Then look at one batch as the network gets it, with its targets: do they
belong together? Then train on that one batch alone: a network that cannot learn eight samples by heart has a broken
layer, scale or rate.

A note: a run that ends on such a plateau shows only that nothing is learned yet, and that the targets cannot be told
from the inputs may be the truth about the data, as where both are drawn at random to measure speed. Silent on: fewer
than 100 passes, losses with weights or label smoothing, terms of a sum, targets that are all but alike, losses that
still fall at the end, batches that differ in their targets (each of one class): those that were looked at do not tell
what all of them are.
"""

from collections.abc import Iterator
from statistics import fmean

from gradscope.analysis.constant_answers import NoBetter, no_better
from gradscope.analysis.words import code, located, parameter_subjects, plural
from gradscope.model import Finding
from gradscope.rules import rule
from gradscope.store import Trace

LONG = 1000  # passes after which a plateau is no beginning
ALIKE = 0.02  # of the targets' deviation is that of the answers


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 3))
    opt = torch.optim.SGD(model.parameters(), lr=0.05)
    criterion = nn.CrossEntropyLoss()
    for _ in range(160):
        x = torch.randn(64, 6)
        y = torch.randint(3, (64,))
        loss = criterion(model(x), y)  # cause: GS784
        opt.zero_grad()
        loss.backward()  # effect: GS784
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    inputs = torch.randn(256, 4)
    targets = inputs[:, :1].sign()
    model = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(150):
        batch = torch.randint(256, (64,))
        loss = nn.functional.mse_loss(model(inputs[batch]), targets[batch])
        opt.zero_grad()
        loss.backward()
        opt.step()


@rule("GS784", name="no-better-than-a-constant", severity="note", symptom=True)
def no_better_than_a_constant(trace: Trace) -> Iterator[Finding]:
    for found in no_better(trace):
        if found.falls:
            continue
        of_places = not found.event.spread  # the target is the place of the right one among candidates
        loss, given = found.op.site.user, located(trace, found.op.site.user, "the loss")
        yield Finding(
            message=f"after {plural(found.passes, 'pass')} {code(trace, loss, 'the loss')} is still {found.no_lower}"
            " than for"
            + (" scores that are all the same" if of_places else " one and the same answer to every sample"),
            cause=loss,
            cause_label=f"is {found.loss:.3g}; such {'scores have' if of_places else 'an answer has'}"
            f" {found.event.best:.3g}",
            effect=found.line,
            effect_label=f"nothing of the inputs is learned yet, in {plural(found.passes, 'pass')}",
            seen=tuple(_seen(found)),
            fix=(
                "train on first: many networks stand at this answer for some hundred steps before their loss begins to"
                " fall. Where it stays there, "
                if found.passes < LONG
                else ""
            )
            + f"look at what {given} is given in one batch: "
            + (
                "is the candidate at the target's place the one that belongs to the sample (the order of the rows), and"
                " only that one?"
                if of_places
                else "do inputs and targets belong together?"
            )
            + " Then train on that batch alone: where it cannot be learned by heart, a layer, the inputs' scale or the"
            " rate is wrong",
            subjects=parameter_subjects(found.parameters),
        )


def _seen(found: NoBetter) -> Iterator[str]:
    if not found.event.spread:
        yield "all targets are one class: the place of the right one among candidates"
        yield (
            f"{found.event.best:.4g} is the log of their number, the loss where none is preferred; the last half of the"
            f" run: {found.loss:.4g}"
        )
        return
    classes = found.event.name in ("cross_entropy", "nll_loss")
    middle = {"l1_loss": "median", "smooth_l1_loss": "middle", "huber_loss": "middle"}.get(
        found.event.name, "mean"
    )
    answer = "the shares of the classes" if classes else f"the {middle} of the targets"
    yield f"{answer}, for every sample: a loss of {found.event.best:.4g}; the last half of the run: {found.loss:.4g}"
    last = fmean(found.event.differ)
    alike = last < ALIKE * found.event.spread
    yield (
        (
            f"the answers {'hardly ' if alike else ''}differ from sample to sample, by {last:.2g}"
            if last
            else "the answers are the same for every sample"
        )
        + ("" if classes else f"; the targets{'' if last else ' differ'} by {found.event.spread:.2g}")
    )
