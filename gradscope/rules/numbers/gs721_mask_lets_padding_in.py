"""An embedding gets a gradient of exactly zero in every pass: behind a mask only its padding takes part.

Why: the padding token of an embedding (`padding_idx`) gets no gradient. Where a gradient comes back to what the
embedding gave, and yet none to any token, only places with padding were let in. Masks have two meanings: for
`scaled_dot_product_attention` True means that a place takes part, for `masked_fill` and for the `key_padding_mask`
of `nn.MultiheadAttention` that it does not.

Fix: turn the mask round.

Measured: the padding among its first tokens, the gradients of the embedding, and of what is computed from it at
once, in all measured passes. Silent where the embedding learns in any pass, and where no boolean mask stands
behind it, or more than one.
"""

from collections.abc import Iterator

from gradscope.analysis.reach import passes
from gradscope.analysis.words import (
    code,
    located,
    parameter_name,
    parameter_names,
    parameter_subjects,
    percent,
)
from gradscope.events import Padding
from gradscope.model import Finding, Graph, Op
from gradscope.rules import rule
from gradscope.rules.numbers._masks import MASKED, turned
from gradscope.rules.numbers._zeros import ENOUGH, Zeros, zeros_of_lines
from gradscope.store import Trace


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    words, value, head = nn.Embedding(20, 8, padding_idx=0), nn.Linear(8, 8), nn.Linear(8, 2)
    query = nn.Parameter(torch.randn(1, 1, 8))
    opt = torch.optim.SGD([*words.parameters(), *value.parameters(), *head.parameters(), query], lr=0.1)
    tokens, y = torch.randint(1, 20, (16, 6)), torch.randint(0, 2, (16,))
    tokens[:, 4:] = 0
    for _ in range(6):
        x = words(tokens)  # effect: GS721
        mask = (tokens == 0).unsqueeze(1)
        out = nn.functional.scaled_dot_product_attention(  # cause: GS721
            query.expand(16, 1, 8), x, value(x), attn_mask=mask
        )
        opt.zero_grad()
        nn.functional.cross_entropy(head(out.squeeze(1)), y).backward()
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    words, value, head = nn.Embedding(20, 8, padding_idx=0), nn.Linear(8, 8), nn.Linear(8, 2)
    query = nn.Parameter(torch.randn(1, 1, 8))
    opt = torch.optim.SGD([*words.parameters(), *value.parameters(), *head.parameters(), query], lr=0.1)
    tokens, y = torch.randint(1, 20, (16, 6)), torch.randint(0, 2, (16,))
    tokens[:, 4:] = 0
    for _ in range(6):
        x = words(tokens)
        mask = (tokens != 0).unsqueeze(1)
        out = nn.functional.scaled_dot_product_attention(query.expand(16, 1, 8), x, value(x), attn_mask=mask)
        opt.zero_grad()
        nn.functional.cross_entropy(head(out.squeeze(1)), y).backward()
        opt.step()


@rule("GS721", name="mask-lets-padding-in", severity="warning", needs=Padding)
def mask_lets_padding_in(trace: Trace) -> Iterator[Finding]:
    words = {event.parameter: 1 - event.share for event in trace.of(Padding) if event.share < 1}
    for line in zeros_of_lines(trace) if words else ():
        graph = line.known.graph(line.event.graph)
        for op in graph.ops:
            weight = line.known.parameter_of((graph.id, op.inputs[-1])) if op.name == "embedding" else None
            if weight is None or weight.id not in words or (count := line.last(weight.id)) < ENOUGH:
                continue
            masks, arrived = _behind(line, graph, op, count)
            if count == len(line.series[weight.id]) and len(masks) == 1 and arrived:
                yield _finding(trace, op, masks[0], weight.id, arrived, count, words[weight.id])


def _behind(line: Zeros, graph: Graph, embedding: Op, count: int) -> tuple[list[Op], list[int]]:
    """The calls behind an embedding that take a boolean mask, one for each line; and the parameters that meet what
    the embedding gave before any of them, to which a gradient came in each of the last `count` passes."""
    masks: dict[tuple[str, int], Op] = {}
    arrived: list[int] = []

    def masks_them(op: Op) -> bool:
        return op.name in MASKED and any(graph.values[index].dtype == "bool" for index in op.inputs)

    for value, op in graph.readers_behind(
        embedding.outputs, lambda op: bool(op.nodes) and not masks_them(op)
    ):
        if op.nodes and masks_them(op):
            masks.setdefault(op.site.user.location(), op)
        elif op.nodes:
            given = (line.known.parameter_of((graph.id, index)) for index in op.inputs if index != value)
            arrived += [p.id for p in given if p is not None and line.always_there(p.id, count)]
    return list(masks.values()), list(dict.fromkeys(arrived))


def _finding(
    trace: Trace, embedding: Op, mask: Op, weight: int, arrived: list[int], count: int, words: float
) -> Finding:
    name, site = f"`{parameter_name(trace, weight)}`", mask.site.user
    given, edits = turned(trace, mask.name, site)
    return Finding(
        message=f"the mask of {code(trace, site, f'`{mask.name}`')} lets only padding in: {name} never gets a gradient",
        cause=site,
        cause_label="no token but the padding has a part in its result",
        effect=embedding.site.user,
        effect_label="no token of it learns",
        seen=(
            f"the gradient of {name} was exactly 0 in all {passes(count)} measured, and that of"
            f" {parameter_names(trace, arrived)}, which what it gives is computed with, in none",
            f"{percent(words)} of the tokens that it was given first were no padding",
        ),
        fix=f"turn the mask round in {located(trace, site)}{f': `{given}`' if given else ''}",
        edits=edits,
        count=count,
        subjects=parameter_subjects([weight]),
    )
