"""A discounted sum over a rollout is carried from one episode into the one before, where the next value is masked.

Why: nothing follows the end of an episode. A rollout that holds several has the first steps of the next one behind each
end; an advantage (GAE) or a return that is carried on there teaches the last action of an episode, and all before it,
what came of another one's. The estimate of the next state is masked with `1 - done`, and the sum itself is not.

Fix: multiply what is carried by the same mask, `gae = delta + gamma * lam * (1 - done) * gae`.

Measured: the flags of a rollout are zeros and ones, and some in its middle say that an episode has ended. The program's
text says that the loop multiplies with the mask of a step what follows it, and what it carries with constants alone.
Silent on: sums that any mask, condition or assignment of the loop resets; rollouts of one episode; flags that could not
be read, as those on a GPU.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from gradscope.analysis.recursions import Recursion, recursions
from gradscope.analysis.text import ran_in, site_of
from gradscope.analysis.words import code, located
from gradscope.events import Ends
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding
from gradscope.rules import rule
from gradscope.source import FUNCTIONS, SourceFile, arguments, names_in
from gradscope.store import Trace


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    critic = nn.Linear(3, 1)
    opt = torch.optim.Adam(critic.parameters(), lr=0.01)
    for _ in range(4):
        states, rewards = torch.randn(12, 3), [1.0] * 12
        dones = [step % 5 == 4 for step in range(12)]
        values, following = critic(states).flatten().tolist(), 0.0
        gae = 0.0
        returns: list[float] = []
        for value, reward, done in reversed(list(zip(values, rewards, dones, strict=True))):
            delta = reward + 0.9 * following * (1 - done) - value  # effect: GS392
            gae = delta + 0.9 * 0.8 * gae  # cause: GS392
            following = value
            returns.insert(0, gae + value)
        loss = (critic(states).flatten() - torch.tensor(returns)).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    critic = nn.Linear(3, 1)
    opt = torch.optim.Adam(critic.parameters(), lr=0.01)
    for _ in range(4):
        states, rewards = torch.randn(12, 3), [1.0] * 12
        dones = [step % 5 == 4 for step in range(12)]
        values, following = critic(states).flatten().tolist(), 0.0
        gae = 0.0
        returns: list[float] = []
        for value, reward, done in reversed(list(zip(values, rewards, dones, strict=True))):
            delta = reward + 0.9 * following * (1 - done) - value
            gae = delta + 0.9 * 0.8 * gae * (1 - done)
            following = value
            returns.insert(0, gae + value)
        loss = (critic(states).flatten() - torch.tensor(returns)).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


class _Flags(NamedTuple):
    """What was measured of the flags of a rollout."""

    name: str
    places: int
    elements: int
    ends: int  # in its middle


@rule("GS392", name="carried-over-the-end", severity="warning", needs=Ends)
def carried_over_the_end(trace: Trace) -> Iterator[Finding]:
    events = trace.of(Ends)
    for path in sorted({event.site.user.path for event in events}):
        file = trace.source_file(path)
        here = [event for event in events if event.site.user.path == path]
        told: set[int] = set()
        for found in recursions(file):
            flags = _measured(file, here, found) if found.loop.lineno not in told else None
            if flags is not None and _has_run(trace, path, file, found):
                told.add(found.loop.lineno)
                yield _finding(trace, path, file, found, flags)


def _measured(file: SourceFile, events: list[Ends], found: Recursion) -> _Flags | None:
    """What the flag of a recursion held, where it is a variable of the function itself or was handed to it."""
    scope = file.scope_of(found.loop)
    asked = [(scope, found.flag)]
    if isinstance(scope, FUNCTIONS) and found.flag in (own := [a.arg for a in arguments(scope)]):
        for call in file.calls.get(scope.name, []):
            given = dict(zip([a for a in own if a != "self"], call.args, strict=False))
            given |= {k.arg: k.value for k in call.keywords if k.arg is not None}
            if found.flag in given:
                asked.append((file.scope_of(call), ast.unparse(given[found.flag])))
    for event in events:
        for where, name in asked:
            told = event.names.get(name) if file.scope(event.site.user) is where else None
            ends = told[2 if found.inverted else 3] if told is not None else 0
            if told is not None and ends:
                return _Flags(name, told[0], told[1], ends)
    return None


def _has_run(trace: Trace, path: str, file: SourceFile, found: Recursion) -> bool:
    """Whether the loop ran: by what was recorded in it, or since no condition stands before it."""
    if ran_in(trace, path, found.loop.lineno, found.loop.end_lineno):
        return True
    return not any(isinstance(above, ast.If | ast.Try) for above in file.above(found.loop))


def _finding(trace: Trace, path: str, file: SourceFile, found: Recursion, flags: _Flags) -> Finding:
    function = file.function_of(found.loop)
    name = function.name if function is not None else "<module>"
    cause, effect = site_of(path, name, found.product), site_of(path, name, found.mask)
    mask = ast.unparse(found.mask)
    factor = mask if isinstance(found.mask, ast.Name | ast.Subscript | ast.Call) else f"({mask})"
    each = "" if flags.places == flags.elements else f" of {flags.elements // flags.places} each"
    end = 1 if found.inverted else 0
    return Finding(
        message=f"`{found.total}` is carried over the ends of episodes: `{mask}` masks the step that follows, and not"
        " what is carried",
        cause=cause,
        cause_label="goes on into the episode before",
        effect=effect if effect.location() != cause.location() else None,
        effect_label="masks the next value alone",
        seen=(
            f"`{flags.name}` held 0 and 1 only, {flags.places} places{each}; {flags.ends} of them in the middle are"
            f" {end}, and at each of these the sum of the next episode is added to the one that ends",
        ),
        fix=f"multiply what is carried by the same mask: `{ast.unparse(found.product)} * {factor}` in"
        f" {located(trace, cause, code(trace, cause))}",
        edits=_masked(trace, path, found, factor),
        subjects=frozenset({("carried", *cause.location())}),
    )


def _masked(trace: Trace, path: str, found: Recursion, factor: str) -> Edits:
    """The product with the mask, where no statement of the turn gives the mask its value later."""
    later = [s for s in found.loop.body if s.lineno > found.product.lineno]
    late = {name for statement in later for name in names_in(statement, ast.Store)}
    if names_in(found.mask) & late or not isinstance(found.mask, ast.expr):
        return ()
    return Source(trace, path).append(found.product, f" * {factor}")
