"""A model that is asked for the next token sees it: attention without a causal mask, or a layer that goes both ways.

Why: the token that a place is asked for is the very next one of the input. Where a layer lets a place see those behind
it, the lowest loss is to copy it: the perplexity falls below that of the text, and what the model writes by itself
is worth nothing.

Fix: a causal mask, such as `nn.Transformer.generate_square_subsequent_mask`, or `is_causal=True`, with what leaves no
weight above the diagonal, not below it; recurrent layers of one direction; convolutions that are padded on the left
only.

Measured: in each call of the loss that was compared its targets were the ids that an embedding looked up, moved by
one place, and the layer between them lets each place see later ones; a mask over the places counts only where all of
its elements were looked at, and it takes out just what is below the diagonal. Silent on: any other mask over the
places, an encoder beside a decoder, tokens that are masked in the input, models of which one label is asked.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from gradscope.analysis.memo import once
from gradscope.analysis.ops import ATTENTION, DIVISIONS, MULTIPLICATIONS, PRODUCTS_OF_BATCHES, RECURRENT
from gradscope.analysis.words import code, located, plural
from gradscope.events import LaterOnly, NextAnswers
from gradscope.fixes.calls import with_argument
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding, Graph, Op
from gradscope.rules import rule
from gradscope.rules.numbers._places import compared, keeps_places
from gradscope.store import Trace

WEIGHTS = MULTIPLICATIONS | DIVISIONS | {"softmax", "dropout", "float", "to", "type_as", "contiguous"}
DEEP = 8
MASK = {  # class of the module → its argument, and the place of that
    "TransformerEncoder": ("mask", 1),
    "TransformerEncoderLayer": ("src_mask", 1),
    "TransformerDecoder": ("tgt_mask", 2),
    "TransformerDecoderLayer": ("tgt_mask", 2),
    "Transformer": ("tgt_mask", 3),
    "MultiheadAttention": ("attn_mask", 5),
}


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    embedding, head = nn.Embedding(9, 8), nn.Linear(8, 9)
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    opt = torch.optim.Adam([p for m in (embedding, layer, head) for p in m.parameters()], lr=0.01)
    for _ in range(3):
        words = torch.randint(0, 9, (4, 7))
        x = embedding(words[:, :-1])
        scores = head(layer(x))  # cause: GS778
        loss = nn.functional.cross_entropy(scores.flatten(0, 1), words[:, 1:].flatten())  # effect: GS778
        opt.zero_grad()
        loss.backward()
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    embedding, head = nn.Embedding(9, 8), nn.Linear(8, 9)
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    opt = torch.optim.Adam([p for m in (embedding, layer, head) for p in m.parameters()], lr=0.01)
    for _ in range(3):
        words = torch.randint(0, 9, (4, 7))
        x = embedding(words[:, :-1])
        scores = head(layer(x, src_mask=nn.Transformer.generate_square_subsequent_mask(x.shape[1])))
        loss = nn.functional.cross_entropy(scores.flatten(0, 1), words[:, 1:].flatten())
        opt.zero_grad()
        loss.backward()
        opt.step()


class Way(NamedTuple):
    """How the ids reach the loss whose targets follow them."""

    graph: Graph
    loss: Op
    lookup: Op
    leak: Op  # lets a place see those behind it
    places: int
    turned: bool  # by a mask that hides the earlier places in their stead


@rule("GS778", name="next-token-in-sight", severity="warning", needs=NextAnswers)
def next_token_in_sight(trace: Trace) -> Iterator[Finding]:
    told: set[tuple[str, int]] = set()
    for event in trace.of(NextAnswers):
        place = event.site.user.location()
        way = _way(trace, event) if event.by == 1 and place not in told else None
        if way is not None:
            told.add(place)
            yield _finding(trace, event, way)


def _way(trace: Trace, event: NextAnswers) -> Way | None:
    found = compared(trace, event)
    if found is None:
        return None
    graph, loss, lookups = found
    lookup = lookups[-1]
    shape = graph.values[lookup.inputs[0]].shape
    if len(shape) != 2 or shape[0] == shape[1]:  # which axis is attended along would be open
        return None
    samples, places = shape[1 - event.axis], shape[event.axis]
    for turned in (frozenset(), _turned_masks(trace)):
        for op in _ops_before(graph, loss.inputs[0], samples, places):
            sources = _sees_later(graph, op, places, turned)
            if any(lookup in _ops_before(graph, value, samples, places, whole=True) for value in sources):
                return Way(graph, loss, lookup, op, places, bool(turned))
    return None


@once
def _turned_masks(trace: Trace) -> frozenset[int]:
    """The calls, by site, whose mask lets each place see itself and the later ones only."""
    return frozenset(event.site.id for event in trace.of(LaterOnly) if event.own)


def _ops_before(graph: Graph, value: int, samples: int, places: int, *, whole: bool = False) -> list[Op]:
    """The ops that a value was computed by, as long as each has something for each place of each sample; `whole`: for
    the last place, too, of which nothing may be asked."""
    todo, seen, found = [value], {value}, []
    for one in todo:  # grows while it is walked
        op, shape = graph.maker(one), graph.values[one].shape
        kept = keeps_places(shape, samples, places) or (
            not whole and keeps_places(shape, samples, places - 1)
        )
        if op is None or not kept or (op.name in RECURRENT and graph.values[one].position):
            continue
        found.append(op)
        given = op.inputs[:1] if op.name in ATTENTION else op.inputs
        new = [i for i in given if i not in seen and graph.values[i].requires_grad]
        seen.update(new)
        todo += new
    return found


def _sees_later(graph: Graph, op: Op, places: int, turned: frozenset[int]) -> tuple[int, ...]:
    """What the op takes from later places, where nothing keeps it from that but a mask of these calls; else nothing."""
    shapes = [graph.values[i].shape for i in op.inputs]
    if op.name in ATTENTION and len(shapes) >= 3:
        along = 0 if op.name == "multi_head_attention_forward" else -2
        ranks = min(len(shapes[0]), len(shapes[1])) >= 3
        if not ranks or shapes[0][along] != places or shapes[1][along] != places or op.extra.get("causal"):
            return ()
        masked = op.site.id not in turned and any(_over_places(graph, i, places) for i in op.inputs[3:])
        return () if masked else op.inputs[1:2]
    if op.name in PRODUCTS_OF_BATCHES and len(shapes) == 2 and shapes[0][-2:] == (places, places):
        return op.inputs[1:] if _unmasked(graph, op.inputs[0], places, turned) else ()
    if op.name in RECURRENT and len(op.inputs) > 1:
        out, state = graph.values[op.outputs[0]].shape, shapes[1]
        return op.inputs[:1] if out and state and out[-1] == 2 * state[-1] and state[0] % 2 == 0 else ()
    if (
        op.name == "conv1d" and len(shapes) > 1 and shapes[1][-1] > 1
    ):  # as long as before: padded on both sides
        same = shapes[0][-1] == graph.values[op.outputs[0]].shape[-1] == places
        return op.inputs[:1] if same else ()
    return ()


def _over_places(graph: Graph, value: int, places: int) -> bool:
    """Whether it is a mask of which place sees which."""
    own = graph.values[value]
    return own.kind != "parameter" and own.shape[-2:] == (places, places)


def _unmasked(graph: Graph, value: int, places: int, turned: frozenset[int]) -> bool:
    """Whether these weights are the softmax of a product, and nothing between them but scaling, dropout and masks of
    these calls."""
    softmax = False
    for _ in range(DEEP):
        op = graph.maker(value)
        if op is None:
            return False
        if op.name in PRODUCTS_OF_BATCHES:
            return softmax and all(graph.values[i].shape[-2:] != (places, places) for i in op.inputs)
        if op.site.id in turned:
            value = next((i for i in op.inputs if graph.values[i].requires_grad), op.inputs[0])
            continue
        if op.name not in WEIGHTS or any(
            _over_places(graph, i, places) for i in op.inputs if i != op.inputs[0]
        ):
            return False
        softmax = softmax or op.name == "softmax"
        value = op.inputs[0]
    return False


def _finding(trace: Trace, event: NextAnswers, way: Way) -> Finding:
    site, place, lookup = way.leak.site.user, way.loss.site.user, way.lookup.site.user
    attends = way.leak.name not in RECURRENT and way.leak.name != "conv1d"
    what = code(trace, site, "attention" if attends else f"`{way.leak.name}`")
    fix, edits = ("", ()) if not attends else _round(trace, way) if way.turned else _masked(trace, way)
    if not attends:
        fix = (
            f"let the layer of {located(trace, site)} go one way, without `bidirectional=True`"
            if way.leak.name in RECURRENT
            else f"pad what {located(trace, site)} is given on the left only, by `F.pad`, and not in the layer"
        )
    return Finding(
        message=f"{what} lets each place see those behind it, and the next one is what"
        f" {code(trace, place, f'`{event.name}`')} asks it for: the model copies it from its input",
        cause=site,
        cause_label="goes both ways"
        if not attends
        else "its mask hides the earlier places"
        if way.turned
        else "has no causal mask",
        effect=place,
        effect_label="asks each place for the token that follows",
        related=((lookup, "looks up the tokens"),) if lookup.location() != site.location() else (),
        seen=(
            f"in {plural(event.calls, 'call')} the targets were the ids of {code(trace, lookup, 'the embedding')},"
            " each the one behind its own place",
            f"`{way.leak.name}` between them " + (_mask(way) if attends else _form(way)),
        ),
        fix=fix,
        edits=edits,
        count=way.graph.count,
        subjects=frozenset({("targets", *place.location())}),
    )


def _mask(way: Way) -> str:
    if way.turned:
        return (
            f"had a mask that let in just what is on and above its diagonal, in all of its {way.places} rows"
        )
    return f"had no mask over its {way.places} places"


def _round(trace: Trace, way: Way) -> tuple[str, Edits]:
    """The mask with its other half."""
    return (
        f"turn the mask of {located(trace, way.leak.site.user)} round: what leaves no weight belongs above the"
        " diagonal, as by `torch.ones(n, n).triu(1)`, and not below it",
        (),
    )


def _form(way: Way) -> str:
    values, op = way.graph.values, way.leak
    if op.name == "conv1d":
        return (
            f"made {way.places} places of {way.places} with a kernel of {values[op.inputs[1]].shape[-1]}: it pads on"
            " both sides"
        )
    return f"gave {values[op.outputs[0]].shape[-1]} numbers for states of {values[op.inputs[1]].shape[-1]}: both ways"


def _masked(trace: Trace, way: Way) -> tuple[str, Edits]:
    """The call with a causal mask, as a sentence and as an edit."""
    site = way.leak.site.user
    here = located(trace, site)
    if way.leak.name == "scaled_dot_product_attention":
        return f"give `is_causal=True` in {here}", with_argument(trace, site, "is_causal", "True", 5)
    frames = way.leak.site.stack
    inner = frames[max((n for n, frame in enumerate(frames) if frame.kind == "user"), default=-1) + 1 :]
    names = [frame.function.removesuffix(".forward") for frame in inner]
    called = next(
        (name for name in names if name in MASK), ""
    )  # the module of torch's that the program calls
    if called not in MASK:
        return (
            f"mask the scores of later places before the softmax, for {here}: `scores.masked_fill(later,"
            ' float("-inf"))` with `later = torch.ones(n, n).triu(1).bool()`',
            (),
        )
    name, position = MASK[called]
    source = Source(trace, site.path)
    call = source.file.at(site)
    given = list(getattr(call, "args", ()))
    at = 1 if called == "Transformer" else 0  # what the decoder is given
    axis, imported = _axis(way), source.file.imported
    maker = f"{'nn' if 'nn' in imported else 'torch.nn'}.Transformer.generate_square_subsequent_mask"
    text = ""
    plain = len(given) > at and not any(isinstance(node, ast.Call) for node in ast.walk(given[at]))
    if axis is not None and plain and not imported.isdisjoint(("nn", "torch")):
        text = f"{maker}({source.file.operand(given[at])}.shape[{axis}])"
    if not text:
        return f"give `{name}={maker}(…)` in {here}, a causal mask of {way.places} places", ()
    now = [k.value for k in getattr(call, "keywords", ()) if k.arg == name] + given[position : position + 1]
    told = source.file.text(now[0]) if now else "None"
    new = text if told == "None" else f"{text} if {told} is None else {told}"
    instead = f"`{text}` in place of `{told}`" if now else f"`{name}={text}`"
    return f"give it a causal mask in {here}: {instead}", with_argument(trace, site, name, new, position)


def _axis(way: Way) -> int | None:
    """The axis of the places in what the call is given, before torch's own layers turn it."""
    graph, value, at = way.graph, way.leak.inputs[0], way.leak.site.user.span()
    for _ in range(200):
        op = graph.maker(value)
        if op is None or op.site.user.span() != at:
            break
        value = op.inputs[0]
    shape = graph.values[value].shape[:2]
    return shape.index(way.places) if way.places in shape else None
