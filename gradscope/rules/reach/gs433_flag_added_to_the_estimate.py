"""The flag that ends an episode is added to the estimate of what follows, where it is to be a factor of it.

Why: `reward + (gamma * mask + next_value)` adds `gamma` wherever the episode goes on, and the estimate everywhere, also
behind the end and without a discount. What is learned has neither the discount nor the ends in it: the estimates grow
with each update, far beyond what the rewards allow.

Fix: multiply: `reward + gamma * mask * next_value`.

Measured: what is added is 0 or one and the same number up to 1 for each transition, in all looked-at calls; the sum
with an estimate of a network is added to data and compared with a prediction.
Silent on: flags that are factors, sums that no loss has for its target.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.analysis.bootstraps import sums
from gradscope.analysis.ops import ADDITIONS, ALIASES, PASSING
from gradscope.analysis.reach import paths
from gradscope.analysis.words import code, located, plural
from gradscope.events import AddedFlags
from gradscope.fixes.source import Binds, Edits, Source
from gradscope.model import Finding, Op, Site
from gradscope.rules import rule
from gradscope.store import Trace


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    value = nn.Linear(4, 1)
    opt = torch.optim.Adam(value.parameters(), lr=0.01)
    for _ in range(6):
        states, following, rewards = torch.randn(32, 4), torch.randn(32, 4), torch.rand(32, 1)
        goes_on = (torch.rand(32, 1) > 0.2).float()
        with torch.no_grad():
            target = rewards + (0.99 * goes_on + value(following))  # cause: GS433
        loss = nn.functional.mse_loss(value(states), target)
        opt.zero_grad()
        loss.backward()
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    value = nn.Linear(4, 1)
    opt = torch.optim.Adam(value.parameters(), lr=0.01)
    for _ in range(6):
        states, following, rewards = torch.randn(32, 4), torch.randn(32, 4), torch.rand(32, 1)
        goes_on = (torch.rand(32, 1) > 0.2).float()
        with torch.no_grad():
            target = rewards + 0.99 * goes_on * value(following)
        loss = nn.functional.mse_loss(value(states), target)
        opt.zero_grad()
        loss.backward()
        opt.step()


@rule("GS433", name="flag-added-to-the-estimate", severity="warning")
def flag_added_to_the_estimate(trace: Trace) -> Iterator[Finding]:
    flags = {event.site.user.span(): event for event in trace.of(AddedFlags)}
    if not flags:
        return
    known = paths(trace)
    told: set[tuple[str, int]] = set()
    for target in sums(known, with_graph=True):
        added = known.maker_behind(target.estimate, PASSING | ALIASES)
        event = flags.get(added.site.user.span()) if added is not None else None
        if added is None or event is None or added.name not in ADDITIONS or len(added.inputs) != 2:
            continue
        place = added.site.user
        estimate = (added.graph, added.inputs[1 - event.place])
        if place.location() not in told and known.fed_by(estimate):
            told.add(place.location())
            yield _finding(trace, event, added, target.made)


def _finding(trace: Trace, event: AddedFlags, added: Op, made: Op) -> Finding:
    place = added.site.user
    text, edits = _multiplied(trace, place)
    compared = made.site.user
    return Finding(
        message=f"{code(trace, place, 'this sum')} adds the flag that ends an episode to the estimate of what follows,"
        " and does not multiply it",
        cause=place,
        cause_label=f"0 or {event.number:g} on one side, on the other what a network estimates",
        related=((compared, "adds it to what is known: the target of the loss"),)
        if compared.location() != place.location()
        else (),
        seen=(
            f"in {plural(event.calls, 'call')} looked at one side was 0 for {event.zeros:,} of {event.elements:,}"
            f" transitions and {event.number:g} for all others; it was added to the estimate of each of them",
        ),
        fix=f"multiply them, in {located(trace, place)}" + (f": `{text}`" if text else ""),
        edits=edits,
        subjects=frozenset({("target", *place.location())}),
    )


def _multiplied(trace: Trace, site: Site) -> tuple[str, Edits]:
    """`gamma * mask * value` for `gamma * mask + value`."""
    here = Source(trace, site.path)
    node = here.file.at(site)
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Add):
        return "", ()
    text = f"{here.part(node.left, Binds.PRODUCT)} * {here.part(node.right, Binds.PRODUCT)}"
    return text, here.replace(node, text)
