"""The flag that ends an episode is added to the estimate of what follows, where it is to be a factor of it.

Why: `reward + (gamma * mask + next_value)` adds `gamma` wherever the episode goes on, and the estimate everywhere, also
behind the end and without a discount. What is learned has neither the discount nor the ends in it: the estimates grow
with each update, far beyond what the rewards allow.

Fix: multiply: `reward + gamma * mask * next_value`.

Measured: what is added is 0 or one and the same number up to 1 for each transition, in all looked-at calls; the sum
with an estimate of a network is added to data and compared with a prediction. So is a number below 1 that is added to
the data, and the estimate to both, with no factor.
Silent on: flags that are factors, sums that no loss has for its target, estimates that are discounted or masked.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.analysis.bootstraps import added, sums
from gradscope.analysis.ops import ADDITIONS, ALIASES, PASSING
from gradscope.analysis.reach import Key, Paths, paths
from gradscope.analysis.words import code, located, plural
from gradscope.events import AddedFlags
from gradscope.fixes.source import Binds, Edits, Source
from gradscope.model import Finding, Op, Site
from gradscope.rules import rule
from gradscope.store import Trace

PICKS = {"max", "amax", "min", "amin", "minimum", "gather"}  # one of several estimates
MOST = 1000  # values between an answer and what a network was given


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


@rule("GS433", name="flag-added-to-the-estimate", severity="warning", needs=AddedFlags)
def flag_added_to_the_estimate(trace: Trace) -> Iterator[Finding]:
    flags = {event.site.user.span(): event for event in trace.of(AddedFlags)}
    if not flags:
        return
    known = paths(trace)
    told: set[tuple[str, int]] = set()
    for target in sums(known, with_graph=True):
        flag = known.maker_behind(target.estimate, PASSING | ALIASES)
        event = flags.get(flag.site.user.span()) if flag is not None else None
        if flag is None or event is None or flag.name not in ADDITIONS or len(flag.inputs) != 2:
            continue
        place = flag.site.user
        estimate = (flag.graph, flag.inputs[1 - event.place])
        if place.location() not in told and known.fed_by(estimate):
            told.add(place.location())
            yield _finding(trace, event, flag, target.made)
    for made, sides, prediction in added(known, with_graph=True):
        for known_part, estimate in (sides, sides[::-1]):
            flag = known.maker_behind(known_part, PASSING | ALIASES)
            event = flags.get(flag.site.user.span()) if flag is not None else None
            if flag is None or event is None or event.number == 1 or flag.name not in ADDITIONS:
                continue
            place = made.site.user
            if place.location() not in told and _bare(known, made, estimate):
                if not _given(known, estimate).isdisjoint(_given(known, prediction)):
                    continue  # a teacher's answer to the same samples
                told.add(place.location())
                yield _finding(trace, event, flag, made, beside=True)


def _given(known: Paths, answer: Key) -> set[Key]:
    """What the network that made an answer, changed in form perhaps, was given."""
    maker = known.maker_behind(answer, PASSING | ALIASES | PICKS)
    todo = [(maker.graph, index) for index in maker.inputs] if maker is not None else []
    seen, found = set(todo), set[Key]()
    while todo and len(seen) < MOST:
        key = todo.pop()
        sources, op = known.sources(key)
        if op is not None and op.module is None and op.name not in PASSING:
            sources = []
        if not sources and known.parameter_of(key) is None:
            found.add(known.made(key))
        todo += [source for source in sources if source not in seen]
        seen.update(sources)
    return found


def _bare(known: Paths, made: Op, estimate: Key) -> bool:
    """Whether this is what a network gave, neither discounted nor cut where an episode ends, also later."""
    maker = known.maker_behind(estimate, PASSING | ALIASES | PICKS)
    readers = known.graph(made.graph).consumers.get(made.outputs[0], ())
    return maker is not None and maker.module is not None and all(op.name != "where" for op in readers)


def _finding(trace: Trace, event: AddedFlags, flag: Op, made: Op, *, beside: bool = False) -> Finding:
    """`beside`: the flag is added to what is known, and the estimate to the sum of both."""
    place = made.site.user if beside else flag.site.user
    text, edits = _multiplied(trace, place, event.place) if beside else _product(trace, place)
    compared = made.site.user
    return Finding(
        message=f"{code(trace, place, 'this sum')} adds the flag that ends an episode to the estimate of what follows,"
        " and does not multiply it",
        cause=place,
        cause_label=f"0 or {event.number:g} is added, and what a network estimates, whole"
        if beside
        else f"0 or {event.number:g} on one side, on the other what a network estimates",
        related=((compared, "adds it to what is known: the target of the loss"),)
        if compared.location() != place.location()
        else (),
        seen=(
            f"in {plural(event.calls, 'call')} looked at one side was 0 for {event.zeros:,} of {event.elements:,}"
            f" transitions and {event.number:g} for all others; it was added to the estimate of each of them"
            if not beside
            else f"in {plural(event.calls, 'call')} looked at what {code(trace, flag.site.user, 'one sum')} adds was 0"
            f" for {event.zeros:,} of {event.elements:,} transitions and {event.number:g} for all others; the estimate"
            " of each was added to that as the network gave it",
        ),
        fix=f"multiply them, in {located(trace, place)}" + (f": `{text}`" if text else ""),
        edits=edits,
        subjects=frozenset({("target", *place.location())}),
    )


def _product(trace: Trace, site: Site) -> tuple[str, Edits]:
    """`gamma * mask * value` for `gamma * mask + value`."""
    here = Source(trace, site.path)
    node = here.file.at(site)
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Add):
        return "", ()
    text = f"{here.part(node.left, Binds.PRODUCT)} * {here.part(node.right, Binds.PRODUCT)}"
    return text, here.replace(node, text)


def _multiplied(trace: Trace, site: Site, place: int) -> tuple[str, Edits]:
    """`reward + gamma * mask * value` for `reward + gamma * mask + value`."""
    here = Source(trace, site.path)
    node = here.file.at(site)
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Add):
        return "", ()
    inner, estimate = (node.left, node.right) if isinstance(node.left, ast.BinOp) else (node.right, node.left)
    if not isinstance(inner, ast.BinOp) or not isinstance(inner.op, ast.Add):
        return "", ()
    sides = [inner.left, inner.right]
    flag, reward = sides[place], sides[1 - place]
    text = (
        f"{here.file.text(reward)} + {here.part(flag, Binds.PRODUCT)} * {here.part(estimate, Binds.PRODUCT)}"
    )
    return text, here.replace(node, text)
