"""A target network is kept up with the trained one and takes no part in the target: that asks the trained one.

Why: a target network holds still while the other one learns, so that the target of a bootstrapped loss doesn't move
with each step. Where the target is computed by the trained network itself, also without gradients, all the copying is
for nothing, and the estimates can run away.

Fix: compute the target with the other network.

Measured: the target is a sum of data and of what the trained network estimates without a graph; another network, which
no optimizer steps, is written from the trained one while that is trained, and no loss of the run is computed from it.
A note where the other network is called at all: it may be a copy that acts or is evaluated.
Silent on: targets of another network, networks that are copied before the training or after it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from gradscope.analysis.bootstraps import sums
from gradscope.analysis.reach import Paths, paths
from gradscope.analysis.words import located, parameter_subjects, plural
from gradscope.analysis.writes import initialises, loads_state
from gradscope.events import ModuleCall
from gradscope.fixes.source import Edits, Source, receiver
from gradscope.model import Finding, Op, Site
from gradscope.rules import rule
from gradscope.store import Trace


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    critic, target = nn.Linear(4, 1), nn.Linear(4, 1)
    opt = torch.optim.SGD(critic.parameters(), lr=0.05)
    for step in range(8):
        state, following, reward = torch.randn(16, 4), torch.randn(16, 4), torch.rand(16, 1)
        with torch.no_grad():
            wanted = reward + 0.9 * critic(following)  # cause: GS335  # effect: GS335
        loss = nn.functional.mse_loss(critic(state), wanted)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 2 == 1:
            target.load_state_dict(critic.state_dict())


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    critic, target = nn.Linear(4, 1), nn.Linear(4, 1)
    opt = torch.optim.SGD(critic.parameters(), lr=0.05)
    for step in range(8):
        state, following, reward = torch.randn(16, 4), torch.randn(16, 4), torch.rand(16, 1)
        with torch.no_grad():
            wanted = reward + 0.9 * target(following)
        loss = nn.functional.mse_loss(critic(state), wanted)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 2 == 1:
            target.load_state_dict(critic.state_dict())


class _Copy(NamedTuple):
    """A network that the program writes from the trained one."""

    parameters: frozenset[int]
    write: Op  # the first after the first pass


@rule("GS335", name="target-network-never-asked", severity="warning")
def target_network_never_asked(trace: Trace) -> Iterator[Finding]:
    known = paths(trace)
    told: set[tuple[str, int]] = set()
    for found in sums(known):
        own = known.fed_by(found.estimate)
        # What also takes part in the estimate, a policy that chooses for it, is another network than the critic.
        trained = set(own & known.reach([found.prediction]).parameters)
        asked = _asked(known, found.estimate, trained)
        place = _called(asked, found.made) if asked is not None else None
        if not trained or asked is None or place is None or place.location() in told:
            continue
        if not all(known.stepped(known.parameters[id]) for id in own):
            continue
        told.add(place.location())
        copy = _copy(known, trained)
        if copy is not None:
            yield _finding(trace, place, found.made, copy)


def _asked(known: Paths, estimate: tuple[int, int], trained: set[int]) -> Op | None:
    """The first call that read one of the parameters for the estimate."""
    makers = (known.maker(key) for key in known.flow([estimate]).order)
    readers = [
        op
        for op in makers
        if op is not None
        and not op.writes
        and any((p := known.parameter_of((op.graph, i))) is not None and p.id in trained for i in op.inputs)
    ]
    return min(readers, key=lambda op: (op.graph, op.index), default=None)


def _called(asked: Op, made: Op) -> Site:
    """Where the function that makes the target asks the network; else where the program does."""
    place = made.site.user
    frames = (f for f in asked.site.frames_in(place) if f.kind == "user")
    return next(frames, asked.site.entry)


def _copy(known: Paths, trained: set[int]) -> _Copy | None:
    """The one network of the form of the trained one that is written from it after the first pass, and that no loss is
    computed from."""
    trace = known.trace
    shapes = sorted(trace.parameter(id).shape for id in trained)
    late = {s.graph for s in trace.segments if s.graph is not None and s.index > (known.first_pass or 0)}
    copied: set[int] = set()  # from the trained one, at whatever time
    written: dict[int, Op] = {}
    for number in known.graph_ids:
        for op in known.graph(number).writing:
            target = known.parameter_of((number, known.memory(number, op.writes[0])))
            if target is None or target.id in trained or initialises(op) or known.stepped(target):
                continue
            from_it = known.fed_by(*((number, i) for i in op.inputs if i not in op.writes)) & trained
            copied |= {target.id} if from_it else set()
            if number in late and (from_it or (loads_state(op) and target.id in copied)):
                written.setdefault(target.id, op)
    if not written or set(written) & set(known.feeding):
        return None
    same = sorted(trace.parameter(id).shape for id in written) == shapes
    return _Copy(frozenset(written), next(iter(written.values()))) if same else None


def _finding(trace: Trace, cause: Site, made: Op, copy: _Copy) -> Finding:
    write = copy.write.site.user
    own = {p.module for id in copy.parameters if (p := trace.parameter(id)).module is not None}
    roots = {trace.modules[id].root for id in own if id in trace.modules}
    called = any(event.module in roots for event in trace.of(ModuleCall))
    name = _names(trace, write)
    other = f"`{name[0]}`" if name else "the other network"
    edits = _with_the_other(trace, cause, name) if name else ()
    return Finding(
        message=f"the target is computed by the network that is trained; {other}, which is kept up with it, takes part"
        " in no loss",
        cause=cause,
        cause_label="asks the trained network for the target",
        effect=made.site.user,
        effect_label="makes the target of it",
        related=((write, f"keeps {other} up with it"),),
        seen=(
            f"the target is a sum of data and of what the trained network gives without a graph;"
            f" {plural(len(copy.parameters), 'parameter')} of {other} were written from it after the first pass, and no"
            " loss was computed from any of them",
        ),
        fix=f"compute the target with {other}, in {located(trace, cause)}",
        edits=edits,
        severity="note" if called else "",
        subjects=parameter_subjects(copy.parameters),
    )


def _names(trace: Trace, write: Site) -> tuple[str, str] | None:
    """`target` and `model` of `target.load_state_dict(model.state_dict())`."""
    call = trace.source_file(write.path).at(write)
    other = receiver(trace, write, "load_state_dict")
    given = call.args[0] if isinstance(call, ast.Call) and len(call.args) == 1 else None
    plain = (
        isinstance(given, ast.Call)
        and isinstance(given.func, ast.Attribute)
        and given.func.attr == "state_dict"
    )
    if not other or not plain or not isinstance(given, ast.Call) or not isinstance(given.func, ast.Attribute):
        return None
    return other, ast.unparse(given.func.value)


def _with_the_other(trace: Trace, site: Site, name: tuple[str, str]) -> Edits:
    here = Source(trace, site.path)
    call = here.file.at(site)
    if isinstance(call, ast.Call) and ast.unparse(call.func) == name[1]:
        return here.replace(call.func, name[0])
    return ()
