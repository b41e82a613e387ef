"""The sample of a Gaussian is made with numbers from 0 to 1, where standard normal noise is meant.

Why: `mu + std * eps` is a sample of the Gaussian with that mean and that deviation if `eps` comes from the standard
normal distribution, `torch.randn`. `torch.rand` gives numbers from 0 to 1: every sample lies above the mean, by half a
deviation on average, and none further than one. The divergence in the loss is that of the Gaussian, and what the
decoder is given comes from another distribution; what it is asked for later, of normal noise, it has never seen.

Fix: `torch.randn_like(std)`.

Measured: numbers of `rand` or `rand_like` are multiplied by the exponential of a number that the loss takes for the
logarithm of a variance, or of its half, or by what it takes for a deviation; and what comes out is added to a value
with a gradient.
"""

from __future__ import annotations

from collections.abc import Iterator

from gradscope.analysis.gaussians import SAME, divergence_of, divergence_of_deviation
from gradscope.analysis.ops import ADDITIONS, MULTIPLICATIONS, SCALES
from gradscope.analysis.reach import paths
from gradscope.analysis.words import code, located
from gradscope.fixes.calls import renamed
from gradscope.model import Finding, Graph, Op
from gradscope.rules import rule
from gradscope.store import Trace

NORMAL = {"rand": "randn", "rand_like": "randn_like"}  # in place of each


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    encoder, decoder = nn.Linear(6, 4), nn.Linear(2, 6)
    opt = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=0.01)
    for _ in range(3):
        x = torch.randn(32, 6)
        mu, logvar = encoder(x).chunk(2, dim=1)
        z = mu + torch.rand_like(mu) * torch.exp(0.5 * logvar)  # cause: GS442
        divergence = -0.5 * (1 + logvar - mu.pow(2) - logvar.exp()).sum(1).mean()  # effect: GS442
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


@rule("GS442", name="noise-of-one-sign", severity="warning")
def noise_of_one_sign(trace: Trace) -> Iterator[Finding]:
    if trace.op_names.isdisjoint(NORMAL) or trace.op_names.isdisjoint({"exp", "log"}):
        return
    known, told = paths(trace), set[tuple[str, int]]()
    for _, product in known.used_calls(MULTIPLICATIONS | {"addcmul"}):
        graph = known.graph(product.graph)
        factors = product.inputs[product.name == "addcmul" :]  # what the product is added to comes first
        draws = [maker for index in factors if (maker := _draw(graph, index)) is not None]
        if len(draws) != 1 or len(factors) != 2 or not _moves(graph, product):
            continue
        totals = (_divergence(trace, graph, index) for index in factors)
        total = next((op for op in totals if op is not None), None)
        place = draws[0].site.user
        if total is not None and place.location() not in told:
            told.add(place.location())
            yield _finding(trace, draws[0], product, total)


def _draw(graph: Graph, value: int) -> Op | None:
    """What drew these numbers from 0 to 1."""
    maker = graph.maker_behind(value, SAME)
    return maker if maker is not None and maker.name in NORMAL else None


def _moves(graph: Graph, product: Op) -> bool:
    """Whether it is added to a value with a gradient: the mean."""
    if product.name == "addcmul":
        return graph.values[product.inputs[0]].requires_grad
    return any(
        reader.name in ADDITIONS
        and any(i not in product.outputs and graph.values[i].requires_grad for i in reader.inputs)
        for reader in graph.consumers.get(product.outputs[0], ())
    )


def _divergence(trace: Trace, graph: Graph, factor: int) -> Op | None:
    """The sum that takes the factor for a deviation, or what it is the exponential of, or the root of it, for the
    logarithm of a variance."""
    if (total := divergence_of_deviation(trace, graph, factor)) is not None:
        return total
    exponential = graph.maker_behind(factor, SAME | {"sqrt", "sqrt_"})
    if exponential is None or exponential.name != "exp":
        return None
    inner = exponential.inputs[0]
    half = graph.maker(inner)
    if half is not None and half.name in SCALES and len(half.inputs) == 1:
        inner = half.inputs[0]
    return divergence_of(trace, graph, inner)


def _finding(trace: Trace, draw: Op, product: Op, total: Op) -> Finding:
    site, normal = draw.site.user, NORMAL[draw.name]
    return Finding(
        message=f"{code(trace, site, f'`{draw.name}`')} draws numbers from 0 to 1 for the noise of a Gaussian: every"
        " sample lies above its mean",
        cause=site,
        cause_label="from 0 to 1, half on average",
        effect=total.site.user,
        effect_label="the divergence of a Gaussian, which is drawn from with normal noise",
        related=((product.site.user, "multiplies the deviation by it"),)
        if product.site.user.location() != site.location()
        else (),
        seen=(
            f"{code(trace, total.site.user, 'the sum')} has a variance as a term, and its logarithm with the opposite"
            f" sign: so is the divergence of a Gaussian; `{draw.name}` is multiplied by its deviation",
        ),
        fix=f"draw standard normal noise: `{normal}` in place of `{draw.name}` in {located(trace, site)}",
        edits=renamed(trace, site, draw.name, normal),
        subjects=frozenset({("spread", *site.location())}),
    )
