"""The padding of the sequences is counted as targets of the loss.

Why: the places behind the end of a sequence hold a number that stands for nothing. Counted like the others they are
the easiest of all targets and often the most frequent: the loss falls by them, and what it says of the words is thinned
by as much.

Fix: `ignore_index=` with that number; the mean is then one over the places that count.

Measured: the index that an embedding has as `padding_idx`, or one that shows itself: in the tokens and in the targets
it stands behind each sequence, of whatever length, and nowhere else; where no tokens have it in the targets alone, of
eight or more classes. Where that index may be what ends a sequence, too, this is a note.
Silent on: losses without reduction or with weights of the classes, which the program may mask itself; a few places of
padding.
"""

import ast
import math
from collections.abc import Iterator

from gradscope.analysis.made import layer_site
from gradscope.analysis.ops import EQUALITIES, MASKING, NEGATIONS, PASSING, REDUCTIONS, SCALES, SUMS
from gradscope.analysis.reach import paths
from gradscope.analysis.words import code, listed, located, percent, source
from gradscope.events import KeptPlaces, PaddedTargets
from gradscope.fixes.calls import with_argument
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding, Op, Site
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


@rule("GS746", name="padding-in-the-loss", severity="warning", needs=PaddedTargets)
def padding_in_the_loss(trace: Trace) -> Iterator[Finding]:
    masked = {site.user.span() for one in trace.of(KeptPlaces) if (site := trace.site(one.loss)) is not None}
    for event in trace.of(PaddedTargets):
        if event.share < SHARE or (event.share == 1 and event.site.user.span() in masked):
            continue  # of nothing but padding the mask is to blame: left out, there were no target
        if event.name == "gather":
            yield from _by_hand(trace, event)
            continue
        place, index = event.site.user, event.index
        plain = event.name in source(trace, place).partition("(")[0]
        made = None if plain else _made(trace, event)
        fix = f"leave it out of the mean: give `ignore_index={index}` to "
        if plain or made is not None:
            fix += located(trace, made or place)
        else:
            fix += f"the loss that {located(trace, place)} calls"
        compared = _compared(trace, event)
        found = [_without(trace, op, index) for op in compared]
        if compared:
            fix += (
                f"; and of {listed([located(trace, op.site.user) for op in compared])}, which counts it too:"
            )
            fix += f" {listed([f'`{text}`' for text, _ in found])}"
        if not (event.named or event.marked or event.beside):
            fix += f"; where {index} is to end a sequence as well, put -100 in place of all but the first of each"
        yield Finding(
            message=f"`{event.name}` counts the padding: {percent(event.share)} of its targets are {index}",
            cause=place,
            cause_label=f"learns to give {index} behind the end of each sequence",
            related=(
                *(((made, "the loss, made without it"),) if made is not None else ()),
                *((op.site.user, "counts the padding too") for op in compared),
            ),
            seen=(_seen(event),),
            fix=fix,
            edits=(
                *with_argument(
                    trace, made or place, "ignore_index", str(index), 2 if made is not None else -1
                ),
                *(edit for _, edits in found for edit in edits),
            )
            if plain or made is not None
            else (),
            severity="" if event.named or event.marked or event.beside else "note",
        )


def _by_hand(trace: Trace, event: PaddedTargets) -> Iterator[Finding]:
    """Log-probabilities at the targets, whose mean or sum takes all places."""
    known = paths(trace)
    picking = next((op for _, op in known.used_calls({"gather"}) if op.site.id == event.site.id), None)
    graph = known.graph(picking.graph) if picking is not None else None
    if picking is None or graph is None or graph.maker_behind(picking.inputs[0], PASSING) is None:
        return
    whole = graph.values[picking.outputs[0]].shape
    reduced: Op | None = None
    for value, op in graph.readers_behind(
        picking.outputs, lambda op: op.name in PASSING | SUMS | SCALES | NEGATIONS
    ):
        others = [graph.values[other] for other in op.inputs if other != value]
        if op.name in SCALES and any(not other.requires_grad and other.shape for other in others):
            return  # by a mask
        if op.name in MASKING | {"where"} or graph.values[value].shape not in (
            whole,
            whole[:-1],
            _flat(whole),
        ):
            return
        if op.name in REDUCTIONS:
            reduced = reduced or op
    if reduced is None or graph.values[reduced.outputs[0]].shape:
        return
    place, index = reduced.site.user, event.index
    yield Finding(
        message=f"{code(trace, place, 'the loss')} counts the padding: {percent(event.share)} of its targets are"
        f" {index}",
        cause=place,
        cause_label=f"learns to give {index} behind the end of each sequence",
        related=((picking.site.user, "takes the numbers of all places"),)
        if picking.site.user.location() != place.location()
        else (),
        seen=(_seen(event),),
        fix=f"take the numbers of real places alone to {located(trace, place)}: `[targets != {index}]` behind what it"
        " reduces",
        severity="" if event.named or event.marked or event.beside else "note",
    )


def _flat(shape: tuple[int, ...]) -> tuple[int, ...]:
    return (math.prod(shape),)


def _compared(trace: Trace, event: PaddedTargets) -> list[Op]:
    """Where the targets are compared with the answers of the highest scores, places of padding too: an accuracy."""
    known = paths(trace)
    losses = [op for _, op in known.used_calls({event.name}) if op.site.user.span() == event.site.user.span()]
    targets = {known.memory_made((op.graph, op.inputs[1])) for op in losses if len(op.inputs) > 1}
    found: dict[tuple[str, int], Op] = {}
    for graph in trace.graphs:
        for op in graph.called(EQUALITIES):
            keys = [(graph.id, index) for index in op.inputs]
            makers = [known.maker_behind(key, PASSING) for key in keys]
            chosen = any(maker is not None and maker.name in ("argmax", "max") for maker in makers)
            if chosen and any(known.memory_made(key) in targets for key in keys):
                found.setdefault(op.site.user.location(), op)
    return list(found.values())


def _without(trace: Trace, op: Op, index: int) -> tuple[str, Edits]:
    """`(answers == targets)[targets != 0]` for `answers == targets`."""
    here = Source(trace, op.site.user.path)
    node = here.file.at(op.site.user)
    if not isinstance(node, ast.Compare) or len(node.comparators) != 1:
        return f"[targets != {index}]", ()
    whole, targets = here.file.text(node), node.comparators[0]
    if "max" in here.file.text(targets):
        targets = node.left
    new = f"({whole})[{here.file.operand(targets)} != {index}]"
    return new, here.replace(node, new) if isinstance(targets, ast.Name | ast.Attribute) else ()


def _made(trace: Trace, event: PaddedTargets) -> Site | None:
    """Where the layer of torch's was made that computes the loss."""
    for _, op in paths(trace).used_calls({event.name}):
        if op.site.user.span() == event.site.user.span():
            return layer_site(trace, op, alone=True)
    return None


def _seen(event: PaddedTargets) -> str:
    share = f"{percent(event.share)} of the targets were {event.index}"
    if event.named:
        return (
            f"at its first call {share}, which the embedding of the same {event.classes} words takes for padding"
            f" (`padding_idx={event.index}`), and the loss left none out"
        )
    runs = "in each row one run of another length, all ending at the same place"
    before = "the same token stood before each run"
    if event.alone:
        return (
            f"in all of its first calls: {runs}, and {event.index} nowhere else; in the last of them {share}"
            + (f"; {before}" if event.marked else "")
            + (
                "; the tokens of an embedding have their `padding_idx` at the same places"
                if event.beside
                else ""
            )
        )
    return (
        f"in two of its first calls, in the second {share}: {runs}, and {event.index} nowhere else; so it was in the"
        f" tokens of the embedding of the same {event.classes} words"
        + (f", where {before}" if event.marked else "")
    )
