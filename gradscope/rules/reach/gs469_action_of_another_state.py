"""A target critic is asked about the next state, with an action that was chosen for another one.

Why: the target `r + gamma * Q'(s2, mu'(s2))` asks what the policy would do in the next state. With an action that it
chose for the state before, or one agent's observation given to all agents, the critic learns the value of something
that nobody does, and the policy follows it.

Fix: give the target's policy the same next state that its critic gets; each of several policies its own part of it.

Measured: the numbers that a loss takes for its target are data added to what a network estimates without a graph, and
that network's input is joined with what another network gave. What this one was given is none of what the estimate is
about, but a tensor that the prediction is made for; and the loss of the policy itself gives one state to both. Or: as
many networks as the next state has entries along an axis are all given one and the same entry, and the estimate is
about all of it with all of their results.
Silent on: policies that see any part of the next state that the estimate is about, or something that no prediction
takes; programs whose own policy loss gives two different states as well.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from gradscope.analysis.bootstraps import Sum, sums
from gradscope.analysis.calls import Calls, calls
from gradscope.analysis.names import names_of
from gradscope.analysis.ops import JOINING, PARTS, PASSING, TAKING
from gradscope.analysis.reach import Key
from gradscope.analysis.words import code, is_known_at, listed, located, plural
from gradscope.events import ModuleCall
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding, Op, Site
from gradscope.rules import rule
from gradscope.source import names_in
from gradscope.store import Trace

FAR = 200  # values that are gone back over, from an estimate to the call that gave it


def bad() -> None:
    import copy

    import torch
    from torch import nn

    torch.manual_seed(0)
    actor, critic = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 2)), nn.Linear(5, 1)
    actor_target, critic_target = copy.deepcopy(actor), copy.deepcopy(critic)
    actor_opt = torch.optim.Adam(actor.parameters(), lr=0.01)
    critic_opt = torch.optim.Adam(critic.parameters(), lr=0.01)
    for _ in range(6):
        state, action, reward = torch.randn(16, 3), torch.randn(16, 2), torch.randn(16, 1)
        following = state + 0.1 * torch.randn(16, 3)
        with torch.no_grad():
            chosen = actor_target(state)  # cause: GS469
            wanted = reward + 0.9 * critic_target(torch.cat([following, chosen], 1))  # effect: GS469
        critic_opt.zero_grad()
        nn.functional.mse_loss(critic(torch.cat([state, action], 1)), wanted).backward()
        critic_opt.step()
        actor_opt.zero_grad()
        (-critic(torch.cat([state, actor(state)], 1)).mean()).backward()
        actor_opt.step()
        with torch.no_grad():
            for own, other in ((actor, actor_target), (critic, critic_target)):
                for p, q in zip(own.parameters(), other.parameters(), strict=True):
                    q.lerp_(p, 0.1)


def good() -> None:
    import copy

    import torch
    from torch import nn

    torch.manual_seed(0)
    actor, critic = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 2)), nn.Linear(5, 1)
    actor_target, critic_target = copy.deepcopy(actor), copy.deepcopy(critic)
    actor_opt = torch.optim.Adam(actor.parameters(), lr=0.01)
    critic_opt = torch.optim.Adam(critic.parameters(), lr=0.01)
    for _ in range(6):
        state, action, reward = torch.randn(16, 3), torch.randn(16, 2), torch.randn(16, 1)
        following = state + 0.1 * torch.randn(16, 3)
        with torch.no_grad():
            chosen = actor_target(following)
            wanted = reward + 0.9 * critic_target(torch.cat([following, chosen], 1))
        critic_opt.zero_grad()
        nn.functional.mse_loss(critic(torch.cat([state, action], 1)), wanted).backward()
        critic_opt.step()
        actor_opt.zero_grad()
        (-critic(torch.cat([state, actor(state)], 1)).mean()).backward()
        actor_opt.step()
        with torch.no_grad():
            for own, other in ((actor, actor_target), (critic, critic_target)):
                for p, q in zip(own.parameters(), other.parameters(), strict=True):
                    q.lerp_(p, 0.1)


class _Asked(NamedTuple):
    """A call of a network: the data that it gets, and the calls whose results it gets beside them."""

    call: ModuleCall
    data: frozenset[Key]
    chosen: tuple[ModuleCall, ...]


class _Networks:
    """Who was asked about what."""

    def __init__(self, known: Calls):
        self.known, self.paths = known, known.paths
        self.by_output = {key: call.event for call in known.all for key in known.outputs(call.event)}
        self._asked: dict[int, _Asked] = {}

    def behind(self, key: Key) -> list[_Asked]:
        """The nearest calls that a value was computed from, those behind them left out."""
        found, todo, seen = [], [key], {key}
        for at in todo:  # grows while it is walked
            event = self.by_output.get(self.paths.made(at))
            if event is not None:
                found.append(self.asked(event))
                continue
            new = [source for source in self.paths.sources(at)[0] if source not in seen]
            todo += new if len(seen) < FAR else []
            seen.update(new)
        return found

    def asked(self, event: ModuleCall) -> _Asked:
        known = self._asked.get(id(event))
        if known is None:
            known = self._asked[id(event)] = self._given(event)
        return known

    def _given(self, event: ModuleCall) -> _Asked:
        data: dict[Key, None] = {}
        chosen: dict[int, ModuleCall] = {}
        todo = [self.paths.made((event.graph, index)) for index in event.inputs]
        seen = set(todo)
        while todo and len(seen) < FAR:
            key = todo.pop()
            call, op = self.by_output.get(key), self.paths.maker(key)
            fed = bool(self.paths.fed_by(key)) and not (op is not None and self._drawn(op))
            new = [] if op is None else [self.paths.made((op.graph, i)) for i in (*op.inputs, *op.writes)]
            if call is not None and call is not event:
                chosen[id(call)] = call
                new = []
            elif fed:
                new = [one for one in new if self._counts(one) or (op is not None and op.name in JOINING)]
            elif op is None or op.name not in JOINING:
                data[self.plain(key)] = None
                new = []
            todo += [one for one in new if one not in seen]
            seen.update(new)
        return _Asked(event, frozenset(data), tuple(chosen.values()))

    def _counts(self, key: Key) -> bool:
        return self.paths.parameter_of(key) is None and bool(self.paths.fed_by(key))

    def _drawn(self, op: Op) -> bool:
        """Whether it takes rows of what is kept, as a batch is drawn from a buffer that a policy has filled."""
        rows = "t" in str(op.extra.get("at", "")) or op.name in ("index_select", "take_along_dim", "gather")
        return rows and op.name in TAKING and not self.paths.value((op.graph, op.outputs[0])).requires_grad

    def plain(self, key: Key) -> Key:
        """A tensor as it was before it got another form."""
        return self.paths.made(self.paths.source_behind(key, PASSING - JOINING - PARTS - TAKING))


@rule("GS469", name="action-of-another-state", severity="warning")
def action_of_another_state(trace: Trace) -> Iterator[Finding]:
    known = calls(trace)
    networks = _Networks(known)
    told: set[tuple[str, int]] = set()
    for found in sums(known.paths, of_data=False):
        for asked in networks.behind(found.estimate):
            if not asked.chosen or not asked.data:
                continue
            finding = _of_the_state_before(networks, found, asked) or _of_one_for_all(networks, found, asked)
            place = finding.cause if finding is not None else None
            if finding is not None and place is not None and place.location() not in told:
                told.add(place.location())
                yield finding


# -- an action for the state before ------------------------------------------------------------


def _of_the_state_before(networks: _Networks, found: Sum, asked: _Asked) -> Finding | None:
    paths = networks.paths
    predicted = frozenset[Key]().union(*(one.data for one in networks.behind(found.prediction)))
    following = asked.data - predicted
    for chosen in map(networks.asked, asked.chosen):
        seen = chosen.data - asked.data
        if not following or not seen or not seen <= predicted or chosen.data & following:
            continue
        pairs = [
            (before, after)
            for before in sorted(seen)
            for after in sorted(following)
            if paths.value(before).shape == paths.value(after).shape
        ]
        if (
            pairs
            and len({before for before, _ in pairs}) == len(seen)
            and _one_for_both(networks, chosen.call)
        ):
            return _finding(networks, found, asked, chosen.call, pairs)
    return None


def _one_for_both(networks: _Networks, target: ModuleCall) -> bool:
    """Whether a policy of this form is trained by what a network says of its results for the very state that it got;
    no other one, for a state that it did not get."""
    form = [p.shape for p in networks.known.parameters(target)]
    found = False
    for call in networks.known.all:
        if not call.trains:
            continue
        asked = networks.asked(call.event)
        for chosen in map(networks.asked, asked.chosen):
            if [p.shape for p in networks.known.parameters(chosen.call)] != form or not asked.data:
                continue
            if not chosen.data & asked.data:
                return False
            found = True
    return found


def _finding(
    networks: _Networks, found: Sum, asked: _Asked, chosen: ModuleCall, pairs: list[tuple[Key, Key]]
) -> Finding:
    trace, known = networks.paths.trace, networks.known
    made = found.made.site.user
    cause, judged = _place(chosen, made), _place(asked.call, made)
    before, after = pairs[0]
    given, wanted = _name(trace, before, "the state before"), _name(trace, after, "the next state")
    policy, critic = known.name(chosen), known.name(asked.call)
    edits = _exchanged(trace, cause, judged, *(name.strip("`") for name in (given, wanted)))
    return Finding(
        message=f"{critic} is asked about {wanted}, with an action that {policy} chose for {given}",
        cause=cause,
        cause_label=f"gets {given}, and not {wanted}",
        effect=judged if judged.location() != cause.location() else made,
        effect_label=f"takes it for the action in {wanted}",
        seen=(
            f"of the target's two networks {critic} gets {wanted}, and {policy} none of that: it gets {given}, which"
            " the prediction is made for",
            "the loss of the policy itself gives one state to both networks",
        ),
        fix=f"give {policy} {wanted} in place of {given}, in {located(trace, cause)}",
        edits=edits,
        count=networks.paths.graph(found.made.graph).count,
        subjects=frozenset({("call", cause.location())}),
    )


def _place(event: ModuleCall, made: Site) -> Site:
    """Where the function that makes the target asks a network; else where the program does."""
    return next((f for f in event.site.frames_in(made) if f.kind == "user"), event.site.user)


def _name(trace: Trace, key: Key, otherwise: str) -> str:
    name = names_of(trace).name(trace.graph(key[0]), key[1])
    return f"`{name}`" if name and name.isidentifier() else otherwise


def _exchanged(trace: Trace, cause: Site, judged: Site, given: str, wanted: str) -> Edits:
    """The next state's name for the other one's, where both stand in the calls themselves."""
    here = Source(trace, cause.path)
    call, other = here.file.at(cause), here.file.at(judged)
    if judged.path != cause.path or judged.function != cause.function or not isinstance(call, ast.Call):
        return ()
    places = [n for one in call.args for n in ast.walk(one) if isinstance(n, ast.Name) and n.id == given]
    written = other is not None and wanted in names_in(other)
    if len(places) == 1 and written and is_known_at(trace, wanted, cause):
        return here.replace(places[0], wanted)
    return ()


# -- one entry for all -------------------------------------------------------------------------


def _of_one_for_all(networks: _Networks, found: Sum, asked: _Asked) -> Finding | None:
    """Several networks, each of which should get its own entry of the next state, and gets the same one."""
    paths, trace = networks.paths, networks.paths.trace
    policies = [networks.asked(event) for event in asked.chosen]
    if len(policies) < 2 or len({one.call.called for one in policies}) < len(policies):
        return None
    shared = frozenset[Key].intersection(*(one.data for one in policies))
    if len(shared) != 1 or any(one.data != shared for one in policies):
        return None
    (entry,) = shared
    taken = paths.maker(entry)
    if taken is None or taken.name not in ("__getitem__", "select") or len(taken.inputs) != 1:
        return None
    whole = networks.plain((taken.graph, taken.inputs[0]))
    axis = _axis(paths.value(whole).shape, paths.value(entry).shape)
    if axis is None or paths.value(whole).shape[axis] != len(policies) or whole not in asked.data:
        return None
    made = found.made.site.user
    cause = _place(policies[0].call, made)
    name = _name(trace, whole, "the next state")
    part = _name(trace, entry, code(trace, taken.site.user, "one part"))
    names = listed(list(dict.fromkeys(networks.known.name(one.call) for one in policies)))
    return Finding(
        message=f"{plural(len(policies), 'network')} choose their actions for one and the same part of {name}: {part}",
        cause=cause,
        cause_label="gets the same part for each of them",
        effect=made,
        effect_label=f"takes them for the actions in all of {name}",
        related=((taken.site.user, "takes the part"),)
        if taken.site.user.location() != cause.location()
        else (),
        seen=(
            f"{name} has {len(policies)} entries along axis {axis}, and {len(policies)} calls ({names}) of as many"
            " networks were all given one of them; what they gave was judged together with all of it",
        ),
        fix=f"give each network its own part, in {located(trace, cause)}: `enumerate` the networks, and take"
        f" {_own_part(name, axis)} for that of number `j`",
        edits=_each_its_own(trace, cause, name.strip("`"), axis),
        severity="note",  # all may be meant to see that part
        subjects=frozenset({("call", cause.location())}),
    )


def _axis(whole: tuple[int, ...], entry: tuple[int, ...]) -> int | None:
    """The axis that an entry was taken along, behind that of the samples."""
    for axis in range(1, len(whole)):
        if whole[:axis] + whole[axis + 1 :] == entry:
            return axis
    return None


def _own_part(name: str, axis: int) -> str:
    plain = name.strip("`")
    return f"`{plain}[{':, ' * axis}j]`" if plain != name else f"its part `j` along axis {axis}"


def _each_its_own(trace: Trace, cause: Site, name: str, axis: int) -> Edits:
    """`for j, agent in enumerate(agents)` with the part of number `j`, where a loop goes through the networks."""
    here = Source(trace, cause.path)
    node = here.file.at(cause)
    call = node.elt if isinstance(node, ast.ListComp) else node
    if not isinstance(call, ast.Call) or len(call.args) != 1 or not is_known_at(trace, name, cause):
        return ()
    loop = node.generators[0] if isinstance(node, ast.ListComp) else here.file.loop_of(call)
    if not isinstance(loop, ast.For | ast.comprehension) or not isinstance(loop.target, ast.Name):
        return ()
    if loop.target.id not in names_in(call.func) or "j" in names_in(here.file.scope(cause)):
        return ()
    return (
        *here.replace(loop.target, f"j, {loop.target.id}"),
        *here.around(loop.iter, "enumerate(", ")"),
        *here.replace(call.args[0], f"{name}[{':, ' * axis}j]"),
    )
