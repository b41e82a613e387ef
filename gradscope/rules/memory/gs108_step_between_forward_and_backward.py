"""An optimizer stepped between a forward and its backward: the graph needs the old weights.

Why: the forward saved the weights, since the gradient of its inputs is computed with them. The
step wrote new values into the same memory, and a backward through the old graph would mix the
two. torch sees the version move and stops.

Fix: run all backward passes of a graph before the step, or compute the loss after it. In a GAN
compute the generator's loss anew after the discriminator's step. Detach a state that is carried over
steps: `retain_graph=True` keeps its old graph, and the step makes it useless. What one turn of a loop computes for the
next one belongs behind the step.

Silent on: graphs that are computed after the step; steps of other parameters.
"""

import ast
from collections.abc import Iterator
from typing import Any, NamedTuple

from gradscope.analysis.carried import Carried, all_carried
from gradscope.analysis.failures import failure_subject, versions
from gradscope.analysis.loop_constants import loop_constants
from gradscope.analysis.names import names_of
from gradscope.analysis.reach import Paths, paths
from gradscope.analysis.stacks import beside_each_other
from gradscope.analysis.text import site_of
from gradscope.analysis.words import code, located, named, optimizer_name, user
from gradscope.events import ErrorRaised, Step, ZeroGrad
from gradscope.fixes.blocks import detached_before
from gradscope.fixes.calls import without_argument
from gradscope.fixes.carried import taken_as_numbers
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding, Graph, Site
from gradscope.rules import rule
from gradscope.source import method_name, names_in
from gradscope.store import Trace

_TEXT = "modified by an inplace operation"


def bad_two_losses() -> None:
    import torch
    from torch import nn

    model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    first, second = model(torch.ones(2, 3)), model(torch.zeros(2, 3))
    first.mean().backward()
    opt.step()  # cause: GS108
    opt.zero_grad()
    second.mean().backward()  # effect: GS108
    opt.step()


def good_both_before_the_step() -> None:
    import torch
    from torch import nn

    model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        opt.zero_grad()
        out = model(torch.randn(2, 3))
        out.mean().backward(retain_graph=True)
        out.pow(2).mean().backward()
        opt.step()


@rule("GS108", name="step-between-forward-and-backward", severity="error", over=("GS104",), needs=ErrorRaised)
def step_between_forward_and_backward(trace: Trace) -> Iterator[Finding]:
    for event in trace.of(ErrorRaised):
        if event.where == "backward" and _TEXT in event.text:
            step = stepped(event)
            if step is not None:
                yield (
                    _carried_over(trace, event, step)
                    or _computed_before(trace, event, step)
                    or _before_the_loop(trace, event, step)
                    or _explained(trace, event, step)
                )


def stepped(event: ErrorRaised) -> dict[str, Any] | None:
    """The optimizer's step that moved the version, unless a write of the program's own did."""
    writes = event.writes
    steps = [write for write in writes if write.get("op") == "step"]
    return steps[0] if steps and len(steps) == len(writes) else None


def _explained(trace: Trace, event: ErrorRaised, step: dict[str, Any]) -> Finding:
    cause, forward = user(trace.site(step.get("site"))), trace.site(event.saved_site)
    saved = forward.entry if forward is not None else None  # the call in the loop, not the layer's line
    shown = code(trace, cause, "an optimizer's step")
    by = f" that {code(trace, saved)} had saved" if saved is not None and code(trace, saved) else ""
    handed = _handed_on(trace, event, step)
    related = [(saved, "the old weights are saved here")] if saved is not None else []
    again = f"{located(trace, saved, 'its forward')}, and the loss that is made of it,"
    fix, edits = (
        f"compute {again} anew after {located(trace, cause, 'the step')}",
        handed.edits if handed else (),
    )
    if handed is None and cause is not None and _all_held(trace, event, step):
        one, edits = _one_step(trace, cause, event.site.user)
        fix = f"{one}; or {fix}" if one else fix
    if handed is not None:
        related.append((handed.site, "goes on from the old graph"))
        fix = (
            f"give {located(trace, handed.site)} `{handed.name}.detach()`, since {handed.holder} has made its step and"
            f" {handed.other} trains other parameters; where both are to learn from this loss, {fix}"
        )
    return Finding(
        message=f"{shown} changed weights{by}, before their backward ran",
        cause=cause,
        cause_label="writes new values into the weights",
        effect=event.site.user,
        effect_label="torch stops: this graph was computed with the old weights",
        related=tuple(related),
        seen=(versions(event.text),),
        fix=fix,
        edits=edits,
        count=event.count,
        subjects=frozenset({failure_subject(event)}),
    )


def _all_held(trace: Trace, event: ErrorRaised, step: dict[str, Any]) -> bool:
    """Whether the optimizer of the step alone holds what the pass was to fill: its step may use these gradients too."""
    known, numbers = paths(trace), _optimizers(trace, step)
    held = [set(trace.parameter(id).optimizers) for id in known.on_the_way(event)]
    return len(numbers) == 1 and all(some <= numbers for some in held) and any(held)


def _optimizers(trace: Trace, step: dict[str, Any]) -> set[int]:
    return {e.optimizer for e in trace.of(Step) if e.site.id == step.get("site") and e.optimizer is not None}


def _one_step(trace: Trace, step: Site, backward: Site) -> tuple[str, Edits]:
    """How both passes come before one step, where the second one stands behind it in the same block; the edits where
    nothing but clearing gradients and the same step again stands around them."""
    here = Source(trace, step.path)
    first, then = here.file.statement(step), here.file.statement(backward)
    if first is None or then is None or step.path != backward.path:
        return "", ()
    block = here.file.siblings(first)
    if then not in block or block.index(then) <= block.index(first):
        return "", ()
    between, behind = block[block.index(first) + 1 : block.index(then)], block[block.index(then) + 1 :]
    second = next((one for one in behind if ast.unparse(one) == ast.unparse(first)), None)
    call = f"call {located(trace, backward)} before {located(trace, step)}"
    if second is None:
        return f"{call}, which uses the gradients of both then", ()
    edits = here.move(then, first), here.remove(second)
    plain = all(isinstance(one, ast.Expr) and method_name(one.value) == "zero_grad" for one in between)
    return (
        f"{call}, which uses the gradients of both then, and leave the second"
        f" {located(trace, site_of(step.path, step.function, second))} out",
        (*edits[0], *edits[1]) if plain and all(edits) else (),
    )


def _computed_before(trace: Trace, event: ErrorRaised, step: dict[str, Any]) -> Finding | None:
    """A value that each turn of a loop computes before the step, and that the next turn computes with."""
    known, stepped_at = paths(trace), trace.site(step.get("site"))
    old = _bringing(known, event)
    makers = [known.maker(known.made((event.graph, one.value.index))) for one in old]
    made = [
        beside_each_other(op.site, stepped_at) for op in makers if op is not None and stepped_at is not None
    ]
    if len({(site.location(), at.location()) for site, at in made}) != 1 or len(made) < len(old):
        return None
    (site, at), (taken, _) = made[0], beside_each_other(old[0].readers[0].site, made[0][1])
    here = Source(trace, site.path)
    kept, stepping, reads = (here.file.statement(one) for one in (site, at, taken))
    loop = here.file.loop_of(kept) if kept is not None else None
    if kept is None or stepping is None or reads is None or loop is None:
        return None
    if {at.path, taken.path} != {site.path} or not all(one in ast.walk(loop) for one in (stepping, reads)):
        return None
    if not reads.lineno < kept.lineno < stepping.lineno:
        return None
    shown, text = code(trace, at, "an optimizer's step"), code(trace, site)
    fix, edits = _behind(trace, here, kept, stepping)
    return Finding(
        message=f"{text} is computed before {shown}, and the next turn goes on from it: the step has changed the"
        " weights that its graph needs",
        cause=site,
        cause_label="computed with the weights before the step",
        effect=event.site.user,
        effect_label="torch stops: a part of this graph was computed with the old weights",
        related=((taken, "goes on from it, in the next turn"), (at, "writes new values into the weights")),
        seen=(versions(event.text),),
        fix=f"compute it with the new weights: move {fix} behind {located(trace, at)}",
        edits=edits,
        count=event.count,
        subjects=frozenset({failure_subject(event)}),
    )


def _before_the_loop(trace: Trace, event: ErrorRaised, step: dict[str, Any]) -> Finding | None:
    """What is computed once, before the loop that steps, and is a constant of its turns."""
    found = loop_constants(trace, event)
    if found is None:
        return None
    place, names = event.site.user, found.names
    stepped_at, sites = (
        user(trace.site(step.get("site"))),
        [site_of(place.path, place.function, line) for line in found.lines],
    )
    fix, edits = taken_as_numbers(trace, event, found)
    brings, needs = (
        ("brings its graph", "this needs") if len(names) == 1 else ("bring their graphs", "these need")
    )
    return Finding(
        message=f"{named(names)}, computed before the loop of line {found.loop.lineno}, {brings} into each turn, and"
        f" {code(trace, stepped_at, 'the step')} has changed the weights that {needs}",
        cause=sites[0],
        cause_label="computed once, with its graph",
        effect=place,
        effect_label="torch stops: a part of this graph was computed with the old weights",
        related=(
            *((site, "and this") for site in sites[1:]),
            *(((stepped_at, "writes new values into the weights"),) if stepped_at is not None else ()),
        ),
        seen=(versions(event.text), "the loop calls all that was used for them again, with the new weights"),
        fix=fix,
        edits=edits,
        count=event.count,
        subjects=frozenset({failure_subject(event)}),
    )


def _behind(trace: Trace, here: Source, kept: ast.stmt, stepping: ast.stmt) -> tuple[str, Edits]:
    """A statement and those that use what it makes, and the edits that put them behind the step, and the block around
    that: where nothing that stays needs them, or changes what they need."""
    block, own = here.file.siblings(kept), located(trace, site_of(here.path, "", kept))
    last = next((one for one in here.file.above(stepping) if one in block), stepping)
    if not isinstance(last, ast.stmt) or last not in block:
        return own, ()
    moved, made, stays = [kept], names_in(kept, ast.Store), [last]
    for one in block[block.index(kept) + 1 : block.index(last)]:
        (moved if made & names_in(one) else stays).append(one)
        made |= names_in(one, ast.Store) if moved[-1] is one else set()
    needed = {name for one in moved for name in names_in(one)}
    if any(made & names_in(one) or needed & names_in(one, ast.Store) for one in stays):
        return f"{own}, and what uses it,", ()
    texts = [here.text_of(one) for one in moved]
    edits = [here.remove(one) for one in moved] + [here.rows_after(last, [(0, text) for text in texts])]
    lines = " and ".join(str(one.lineno) for one in moved[1:])
    with_it = f", and line{'s' if len(moved) > 2 else ''} {lines} with it," if lines else ""
    return f"{own}{with_it}", tuple(edit for one in edits for edit in one) if all(texts) and all(
        edits
    ) else ()


class _Handed(NamedTuple):
    """What the trained network gave to one that another optimizer trains."""

    name: str
    site: Site  # the call that takes it in
    holder: str  # the optimizer that has made its step
    other: str  # that of what takes it in
    edits: Edits


def _handed_on(trace: Trace, event: ErrorRaised, step: dict[str, Any]) -> _Handed | None:
    """The one value that was computed from nothing but what the step has changed, where the pass goes from it
    into parameters that only other optimizers hold."""
    known, numbers = paths(trace), _optimizers(trace, step)
    held = {
        p for number in numbers if number in trace.optimizers for p in trace.optimizers[number].parameters
    }
    behind = [
        (c, known.reach([known.made((event.graph, c.value.index))]).parameters)
        for c in _bringing(known, event)
    ]
    old = [(c, ids) for c, ids in behind if ids & held]
    rest = known.reach((event.graph, root) for root in event.roots).parameters - held
    others = {number for id in rest for number in trace.parameter(id).optimizers}
    if len(numbers) != 1 or len(old) != 1 or not old[0][1] <= held or len(others) != 1:
        return None
    if any(set(trace.parameter(id).optimizers) != numbers for id in held):
        return None  # the other optimizer may want to train them too
    carried, name = old[0][0], names_of(trace).name(known.graph(event.graph), old[0][0].value.index)
    site = carried.readers[0].site.entry
    here = Source(trace, site.path)
    node = here.file.at(site)
    given = [a for a in node.args if ast.unparse(a) == name] if isinstance(node, ast.Call) else []
    if len(given) != 1 or not name:
        return None
    cleared = any(held <= set(e.parameters) for e in trace.of(ZeroGrad))
    return _Handed(
        name,
        site,
        optimizer_name(trace, next(iter(numbers))),
        optimizer_name(trace, next(iter(others))),
        here.append(given[0], ".detach()") if cleared else (),
    )


def _bringing(known: Paths, event: ErrorRaised) -> list[Carried]:
    """The values with an old graph by which the pass comes to the call that had saved the old weights; all of them
    where that is not seen."""
    found = all_carried(known, event)

    def brings(one: Carried) -> bool:
        nodes = known.reach([known.made((event.graph, one.value.index))]).nodes
        sites = (known.graph(number).nodes[node].site for number, node in nodes)
        return any(site is not None and site.id == event.saved_site for site in sites)

    return [one for one in found if brings(one)] or found


def _runs_through(graph: Graph, value: int, line: Site) -> bool:
    """Whether something that was computed from `value` runs through this line again."""
    return any(
        op.nodes and op.site.user.location() == line.location()
        for _, op in graph.readers_behind([value], lambda _: True)
    )


def _carried_over(trace: Trace, event: ErrorRaised, step: dict[str, Any]) -> Finding | None:
    """Where the line that saved the old weights has run again since, on a value that brought its old graph."""
    known = paths(trace)
    old, saved = _bringing(known, event), trace.site(event.saved_site)
    if not old or saved is None:
        return None
    graph = known.graph(event.graph)
    value, reader = old[0].value, old[0].readers[0]
    if not _runs_through(graph, value.index, saved.user):
        return None
    cause, stepped_at = reader.site.entry, user(trace.site(step.get("site")))
    brought = [c.value for c in old if c.readers[0].site.entry == cause]
    names = list(dict.fromkeys(names_of(trace).name(graph, one.index) or "" for one in brought))
    detached = "; ".join(f"{name or 'h'} = {name or 'h'}.detach()" for name in names)
    carry = "carries" if len(brought) == 1 else "carry"
    subject = named(names) if all(names) else "a value"
    kept = "retain_graph" in code(trace, event.site.user)
    edits = detached_before(trace, cause, names)
    shown = code(trace, stepped_at, "an optimizer's step")
    return Finding(
        message=f"{subject} {carry} the graph of an earlier step into "
        f"{code(trace, cause, 'this one')}, and {shown} has changed the weights that it saved",
        cause=cause,
        cause_label="takes in a value with the graph of an earlier step",
        effect=event.site.user,
        effect_label="torch stops: the old part of the graph was computed with the old weights",
        related=((stepped_at, "writes new values into the weights"),) if stepped_at is not None else (),
        seen=(versions(event.text),),
        fix=f"detach {'it' if len(brought) == 1 else 'all of them'} before the next step (`{detached}`)"
        + ("; `retain_graph=True` is not needed then" if kept else ""),
        edits=(*edits, *without_argument(trace, event.site.user, "retain_graph")) if edits else (),
        count=event.count,
        subjects=frozenset({failure_subject(event)}),
    )
