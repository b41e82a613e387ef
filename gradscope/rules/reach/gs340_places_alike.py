"""Attention is given one and the same vector at all places of a sequence: no place can give another answer.

Why: attention and the layers around it treat every place alike; what tells places apart is what they hold, or a code
of their position that is added. A decoder that is fed zeros, or one vector repeated, computes the same at each place,
mask or not, and the best it can give is the mean over the sequence.

Fix: in training give the decoder the true sequence moved by one place, with a causal mask, and when predicting what it
has given so far; or add a code of the positions.

Measured: what the attention (or a bare `scaled_dot_product_attention` without a mask) was asked, in all calls looked at
with gradients on, and a target that differs along the sequence in the loss made of it. Silent on: what goes through a
recurrent layer or a convolution afterwards, has positions added there, or is no sequence any more when it is compared.
"""

from __future__ import annotations

from collections.abc import Iterator

from gradscope.analysis.ops import CASTS, FILLED, JOINING, LAYERS, LIKE, PASSING, RECURRENT, RECURRENT_CELLS
from gradscope.analysis.reach import Key, Paths, paths
from gradscope.analysis.words import code, located, plural
from gradscope.events import AlikePlaces
from gradscope.model import Finding, Op, Site
from gradscope.rules import rule
from gradscope.source import called_name
from gradscope.store import Trace

ENOUGH = 3  # calls
PRODUCT = "scaled_dot_product_attention"
ATTENTION = {"multi_head_attention_forward", PRODUCT}
CONSTANT = FILLED | LIKE - {"rand_like", "randn_like"} | {"empty"}
SPREADING = {"expand", "expand_as", "repeat", "broadcast_to", "tile", "repeat_interleave"}
FORMS = {
    "transpose",
    "permute",
    "movedim",
    "swapaxes",
    "contiguous",
    "layer_norm",
    "t",
    "mT",
    "unsqueeze",
    "squeeze",
    "view",
    "reshape",
    "flatten",
    "unflatten",
}
THROUGH = (
    (PASSING - JOINING - SPREADING)
    | CASTS
    | {"linear", "layer_norm", "relu", "gelu", "dropout", "mul", "embedding"}
)
TELLS_APART = RECURRENT | RECURRENT_CELLS | (LAYERS - {"linear"}) | {"cumsum", "multinomial"}


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    data = torch.randn(64, 5, 8)
    decoder, head = nn.TransformerDecoderLayer(8, 2, 16, batch_first=True), nn.Linear(8, 1)
    opt = torch.optim.Adam([*decoder.parameters(), *head.parameters()], lr=0.01)
    for rows in torch.arange(64).split(16):
        x, y = data[rows], data[rows].cumsum(1)[:, :, :1]
        start = torch.zeros_like(x)  # cause: GS340
        loss = nn.functional.mse_loss(head(decoder(start, x)), y)  # effect: GS340
        opt.zero_grad()
        loss.backward()
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    data, places = torch.randn(64, 5, 8), nn.Parameter(torch.randn(5, 8))
    decoder, head = nn.TransformerDecoderLayer(8, 2, 16, batch_first=True), nn.Linear(8, 1)
    opt = torch.optim.Adam([*decoder.parameters(), *head.parameters(), places], lr=0.01)
    for rows in torch.arange(64).split(16):
        x, y = data[rows], data[rows].cumsum(1)[:, :, :1]
        start = torch.zeros_like(x) + places
        loss = nn.functional.mse_loss(head(decoder(start, x)), y)
        opt.zero_grad()
        loss.backward()
        opt.step()


@rule("GS340", name="places-alike", severity="warning", needs=AlikePlaces)
def places_alike(trace: Trace) -> Iterator[Finding]:
    events = {
        event.site.id: event for event in trace.of(AlikePlaces) if event.calls >= ENOUGH and event.losses
    }
    if not events:
        return
    known = paths(trace)
    losses = {id for event in events.values() for id in event.losses}
    compared: dict[int, Op] = {}
    for number in known.graph_ids:
        for op in known.graph(number).ops:
            if op.site.id in losses and any((number, out) in known.used.order for out in op.outputs):
                compared.setdefault(op.site.id, op)
    told: set[tuple[str, int]] = set()
    for (graph, _), op in reversed(
        known.used_calls(ATTENTION)
    ):  # that of a first layer before those behind it
        event = events.get(op.site.id)
        place = op.site.user.location()
        if event is None or place in told:
            continue
        length = known.graph(graph).values[op.inputs[0]].shape[-2 if op.name == PRODUCT else 0]
        ends = (compared[id] for id in event.losses if id in compared)
        loss = next((end for end in ends if _arrives(known, op, end, length)), None)
        if length in event.lengths and loss is not None:
            told.add(place)
            yield _finding(trace, known, event, op, loss, length)


def _arrives(known: Paths, op: Op, loss: Op, length: int) -> bool:
    """Whether the loss compares what is alike along the sequence: nothing on the way there tells the places apart."""
    if loss.graph != op.graph:
        return False
    graph = known.graph(op.graph)
    shape = graph.values[op.inputs[0]].shape
    rows = {length, *(length * size for size in shape[:-1])}
    seeds = _forms(known, (op.graph, op.inputs[0]))
    same = {value.index for value in graph.values if known.made((graph.id, value.index)) in seeds}
    for later in graph.ops:
        if later.index > loss.index or same.isdisjoint(later.inputs):
            continue
        if later is loss:
            return True
        attends = later.name in ATTENTION
        if later.name in TELLS_APART or (attends and later.inputs[0] not in same):
            continue
        others = [graph.values[value].shape for value in later.inputs if value not in same]
        if later.name != "linear" and not attends and any(length in other[:-1] for other in others):
            return False
        over = graph.values[later.inputs[0]].shape
        mixed = later.name == "linear" and over[-1:] == (length,) and length not in over[:-1]
        if not mixed and all(rows & set(graph.values[value].shape) for value in later.outputs):
            same.update(later.outputs)
    return False


def _forms(known: Paths, key: Key) -> set[Key]:
    """A value with those that it is another form of, where they were made."""
    found: set[Key] = set()
    while known.made(key) not in found:
        found.add(known.made(key))
        maker = known.maker(key)
        if maker is not None and maker.name in FORMS and maker.inputs:
            key = (maker.graph, maker.inputs[0])
    return found


def _spread(known: Paths, key: Key) -> tuple[Site, str] | None:
    """What gave all places the same, zeros or ones, or one vector that is repeated, and the name of that call."""
    while (maker := known.maker(key)) is not None and maker.name in THROUGH and maker.inputs:
        key = (maker.graph, maker.inputs[0])
    graph, index = known.made(key)
    site = known.graph(graph).values[index].site
    if maker is not None:
        name = maker.name
    else:  # made where nobody looked
        name = called_name(known.trace.source_file(site.user.path).at(site.user)) if site is not None else ""
    place = maker.site if maker is not None else site
    return (place.user, name) if place is not None and name in CONSTANT | SPREADING else None


def _finding(trace: Trace, known: Paths, event: AlikePlaces, op: Op, loss: Op, length: int) -> Finding:
    call, compares = op.site.user, loss.site.user
    spread = _spread(known, (op.graph, op.inputs[0]))
    cause, name = spread if spread is not None else (call, "")
    repeated = name in SPREADING
    label = f"one vector, repeated over {length} places" if repeated else "the same at all places"
    what = code(trace, cause, "what it is given") if spread is not None else "what it is given"
    how = (
        f"add a code of the position to {located(trace, cause, 'it')}"
        if repeated or spread is None
        else f"in place of {located(trace, cause)} give it the true sequence moved by one place while training, with a"
        " causal mask, and when predicting what it has given so far, one place after the other; or add a code of the"
        " position to it"
    )
    return Finding(
        message=f"attention in {code(trace, call, 'this call')} has the same at all {length} places of its sequence"
        + (f", {what}" if spread is not None else "")
        + ": it gives each place the same answer",
        cause=cause,
        cause_label=label,
        effect=compares if compares.location() != cause.location() else None,
        effect_label="the target differs from place to place",
        related=((call, "attends with it"),)
        if call.location() not in (cause.location(), compares.location())
        else (),
        seen=(
            f"in all {plural(event.calls, 'call')} looked at with gradients on the places differed by {event.apart:.2g}"
            f" at most, in numbers of up to {event.most:.2g}",
            f"the target of {code(trace, compares, 'the loss')} is not the same along its {length} places",
        ),
        fix=how,
        count=event.calls,
        subjects=frozenset({("places", *cause.location())}),
    )
