"""Noise is multiplied by a variance: the divergence in the loss reads the same number as a log variance.

Why: of a Gaussian the network gives the mean and the logarithm of the variance, as `-0.5 * (1 + t - mu**2 - exp(t))` in
the loss says. A sample is the mean and noise times the standard deviation, `exp(t / 2)`. With `exp(t)` the decoder is
given samples of one distribution, and the loss weighs another one.

Fix: `torch.exp(0.5 * t)`.

Measured: the same number is a term of the loss as it is, is taken from it as its exponential, and its exponential is a
factor of standard normal noise. Silent on: numbers that the loss doubles (they are log deviations).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.analysis.gaussians import is_noise, terms_of
from gradscope.analysis.ops import MULTIPLICATIONS
from gradscope.analysis.reach import paths
from gradscope.analysis.words import code, located
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding, Graph, Op
from gradscope.rules import rule
from gradscope.store import Trace


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    encoder, decoder = nn.Linear(6, 4), nn.Linear(2, 6)
    opt = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=0.01)
    for _ in range(3):
        x = torch.randn(32, 6)
        mu, logvar = encoder(x).chunk(2, dim=1)
        z = mu + torch.randn_like(mu) * torch.exp(logvar)  # cause: GS769
        divergence = -0.5 * (1 + logvar - mu.pow(2) - logvar.exp()).sum(1).mean()  # effect: GS769
        loss = (decoder(z) - x).pow(2).sum(1).mean() + divergence
        opt.zero_grad()
        loss.backward()
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    encoder, decoder = nn.Linear(6, 4), nn.Linear(2, 6)
    opt = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=0.01)
    for _ in range(3):
        x = torch.randn(32, 6)
        mu, logvar = encoder(x).chunk(2, dim=1)
        z = mu + torch.randn_like(mu) * torch.exp(0.5 * logvar)
        divergence = -0.5 * (1 + logvar - mu.pow(2) - logvar.exp()).sum(1).mean()
        loss = (decoder(z) - x).pow(2).sum(1).mean() + divergence
        opt.zero_grad()
        loss.backward()
        opt.step()


@rule("GS769", name="variance-for-deviation", severity="warning")
def variance_for_deviation(trace: Trace) -> Iterator[Finding]:
    if "exp" not in trace.op_names:
        return
    known = paths(trace)
    told: set[tuple[str, int]] = set()
    for _, op in known.used_calls({"exp"}):
        graph = known.graph(op.graph)
        product = _of_noise(graph, op)
        if product is None or op.site.user.location() in told:
            continue
        total = _divergence(trace, graph, op.inputs[0])
        if total is not None and (graph.id, total.outputs[0]) in known.used.order:
            told.add(op.site.user.location())
            yield _finding(trace, graph, op, product, total)


def _of_noise(graph: Graph, op: Op) -> Op | None:
    """The product of what a call gave with standard normal noise."""
    for product in graph.consumers.get(op.outputs[0], ()):
        others = [i for i in product.inputs if i != op.outputs[0]]
        if product.name in MULTIPLICATIONS and len(others) == 1 and is_noise(graph, others[0]):
            return product
    return None


def _divergence(trace: Trace, graph: Graph, value: int) -> Op | None:
    """The sum that the number is a term of as it is, and its exponential with the opposite sign."""
    plain = terms_of(trace, graph, value)
    for reader in graph.consumers.get(value, ()):
        if reader.name == "exp" and reader.outputs:
            for total, (op, sign) in terms_of(trace, graph, reader.outputs[0]).items():
                if total in plain and plain[total][1] == -sign:
                    return op
    return None


def _finding(trace: Trace, graph: Graph, op: Op, product: Op, total: Op) -> Finding:
    cause, effect = op.site.user, total.site.user
    where_from, edits = _rooted(trace, graph, op, product)
    return Finding(
        message=f"noise is multiplied by {code(trace, cause, '`exp`')}, which is the variance by the loss: the sample"
        " has another spread than the loss says",
        cause=cause,
        cause_label="the variance, where the standard deviation is wanted",
        effect=effect,
        effect_label="takes the same number for the logarithm of the variance",
        seen=(
            f"{code(trace, effect, 'the sum')} has the number itself as a term and takes its exponential away: so is"
            f" the divergence of a log variance; `{product.name}` multiplies standard normal noise by that exponential",
        ),
        fix=where_from,
        edits=edits,
        subjects=frozenset({("spread", *cause.location())}),
    )


def _rooted(trace: Trace, graph: Graph, op: Op, product: Op) -> tuple[str, Edits]:
    """How the noise gets the root of the variance, and the edit."""
    site = op.site.user
    here = Source(trace, site.path)
    node = here.file.at(site)
    alone = graph.consumers.get(op.outputs[0], []) == [product]
    if alone and isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        number = node.args[0] if here.file.is_imported(node.func) and node.args else node.func.value
        half = f"0.5 * {here.file.operand(number)}"
        new = half if number is not node.func.value else f"({half})"
        return (
            f"halve the logarithm: `{half}` in place of `{here.file.text(number)}` in {located(trace, site)}",
            here.replace(number, new),
        )
    return f"multiply the noise by the root, `torch.exp(0.5 * …)`, in {located(trace, product.site.user)}", ()
