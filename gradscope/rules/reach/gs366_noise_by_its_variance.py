"""Noise, or the data that it is added to, is weighed by a variance: its root was meant.

Why: a variance is multiplied by the square of a factor. For data and noise of variance 1 to give a mixture of variance
1 the squares of both factors add up to 1: `sqrt(1 - beta) * x + sqrt(beta) * noise`. With `beta` itself there is far
less noise than the schedule says: what the network is trained on never comes near the noise that sampling begins with.
The same goes for data and noise that are weighed by one and the same factor.

Fix: the root of that factor.

Measured: both factors, in each call that was looked at: the square of one and the other itself add up to 1, to the
fifth decimal, and their squares do not; or both factors were the same, with other numbers from call to call, where
another mixture of the run keeps the variance. Silent on: factors that add up to 1 themselves, as those of flow matching
do.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.analysis.words import code, located, numbers, plural
from gradscope.events import NoiseWeighed
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding, Site
from gradscope.rules import rule
from gradscope.source import called_name
from gradscope.store import Trace


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    betas = torch.linspace(0.01, 0.3, 10)
    model = nn.Linear(3, 2)
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(4):
        x, t = torch.randn(16, 2), torch.randint(0, 10, (16,))
        noise, beta = torch.randn_like(x), betas[t, None]
        noised = torch.sqrt(1 - beta) * x + beta * noise  # cause: GS366
        loss = nn.functional.mse_loss(model(torch.cat([noised, beta], 1)), noise)
        opt.zero_grad()
        loss.backward()
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    betas = torch.linspace(0.01, 0.3, 10)
    model = nn.Linear(3, 2)
    opt = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(4):
        x, t = torch.randn(16, 2), torch.randint(0, 10, (16,))
        noise, beta = torch.randn_like(x), betas[t, None]
        noised = torch.sqrt(1 - beta) * x + torch.sqrt(beta) * noise
        loss = nn.functional.mse_loss(model(torch.cat([noised, beta], 1)), noise)
        opt.zero_grad()
        loss.backward()
        opt.step()


@rule("GS366", name="noise-by-its-variance", severity="warning", needs=NoiseWeighed)
def noise_by_its_variance(trace: Trace) -> Iterator[Finding]:
    told: set[tuple[str, int]] = set()
    for event in trace.of(NoiseWeighed):
        if event.site.user.location() not in told and len(event.factors) == 2:
            told.add(event.site.user.location())
            yield _alike(trace, event) if event.root == "alike" else _finding(trace, event)


def _alike(trace: Trace, event: NoiseWeighed) -> Finding:
    """One table of factors, or two with the same numbers, for both."""
    site, (a, b) = event.site.user, event.factors
    file = trace.source_file(site.path)
    of_data, of_noise, right = (int(place) for place in (*event.places, 0, 0, 0)[:3])
    mixture = file.at(site)
    products = [_side(mixture, 1 - right), _side(mixture, right)]
    factors = [_side(product, of) for product, of in zip(products, (of_data, of_noise), strict=True)]
    names = [f"`{file.text(factor)}`" for factor in factors if factor is not None]
    both = " and ".join(names) if len(set(names)) == 2 else "both factors"
    noise = names[1] if len(names) == 2 else "the factor of the noise"
    return Finding(
        message=f"{code(trace, site, 'the mixture')} weighs data and noise by the same numbers",
        cause=site,
        cause_label=f"{numbers(a)} times the data and {numbers(b)} times the noise, in one of its calls",
        seen=(
            f"in {plural(event.calls, 'call')} looked at {both} were equal, with other numbers from call to call; the"
            f" sum of their squares, which is the variance of the mixture, was {numbers(a * a + b * b)} in one of"
            " them, and it is 1 in another mixture of this run",
        ),
        fix=f"make {noise} in {located(trace, site)} the root of 1 less the square of the data's factor:"
        " `(1 - alpha_bar) ** 0.5` beside `alpha_bar ** 0.5`",
        count=event.calls,
        subjects=frozenset({("mixture", *site.location())}),
    )


def _finding(trace: Trace, event: NoiseWeighed) -> Finding:
    site = event.site.user
    a, b = event.factors
    noise = event.root == "noise"
    text, edits = _rooted(trace, event, site)
    what, sums = (
        ("noise", f"{numbers(a)}² + {numbers(b)}") if noise else ("data", f"{numbers(a)} + {numbers(b)}²")
    )
    return Finding(
        message=f"{code(trace, site, 'the mixture')} weighs the {what} by a variance, not by its root",
        cause=site,
        cause_label=f"{numbers(a)} times the data and {numbers(b)} times the noise, in one of its calls",
        seen=(
            f"in {plural(event.calls, 'call')} looked at the factors were such that {sums} is 1, and the sum of their"
            f" squares, which is the variance of the mixture, was {numbers(a * a + b * b)}",
        ),
        fix=f"take the root: {text}",
        edits=edits,
        count=event.calls,
        subjects=frozenset({("mixture", *site.location())}),
    )


def _rooted(trace: Trace, event: NoiseWeighed, site: Site) -> tuple[str, Edits]:
    """The root of the factor, and the edit."""
    here = Source(trace, site.path)
    of_data, of_noise, right = (int(place) for place in (*event.places, 0, 0, 0)[:3])
    noise = event.root == "noise"
    product = _side(here.file.at(site), right if noise else 1 - right)
    factor = _side(product, of_noise if noise else of_data)
    if factor is None:
        return f"`torch.sqrt(…)` of the factor of the {event.root} in {located(trace, site)}", ()
    new = f"{here.part(factor)} ** 0.5"
    return f"`{new}` in place of `{here.file.text(factor)}` in {located(trace, site)}", here.replace(
        factor, new
    )


def _side(node: ast.AST | None, place: int) -> ast.expr | None:
    """One side of a sum or product; of `torch.addcmul(sum, a, b)` the product has `a` and `b` for its own."""
    if called_name(node).startswith("addcmul") and isinstance(node, ast.Call):
        of = node.func.value if isinstance(node.func, ast.Attribute) else node.func
        given = node.args if len(node.args) == 3 else [of, *node.args]
        if len(given) != 3:
            return None
        return ast.BinOp(given[1], ast.Mult(), given[2]) if place else given[0]
    return (node.left, node.right)[place] if isinstance(node, ast.BinOp) else None
