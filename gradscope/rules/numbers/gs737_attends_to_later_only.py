"""A causal mask is the wrong way round: each place attends to the later ones only, the last to none.

Why: for `scaled_dot_product_attention` True in a boolean mask means that a place takes part; for `masked_fill` and
`nn.MultiheadAttention` that it does not. A mask that is True above the diagonal, right for these, shows a language
model the tokens that it is to predict, and nothing of what came before.

Fix: `attn_mask=~mask`, or `is_causal=True` without a mask.

Measured: every element of the mask at the first call of a line. Silent on: any other mask, as one that lets a place
attend to itself, too; in an attention that is written out, scores that no softmax over the last axis makes weights of,
and weights that are masked again or mix no values.
"""

from collections.abc import Iterator

from gradscope.analysis.non_finite import begun_at, subjects_of
from gradscope.analysis.ops import ATTENTION, MASKING, PASSING, PRODUCTS_OF_MATRICES, SCALES, SUMS
from gradscope.analysis.words import code, located
from gradscope.events import LaterOnly
from gradscope.fixes.source import Edits
from gradscope.model import Finding, Graph, Op
from gradscope.rules import rule
from gradscope.rules.numbers._masks import TURNED, turned
from gradscope.store import Trace

PRODUCTS = PRODUCTS_OF_MATRICES | {"baddbmm"}
TO_WEIGHTS = PASSING | SCALES | SUMS | {"float"}
TO_VALUES = PASSING | {"dropout", "float"}
AGAIN = MASKING | {
    "where",
    "nan_to_num",
    "nan_to_num_",
    *SCALES,
}  # the weights of the last place may become 0
DIRECT = "scaled_dot_product_attention"
MEANS = {  # what True, or a number, means in the mask of a call
    DIRECT: "True means here that a place takes part",
    "multi_head_attention_forward": "True means here that a place is left out",
    "masked_fill": "fills the scores where its mask is True",
    "masked_fill_": "fills the scores where its mask is True",
    "where": "keeps the scores above the diagonal",
}


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    layer, head = nn.Linear(4, 4), nn.Linear(4, 3)
    opt = torch.optim.SGD([*layer.parameters(), *head.parameters()], lr=0.1)
    mask = torch.ones(6, 6).triu(1).bool()
    for _ in range(3):
        x = layer(torch.randn(8, 6, 4))
        out = nn.functional.scaled_dot_product_attention(x, x, x, attn_mask=mask)  # cause: GS737
        opt.zero_grad()
        nn.functional.cross_entropy(head(out).flatten(0, 1), torch.randint(0, 3, (48,))).backward()
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    layer, head = nn.Linear(4, 4), nn.Linear(4, 3)
    opt = torch.optim.SGD([*layer.parameters(), *head.parameters()], lr=0.1)
    mask = torch.ones(6, 6).triu(1).bool()
    for _ in range(3):
        x = layer(torch.randn(8, 6, 4))
        out = nn.functional.scaled_dot_product_attention(x, x, x, attn_mask=~mask)
        opt.zero_grad()
        nn.functional.cross_entropy(head(out).flatten(0, 1), torch.randint(0, 3, (48,))).backward()
        opt.step()


@rule("GS737", name="attends-to-later-only", severity="warning", over=("GS701",), needs=LaterOnly)
def attends_to_later_only(trace: Trace) -> Iterator[Finding]:
    told: set[tuple[str, int]] = set()
    for event in trace.of(LaterOnly):
        site = event.site.user
        if (
            event.own
            or site.location() in told
            or not (event.name in ATTENTION or _makes_weights(trace, event))
        ):
            continue
        told.add(site.location())
        broken = begun_at(trace, site)  # torch before 2.5 makes NaN of a row that attends to nothing
        turn, edits = _turned(trace, event)
        yield Finding(
            message=f"the mask of {code(trace, site, f'`{event.name}`')} lets each place attend to later ones only, and"
            " the last one to none",
            cause=site,
            cause_label=MEANS.get(event.name, "")
            if event.boolean
            else "leaves only what is above the diagonal",
            seen=(
                f"the mask let in just what is above its diagonal, in all of its {event.places} rows: place 1 of"
                f" {event.places} attends to all others but itself, the last one to nothing",
                *(("its result is NaN there, and so are the gradients",) if broken is not None else ()),
            ),
            fix=f"turn the mask round in {located(trace, site)}{turn}",
            edits=edits,
            severity="error" if broken is not None else "",
            subjects=subjects_of(broken) if broken is not None else frozenset(),
        )


def _turned(trace: Trace, event: LaterOnly) -> tuple[str, Edits]:
    """How the call is told to let in the others: the text, and the edits."""
    direct = ", or give `is_causal=True` in its place" if event.name == DIRECT else ""
    if not event.boolean or event.name not in TURNED:
        return direct or ": the numbers that leave no weight belong above the diagonal", ()
    given, edits = turned(trace, event.name, event.site.user)
    return f"{f': `{given}`' if given else ''}{direct}", edits


def _makes_weights(trace: Trace, event: LaterOnly) -> bool:
    """Whether a softmax over the last axis makes weights of the masked scores, and these mix values as they are."""
    for graph in trace.graphs:
        for op in graph.called({event.name}):
            if op.site.id != event.site.id:
                continue
            for value, reader in graph.readers_behind(op.outputs, lambda op: op.name in TO_WEIGHTS):
                if reader.name == "softmax" and _over_the_last(graph, value, reader):
                    return _mixes(graph, reader)
    return False


def _over_the_last(graph: Graph, value: int, softmax: Op) -> bool:
    shape, dims = graph.values[value].shape, softmax.extra.get("dims", [])
    return (
        len(shape) > 1
        and shape[-1] == shape[-2]
        and len(dims) == 1
        and dims[0] % len(shape) == len(shape) - 1
    )


def _mixes(graph: Graph, softmax: Op) -> bool:
    readers = [op.name for _, op in graph.readers_behind(softmax.outputs, lambda op: op.name in TO_VALUES)]
    return not PRODUCTS.isdisjoint(readers) and AGAIN.isdisjoint(readers)
