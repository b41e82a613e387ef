"""The small weight of a codebook's loss stands at the term of the codebook, not at that of the encoder.

Why: of the two terms one draws the entries to what the encoder gave, the other (the commitment) holds the encoder to
its entry. A weight below 1, beta, is for the commitment: so the encoder stays free, and the entries follow it. At the
other term it is the entries that follow slowly, while the encoder is held to where they happen to be.

Fix: interchange the weights. It is a note, as either may be meant: both are found in published code.

Measured: the same two values are compared twice, one side detached in each; one of the terms reaches only the entries
that were looked up, the other only what comes before; the number that the term of the entries was multiplied by.
Silent on: codebooks that are kept as averages, weights of both terms, terms that are no part of a straight-through
choice (centres of clusters, the balanced divergence of a world model).
"""

from collections.abc import Iterator

from gradscope.analysis.codebooks import Pair, pairs
from gradscope.analysis.reach import paths
from gradscope.analysis.words import code, located, parameter_names, quoted
from gradscope.fixes.calls import factor_moved
from gradscope.model import Finding
from gradscope.rules import rule
from gradscope.store import Trace


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    encoder, decoder, entries = nn.Linear(6, 4), nn.Linear(4, 6), nn.Embedding(8, 4)
    opt = torch.optim.SGD([*encoder.parameters(), *decoder.parameters(), *entries.parameters()], lr=0.1)
    for _ in range(3):
        x = torch.randn(16, 6)
        z = encoder(x)
        q = entries(torch.cdist(z, entries.weight).argmin(1))
        codes = (q.detach() - z).pow(2).mean() + 0.25 * (q - z.detach()).pow(2).mean()  # cause: GS782
        loss = codes + (decoder(z + (q - z).detach()) - x).pow(2).mean()
        opt.zero_grad()
        loss.backward()  # effect: GS782
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    encoder, decoder, entries = nn.Linear(6, 4), nn.Linear(4, 6), nn.Embedding(8, 4)
    opt = torch.optim.SGD([*encoder.parameters(), *decoder.parameters(), *entries.parameters()], lr=0.1)
    for _ in range(3):
        x = torch.randn(16, 6)
        z = encoder(x)
        q = entries(torch.cdist(z, entries.weight).argmin(1))
        codes = 0.25 * (q.detach() - z).pow(2).mean() + (q - z.detach()).pow(2).mean()
        loss = codes + (decoder(z + (q - z).detach()) - x).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


@rule("GS782", name="codebook-is-held-back", severity="note")
def codebook_is_held_back(trace: Trace) -> Iterator[Finding]:
    known = paths(trace)
    for pair in pairs(known):
        weighed = pair.codebook.factors
        if len(weighed) != 1 or pair.commitment.factors or not 0 < pair.codebook.number < 1:
            continue
        yield _finding(trace, pair)


def _finding(trace: Trace, pair: Pair) -> Finding:
    known = paths(trace)
    number = f"{pair.codebook.number:.3g}"
    site, other = pair.codebook.factors[0].site.user, pair.commitment.last.site.user
    entries = parameter_names(trace, sorted(pair.entries))
    encoder = parameter_names(trace, sorted(pair.encoder))
    loss = known.loss_of((pair.added.graph, pair.added.outputs[0]), lambda event: bool(event.filled))
    factor, edits = factor_moved(trace, site, pair.codebook.last.site.user, other, pair.added.site.user)
    text = quoted(factor) if factor else number
    return Finding(
        message=f"{text} weighs the term that moves the codebook, not the one that holds the encoder to it:"
        f" the encoder is drawn {1 / pair.codebook.number:.3g} times as strongly as the entries",
        cause=site,
        cause_label="draws the entries to the encoder's values, weakly",
        effect=loss.site.user if loss is not None else None,
        effect_label="the entries follow slowly, the encoder is held to them",
        related=((other, "holds the encoder to the entries, with the weight 1"),)
        if other.location() != site.location()
        else (),
        seen=(
            f"the term of {code(trace, site, 'this line')} has the factor {number} and its gradient reaches only"
            f" {entries}; that of the same two values with the other one detached has none and reaches only {encoder}",
        ),
        fix=f"if the commitment is meant, give {text} to {located(trace, other)} instead",
        edits=edits,
        count=loss.count if loss is not None else 1,
    )
