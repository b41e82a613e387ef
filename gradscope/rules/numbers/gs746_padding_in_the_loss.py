"""The padding of the sequences is counted as targets of the loss.

Why: the places behind the end of a sequence hold a number that stands for nothing. Counted like the others they are
the easiest of all targets and often the most frequent: the loss falls by them, and what it says of the words is thinned
by as much.

Fix: `ignore_index=` with that number; the mean is then one over the places that count.

Silent on: losses without reduction or with weights of the classes, which the program may mask itself, a few places of
padding, padding that no embedding names by `padding_idx`.
"""

from collections.abc import Iterator

from gradscope.analysis.words import located, source
from gradscope.events import PaddedTargets
from gradscope.fixes.calls import with_argument
from gradscope.model import Finding
from gradscope.rules import rule
from gradscope.store import Trace

SHARE = 0.1  # of the targets


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    embedding, head = nn.Embedding(9, 8, padding_idx=0), nn.Linear(8, 9)
    opt = torch.optim.SGD([*embedding.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        words = torch.randint(1, 9, (6, 5)).masked_fill(torch.arange(5) > 2, 0)
        scores = head(embedding(words[:, :-1]))
        loss = nn.functional.cross_entropy(scores.transpose(1, 2), words[:, 1:])  # cause: GS746
        opt.zero_grad()
        loss.backward()
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    embedding, head = nn.Embedding(9, 8, padding_idx=0), nn.Linear(8, 9)
    opt = torch.optim.SGD([*embedding.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        words = torch.randint(1, 9, (6, 5)).masked_fill(torch.arange(5) > 2, 0)
        scores = head(embedding(words[:, :-1]))
        loss = nn.functional.cross_entropy(scores.transpose(1, 2), words[:, 1:], ignore_index=0)
        opt.zero_grad()
        loss.backward()
        opt.step()


@rule("GS746", name="padding-in-the-loss", severity="warning")
def padding_in_the_loss(trace: Trace) -> Iterator[Finding]:
    for event in trace.of(PaddedTargets):
        if event.share < SHARE:
            continue
        place, index = event.site.user, event.index
        plain = event.name in source(trace, place).partition("(")[0]
        fix = f"leave it out of the mean: give `ignore_index={index}` to "
        fix += located(trace, place) if plain else f"the loss that {located(trace, place)} calls"
        yield Finding(
            message=f"`{event.name}` counts the padding: {event.share:.0%} of its targets are {index}",
            cause=place,
            cause_label=f"learns to give {index} behind the end of each sequence",
            seen=(
                f"at its first call {event.share:.0%} of the targets were {index}, which the embedding of the same"
                f" {event.classes} words takes for padding (`padding_idx={index}`), and the loss left none out",
            ),
            fix=fix,
            edits=with_argument(trace, place, "ignore_index", str(index)) if plain else (),
        )
