"""A copy of a network is left as it was, while the copy beside it follows its own network.

Why: the target of a critic is often made by two networks, a target actor and a target critic, or by two target critics.
Each has to follow the network that it is a copy of. One that no line updates gives actions, or values, of the very
first weights for ever: the others learn from it all the same.

Fix: update it where the other copy is updated.

Measured: a network whose numbers are at the end those of the first steps; one of the same form that an
optimizer steps; and a third one, which a line of the program mixes with a stepped network, and which works on what
the first gives, or has its twin's place beside it.
Silent on: frozen networks of which no copy is kept up beside them; references and teachers whose results meet those
of such a copy only in the loss; copies that are updated more seldom.
"""

from __future__ import annotations

from collections.abc import Iterator

from gradscope.analysis.loop import settled
from gradscope.analysis.networks import Network, alike, networks
from gradscope.analysis.ops import ADDITIONS, JOINING
from gradscope.analysis.reach import Key, Paths, paths
from gradscope.analysis.words import code, parameter_subjects, plural, where
from gradscope.events import Update
from gradscope.fixes.source import receiver
from gradscope.model import Finding, Site
from gradscope.rules import rule
from gradscope.store import Trace

MEETING = ADDITIONS | JOINING | {"min", "minimum", "max", "maximum"}  # what twins are put together by


def bad() -> None:
    import copy

    import torch
    from torch import nn

    torch.manual_seed(0)
    actor, critic = nn.Linear(3, 2), nn.Linear(5, 1)
    old_actor, old_critic = copy.deepcopy(actor), copy.deepcopy(critic)
    actor_opt = torch.optim.Adam(actor.parameters(), lr=0.01)
    critic_opt = torch.optim.Adam(critic.parameters(), lr=0.01)
    for _ in range(20):
        state, action = torch.randn(16, 3), torch.randn(16, 2)
        with torch.no_grad():
            later = torch.cat([state, old_actor(state)], 1)  # effect: GS225
            wanted = torch.randn(16, 1) + 0.9 * old_critic(later)
        critic_opt.zero_grad()
        (critic(torch.cat([state, action], 1)) - wanted).pow(2).mean().backward()
        critic_opt.step()
        actor_opt.zero_grad()
        (-critic(torch.cat([state, actor(state)], 1)).mean()).backward()
        actor_opt.step()
        with torch.no_grad():
            for old, new in zip(old_critic.parameters(), critic.parameters(), strict=True):
                old.lerp_(new, 0.05)  # cause: GS225


def good() -> None:
    import copy

    import torch
    from torch import nn

    torch.manual_seed(0)
    actor, critic = nn.Linear(3, 2), nn.Linear(5, 1)
    old_actor, old_critic = copy.deepcopy(actor), copy.deepcopy(critic)
    actor_opt = torch.optim.Adam(actor.parameters(), lr=0.01)
    critic_opt = torch.optim.Adam(critic.parameters(), lr=0.01)
    for _ in range(20):
        state, action = torch.randn(16, 3), torch.randn(16, 2)
        with torch.no_grad():
            later = torch.cat([state, old_actor(state)], 1)
            wanted = torch.randn(16, 1) + 0.9 * old_critic(later)
        critic_opt.zero_grad()
        (critic(torch.cat([state, action], 1)) - wanted).pow(2).mean().backward()
        critic_opt.step()
        actor_opt.zero_grad()
        (-critic(torch.cat([state, actor(state)], 1)).mean()).backward()
        actor_opt.step()
        with torch.no_grad():
            for pair in ((old_actor, actor), (old_critic, critic)):
                for old, new in zip(pair[0].parameters(), pair[1].parameters(), strict=True):
                    old.lerp_(new, 0.05)


@rule("GS225", name="sibling-left-behind", severity="warning", needs=Update)
def sibling_left_behind(trace: Trace) -> Iterator[Finding]:
    updates = {event.parameter: event.site.user for event in trace.of(Update)}
    if not updates or not settled(trace):
        return
    all_networks = networks(trace)
    stepped = [network for network in all_networks if network.stepped]
    following = [network for network in all_networks if network.follows and network.ids & updates.keys()]
    if not following:
        return
    known = paths(trace)
    for network in all_networks:
        origins = [other for other in stepped if other.form == network.form and alike(trace, other, network)]
        if not network.still or not origins:
            continue
        for sibling in following:
            written = next(updates[id] for id in sorted(sibling.ids) if id in updates)
            if _served(known, network, sibling) or _twins(known, network, sibling):
                own = [o for o in origins if not o.ids & _given(known, written)] or origins
                yield _finding(trace, network, own[0], sibling, written)
                break


def _served(known: Paths, network: Network, sibling: Network) -> bool:
    """Whether the sibling works on what the network gives."""
    return any(
        network.ids & known.fed_by((key[0], i))
        for key in _uses(known, sibling)
        for op in known.graph(key[0]).consumers.get(key[1], ())
        for i in op.inputs[:1]
    )


def _twins(known: Paths, network: Network, sibling: Network) -> bool:
    """Whether both have one form and what they give meets in one call."""
    if network.form != sibling.form:
        return False
    for number in {key[0] for key in _uses(known, network)}:
        for op in known.graph(number).ops:
            if op.name in MEETING and len(op.inputs) == 2:
                one, other = (known.fed_by((number, i)) for i in op.inputs)
                for mine, its in ((one, other), (other, one)):
                    if (
                        network.ids <= mine
                        and sibling.ids <= its
                        and not (network.ids & its or sibling.ids & mine)
                    ):
                        return True
    return False


def _given(known: Paths, written: Site) -> set[int]:
    """The parameters whose numbers a line writes into others."""
    ops = [op for number in known.graph_ids for op in known.graph(number).ops]
    here = [op for op in ops if op.writes and op.site.user.location() == written.location()]
    return {id for op in here for i in op.inputs for id in known.fed_by((op.graph, i))}


def _uses(known: Paths, network: Network) -> list[Key]:
    return [key for id in sorted(network.ids) for key in known.feeding.get(id, ())]


def _finding(trace: Trace, network: Network, origin: Network, sibling: Network, written: Site) -> Finding:
    name, new, kept = (_name(trace, one) for one in (network, origin, sibling))
    module = trace.modules[network.module]
    used = module.site.user if module.site is not None else None
    steps = min(p.steps for p in origin.parameters.values())
    return Finding(
        message=f"{name} stays as it was made: nothing updates it, while {kept}, which is used with it, follows its"
        " own network",
        cause=written,
        cause_label=f"updates {kept} only",
        effect=used,
        effect_label="still has its first weights",
        seen=(
            f"its {plural(len(network.ids), 'parameter')} hold at the end what they held in the first steps;"
            f" {new}, of the same form, made {plural(steps, 'step')} meanwhile, and {code(trace, written)} writes to"
            f" {kept}",
        ),
        fix=f"update {name} with the parameters of {new} as well, where {kept} is updated ({where(written)})",
        count=1,
        subjects=parameter_subjects(network.ids),
    )


def _name(trace: Trace, network: Network) -> str:
    """As its own call has it (`self.target_actor`), else by its variable or class."""
    module = trace.modules[network.module]
    called = receiver(trace, module.site.user) if module.site is not None else ""
    name = called.removesuffix(".train").removesuffix(".eval") or module.name or module.path
    return f"`{name}`" if name else f"a `{module.cls}`"
