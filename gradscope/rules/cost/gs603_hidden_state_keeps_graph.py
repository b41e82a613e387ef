"""A state that is carried from step to step brings the graphs of all earlier steps along.

Why: a hidden state that goes into the next step with its graph makes backward go through every
step since the start. Each pass takes longer than the last and memory grows; without
`retain_graph` the second pass fails, with it the program only gets slower and slower.

Fix: cut the state where a step ends: `h = h.detach()`; then `retain_graph` is not needed.

Silent on: truncated backpropagation; whole sequences in one backward; unrolled inner loops
(meta learning) with one pass at their end. A note where a run of few calls makes no pass at all, and where a run that
trains has one such row of calls beside its steps.
"""

import ast
import re
from collections.abc import Iterator

from gradscope.analysis.carried import LongerPasses, longer_passes
from gradscope.analysis.names import names_of
from gradscope.analysis.never_gone_through import Carried, Kept, carried_for_nothing
from gradscope.analysis.reach import Paths, paths
from gradscope.analysis.unread import pass_growth
from gradscope.analysis.words import code, located, plural, source, user
from gradscope.events import Backward, KeepsGraph
from gradscope.fixes.source import Source
from gradscope.fixes.statements import beside, line_after
from gradscope.model import Edit, Event, Finding, Site
from gradscope.rules import rule
from gradscope.store import Trace

MANY = 100  # calls without a pass: fewer may be a test of a few steps


def bad_state_never_cut() -> None:
    import torch
    from torch import nn

    cell, head = nn.Linear(8, 4), nn.Linear(4, 1)
    opt = torch.optim.SGD(head.parameters(), lr=0.1)
    h = torch.zeros(2, 4)
    for _ in range(12):
        opt.zero_grad()
        h = torch.tanh(cell(torch.cat([torch.randn(2, 4), h], dim=1)))  # cause: GS603
        loss = (head(h.detach()).pow(2) + h.pow(2).mean()).mean()
        loss.backward(retain_graph=True)  # effect: GS603
        opt.step()
        for p in cell.parameters():
            p.grad = None


def good_state_detached() -> None:
    import torch
    from torch import nn

    cell, head = nn.GRUCell(4, 4), nn.Linear(4, 1)
    opt = torch.optim.SGD([*cell.parameters(), *head.parameters()], lr=0.1)
    h = torch.zeros(2, 4)
    for _ in range(12):
        opt.zero_grad()
        h = cell(torch.randn(2, 4), h.detach())
        head(h).pow(2).mean().backward()
        opt.step()


@rule("GS603", name="hidden-state-keeps-graph", severity="warning", over=("GS604",))
def hidden_state_keeps_graph(trace: Trace) -> Iterator[Finding]:
    known = paths(trace)
    told: set[tuple[str, int]] = set()
    found = [e for e in trace.of(KeepsGraph) if e.how == "state"]
    for event in sorted(found, key=lambda e: -e.nodes):
        site = user(trace.site(event.kept_at)) or event.site.user
        through = _pass(known)
        place = (through.site.user if through is not None else site).location()
        if place in told:
            continue  # one state in several parts (an LSTM's two)
        told.add(place)
        yield _finding(trace, event, through)
    for longer in longer_passes(known):
        place = longer.passes[0].site.user.location()
        if place not in told:
            told.add(place)
            yield _between_steps(trace, longer)
    for state in carried_for_nothing(trace):
        yield _for_nothing(trace, state)


def _for_nothing(trace: Trace, state: Carried) -> Finding:
    """A state that grows and that no pass goes through: memory that is never freed."""
    name = state.name if state.name.isidentifier() else ""
    kept = state.kept if not name else None
    call = located(trace, state.site, "the call")
    subject = f"`{name}`" if name else f"the state that {code(trace, state.site, 'the call')} takes and gives"
    cut = f"`{name} = {name}.detach()`" if name else "`tuple(h.detach() for h in state)`"
    return Finding(
        message=f"{subject} carries the graph of all earlier calls along, and no backward pass ever needs it",
        related=((kept.site, "keeps it for the next call"),) if kept is not None else (),
        cause=state.site,
        cause_label="is given its own last state, with that one's graph",
        seen=(
            f"in {state.calls} calls in a row, {'over' if state.on else 'in each of'} {plural(state.rounds, 'step')};"
            " no backward pass of the run went through any of them"
            if trace.of(Backward)
            else f"in {state.calls} calls in a row, and no backward pass in the run",
            f"the graph behind it had {plural(state.nodes[0], 'node')} after the second call,"
            f" {plural(state.nodes[1], 'node')} after the last",
        ),
        why="what a graph has saved is freed when the graph is: by a pass that goes through it, or with the last"
        " tensor that was made in it. Here each state holds the one before, so that memory grows with every call",
        fix=f"cut it where it is kept, {located(trace, kept.site)}: `tuple(h.detach() for h in {kept.name})`"
        if kept is not None
        else f"cut it after {call}: {cut}; or call under `with torch.no_grad():` where nothing is to be learned",
        count=state.calls,
        severity="" if state.calls >= MANY and (state.rounds > 1 or not trace.of(Backward)) else "note",
        edits=line_after(trace, state.site, f"{name} = {name}.detach()")
        if name
        else _cut_where_kept(trace, kept),
        subjects=frozenset({("keeps", state.site.location()), ("call", state.site.location())}),
    )


def _cut_where_kept(trace: Trace, kept: Kept | None) -> tuple[Edit, ...]:
    """The state of several tensors without its graph, where it is kept."""
    here = Source(trace, kept.site.path) if kept is not None else None
    node = here.file.at(kept.site) if here is not None and kept is not None else None
    if here is None or kept is None or not isinstance(node, ast.expr):
        return ()
    return here.replace(node, f"tuple(h.detach() for h in {kept.name})")


def _pass(known: Paths) -> Backward | None:
    """The pass that goes through it: the one most often made that keeps its graph."""
    kept = [e for e in known.backwards if e.retain_graph] or known.backwards
    return max(kept, key=lambda e: e.count) if kept else None


def _finding(trace: Trace, event: KeepsGraph, through: Backward | None) -> Finding:
    site = user(trace.site(event.kept_at)) or event.site.user
    name = next(iter((names_of(trace).assigned(site) or "").split(", ")[-1:]), "")
    subject = f"`{name}`" if name else code(trace, site, "a state")
    after = f" after {located(trace, through.site.user)}" if through is not None else ""
    first_length, first_nodes, first_bytes = (*event.first, 0, 0, 0)[:3]
    seen = (
        f"after {plural(first_length, 'step')} it held {plural(first_nodes, 'node')} and {first_bytes:,} bytes "
        f"saved for backward, after {event.length} {plural(event.nodes, 'node')} and {event.bytes:,} bytes"
    )
    return Finding(
        message=f"{subject} carries the graph of every earlier step along: each backward goes further back",
        cause=site,
        cause_label="built on its own last value, with that one's graph",
        effect=through.site.user if through is not None else None,
        effect_label="goes through all steps since the start",
        seen=(seen, slower)
        if (slower := pass_growth(trace, through.site) if through is not None else "")
        else (seen,),
        fix=f"cut it between steps: `{name} = {name}.detach()`{after}" if name else f"detach it{after}",
        count=event.length,
        edits=_cut_between(trace, site, through, name),
        subjects=frozenset({("keeps", site.location())}),
    )


def _between_steps(trace: Trace, longer: LongerPasses) -> Finding:
    """The same without an optimizer's step between the passes: each goes over all of them again."""
    through = longer.passes[0].site.user
    site = _taken_in(trace, longer, through)
    name = next(iter((names_of(trace).assigned(site) or "").split(", ")[-1:]), "")
    subject = f"`{name}`" if name else code(trace, site, "a state")
    first, last = longer.nodes[0], longer.nodes[-1]
    return Finding(
        message=f"{subject} carries the graph of every earlier step along: each backward goes further back",
        cause=site,
        cause_label="built on its own last value, with that one's graph",
        effect=through,
        effect_label="goes through all steps since the start",
        seen=(
            f"the first of {plural(len(longer.passes), 'pass')}{'' if longer.updated else ' before a step'} went "
            f"through {plural(first, 'node')}, the {len(longer.nodes)}th through {last}",
        ),
        fix=f"cut it between the updates: `{name or 'h'} = {name or 'h'}.detach()`"
        if longer.updated
        else "add the losses up and call `backward()` once, after the last step, in place of "
        f"{located(trace, through)}; or cut the state between: `{name or 'h'} = {name or 'h'}.detach()`",
        count=len(longer.passes),
        subjects=frozenset({("keeps", site.location())}),
    )


def _taken_in(trace: Trace, longer: LongerPasses, through: Site) -> Site:
    """The user's line that carries the state on: a call in the loop that gives and takes it, or the
    line of the model that keeps it."""
    inner = longer.taken_in.site.user
    for frame in longer.taken_in.site.stack:
        if frame.kind == "user" and (frame.path, frame.function) == (through.path, through.function):
            targets = names_of(trace).assigned(frame) or ""
            own = set(re.findall(r"[\w.]+", targets))
            return frame if own & set(re.findall(r"[\w.]+", source(trace, frame))) else inner
    return inner


def _cut_between(trace: Trace, site: Site, through: Event | None, name: str) -> tuple[Edit, ...]:
    """`h = h.detach()` after the backward pass that went through it."""
    if through is None or not name.isidentifier() or not beside(trace, site, through.site.user):
        return ()
    return line_after(trace, through.site.user, f"{name} = {name}.detach()")
