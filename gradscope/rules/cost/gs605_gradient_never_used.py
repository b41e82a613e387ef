"""Backward computes gradients for a network, and nothing ever uses them.

Why: a target network, a teacher or a fixed feature extractor is there to be evaluated, not to be
trained. Called with gradients on and with parameters that require them, it saves its activations
and backward goes all the way through it, in every pass, for gradients that no step uses.

Fix: call it under `with torch.no_grad():`, or `detach()` its result; where the gradient has to go
through it to what is trained, freeze it with `requires_grad_(False)`.

Silent on: networks that are stepped, updated with their gradients or have them read; the critic
that a generator trains against; programs that step nothing.
A note for: a network that the trained part needs the gradient through (only its own parameters'
gradients are for nothing); features for a trained network; an optimizer's gradients that it
clears before its own backward.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from gradscope.analysis.calls import Call, Calls, calls
from gradscope.analysis.constants import constants
from gradscope.analysis.cuts import cuts
from gradscope.analysis.hook_bodies import gathering_passes, unseen_gather
from gradscope.analysis.memo import once
from gradscope.analysis.reach import Key, paths
from gradscope.analysis.unheld import left_behind, left_out, put_into_eval, trained_by_nobody
from gradscope.analysis.unread import (
    Unread,
    asked_at,
    beyond,
    cost_of,
    dropped,
    feeds_trained,
    finished,
    unread,
)
from gradscope.analysis.words import listed, located, parameter_subjects
from gradscope.analysis.writes import memory_root
from gradscope.events import Backward, DataRead, ModuleCall
from gradscope.fixes.statements import under_no_grad
from gradscope.model import Finding, Parameter, Site
from gradscope.rules import rule
from gradscope.store import Trace


def bad_target_network_with_gradients() -> None:
    import copy

    import torch
    from torch import nn

    net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    target_net = copy.deepcopy(net)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(4):
        state, after, reward = torch.randn(8, 4), torch.randn(8, 4), torch.randn(8)
        goal = reward + 0.9 * target_net(after).max(dim=1).values  # cause: GS605
        loss = nn.functional.mse_loss(net(state)[:, 0], goal)
        opt.zero_grad()
        loss.backward()  # effect: GS605
        opt.step()
        if step % 2:
            target_net.load_state_dict(net.state_dict())


def good_target_network() -> None:
    import copy

    import torch
    from torch import nn

    net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    target_net = copy.deepcopy(net)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(4):
        state, after, reward = torch.randn(8, 4), torch.randn(8, 4), torch.randn(8)
        with torch.no_grad():
            goal = reward + 0.9 * target_net(after).max(dim=1).values
        opt.zero_grad()
        nn.functional.mse_loss(net(state)[:, 0], goal).backward()
        opt.step()
        if step % 2:
            target_net.load_state_dict(net.state_dict())


WHY_CLEARED = """what goes into a loss with its graph is saved for backward and gets gradients. They are
cleared before a step uses them: detached, the same result costs neither"""


@rule("GS605", name="gradient-never-used", severity="warning", over=("GS206", "GS314"))
def gradient_never_used(trace: Trace) -> Iterator[Finding]:
    known = calls(trace)
    if not known.paths.stepping or not known.paths.reached.complete or unseen_gather(trace):
        return
    unheld = [left for _, _, left in (*left_out(trace), *trained_by_nobody(trace))]
    unheld += [left for _, _, left in left_behind(trace) if put_into_eval(trace, left) is None]
    forgotten = {p.id for left in unheld for p in left}
    heard = gathering_passes(trace)  # their hooks are what they are for
    found: dict[object, Waste] = {}
    for group in unread(trace, known, forgotten):
        waste = wasted(known, group)
        if waste is None or waste.event.site.user.location() in heard:
            continue
        if not _behind_a_cut(trace, known, waste):
            place = (waste.entry.location(), waste.event.site.user.location(), waste.mild)
            found[place] = joined(found[place], waste) if place in found else waste
    for waste in found.values():
        yield _finding(trace, waste, "no step, update or read ever used them")
    for group in finished(trace, known):
        waste = wasted(known, group)
        if waste is not None and not waste.mild and not _behind_a_cut(trace, known, waste):
            yield _finding(trace, waste, "no step, update or read has used them since its training ended")
    idle: set[tuple[tuple[str, int], int]] | None = (
        None  # what a term gives that was taken out for what it is for
    )
    cut_off = {cut.loss.site.user.location() for cut in cuts(trace) if cut.loss is not None}
    for group in dropped(trace, known):
        waste = wasted(known, group)
        # A pass that a cut keeps from what it is for has no other gradients: the cut is the mistake.
        if waste is None or waste.through or (line := waste.event.site.user.location()) in cut_off | heard:
            continue
        if idle is None:
            idle = {(t.loss.site.user.location(), id) for t in constants(known.paths) for id in t.idle}
        if not all((line, p.id) in idle for p in waste.parameters):
            yield _cleared(trace, waste)


def _behind_a_cut(trace: Trace, known: Calls, waste: Waste) -> bool:
    """Whether what the network is given was taken out of its graph, and what trains needs the gradient through it."""
    line, ids = waste.event.site.user.location(), {p.id for p in waste.parameters}
    found = [cut for cut in cuts(trace) if cut.loss is not None and cut.loss.site.user.location() == line]
    if not found:
        return False
    paths, graph = known.paths, known.paths.graph(waste.event.graph)
    given = [
        (graph.id, index)
        for op in graph.ops
        if ids & {graph.values[i].parameter for i in op.inputs}
        for index in op.inputs
        if graph.values[index].parameter is None
    ]
    behind = paths.flow(given).order.keys()
    whole = paths.flow((graph.id, root) for root in waste.event.roots).order.keys()
    results = [{(cut.op.graph, index) for index in cut.op.outputs} for cut in found]
    # Numbers that went through lists on their way are in neither.
    return any(behind & of_cut or not whole & of_cut for of_cut in results)


def _finding(trace: Trace, waste: Waste, unused: str) -> Finding:
    effect = waste.event.site.user
    entry = waste.entry
    if waste.through:
        fix = (
            f"freeze it: `{waste.name.strip('`')}.requires_grad_(False)`; the gradient still goes through it"
        )
    else:
        fix = f"put {located(trace, entry, 'this call')} under `with torch.no_grad():`, or detach its result"
    return Finding(
        message=f"backward computes gradients of {waste.name} that nothing uses",
        cause=entry,
        cause_label="its own parameters get gradients too" if waste.through else "called with gradients on",
        effect=effect,
        effect_label="goes through it in every pass",
        related=_caller(waste),
        seen=(
            cost_of(trace, waste.event.site, waste.times, waste.parameters),
            unused,
        ),
        fix=fix,
        count=waste.times,
        severity="note" if waste.mild else "",
        edits=() if waste.mild else under_no_grad(trace, entry),
        subjects=parameter_subjects(p.id for p in waste.parameters),
    )


def _caller(waste: Waste) -> tuple[tuple[Site, str], ...]:
    """The line of the training function, where the network is a part of the model called there."""
    call = waste.call.entry
    return ((call, "in this call"),) if call.location() != waste.entry.location() else ()


def _differentiated(trace: Trace, waste: Waste) -> Backward | None:
    """A pass of `autograd.grad` with respect to what these parameters make: detached, that would have no graph."""
    known, ids = paths(trace), {p.id for p in waste.parameters}
    for event in trace.of(Backward):
        if event.call == "grad" and event.graph >= 0:
            made = [(event.graph, v) for v in event.inputs if known.maker((event.graph, v)) is not None]
            if made and ids & known.reach(made).parameters:
                return event
    return None


def _cleared(trace: Trace, waste: Waste) -> Finding:
    entry, network = waste.entry, waste.call.event.module
    asked = _differentiated(trace, waste)
    reads = [site for site, networks in reads_of_results(trace).items() if networks == {network}]
    return Finding(
        message=f"this pass goes through {waste.name}, and its gradients are cleared unused",
        cause=entry,
        cause_label="its result goes into this loss with its graph",
        effect=waste.event.site.user,
        effect_label="computes gradients that the next `zero_grad()` drops",
        seen=(cost_of(trace, waste.event.site, waste.times, waste.parameters),),
        fix=f"take {located(trace, waste.event.site.user, 'this pass')} out: it computes nothing else"
        if set(waste.event.filled) <= {p.id for p in waste.parameters}
        else f"leave it as it is, or give this loss `.detach().requires_grad_()` of the result of"
        f" {located(trace, entry, 'this call')}: {located(trace, asked.site.user, '`autograd.grad`')} differentiates"
        " with respect to it, and fails where it requires no gradient"
        if asked is not None
        else _without_these(trace, waste)
        if _trains_elsewhere(trace, waste)
        else f"detach the result of {located(trace, entry, 'this call')} where it goes into "
        f"{located(trace, waste.event.site.user, 'this loss')}",
        count=waste.times,
        severity="note",
        related=tuple((site, f"`.data` of a result of {waste.name}: `.detach()` is safe") for site in reads),
        why=WHY_CLEARED,
        subjects=parameter_subjects(p.id for p in waste.parameters)
        | {("pass", waste.event.site.user.location())},
    )


def _trains_elsewhere(trace: Trace, waste: Waste) -> bool:
    """Whether the same line, in another pass, trains the network: detached there it would not."""
    ids, here, line = {p.id for p in waste.parameters}, waste.event.site.user, waste.entry.location()
    others = (e for e in trace.of(Backward) if ids & set(e.filled) and e.graph >= 0 and e.site.user != here)
    return any(
        frame.location() == line
        for graph in dict.fromkeys(event.graph for event in others)
        for op in trace.graph(graph).ops
        for frame in op.site.stack
    )


def _without_these(trace: Trace, waste: Waste) -> str:
    return (
        f"leave it as it is ({located(trace, waste.entry, 'this call')} also gives {waste.name} the gradients that"
        f" train it), or give {located(trace, waste.event.site.user, 'this pass')} the argument `inputs=[…]` with the"
        " parameters that the next step uses: it computes gradients for these alone"
    )


@once
def reads_of_results(trace: Trace) -> dict[Site, set[int]]:
    """Place of a `.data` → the networks (ids of roots) whose results are read there. Places that also
    read something else with a gradient are left out."""
    results: dict[Key, int] = {}
    for event in trace.of(ModuleCall):
        for value in event.outputs if event.graph >= 0 else ():
            results[event.graph, memory_root(trace.graph(event.graph), value)] = event.module
    found: dict[Site, set[int]] = {}
    others: set[Site] = set()
    for read in trace.of(DataRead):
        if read.graph < 0 or not read.requires_grad:
            continue
        network = results.get(paths(trace).memory_made((read.graph, read.value)))
        if network is None:
            others.add(read.site.user)
        else:
            found.setdefault(read.site.user, set()).add(network)
    return {site: networks for site, networks in found.items() if site not in others}


@dataclass
class Waste:
    """A network whose gradients are computed for nothing."""

    name: str
    parameters: list[Parameter]
    call: Call
    entry: Site  # the line that asks it
    event: Backward
    times: int
    through: bool  # what is trained needs the gradient through it
    mild: bool  # or it gives a trained network its features


def wasted(known: Calls, group: Unread) -> Waste | None:
    """The call that brings the network into a loss, and the pass that goes through it."""
    ids = {p.id for p in group.parameters}
    events = [e for e in group.passes if ids & set(e.filled)]
    for event in events:
        around = _around(known, event, group.members)
        for call in known.all:
            if not call.trains or call.event.graph != event.graph or call.event.position > event.position:
                continue
            if not ids & {p.id for p in known.parameters(call.event)} and call is not around:
                continue
            lines = {e.site.user.location() for e in events}
            every = (e for e in known.paths.trace.of(Backward) if e.site.user.location() in lines)
            times = sum(e.count for e in every if ids & set(e.filled))
            through = beyond(known, event, group.members)
            mild = through or feeds_trained(known, call.event)
            entry = asked_at(known, event, group.members, call.entry)
            return Waste(group.name, group.parameters, call, entry, event, times, through, mild)
    return None


def _around(known: Calls, event: Backward, members: set[int]) -> Call | None:
    """The outermost call in which these modules ran, where they were known (by `eval()`) before
    the model that they became a part of."""
    ran = next((op.index for op in known.paths.graph(event.graph).ops if op.module in members), None)
    if ran is None:
        return None
    calls = [call for call in known.all if call.event.graph == event.graph and call.event.position > ran]
    return min(calls, key=lambda call: call.event.position, default=None)


def joined(one: Waste, other: Waste) -> Waste:
    """Two networks that one line brings into the loss, as one."""
    names = listed([*dict.fromkeys((one.name, other.name))])
    return replace(one, name=names, parameters=[*one.parameters, *other.parameters])
