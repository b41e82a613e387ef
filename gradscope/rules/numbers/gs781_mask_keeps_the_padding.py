"""The mask of the loss is the wrong way round: only the padding behind the sequences is learned.

Why: a mask over the places of a loss is to keep the padding out. Turned round it keeps that, and sets all else to zero:
the loss soon falls to nothing, since the padding is always the same, and no place of a sequence teaches anything.

Fix: turn the mask round.

Measured: of a mask over the losses, or one that picks scores and targets before them: in each of the first calls of its
line all places that the mask lets through have one and the same target,
they are the last (or first) ones of rows, not equally many of each, and the places that it leaves out have others.
Silent on: losses of which another part is used too, answers at the end of a text (they have several tokens),
masks of single places, of samples and of classes.
"""

from collections.abc import Iterator

from gradscope.analysis.ops import PASSING
from gradscope.analysis.reach import Key, Paths, paths
from gradscope.analysis.words import located, percent, quoted
from gradscope.events import KeptPlaces
from gradscope.fixes.masks import turned_round
from gradscope.model import Finding, Op, Site
from gradscope.rules import rule
from gradscope.store import Trace

ENOUGH = 2  # calls
WRAPPING = PASSING | {"log_softmax", "neg"}


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    rnn, head = nn.GRU(3, 8, batch_first=True), nn.Linear(8, 5)
    opt = torch.optim.SGD([*rnn.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        lengths, words = torch.randint(2, 9, (8, 1)), torch.randint(1, 5, (8, 10))
        words[torch.arange(10) >= lengths] = 0
        scores = head(rnn(torch.randn(8, 10, 3))[0])
        errors = nn.functional.cross_entropy(scores.transpose(1, 2), words, reduction="none")
        mask = torch.arange(10) < lengths  # cause: GS781
        loss = errors.masked_fill(mask, 0).sum() / lengths.sum()
        opt.zero_grad()
        loss.backward()  # effect: GS781
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    rnn, head = nn.GRU(3, 8, batch_first=True), nn.Linear(8, 5)
    opt = torch.optim.SGD([*rnn.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        lengths, words = torch.randint(2, 9, (8, 1)), torch.randint(1, 5, (8, 10))
        words[torch.arange(10) >= lengths] = 0
        scores = head(rnn(torch.randn(8, 10, 3))[0])
        errors = nn.functional.cross_entropy(scores.transpose(1, 2), words, reduction="none")
        mask = torch.arange(10) >= lengths
        loss = errors.masked_fill(mask, 0).sum() / lengths.sum()
        opt.zero_grad()
        loss.backward()
        opt.step()


@rule("GS781", name="mask-keeps-the-padding", severity="warning", needs=KeptPlaces)
def mask_keeps_the_padding(trace: Trace) -> Iterator[Finding]:
    events = [event for event in trace.of(KeptPlaces) if event.calls >= ENOUGH]
    known = paths(trace) if events else None
    for event in events:
        compared = trace.site(event.loss)
        if known is None or compared is None:
            continue
        masks = [
            (key, op)
            for key, op in known.used_calls({event.name})
            if op.site.user.span() == event.site.user.span()
        ]
        losses = [op for op in _at(known, compared.user) if op.outputs]
        if (
            masks
            and losses
            and not _learns_otherwise(known, losses, {(op.graph, op.index) for _, op in masks})
        ):
            yield _finding(trace, known, event, masks[0])


def _at(known: Paths, place: Site) -> list[Op]:
    """The calls at a place of the program that a loss depends on."""
    found = (known.graph(key[0]).maker(key[1]) for key in known.used.order)
    return [op for op in found if op is not None and op.site.user.span() == place.span()]


def _learns_otherwise(known: Paths, losses: list[Op], masks: set[tuple[int, int]]) -> bool:
    """Whether a gradient comes to what these losses are computed from on another way than through such a mask."""
    todo: list[Key] = [
        (op.graph, index)
        for op in losses
        for index in op.inputs
        if known.graph(op.graph).values[index].requires_grad
    ]
    todo = [_before(known, key, masks) for key in todo]
    for key in todo:  # grows while it is walked: back to the call that gave the scores
        maker = known.maker(key)
        if maker is not None and maker.name in WRAPPING and maker.inputs:
            before = (maker.graph, maker.inputs[0])
            todo += [before] if before not in todo else []
    seen = set(todo)
    for key in todo:  # and on towards the losses
        if known.roots.get(key):
            return True
        for target, op in known.used.feeds.get(key, ()):
            through = op is not None and (op.graph, op.index) in masks
            if through or target in seen or not known.value(target).requires_grad:
                continue
            seen.add(target)
            todo.append(target)
    return False


def _before(known: Paths, key: Key, masks: set[tuple[int, int]]) -> Key:
    """What a mask picked these scores from, before the loss."""
    maker = known.maker(key)
    picked = maker is not None and (maker.graph, maker.index) in masks
    return (maker.graph, maker.inputs[0]) if picked and maker is not None else key


def _finding(trace: Trace, known: Paths, event: KeptPlaces, found: tuple[Key, Op]) -> Finding:
    key, op = found
    site = op.site.user
    turned = turned_round(trace, site, event.place, boolean=event.boolean, picks=event.name == "__getitem__")
    mask = f"`{turned.text}`" if turned.text else "the mask"
    loss = known.loss_of(key)
    total = event.kept + event.left_out
    target = f"{event.target:.6g}"
    elsewhere = turned.site.location() != site.location()
    return Finding(
        message=f"{mask} keeps only the padding in the loss: all {event.kept:,} places that it lets through have the"
        f" target {target}",
        cause=turned.site,
        cause_label="is true where it should be false, and the other way round",
        effect=loss.site.user if loss is not None else None,
        effect_label="no place of a sequence has a gradient",
        related=((site, "only the padding is left here"),) if elsewhere else (),
        seen=(
            f"in each of its first {event.calls} calls it let through one end of each row, {event.kept:,} of"
            f" {total:,} places, where the target was always {target}; at"
            f" {percent(event.others / event.left_out)} of the {event.left_out:,} places left out it was another",
        ),
        fix=f"turn the mask round: {quoted(turned.new)} in line {turned.site.line}"
        if turned.new
        else f"turn the mask of {located(trace, site)} round",
        edits=turned.edits,
        count=loss.count if loss is not None else 1,
    )
