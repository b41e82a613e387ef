"""A causal mask is the wrong way round: each place attends to the later ones only, the last to none.

Why: for `scaled_dot_product_attention` True in a boolean mask means that a place takes part; for `masked_fill` and
`nn.MultiheadAttention` that it does not. A mask that is True above the diagonal, right for these, shows a language
model the tokens that it is to predict, and nothing of what came before.

Fix: `attn_mask=~mask`, or `is_causal=True` without a mask.

Measured: every element of the mask at the first call of a line. Silent on: any other mask, as one that lets a place
attend to itself, too.
"""

from collections.abc import Iterator

from gradscope.analysis.non_finite import begun_at, subjects_of
from gradscope.analysis.words import code, located
from gradscope.events import LaterOnly
from gradscope.model import Finding
from gradscope.rules import rule
from gradscope.rules.numbers._masks import turned
from gradscope.store import Trace


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


@rule("GS737", name="attends-to-later-only", severity="warning", over=("GS701",))
def attends_to_later_only(trace: Trace) -> Iterator[Finding]:
    told: set[tuple[str, int]] = set()
    for event in trace.of(LaterOnly):
        site = event.site.user
        if site.location() in told:
            continue
        told.add(site.location())
        broken = begun_at(trace, site)  # torch before 2.5 makes NaN of a row that attends to nothing
        given, edits = turned(trace, "scaled_dot_product_attention", site)
        yield Finding(
            message=f"the mask of {code(trace, site, '`scaled_dot_product_attention`')} lets each place attend to later"
            " ones only, and the last one to none",
            cause=site,
            cause_label="True means here that a place takes part",
            seen=(
                f"the boolean mask was True just above its diagonal, in all of its {event.places} rows: place 1 of"
                f" {event.places} attends to all others but itself, the last one to nothing",
                *(("its result is NaN there, and so are the gradients",) if broken is not None else ()),
            ),
            fix=f"turn the mask round in {located(trace, site)}{f': `{given}`' if given else ''}, or give"
            " `is_causal=True` in its place",
            edits=edits,
            severity="error" if broken is not None else "",
            subjects=subjects_of(broken) if broken is not None else frozenset(),
        )
