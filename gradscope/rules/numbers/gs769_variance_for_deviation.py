"""Noise is multiplied by something else than the deviation of the Gaussian that the divergence in the loss is of.

Why: of a Gaussian the network gives the mean and the logarithm of the variance, as `-0.5 * (1 + t - mu**2 - exp(t))` in
the loss says. A sample is the mean and noise times the standard deviation, `exp(t / 2)`. With `exp(t)`, or with `t`
itself, the decoder is given samples of one distribution, and the loss weighs another one. Where `t` comes out of a
function that gives nothing below 0, such as `softplus` or `relu`, the deviation is 1 at least, that of the prior: no
code can be told from noise.

Fix: `torch.exp(0.5 * t)`, of a `t` that may be negative.

Measured: the same number is a term of the loss as it is, is taken from it as its exponential, and it, or its
exponential, is a factor of standard normal noise. Silent on: numbers that the loss doubles (they are log deviations).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from gradscope.analysis.gaussians import divergence_of, is_noise
from gradscope.analysis.ops import MULTIPLICATIONS, PASSING, SCALES
from gradscope.analysis.reach import paths
from gradscope.analysis.text import written_input
from gradscope.analysis.words import code, located
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding, Graph, Op
from gradscope.rules import rule
from gradscope.source import called_name
from gradscope.store import Trace

NEVER_BELOW_0 = {"softplus", "relu", "relu_", "sigmoid", "abs", "square"}


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
    if trace.op_names.isdisjoint({"exp"}):
        return
    known = paths(trace)
    told: set[tuple[str, int]] = set()
    for _, product in known.used_calls(MULTIPLICATIONS | {"addcmul"}):
        found = _spread(trace, known.graph(product.graph), product)
        if found is None or (product.graph, found.total.outputs[0]) not in known.used.order:
            continue
        cause = found.cause.site.user
        if cause.location() not in told:
            told.add(cause.location())
            yield _floored(trace, found) if found.kind == "floored" else _finding(trace, found)


class _Spread(NamedTuple):
    """What standard normal noise is multiplied by, and the sum that takes it for something else."""

    graph: Graph
    kind: str  # "variance", "logarithm": what it is by the loss; "floored": a deviation that is 1 at least
    cause: Op  # the exponential, the product with the logarithm itself, or what gives nothing below 0
    product: Op
    total: Op
    place: int  # of the product's inputs, which is no noise


def _spread(trace: Trace, graph: Graph, product: Op) -> _Spread | None:
    added = int(product.name == "addcmul")  # what the product is added to comes first
    factors = range(added, len(product.inputs))
    noise = [place for place in factors if is_noise(graph, product.inputs[place])]
    if len(factors) != 2 or len(noise) != 1:
        return None
    (place,) = set(factors) - set(noise)
    factor = product.inputs[place]
    if (total := divergence_of(trace, graph, factor)) is not None:
        return _Spread(graph, "logarithm", product, product, total, place)
    exponential = graph.maker(factor)
    if exponential is None or exponential.name != "exp":
        return None
    if (total := divergence_of(trace, graph, exponential.inputs[0])) is not None:
        return _Spread(graph, "variance", exponential, product, total, place)
    half = graph.maker(exponential.inputs[0])
    if half is None or half.name not in SCALES or len(half.inputs) != 1:
        return None
    floor = graph.maker_behind(half.inputs[0], PASSING)
    total = divergence_of(trace, graph, half.inputs[0])
    if total is None or floor is None or floor.name not in NEVER_BELOW_0:
        return None
    return _Spread(graph, "floored", floor, product, total, place)


def _finding(trace: Trace, found: _Spread) -> Finding:
    cause, effect = found.cause.site.user, found.total.site.user
    variance = found.kind == "variance"
    what, power = (
        ("the variance", "that exponential") if variance else ("the logarithm of the variance", "it")
    )
    subject = code(trace, cause, "`exp`") if variance else _factor(trace, found) or "a number"
    text, edits = _rooted(trace, found) if variance else _raised(trace, found)
    return Finding(
        message=f"noise is multiplied by {subject}, which is {what} by the loss: the sample has another spread than the"
        " loss says",
        cause=cause,
        cause_label=f"{what}, where the standard deviation is wanted",
        effect=effect,
        effect_label="takes the same number for the logarithm of the variance",
        seen=(
            f"{code(trace, effect, 'the sum')} has the number itself as a term and takes its exponential away: so is"
            f" the divergence of a log variance; `{found.product.name}` multiplies standard normal noise by {power}",
        ),
        why="a sample of a Gaussian is its mean and noise times its standard deviation, which is `exp(t / 2)` where `t`"
        " is the logarithm of the variance; so the decoder learns from samples of one distribution, and the loss weighs"
        " another one.",
        fix=text,
        edits=edits,
        subjects=frozenset({("spread", *cause.location())}),
    )


def _floored(trace: Trace, found: _Spread) -> Finding:
    """A logarithm that cannot be negative."""
    cause, effect = found.cause.site.user, found.total.site.user
    here = Source(trace, cause.path)
    node = here.file.at(cause)
    inner = written_input(trace, found.cause, 0) if called_name(node) == found.cause.name else None
    instead = f": `{here.file.text(inner)}`" if inner is not None else ""
    return Finding(
        message=f"{code(trace, cause, f'`{found.cause.name}`')} gives the logarithm of a variance, and nothing below 0:"
        " the standard deviation of every sample is 1 or more",
        cause=cause,
        cause_label="gives nothing below 0",
        effect=found.product.site.user,
        effect_label="multiplies noise by the root of its exponential",
        related=((effect, "takes it for the logarithm of the variance"),),
        seen=(
            f"{code(trace, effect, 'the sum')} has the number itself as a term and takes its exponential away: so is"
            " the divergence of a log variance from the standard normal distribution",
        ),
        why="the sample can never be narrower than the prior, whose deviation is 1: what it is to carry drowns in noise"
        " of the same size, however long it trains.",
        fix=f"take the logarithm as the layer before gives it, without `{found.cause.name}`, in"
        f" {located(trace, cause)}{instead}",
        edits=here.replace(node, here.file.text(inner))
        if inner is not None and isinstance(node, ast.expr)
        else (),
        subjects=frozenset({("spread", *cause.location())}),
    )


def _factor(trace: Trace, found: _Spread) -> str:
    node = written_input(trace, found.product, found.place)
    return f"`{trace.source_file(found.product.site.user.path).text(node)}`" if node is not None else ""


def _raised(trace: Trace, found: _Spread) -> tuple[str, Edits]:
    """The deviation in place of the logarithm of the variance, and the edit."""
    site = found.product.site.user
    here = Source(trace, site.path)
    node = written_input(trace, found.product, found.place)
    if node is None or "torch" not in here.file.imported:
        return f"multiply the noise by the deviation, `torch.exp(0.5 * …)`, in {located(trace, site)}", ()
    new = f"torch.exp(0.5 * {here.file.operand(node)})"
    return f"take the deviation: `{new}` in {located(trace, site)}", here.replace(node, new)


def _rooted(trace: Trace, found: _Spread) -> tuple[str, Edits]:
    """How the noise gets the root of the variance, and the edit."""
    op, product = found.cause, found.product
    site = op.site.user
    here = Source(trace, site.path)
    node = here.file.at(site)
    alone = found.graph.consumers.get(op.outputs[0], []) == [product]
    number = written_input(trace, op, 0) if alone else None
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and number is not None:
        half = f"0.5 * {here.file.operand(number)}"
        new = half if number is not node.func.value else f"({half})"
        return (
            f"halve the logarithm: `{half}` in place of `{here.file.text(number)}` in {located(trace, site)}",
            here.replace(number, new),
        )
    return f"multiply the noise by the root, `torch.exp(0.5 * …)`, in {located(trace, product.site.user)}", ()
