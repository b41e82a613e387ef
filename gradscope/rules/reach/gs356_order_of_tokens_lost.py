"""A network of attention knows nothing of the order of its tokens, and learns nothing.

Why: attention without a mask, and layers that work on each place by itself, give the same answers in another order
where the tokens come in another order; a mean over the places is the same then. What depends on the order of the words
can't be learned: the network sees a bag of them. A recurrent layer or a convolution knows the order by itself,
attention by what is added to the tokens for their places.

Fix: add something for each place to the embedded tokens: `nn.Embedding(length, size)` of `torch.arange`, or sines and
cosines.

Told from the graph of the loss: every operation between one embedding and the loss treats places alike, and no other
tensor has a number for each place; and from the losses, which stay at what one answer to all would have (GS784).
Silent on: anything else on the way, a loss that falls (sets of items have no order).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from gradscope.analysis.constant_answers import NoBetter, no_better
from gradscope.analysis.made import layer_site
from gradscope.analysis.ops import ADDITIONS, ATTENTION, CASTS, MULTIPLICATIONS
from gradscope.analysis.reach import Paths, paths
from gradscope.analysis.words import code, located, parameter_subjects, plural
from gradscope.fixes.positions import with_positions
from gradscope.model import Finding, Graph, Op
from gradscope.rules import rule
from gradscope.store import Trace

_ALIKE = CASTS | ADDITIONS | MULTIPLICATIONS | ATTENTION | {
    "div", "linear", "layer_norm", "rms_norm", "dropout", "relu", "relu_", "gelu", "silu", "elu", "tanh",
    "sigmoid", "leaky_relu", "transpose", "contiguous", "detach",
}  # fmt: skip
_POOLED = {"mean", "sum", "amax", "max"}  # over the places


def bad() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    embed = nn.Embedding(12, 16)
    layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True)
    head = nn.Linear(16, 2)
    opt = torch.optim.Adam([*embed.parameters(), *layer.parameters(), *head.parameters()], lr=0.001)
    for _ in range(120):
        tokens = torch.randint(0, 12, (32, 10))
        label = (tokens[:, 0] < tokens[:, 9]).long()
        hidden = layer(embed(tokens))  # cause: GS356
        opt.zero_grad()
        nn.functional.cross_entropy(head(hidden.mean(1)), label).backward()  # effect: GS356
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    embed, places = nn.Embedding(12, 16), nn.Embedding(10, 16)
    layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True)
    head = nn.Linear(16, 2)
    parts = (embed, places, layer, head)
    opt = torch.optim.Adam([p for part in parts for p in part.parameters()], lr=0.001)
    for _ in range(120):
        tokens = torch.randint(0, 12, (32, 10))
        label = (tokens[:, 0] < tokens[:, 9]).long()
        hidden = layer(embed(tokens) + places(torch.arange(10)))
        opt.zero_grad()
        nn.functional.cross_entropy(head(hidden.mean(1)), label).backward()
        opt.step()


class _Blind(NamedTuple):
    """The embedding, the first attention behind it, how many ops lie between it and the loss, the axis of the places
    in the tokens, and how many there are."""

    embedding: Op
    attention: Op
    ops: int
    axis: int
    length: int


@rule("GS356", name="order-of-tokens-lost", severity="warning", over=("GS784",))
def order_of_tokens_lost(trace: Trace) -> Iterator[Finding]:
    known = paths(trace)
    for found in no_better(trace):
        blind = _blind(known, known.graph(found.op.graph), found.compared)
        if blind is not None:
            yield _finding(trace, found, blind)


def _blind(known: Paths, graph: Graph, loss: Op) -> _Blind | None:
    """None where something between the tokens and the loss may tell places apart."""
    todo, seen = [loss.inputs[0]], set[int]()
    ops: list[Op] = []
    pooled = False
    for value in todo:  # grows while it is walked
        if value in seen:
            continue
        seen.add(value)
        maker = graph.maker(value)
        if maker is None:
            parameter = known.parameter_of((graph.id, value)) is not None
            if not parameter and graph.values[value].shape:
                return None
            continue
        ops.append(maker)
        if maker.name == "embedding":
            continue
        if maker.name not in _ALIKE | _POOLED:
            return None
        pooled = pooled or maker.name in _POOLED
        if maker.name in ADDITIONS | MULTIPLICATIONS and not all(
            _of_no_place(known, graph, v) for v in maker.inputs
        ):
            return None
        todo += maker.inputs
    embeddings = [op for op in ops if op.name == "embedding"]
    attentions = [op for op in ops if op.name in ATTENTION]
    if len(embeddings) != 1 or not attentions or not pooled:
        return None
    first = min(attentions, key=lambda op: op.index)
    return _placed(graph, embeddings[0], first, len(ops))


def _of_no_place(known: Paths, graph: Graph, value: int) -> bool:
    """Whether it was computed, or is a parameter of one axis at most: none with a row for each place."""
    return graph.maker(value) is not None or len(graph.values[value].shape) < 2


def _placed(graph: Graph, embedding: Op, attention: Op, ops: int) -> _Blind | None:
    tokens = next(
        (graph.values[v] for v in embedding.inputs if not graph.values[v].dtype.startswith("float")), None
    )
    given = graph.values[attention.inputs[0]]
    if tokens is None or len(tokens.shape) != 2 or len(given.shape) < 3:
        return None
    length = given.shape[0] if attention.name == "multi_head_attention_forward" else given.shape[-2]
    axes = [axis for axis, size in enumerate(tokens.shape) if size == length]
    return _Blind(embedding, attention, ops, axes[0], length) if len(axes) == 1 and length > 1 else None


def _finding(trace: Trace, found: NoBetter, blind: _Blind) -> Finding:
    embedded = blind.embedding.site.user
    made = layer_site(trace, blind.embedding, alone=True)
    edits = with_positions(trace, blind.embedding, made, blind.axis, blind.length)
    place = blind.attention.site.user
    return Finding(
        message=f"the network does not know the order of its {blind.length} tokens, and the loss is {found.no_lower}"
        f" after {plural(found.passes, 'pass')} than for one answer to all",
        cause=place,
        cause_label="attends to all places alike: in another order of the tokens it gives the same",
        effect=found.line,
        effect_label="learns nothing of the inputs",
        related=((embedded, "the tokens come in here, without their places"),)
        if embedded.location() != place.location()
        else (),
        seen=(
            f"each of the {blind.ops} operations between {code(trace, embedded, 'the embedding')} and the loss treats"
            " places alike: no mask, no recurrence, no tensor with a number for each place",
            f"the loss over the last half of the run is {found.loss:.4g}; one and the same answer to every sample has"
            f" {found.event.best:.4g}",
        ),
        fix="add something for each place to the tokens:"
        f" `nn.Embedding({blind.length}, …)` of `torch.arange({blind.length})` to"
        f" {located(trace, embedded, 'what the embedding gives')}",
        edits=edits,
        subjects=parameter_subjects(found.parameters) | {("embedded", embedded.location())},
    )
