"""A backward pass went into a graph whose saved values an earlier pass had freed.

Why: `backward()` frees what the forward saved, as soon as it has used it. A second pass
through the same part finds nothing. Most often a value of an earlier step (a hidden state, a
running sum, a tensor made before the loop) carried its old graph along.

Fix: detach what is carried over from step to step, or what a pass takes that is to train only what
comes after it (a discriminator's); compute it anew in each step, or after the weights were changed
between two passes; leave a block of `parametrize.cached()` before the pass; or keep the graph with
`retain_graph=True` where two passes over it are meant.

Silent on: a first pass with `retain_graph=True`.
"""

import ast
from collections.abc import Iterator
from typing import NamedTuple

from gradscope.analysis.carried import (
    Cached,
    Carried,
    Made,
    State,
    behind,
    cached_by,
    carried_from_seen,
    carried_into,
    filled_by,
    kept_behind,
    line_of,
    made_again,
    made_by,
    state_of,
    times_taken,
)
from gradscope.analysis.failures import failure_subject
from gradscope.analysis.gradients import gradients
from gradscope.analysis.loop_constants import loop_constants
from gradscope.analysis.names import name_of, names_of
from gradscope.analysis.ops import JOINING
from gradscope.analysis.reach import Key, Paths, paths
from gradscope.analysis.since import since_segment
from gradscope.analysis.words import (
    code,
    holds,
    listed,
    located,
    named,
    optimizer_name,
    parameter_names,
    plural,
    user,
)
from gradscope.events import Backward, ErrorRaised, Step, Update
from gradscope.fixes.carried import (
    cut_where_filled,
    cut_where_joined,
    cut_where_read,
    in_each_step,
    state_cut,
    taken_as_numbers,
    without_graph,
)
from gradscope.fixes.forward_again import forward_again
from gradscope.fixes.source import Edits, Source
from gradscope.fixes.statements import under_no_grad
from gradscope.model import Event, Finding, Parameter, Site
from gradscope.rules import rule
from gradscope.source import method_name
from gradscope.store import Trace

_WHY_CHANGED = (
    "`backward()` frees what the forward saved, as soon as it has used it, so a second pass finds nothing. The weights"
    " were written in between: even a kept graph would be that of the old ones, and a gradient at the new ones needs a"
    " forward with them."
)


def bad_twice() -> None:  # fix: by hand
    import torch

    x = torch.ones(3, requires_grad=True)
    loss = (x * x).sum()
    loss.backward()  # cause: GS306
    loss.backward()  # effect: GS306


def good_retained() -> None:
    import torch

    x = torch.ones(3, requires_grad=True)
    loss = (x * x).sum()
    loss.backward(retain_graph=True)
    loss.backward()


@rule("GS306", name="second-backward", severity="error", over=("GS601",), needs=ErrorRaised)
def second_backward(trace: Trace) -> Iterator[Finding]:
    known = paths(trace)
    for event in trace.of(ErrorRaised):
        text = event.text
        if "second time" in text and "backward" in text.lower():
            yield _explain(trace, known, event)


def _explain(trace: Trace, known: Paths, event: ErrorRaised) -> Finding:
    effect = event.site.user
    first = user(trace.site(event.freed_by)) or _earlier_pass(known, event) or effect
    over = _carried_over(trace, known, event) if first.location() == effect.location() else None
    cause = over.cause if over is not None else first
    related = list(over.related if over is not None else ())
    shared = _shared(known, event)
    part = _part(known, event, shared) if over is None and shared is not None else None
    unused = _filled_for_nothing(known, shared) if over is None and shared is not None else None
    changed = _changed(known, event, shared) if over is None and shared is not None else None
    saved = shared.site if shared is not None else user(trace.site(event.saved_site))
    if changed is not None:
        related.append((changed.site, "writes new values into the weights between the two"))
    told = {site.location() for site, _ in related} | {cause.location(), effect.location()}
    if saved is not None and saved.location() not in told:
        related.append((saved, "its saved values were freed"))
    carried = named(over.names) if over is not None else ""
    repair = over or unused or (changed if part is None else None)
    return Finding(
        message="backward went a second time through a graph that was already freed"
        + (f": {carried} carried it over from an earlier step" if carried else ""),
        cause=cause,
        cause_label=over.label if over is not None else "freed here, by the first pass",
        effect=effect,
        effect_label="freed the graph, and needs it again" if over is not None else "needs it again",
        related=tuple(dict.fromkeys(r for r in related if r[0].location() != cause.location())),
        seen=(
            *_gone(trace, event, shared),
            *(over.seen if over is not None else ()),
            *((unused.seen,) if unused is not None else ()),
            *((changed.seen,) if changed is not None else ()),
        ),
        why=_WHY_CHANGED if changed is not None and repair is changed else "",
        fix=repair.fix
        if repair is not None
        else part or _fix(trace, first, effect, _again(trace, event, shared)),
        count=event.count,
        edits=repair.edits if repair is not None else (),
        subjects=frozenset(_subjects(known, event))
        | {failure_subject(event)}
        | {("leaf", site.location()) for site in (over.leaves if over is not None else ())},
    )


class Shared(NamedTuple):
    """What two passes both go through."""

    first: Backward  # the pass that freed it
    site: Site  # the user's call that made the node of it that is nearest to the second loss
    values: tuple[Key, ...]  # what that call gave


def _shared(known: Paths, event: ErrorRaised) -> Shared | None:
    """Of the pass that failed and the one that had freed its graph. None where that was the same line, which may
    be any of its passes."""
    freed = [e for e in known.backwards if e.site.id == event.freed_by and e.segment <= event.segment]
    if not freed or freed[-1].site.user.location() == event.site.user.location():
        return None
    nodes = _of_both(known, freed[-1], event)
    made = [(number, op) for number, node in nodes if (op := known.graph(number).nodes[node].op) is not None]
    if not made:
        return None
    number, op = max(made)
    call = known.graph(number).ops[op]
    return Shared(freed[-1], call.site.entry, tuple((number, index) for index in call.outputs))


def _of_both(known: Paths, first: Backward, event: ErrorRaised) -> frozenset[Key]:
    """The nodes that two passes go through."""
    both = [known.reach((one.graph, root) for root in one.roots).nodes for one in (first, event)]
    return both[0] & both[1]


def _gone(trace: Trace, event: ErrorRaised, shared: Shared | None) -> tuple[str, ...]:
    if shared is not None:
        return (f"both passes go through the graph of {located(trace, shared.site)}",)
    return (f"the saved values of `{event.node_name}` were gone",) if event.node_name else ()


def _part(known: Paths, event: ErrorRaised, shared: Shared) -> str | None:
    """The fix where an optimizer has stepped since with what the first pass gave it, and the second loss is
    another optimizer's: its old weights are gone, and to keep the graph or to add the losses would be wrong."""
    trace = known.trace
    behind = known.reach((event.graph, root) for root in event.roots).parameters
    steps = [e for e in trace.of(Step) if e.segment >= shared.first.segment]
    if len({e.optimizer for e in steps}) != 1:
        return None
    held = {p for p in behind if steps[0].optimizer in trace.parameter(p).optimizers}
    rest = {p for p in behind - held if trace.parameter(p).optimizers}
    names = {
        name
        for number, index in _taken_in(known, event, held, rest)
        if (name := names_of(trace).name(known.graph(number), index))
    }
    if len(names) != 1:
        return None
    others = {number for p in rest for number in trace.parameter(p).optimizers}
    whose = optimizer_name(trace, next(iter(others))) if len(others) == 1 else "the other optimizer"
    (name,) = names
    call, text = located(trace, shared.site), code(trace, shared.site).strip("`")
    again = f" (`{text.replace(name, f'{name}.detach()')}`)" if text.count(name) == 1 else ""
    return (
        f"compute {call} a second time for {code(trace, event.site.user, 'this pass')}, from `{name}.detach()`{again}:"
        f" {whose} trains only what comes after `{name}`. `retain_graph=True` would not do:"
        f" {code(trace, steps[0].site.user, 'the step')} has changed the weights of that graph"
    )


class Unused(NamedTuple):
    """A first pass through a graph that was not its own, with the repair."""

    seen: str
    fix: str
    edits: Edits


class Changed(NamedTuple):
    """A write to the weights of the shared graph between the two passes, with the repair."""

    site: Site
    seen: str
    fix: str
    edits: Edits


def _changed(known: Paths, event: ErrorRaised, shared: Shared) -> Changed | None:
    """Where weights behind the shared graph were written since the first pass, by a step or the program's own code:
    another pass over it, or one on the sum of the losses, would not be at the new weights."""
    trace = known.trace
    behind, first, effect = known.reach(shared.values).parameters, shared.first, event.site.user
    written: dict[Site, set[int]] = {}
    writes: list[Update | Step] = [*trace.of(Update), *trace.of(Step)]
    for write in writes:
        ids = {write.parameter} if isinstance(write, Update) else write.fresh
        if _time(first) <= _time(write) <= _time(event):
            written.setdefault(write.site, set()).update(ids & behind)
    last = next((site for site in reversed(written) if written[site]), None)
    if last is None:
        return None
    ids = written[last]
    outer = _frame(last, effect) or last.user
    calls = _forward(known, event, shared, ids)
    new, edits = forward_again(trace, calls, outer, effect)
    call = located(trace, calls[0] if calls else shared.site, "the forward")
    stepped = any(step.site == last for step in trace.of(Step))
    one = first.graph == event.graph and first.roots == event.roots
    neither = "`retain_graph=True` gives no gradient at the new weights"
    if not stepped and not one:
        neither = "neither `retain_graph=True` nor the sum of the losses gives a gradient at the new weights"
    before = "; where both losses are for one step, call `backward()` once, on their sum, before it"
    return Changed(
        last.user,
        f"between the two, {code(trace, last.user, 'a write')} has changed {parameter_names(trace, sorted(ids))}",
        f"compute {call} again after {located(trace, outer, 'the write')}, for this pass"
        + (f" (`{new}`)" if new else "")
        + f": {neither}"
        + (before if stepped and not one else ""),
        edits,
    )


def _time(event: Event) -> tuple[int, int]:
    return event.segment, event.position


def _frame(site: Site, other: Site) -> Site | None:
    """The frame of `site` in the function of `other`."""
    return next(site.frames_in(other), None)


def _forward(known: Paths, event: ErrorRaised, shared: Shared, ids: set[int]) -> list[Site]:
    """The calls of the shared graph in the function of the failing pass, from the first that takes one of the
    parameters `ids` on, in program order."""
    made = [
        (number, known.graph(number).nodes[node].op) for number, node in _of_both(known, shared.first, event)
    ]
    found: list[Site] = []
    for number, index in sorted({(number, index) for number, index in made if index is not None}):
        graph = known.graph(number)
        op = graph.ops[index]
        frame = _frame(op.site, event.site.user)
        if frame is not None and (found or any(graph.values[i].parameter in ids for i in op.inputs)):
            found.append(frame)
    return list(dict.fromkeys(found))


def _filled_for_nothing(known: Paths, shared: Shared) -> Unused | None:
    """Where all that the first pass gave the parameters behind the shared graph was cleared unused, and a step has
    used the rest: the discriminator's pass through what the generator made."""
    trace = known.trace
    fills = [f for f in gradients(trace).fills if f.event.segment == shared.first.segment]
    fill = next((f for f in fills if f.line == shared.first.site.user.location()), None)
    behind = known.reach(shared.values).parameters
    if fill is None or not fill.used or not behind or not behind <= fill.cleared:
        return None
    for number, index in shared.values:
        name = names_of(trace).name(known.graph(number), index)
        readers = known.graph(number).consumers.get(index, ())
        if name is None or not readers or number != shared.first.graph:
            continue
        taken = readers[0].site.entry
        here = Source(trace, taken.path)
        call = here.file.at(taken)
        given = [arg for arg in call.args if isinstance(arg, ast.Name)] if isinstance(call, ast.Call) else []
        given = [arg for arg in given if arg.id == name]
        return Unused(
            f"what the first gave {parameter_names(trace, sorted(behind))} was cleared, and no step has used it",
            f"give `{name}.detach()` to {located(trace, taken)}: the first pass is to train what comes after `{name}`",
            here.append(given[0], ".detach()") if len(given) == 1 else (),
        )
    return None


def _taken_in(known: Paths, event: ErrorRaised, held: set[int], rest: set[int]) -> Iterator[Key]:
    """Values computed from nothing but the parameters `held` that meet one of `rest`."""
    for key in known.flow((event.graph, root) for root in event.roots).order:
        graph = known.graph(key[0])
        made = graph.values[key[1]].op
        inputs = graph.ops[made].inputs if made is not None else ()
        if any(graph.values[i].parameter in rest for i in inputs):
            for i in inputs:
                reached = known.reach([(key[0], i)]).parameters
                if reached and reached <= held:
                    yield key[0], i


def _subjects(known: Paths, event: ErrorRaised) -> Iterator[tuple[str, object]]:
    yield "graph", event.graph
    found = carried_into(known, event)
    if found is not None:
        made = known.maker((event.graph, found[0].index))
        if made is not None:
            yield "made", made.site.user.location()
        yield "taken in", found[1].site.user.location()


def _earlier_pass(known: Paths, event: ErrorRaised) -> Site | None:
    earlier = [e for e in known.backwards if e.segment <= event.segment]
    return earlier[-1].site.user if earlier else None


def _again(trace: Trace, event: ErrorRaised, shared: Shared | None) -> bool:
    """Whether both passes go back from the very same loss, and put what they get into `.grad`."""
    site = event.site.user
    second = method_name(trace.source_file(site.path).at(site))
    if shared is None or shared.first.call != "backward" or second != "backward":
        return False
    return (shared.first.graph, shared.first.roots) == (event.graph, event.roots)


def _fix(trace: Trace, first: Site, effect: Site, again: bool) -> str:
    if again:
        return (
            f"take one of the two out, {located(trace, first, 'the first')} or {located(trace, effect, 'the second')}:"
            " both go back from the same loss, and with `retain_graph=True` each gradient would be added twice"
        )
    if first.location() == effect.location():
        return "call `backward()` once on the sum of the losses, or pass `retain_graph=True` until the last"
    return (
        f"call `backward()` once, on the sum of the losses, or pass `retain_graph=True` to "
        f"{located(trace, first, 'the first')}"
    )


class CarriedOver(NamedTuple):
    """What brought an old graph along, with the repair."""

    names: tuple[str, ...]
    cause: Site
    label: str
    related: tuple[tuple[Site, str], ...]
    seen: tuple[str, ...]
    fix: str
    edits: Edits
    leaves: tuple[Site, ...] = ()  # where what asks for a gradient without need was made


def _carried_over(trace: Trace, known: Paths, event: ErrorRaised) -> CarriedOver | None:
    """What the failing pass of `event` found of an earlier step; None where nothing is known of it."""
    carried = carried_from_seen(known, event)
    if not carried:
        return None
    cached = next(
        (found for one in carried if (found := cached_by(trace, known, event, one)) is not None), None
    )
    if cached is not None:
        return _of_cached(trace, event, cached)
    filled = next((one for one in carried if filled_by(trace, one) is not None), None)
    if filled is not None:
        return _of_filled(trace, known, event, filled)
    states = [state for one in carried if (state := state_of(trace, known, event, one)) is not None]
    if states:
        return _of_state(trace, known, event, states)
    once = [one for one in carried if not made_again(known, event, one)]
    return _made_once(trace, known, event, once) if once else _of_others(trace, known, event, carried)


def _of_filled(trace: Trace, known: Paths, event: ErrorRaised, carried: Carried) -> CarriedOver | None:
    """A state whose values are set anew, and whose graph is not."""
    found = filled_by(trace, carried)
    number, index = known.made((event.graph, carried.value.index))
    maker = known.maker((number, index))
    if found is None or maker is None:
        return None
    op, call = found
    name = name_of(trace, known.graph(event.graph), carried.value.index)
    view = known.graph(number).values[index].alias_of is not None
    fix, edits = cut_where_filled(trace, op.site.user, call, view)
    return CarriedOver(
        (name,),
        op.site.user,
        f"sets the values of `{name}`, and leaves it the graph of the step before",
        ((maker.site.user, "made here in the step before"),),
        (f"`{op.name}` was recorded on top of `{maker.name}` of the step before",),
        fix,
        edits,
    )


def _of_cached(trace: Trace, event: ErrorRaised, cached: Cached) -> CarriedOver:
    """A parametrized tensor that torch keeps for the whole of a block, in which there are several passes."""
    block, made = cached
    return CarriedOver(
        (),
        block,
        "keeps what each parametrization gave first, with its graph",
        ((made.site.user, "computed once in this block"),),
        (f"{code(trace, made.site.user)} ran for an earlier pass, and not again for this one",),
        f"let the block of {located(trace, block)} end before {located(trace, event.site.user)}: each pass needs one"
        " of its own, around its forward",
        (),
    )


def _of_state(trace: Trace, known: Paths, event: ErrorRaised, states: list[State]) -> CarriedOver:
    first = states[0]
    same = [s for s in states if s.site.location() == first.site.location()]
    names = tuple(dict.fromkeys(name for s in same for name in s.names))
    several = len(names) == 1 and any(
        (s.maker.site, s.maker.module) == (first.maker.site, first.maker.module) for s in same[1:]
    )
    times = times_taken(known.graph(event.graph), first.carried.readers[0])
    made = first.maker.site.user
    fix, edits = state_cut(trace, event, same, names, several, times)
    seen = (
        f"{code(trace, first.carried.readers[0].site.user, 'that line')} ran {plural(times, 'time')} in this "
        "step: only the first read a value of the step before",
    )
    return CarriedOver(
        names,
        first.site,
        f"takes {named(names)} as the step before left {'them, with their' if names[1:] else 'it, with its'} graph",
        (
            *(
                ((made, "made here in the step before"),)
                if line_of(trace, made) != line_of(trace, first.site)
                else ()
            ),
            *(
                (site, "keeps it for the next step")
                for site in [kept_behind(trace, first)]
                if site is not None
            ),
        ),
        seen if times > 1 else (),
        fix,
        edits,
    )


def _made_once(trace: Trace, known: Paths, event: ErrorRaised, carried: list[Carried]) -> CarriedOver:
    made = [made_by(trace, known, event, one) for one in carried]
    names = tuple(dict.fromkeys(one.name for one in made))
    origin = behind(trace, known, event, made)
    if origin.resting and origin.complete:
        return _made_for_others(trace, known, event, carried, made, origin.needed)
    sites = list({one.site.location(): one.site for one in made}.values())
    related = [(site, "made in an earlier step, with its graph") for site in sites[1:]]
    related += [(site, "brought the old graph into this step") for site in _readers(carried)]
    begins: list[Site] = []
    if origin.leaves and not origin.needed and origin.complete:
        own = [leaf for leaf in origin.leaves if leaf.declared and not leaf.registered]
        fix, edits = _registered(trace, made, own, _readers(carried)) or without_graph(
            trace, made, origin.leaves
        )
        begins = [leaf.site.user for leaf in origin.leaves if leaf.site is not None]
        related += [(site, "asks for the gradient, and the graph begins here") for site in begins]
    else:
        constants = loop_constants(trace, event)
        fix, edits = (
            taken_as_numbers(trace, event, constants)
            if constants is not None
            else in_each_step(trace, event, made, origin.needed)
        )
    return CarriedOver(
        names,
        sites[0],
        "made in an earlier step, with its graph",
        tuple(related),
        _not_again(trace, known, made),
        fix,
        edits,
        tuple(begins),
    )


def _registered(
    trace: Trace, made: list[Made], leaves: list[Parameter], readers: list[Site]
) -> tuple[str, Edits] | None:
    """What is computed of an `nn.Parameter` once, in place of it: the module holds no parameter, and no optimizer got
    it. It was to be trained."""
    held, name = made[0].site, made[0].name
    inside = [leaf for leaf in leaves if leaf.site is not None and holds(held, leaf.site.user)]
    if not inside or not name.startswith("self.") or not readers:
        return None
    parameter = inside[0].site
    assert parameter is not None
    return (
        f"keep {located(trace, parameter.user)} itself as `{name}`, which makes it a parameter of the module that the"
        " optimizer gets, and compute the rest of it where it is used, in each step: before"
        f" {located(trace, readers[0])}",
        (),
    )


def _made_for_others(
    trace: Trace,
    known: Paths,
    event: ErrorRaised,
    carried: list[Carried],
    made: list[Made],
    leaves: list[Parameter],
) -> CarriedOver:
    """What a network gave once, of which none of the parameters is trained any more: it needs no graph."""
    effect, graph = event.site.user, known.graph(event.graph)
    sites = []
    for one in made:
        maker = known.maker(one.key)
        assert maker is not None, "asked only for what was seen being made"
        here = maker.site.frames_in(effect)
        sites.append(next(here, maker.site.entry))
    names = tuple(dict.fromkeys(name_of(trace, graph, one.value.index) for one in carried))
    related = [(site, "made once, with its graph") for site in sites[1:]]
    related += [(site, "brought the old graph into this step") for site in _readers(carried)]
    holders = {number for p in leaves for number in p.optimizers}
    held = listed([optimizer_name(trace, number) for number in sorted(holders)])
    return CarriedOver(
        names,
        sites[0],
        "made once, with its graph",
        tuple(related),
        (
            f"no step has used a gradient of {parameter_names(trace, [p.id for p in leaves])} since then"
            + (
                f": {held} {'has' if len(holders) == 1 else 'have'} not stepped"
                if held
                else ", and no optimizer has them"
            ),
        ),
        f"compute {named(names)} without a graph, under `torch.no_grad()`:"
        f" {' and '.join(dict.fromkeys(located(trace, site) for site in sites))}; or `.detach()` it there",
        tuple(edit for site in dict.fromkeys(sites) for edit in under_no_grad(trace, site)),
    )


def _readers(carried: list[Carried]) -> list[Site]:
    """The lines that took these values in."""
    return list({r.site.user.location(): r.site.user for one in carried for r in one.readers}.values())


def _not_again(trace: Trace, known: Paths, made: list[Made]) -> tuple[str, ...]:
    number = known.made(made[0].key)[0]
    segment = next((s.index for s in trace.segments if s.graph == number), None)
    step = since_segment(trace, segment) if segment is not None else None
    names = named(dict.fromkeys(one.name for one in made))
    return (
        (f"{names} {'were' if len(made) > 1 else 'was'} not made again after step {step.step}",)
        if step
        else ()
    )


def _of_others(trace: Trace, known: Paths, event: ErrorRaised, carried: list[Carried]) -> CarriedOver:
    """Neither a state nor what was made once."""
    reader, graph = carried[0].readers[0].site.user, known.graph(event.graph)
    names = tuple(dict.fromkeys(name_of(trace, graph, one.value.index) for one in carried))
    made = made_by(trace, known, event, carried[0])
    if carried[0].readers[0].name in JOINING:
        fix, edits = cut_where_joined(trace, reader, made)
    else:
        fix, edits = cut_where_read(trace, reader, names)
    return CarriedOver(
        names,
        made.site,
        "made in an earlier step, with its graph",
        ((reader, "brought the old graph into this step"),),
        (),
        fix,
        edits,
    )
