"""A step also uses the gradients of a loss that is another optimizer's: its pass went through these parameters, too.

Why: the loss of an actor goes through the critic, that of a generator through the discriminator, and `backward()`
puts gradients into the parameters of both. Where these are not cleared before the critic's step, it follows the
sum: it learns to be what the actor wants it to be.

The same where the discriminator's loss is computed of what the generator has made, with its graph: its pass fills the
generator's gradients with the opposite of what the generator is to learn.

Fix: give the discriminator `fake.detach()` for its own loss; make each step right behind its own pass and call
`zero_grad()` of its optimizer before that; or, also where gradients of several passes are added up, freeze the network
that is only gone through (`requires_grad_(False)`).

Measured for two passes that fill the same parameters: the other optimizer's step used the first pass and not the
second, and the two losses pull what its network says of the results to different values, or one rises with that and
the other falls.

Where the other optimizer's step uses both passes as well, it is told where that network was asked twice about the same
results.

Silent on: networks whose loss is kept from no other one (an encoder and a decoder that are trained by one loss, and
a second one of the decoder alone), several losses that do not contradict each other, trunks that several heads share,
gradients that the program puts together itself, sums that are cleared before the step.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from gradscope.analysis.calls import Call, calls
from gradscope.analysis.gradients import Fill, Turn, gradients
from gradscope.analysis.reach import Paths, paths
from gradscope.analysis.rivals import opposed
from gradscope.analysis.since import since_stretch
from gradscope.analysis.words import (
    code,
    located,
    method,
    optimizer_name,
    parameter_names,
    parameter_subjects,
    plural,
    root_of,
    where,
)
from gradscope.events import Backward, ZeroGrad
from gradscope.fixes.source import Source, is_name, receiver
from gradscope.fixes.statements import line_after, line_before
from gradscope.model import Edit, Finding, Site
from gradscope.rules import rule
from gradscope.store import Trace


def bad() -> None:  # fix: by hand
    import torch
    from torch import nn

    torch.manual_seed(0)
    actor, critic = nn.Linear(3, 2), nn.Linear(5, 1)
    actor_opt = torch.optim.Adam(actor.parameters(), lr=0.01)
    critic_opt = torch.optim.Adam(critic.parameters(), lr=0.01)
    for _ in range(4):
        state = torch.randn(8, 3)
        action = actor(state)
        value = critic(torch.cat([state, action.detach()], 1))
        critic_opt.zero_grad()
        (value - torch.rand(8, 1)).pow(2).mean().backward()  # effect: GS232
        actor_opt.zero_grad()
        (-critic(torch.cat([state, action], 1)).mean()).backward()  # cause: GS232
        critic_opt.step()
        actor_opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    actor, critic = nn.Linear(3, 2), nn.Linear(5, 1)
    actor_opt = torch.optim.Adam(actor.parameters(), lr=0.01)
    critic_opt = torch.optim.Adam(critic.parameters(), lr=0.01)
    for _ in range(4):
        state = torch.randn(8, 3)
        action = actor(state)
        value = critic(torch.cat([state, action.detach()], 1))
        critic_opt.zero_grad()
        (value - torch.rand(8, 1)).pow(2).mean().backward()
        critic_opt.step()
        actor_opt.zero_grad()
        (-critic(torch.cat([state, action], 1)).mean()).backward()
        actor_opt.step()


@dataclass
class _Mixed:
    first: Turn
    owns: list[Fill]  # several where gradients are added up before a step
    others: list[Fill]
    to: int  # the optimizer that the other passes are for
    count: int = 0
    both: bool = False  # the other optimizer's step, too, uses both passes

    @property
    def own(self) -> Fill:
        return self.owns[0]

    @property
    def other(self) -> Fill:
        return self.others[0]


@rule("GS232", name="step-takes-another-loss-too", severity="warning", over=("GS705",))
def step_takes_another_loss_too(trace: Trace) -> Iterator[Finding]:
    turns = gradients(trace).turns
    if len({turn.step.optimizer for turn in turns}) < 2:
        return
    known, found = paths(trace), dict[tuple[tuple[str, int], ...], _Mixed]()
    by_hand = {id for e in trace.of(ZeroGrad) if e.by == "hand" for id in e.parameters}
    looked: dict[tuple[str, int], Backward] = {}  # the first of each line's passes that was looked at
    for fill in gradients(trace).fills:
        if fill.event.graph >= 0:
            looked.setdefault(fill.event.site.user.location(), fill.event)
    for turn in turns:
        pair = _pair(trace, turn)
        if pair is not None and _may_be_cleared(turn, *pair[:2], by_hand):
            continue
        if pair is None or not _alone(turns, *pair[1:]):
            continue
        owns, others, to = pair
        lines = owns[0].line, others[0].line
        # Their stacks differ where sampling slept; several networks that are stepped in one loop are one mistake.
        key = (turn.step.site.user.location(), *lines)
        if key in found or _kept_apart(known, looked.get(lines[0]), trace.optimizers[to].parameters):
            mixed = found.setdefault(key, _Mixed(turn, owns, others, to))
            mixed.count += turn.times if turn.step.optimizer == mixed.first.step.optimizer else 0
    for mixed in found.values():
        seldom = min(
            sum(turn.times for turn in turns if turn.step.optimizer == number)
            for number in (mixed.first.step.optimizer, mixed.to)
        )
        if mixed.count > 1 and mixed.count * 2 >= seldom:
            yield _finding(trace, mixed)
    for rivals in _rivals(trace, turns, by_hand, looked):
        yield _of_rivals(trace, rivals)


def _pair(trace: Trace, turn: Turn) -> tuple[list[Fill], list[Fill], int] | None:
    """The two kinds of passes that a step used: its own, which fill what it holds (of an ensemble that one loss trains
    also the others), and those that fill all of that and what another optimizer holds; and that optimizer."""
    kinds: dict[tuple[tuple[str, int], frozenset[int]], list[Fill]] = {}
    for fill in turn.fills:
        kinds.setdefault((fill.line, fill.parameters), []).append(fill)
    if len(kinds) != 2 or turn.step.placed or turn.step.in_state("stale"):
        return None
    held = set(trace.optimizers[turn.step.optimizer].parameters)
    owns, others = sorted(kinds.values(), key=lambda fills: len(fills[0].parameters))
    own, other = owns[0].parameters, others[0].parameters
    mine, rest = own & held, other - own - held
    if not mine or not rest or not own <= other or not all(mine <= turn.fills[fill] for fill in others):
        return None
    to = [
        n
        for n, o in trace.optimizers.items()
        if o.steps and rest <= set(o.parameters) and not (held | own) & set(o.parameters)
    ]
    return (owns, others, to[0]) if len(to) == 1 else None


def _may_be_cleared(turn: Turn, owns: list[Fill], others: list[Fill], by_hand: set[int]) -> bool:
    """Whether the program clears some of these by `p.grad = None`, which is not seen where the passes were not looked
    at."""
    unseen = any(fill.event.graph < 0 for fill in (*owns, *others))
    return unseen and not turn.fills[owns[0]].isdisjoint(by_hand)


def _alone(turns: list[Turn], others: list[Fill], to: int) -> bool:
    """Whether the other optimizer's step uses the other passes, and nothing else."""
    return any(turn.step.optimizer == to and list(turn.fills) == others for turn in turns)


def _kept_apart(known: Paths, event: Backward | None, parameters: list[int]) -> bool:
    """Whether the own loss, in a pass of its line that was looked at, was computed from what the other network gave,
    with its gradient cut off."""
    if event is None:
        return False
    flow = known.flow((event.graph, root) for root in event.roots)
    return bool(known.parameters_in(flow.order) & set(parameters))


# -- losses that contradict each other ---------------------------------------------------------


def _rivals(
    trace: Trace, turns: list[Turn], by_hand: set[int], looked: dict[tuple[str, int], Backward]
) -> list[_Mixed]:
    """Steps that used two passes with the same parameters of theirs, of which the first is another optimizer's, where
    the two losses contradict each other."""
    found: dict[tuple[tuple[str, int], ...], _Mixed | None] = {}
    begun: set[tuple[int, tuple[str, int]]] = set()  # optimizers with the lines of their steps
    for turn in turns:
        pair, step = _pair_of_one(trace, turn), turn.step.site.user.location()
        first = (turn.step.optimizer, step) not in begun
        begun.add((turn.step.optimizer, step))
        if pair is None or _may_be_cleared(turn, [pair[0]], [pair[1]], by_hand):
            continue
        own, other, to = pair
        key = (step, own.line, other.line)
        if key not in found:
            events = looked.get(own.line), looked.get(other.line)
            both = _both(turns, own, other, to)
            against = first and (both or _apart(turns, own, other, to)) and _opposed(trace, *events, turn, to)
            told = against and (not both or _judged_twice(trace, *events, turn, to))
            found[key] = _Mixed(turn, [own], [other], to, both=both) if told else None
        mixed = found[key]
        if mixed is not None:
            mixed.count += turn.times
    return [mixed for mixed in found.values() if mixed is not None and mixed.count > 1]


def _pair_of_one(trace: Trace, turn: Turn) -> tuple[Fill, Fill, int] | None:
    """The two passes that a step used, the later one first, where both fill all that it used; and the optimizer that
    holds what else the earlier one fills."""
    if len(turn.fills) != 2 or turn.step.placed or turn.step.in_state("stale"):
        return None
    other, own = sorted(turn.fills, key=lambda fill: fill.number)
    held = set(trace.optimizers[turn.step.optimizer].parameters)
    rest = other.parameters - held
    if own.line == other.line or not rest or turn.fills[own] != turn.fills[other]:
        return None
    to = [
        n
        for n, o in trace.optimizers.items()
        if o.steps and rest <= set(o.parameters) and not held & set(o.parameters)
    ]
    return (own, other, to[0]) if len(to) == 1 else None


def _apart(turns: list[Turn], own: Fill, other: Fill, to: int) -> bool:
    """Whether the other optimizer's step uses the other pass, and no pass of the own line."""
    mine = [turn.fills for turn in turns if turn.step.optimizer == to and other in turn.fills]
    return bool(mine) and all(fill.line != own.line for fills in mine for fill in fills)


def _both(turns: list[Turn], own: Fill, other: Fill, to: int) -> bool:
    """Whether the other optimizer's step uses both passes as well, and nothing else."""
    mine = [turn.fills for turn in turns if turn.step.optimizer == to and other in turn.fills]
    return bool(mine) and all(set(fills) == {own, other} for fills in mine)


def _judged_twice(trace: Trace, own: Backward | None, other: Backward | None, turn: Turn, to: int) -> bool:
    """Whether the other network was called twice with the very same results: a head that is to say 1 of some samples
    and 0 of others has two passes like these, too."""
    if own is None or other is None or own.graph != other.graph or own.roots == other.roots:
        return False
    known, network = calls(trace), set(trace.optimizers[to].parameters)
    made = {id for ids in turn.fills.values() for id in ids}
    said: dict[tuple[int, ...], set[tuple[int, ...]]] = {}  # what it was given → what it gave
    for call in known.all:
        if call.event.graph == own.graph and network == {p.id for p in known.parameters(call.event)}:
            given = [(own.graph, value) for value in call.event.inputs]
            if made & known.paths.reach(given).parameters:
                said.setdefault(tuple(call.event.inputs), set()).add(tuple(call.event.outputs))
    return any(len(results) > 1 for results in said.values())


def _opposed(trace: Trace, own: Backward | None, other: Backward | None, turn: Turn, to: int) -> bool:
    if own is None or other is None:
        return False
    made = frozenset(id for ids in turn.fills.values() for id in ids)
    return opposed(trace, own, other, made, frozenset(trace.optimizers[to].parameters))


def _of_rivals(trace: Trace, mixed: _Mixed) -> Finding:
    step, own, other = mixed.first.step, mixed.own.event.site.user, mixed.other.event.site.user
    site, ids = step.site.user, sorted(mixed.first.fills[mixed.own])
    theirs = sorted(mixed.other.parameters - set(ids))
    call = _judged(trace, mixed, set(ids))
    cause = call.entry if call is not None else other
    fix, edits = _detached(trace, call)
    if not edits:
        fix, edits = _cleared_before(trace, mixed)
    number = step.optimizer
    clears = {e.site.user for e in trace.of(ZeroGrad) if e.by == "optimizer" and e.optimizer == number}
    between = (
        f"{method(trace, number, 'zero_grad', at=own)} right before {located(trace, own, 'its own pass')}"
    )
    if mixed.both:
        theirs_too = optimizer_name(trace, mixed.to)
        fix = f"{fix or f'detach the results of {_names(trace, ids)} for {where(other)}'}; step {theirs_too} right"
        fix += f" behind {located(trace, other, 'that pass')}, so that it does not use the second; and call {between}"
        edits = ()
    elif fix.startswith("detach"):
        fix = f"{fix}; {between} would do as well, and computes more"
    return Finding(
        message=f"{code(trace, site, 'the step')} uses gradients of two losses that contradict each other: its own, and"
        f" the one that trains {_names(trace, theirs)}",
        cause=cause,
        cause_label="takes their result with its graph into the other loss",
        effect=site,
        effect_label="uses the sum of both",
        related=(
            *(((other, "fills their gradients too"),) if other.location() != cause.location() else ()),
            *(
                (place, "clears them before the other pass, not after it")
                for place in clears
                if len(clears) == 1
            ),
            (own, "the pass of its own loss"),
        ),
        seen=(
            f"in {plural(mixed.count, 'step')} the gradients of {_names(trace, ids)} were the sum of two passes, and no"
            f" call cleared them in between; {code(trace, other, 'the first')} also fills {_names(trace, theirs)},"
            + (" whose step used both as well" if mixed.both else " whose step used it, and not the second"),
            f"what {_names(trace, theirs)} make of the results is drawn one way by the first loss and the other way by"
            " the second",
        ),
        why="a pass puts gradients into all parameters that its loss was computed from with a graph. Those of the other"
        " loss stay until they are cleared: the step follows the sum, and what its own loss asks for is in part taken"
        " back",
        fix=fix or f"detach the results of {_names(trace, ids)} for {where(other)}, or call {between}",
        edits=edits,
        count=mixed.count,
        subjects=parameter_subjects(ids) | {("exploding", *fill.line) for fill in (mixed.own, mixed.other)},
        since=since_stretch(trace, mixed.first.stretch),
    )


def _judged(trace: Trace, mixed: _Mixed, ids: set[int]) -> Call | None:
    """The call of the other network, on the way of the other pass, that is given the results with their graph."""
    fills = (fill.event for fill in gradients(trace).fills if fill.line == mixed.other.line)
    event = next((event for event in fills if event.graph >= 0), None)
    known, network = calls(trace), set(trace.optimizers[mixed.to].parameters)
    for call in known.all:
        if event is None or call.event.graph != event.graph or call.event.position > event.position:
            continue
        if network & {p.id for p in known.parameters(call.event)}:
            given = [(event.graph, value) for value in call.event.inputs]
            if ids & known.paths.reach(given).parameters:
                return call
    return None


def _detached(trace: Trace, call: Call | None) -> tuple[str, tuple[Edit, ...]]:
    """The one thing that the call is given, detached."""
    if call is None:
        return "", ()
    here = Source(trace, call.entry.path)
    node = here.file.at(call.entry)
    if not isinstance(node, ast.Call) or len(node.args) != 1 or node.keywords or not is_name(node.args[0]):
        return "", ()
    text = f"{here.text_of(node.args[0])}.detach()"
    return f"detach what it is given: `{text}` in {located(trace, call.entry)}", here.replace(
        node.args[0], text
    )


# -- what is told ------------------------------------------------------------------------------


def _finding(trace: Trace, mixed: _Mixed) -> Finding:
    step, own, other = mixed.first.step, mixed.own.event.site.user, mixed.other.event.site.user
    site = step.site.user
    cause, effect = (other, own) if other.location() != own.location() else _callers(mixed)
    ids = sorted(mixed.own.parameters)
    names, taken = _names(trace, ids), code(trace, site, "the step")
    name = optimizer_name(trace, step.optimizer)
    theirs = sorted(mixed.other.parameters - mixed.own.parameters)
    clear = method(trace, step.optimizer, "zero_grad", at=own)
    summed = len(mixed.owns) + len(mixed.others)
    fix, edits = _frozen_meanwhile(trace, mixed) if summed > 2 else _cleared_before(trace, mixed)
    return Finding(
        message=f"{taken} uses gradients of two losses: its own, and the one that trains {_names(trace, theirs)}",
        cause=cause,
        cause_label="the other loss",
        effect=effect if effect.location() != cause.location() else None,
        effect_label="the pass of its own loss",
        related=((site, "uses the sum of both"), *_clears(trace, mixed)),
        seen=(
            f"in {plural(mixed.count, 'step')} the gradients of {names} were the sum of"
            f" {'two passes' if summed == 2 else plural(summed, 'pass')}: {_counted(mixed.owns)} filled only"
            f" these; the other{'s' if len(mixed.others) > 1 else ''} also {_names(trace, theirs)}, whose own step"
            f" used {'them' if len(mixed.others) > 1 else 'it'} alone. The first loss was computed from their detached"
            " results",
        ),
        fix=fix
        or f"step {name} right after its own pass, with {clear} before that pass; or"
        f" call `requires_grad_(False)` on {names} while the other loss ({where(other)}) is computed",
        edits=edits,
        count=mixed.count,
        subjects=parameter_subjects(ids) | {("exploding", *fill.line) for fill in (mixed.own, mixed.other)},
        since=since_stretch(trace, mixed.first.stretch),
    )


def _clears(trace: Trace, mixed: _Mixed) -> tuple[tuple[Site, str], ...]:
    """Where its optimizer clears its gradients although the other pass comes next, in place of just before its own."""
    number = mixed.first.step.optimizer
    found = [e.site.user for e in trace.of(ZeroGrad) if e.by == "optimizer" and e.optimizer == number]
    if len({site.location() for site in found}) != 1 or mixed.own.number < mixed.other.number:
        return ()
    if len(mixed.owns) > 1:
        return ()
    return ((found[0], "clears them before the other pass, not after it"),)


def _cleared_before(trace: Trace, mixed: _Mixed) -> tuple[str, tuple[Edit, ...]]:
    """Where its own pass is the later one and its step stands behind it: what the other one left is cleared before."""
    own, step = mixed.own.event.site.user, mixed.first.step.site.user
    name = receiver(trace, step, "step")
    if mixed.own.number < mixed.other.number or not name or own.line > step.line:
        return "", ()
    if (own.path, own.function) != (step.path, step.function):
        return "", ()
    text = f"{name}.zero_grad()"
    edits = line_before(trace, own, text)
    return (
        f"call `{text}` right before its own pass, {located(trace, own)}: what the other one left is in there",
        edits,
    )


def _frozen_meanwhile(trace: Trace, mixed: _Mixed) -> tuple[str, tuple[Edit, ...]]:
    """Where gradients are added up, clearing would drop what its own passes have left: its network is frozen from the
    call of it that the other loss is computed from to that loss's pass."""
    passed = next((fill.event for fill in mixed.others if fill.event.graph >= 0), mixed.other.event)
    back, known = passed.site.user, calls(trace)
    network = [c for c in known.all if mixed.own.parameters == {p.id for p in known.parameters(c.event)}]
    through = {
        c.entry for c in network if c.event.graph == passed.graph and c.event.position < passed.position
    }
    through = {entry for entry in through if entry.path == back.path and entry.line <= back.line}
    first = min(through, key=lambda entry: entry.line, default=None)
    name = receiver(trace, first)
    off, on = f"{name}.requires_grad_(False)", f"{name}.requires_grad_(True)"
    edits: tuple[Edit, ...] = ()
    if name and first is not None and len({c.event.called for c in network}) == 1:
        between = {c.entry for c in network if first.line <= c.entry.line <= back.line}
        file = trace.source_file(back.path)
        start, end = file.statement(first), file.statement(back)
        if between == through and start is not None and end in file.siblings(start):
            edits = (*line_before(trace, first, off), *line_after(trace, back, on))
    if not edits:
        return "", ()
    return (
        f"freeze `{name}` while the other loss is computed: `{off}` before {located(trace, first)}, and `{on}` after"
        f" {located(trace, back)}",
        edits,
    )


def _counted(fills: list[Fill]) -> str:
    return "one" if len(fills) == 1 else f"{len(fills)}"


def _names(trace: Trace, ids: list[int]) -> str:
    """All parameters of one network by its name or class, others by their own names."""
    number = root_of(trace, trace.parameter(ids[0])) if ids else None
    whole = {p.id for p in trace.parameters if number is not None and root_of(trace, p) == number}
    if number is None or whole != set(ids):
        return parameter_names(trace, ids)
    root = trace.modules[number]
    return f"the parameters of `{root.name or root.cls}`"


def _callers(mixed: _Mixed) -> tuple[Site, Site]:
    """Where the functions that make both passes in one line were called."""
    one, two = mixed.other.event.site, mixed.own.event.site
    pairs = zip(one.stack, two.stack, strict=False)
    return next(((a, b) for a, b in pairs if a.location() != b.location()), (one.user, two.user))
