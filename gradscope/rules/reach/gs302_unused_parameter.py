"""A parameter is in the optimizer, but no loss ever depends on it.

Why: the parameter's layer is never called, or its result is dropped on the way. Its `.grad`
stays None, the optimizer skips it, and it keeps its initial value; under
DistributedDataParallel it stops the run.

Fix: use the layer in `forward`, or remove it.

Silent on: parameters that some pass of the run trains; averaged copies that the program
writes itself; one of several alternatives (experts) that the run may not have chosen yet; what an
optimizer that never steps holds only to carry the rate of a schedule.
A note for parts of a library's model, which only some of its tasks need (the head of a backbone
that is used for its features), for a parameter that is only read as a number (a setting), and for a
layer or a parameter that is used under a condition only, where this run never met it; for a layer
that losses depended on up to some step, while its optimizer steps on; and for what an optimizer of its
own holds that never steps, while another one does.
"""

import ast
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from gradscope.analysis.called_twice import CalledTwice, called_twice
from gradscope.analysis.cuts import cuts, exits, resting_cuts
from gradscope.analysis.dead_ends import (
    OtherTurns,
    another_in_its_place,
    begun_in_each_turn,
    dropped_at,
    drops,
    given_instead,
    loop_name,
    other_turns,
    unread_parts,
    used_for_its_inside,
)
from gradscope.analysis.loop import settled
from gradscope.analysis.made import made_at
from gradscope.analysis.never_read import read_again
from gradscope.analysis.own_writes import kept_up
from gradscope.analysis.reach import Paths, late_paths, passes, paths
from gradscope.analysis.since import since_segment
from gradscope.analysis.stops import Stop
from gradscope.analysis.text import may_step, site_of
from gradscope.analysis.unheld import replaced
from gradscope.analysis.unused_parts import alternative, forwards, in_library, not_yet, taken_apart
from gradscope.analysis.words import (
    code,
    listed,
    located,
    method,
    optimizer_name,
    parameter_names,
    parameter_subjects,
    source,
    user,
    where,
)
from gradscope.events import Scheduled, Step
from gradscope.fixes.blocks import moved_out
from gradscope.fixes.source import Source
from gradscope.model import Finding, Optimizer, Parameter, Since, Site
from gradscope.rules import rule
from gradscope.store import Trace

MANY_PASSES = 50  # after which a layer that is one of several alternatives should have had its turn


def bad_layer_never_called() -> None:  # fix: by hand
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.hidden = nn.Linear(4, 8)
            self.extra = nn.Linear(8, 8)  # cause: GS302
            self.out = nn.Linear(8, 1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y: torch.Tensor = self.out(torch.relu(self.hidden(x)))
            return y

    model = Net()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        model(torch.randn(8, 4)).pow(2).mean().backward()  # effect: GS302
        opt.step()


def good_heads_in_turn() -> None:
    import torch
    from torch import nn

    trunk, heads = nn.Linear(4, 8), nn.ModuleList([nn.Linear(8, 1), nn.Linear(8, 1)])
    opt = torch.optim.SGD([*trunk.parameters(), *heads.parameters()], lr=0.1)
    for step in range(4):
        opt.zero_grad()
        heads[step % 2](trunk(torch.randn(8, 4))).pow(2).mean().backward()
        opt.step()


@rule("GS302", name="unused-parameter", severity="warning")
def unused_parameter(trace: Trace) -> Iterator[Finding]:
    yield from _never(trace)
    yield from _at_rest(trace)
    for known in late_paths(trace):
        yield from _no_longer(trace, known)


def _at_rest(trace: Trace) -> Iterator[Finding]:
    """Parameters that no loss depends on, of an optimizer that never steps and that no line would let step.
    A note: it may be there for another day. Not where a schedule is stepped for it, and no model that was called has
    its parameters: it carries that schedule's rate."""
    known, scheduled = paths(trace), {event.optimizer for event in trace.of(Scheduled)}
    if not settled(trace) or not known.reached.complete:
        return
    cut_off = {p.id for cut in resting_cuts(trace) for p in cut.parameters}  # GS301's
    groups: dict[frozenset[int], list[Parameter]] = {}
    for parameter in known.resting():
        if parameter.id not in known.feeding and parameter.id not in cut_off:
            groups.setdefault(frozenset(parameter.optimizers), []).append(parameter)
    for numbers, parameters in groups.items():
        holders = [trace.optimizers[number] for number in sorted(numbers) if number in trace.optimizers]
        if not holders or may_step(trace, numbers):
            continue
        if numbers <= scheduled and not any(p.registered for p in parameters):
            continue
        names = parameter_names(trace, [p.id for p in parameters])
        found = _unused(trace, known, made_at(trace, parameters[0], whole=True), parameters)
        held = listed([optimizer_name(trace, holder.id) for holder in holders])
        yield replace(
            found,
            message=f"no loss depends on {names}, and {held} makes no step",
            seen=(*found.seen, f"{held} made no step, and no line calls its `step()`"),
            fix=f"{found.fix}; if it is to train, call {method(trace, holders[0].id, 'step')} too",
            severity="note",
        )


def _no_longer(trace: Trace, known: Paths) -> Iterator[Finding]:
    """Parameters that losses depended on up to some step. A note: a program may well be done with a
    branch of its own."""
    stop = known.stop
    if stop is None or not known.roots or not known.reached.complete:
        return
    lost = {p.id for cut in cuts(trace) if cut.known is known for p in cut.parameters}
    gone = [p.id for p in known.expected() if p.id not in lost | known.reached.parameters]
    past = [id for id in gone if id in known.feeding]  # behind a cut that was there all along
    for ids in ([id for id in gone if id not in past], past):
        if ids:
            yield _gone(trace, known, stop, ids, past=ids is past)


def _gone(trace: Trace, known: Paths, stop: Stop, ids: list[int], *, past: bool) -> Finding:
    names, it = parameter_names(trace, ids), "it" if len(ids) == 1 else "them"
    used = list(dict.fromkeys(site for id in ids if (site := _last_used(trace, stop, id)) is not None))
    label = f"not used for a loss after step {stop.step - 1:,}"
    return Finding(
        message=f"no gradient arrives at {names} any more: what carried it is no longer part of a loss"
        if past
        else f"no loss depends on {names} any more, though the optimizer that holds {it} steps on",
        cause=used[0] if used else stop.site,
        cause_label="the gradient came back through here, as long as it did" if past else label,
        effect=known.backwards[0].site.user,
        effect_label=f"no longer reaches {it}",
        related=tuple((site, label) for site in used[1:] if not past),
        seen=(stop.seen(trace, ids),),
        why="the optimizer skips a parameter without a gradient: it keeps the value that it had then",
        fix=f"let the loss depend on {names} all along; if the program is done with {it}, go on with an optimizer"
        " of the others",
        count=stop.after,
        severity="note",
        subjects=parameter_subjects(ids),
        since=stop.since,
    )


def _last_used(trace: Trace, stop: Stop, parameter: int) -> Site | None:
    """The line that read a parameter last, before its gradients stopped."""
    earlier = [s.graph for s in trace.segments if s.index < stop.segment and s.graph is not None]
    for number in dict.fromkeys(reversed(earlier)):
        graph = trace.graph(number)
        for value in graph.values:
            if value.parameter == parameter and (
                readers := [op for op in graph.consumers.get(value.index, ()) if op.nodes]
            ):
                return readers[-1].site.user
    return None


def _never(trace: Trace) -> Iterator[Finding]:
    """Parameters that no loss of the run depends on."""
    known = paths(trace)
    program = trace.program
    ended = program.get("exception") is None
    if not known.stepping or not known.roots or known.passes < (1 if ended else 2):
        return
    if any(event.unlooked and event.roots for event in known.backwards):
        return
    lost = {p.id for cut in cuts(trace) for p in cut.parameters}  # GS301's, GS304's and GS305's
    lost |= replaced(trace)  # GS206's
    groups: dict[tuple[Site | None, str, bool], list[Parameter]] = {}
    aside: dict[Site | None, bool] = {None: False}  # place where a result is dropped → for its inside
    for parameter in known.expected():
        if parameter.id not in known.feeding and parameter.id not in lost:
            dropped = dropped_at(trace, parameter.id)
            if dropped is None and not known.reached.complete:
                continue
            place = dropped or made_at(trace, parameter, whole=True)
            if dropped is not None and dropped not in aside:
                aside[dropped] = used_for_its_inside(trace, dropped)
            severity = "note" if aside[dropped] else _severity(trace, known, parameter)
            key = place, severity, dropped is not None
            groups.setdefault(key, []).append(parameter)
    for (place, severity, dropped_there), parameters in groups.items():
        found = (
            _dropped(trace, known, place, parameters, aside=aside[place])
            if dropped_there and place is not None
            else _unused(trace, known, place, parameters)
        )
        if not dropped_there and (template := _template(trace, place, parameters[0])) is not None:
            found = _of_a_template(trace, found, *template)
        elif not dropped_there and (twice := called_twice(trace, parameters[0])) is not None:
            found = _meant(trace, found, parameters[0], twice)
        ids = [p.id for p in parameters]
        holders = _holders(trace, ids) if severity == "note" else frozenset()
        first = _first_step(trace, parameters)
        yield replace(found, severity=severity, subjects=found.subjects | holders, since=first)


def _first_step(trace: Trace, parameters: list[Parameter]) -> Since | None:
    """The first step of an optimizer that holds them: no loss has depended on them since."""
    holders = {number for parameter in parameters for number in parameter.optimizers}
    first = next((event.segment for event in trace.of(Step) if event.optimizer in holders), None)
    return since_segment(trace, first) if first is not None else None


def _unused(trace: Trace, known: Paths, made: Site | None, parameters: list[Parameter]) -> Finding:
    """What is made and never called."""
    ids = [p.id for p in parameters]
    names = parameter_names(trace, ids)
    holder = _holder(trace, known, parameters)
    held, there = user(holder.site) if holder is not None else None, "handed to the optimizer here"
    if holder is not None and not holder.made:
        there = "the optimizer holds " + ("it" if len(ids) == 1 else "them")
    call = _called_at(trace, ids)
    ends = drops(trace, ids[0])[:3] if call is not None else []
    loose = dict.fromkeys(user(p.site) for p in parameters if p.module is None and p.site) if not made else ()
    return Finding(
        message=_message(names, ids),
        cause=made or held or user(parameters[0].site),
        cause_label="made here and never used for a loss" if made else there,
        effect=_last_pass(known),
        effect_label="no backward pass reaches it" if len(ids) == 1 else "no backward pass reaches them",
        related=(
            *(
                ((held, there),)
                if made and held
                else tuple((site, "made here") for site in loose if site and held)
            ),
            *((site, "a way from it ends here: nothing reads the result") for site in ends),
        ),
        seen=(
            f"`.grad` of {names} is None after {passes(known.passes_beside(parameters))}",
            *(
                (f"no loss depends on a result of {located(trace, call, 'the call')}",)
                if call is not None
                else ()
            ),
        ),
        fix=(_some_of_several(trace, known, made, parameters[0]) if call is None and made is not None else "")
        or _fix(trace, known, made, parameters, call),
        subjects=parameter_subjects(ids),
    )


def _template(
    trace: Trace, made: Site | None, parameter: Parameter
) -> tuple[ast.Attribute, ast.Attribute] | None:
    """`self.layer` of `self.layer = …`, and its one other place: an argument of a call in the same function, where
    other modules of its class are called."""
    file = trace.source_file(made.path) if made is not None else None
    statement = file.statement(made) if file is not None and made is not None else None
    target = statement.targets[0] if isinstance(statement, ast.Assign) else None
    module = trace.modules.get(parameter.module) if parameter.module is not None else None
    if file is None or not isinstance(target, ast.Attribute) or module is None:
        return None
    while module is not None and module.path.rpartition(".")[2] != target.attr:
        module = trace.modules.get(module.parent) if module.parent is not None else None
    uses = [
        n for n in file.nodes if isinstance(n, ast.Attribute) and n.attr == target.attr and n is not target
    ]
    call = file.parent.get(id(uses[0])) if len(uses) == 1 else None
    if module is None or not isinstance(call, ast.Call) or uses[0] not in call.args:
        return None
    called = forwards(trace)
    others = [m.id for m in trace.modules.values() if m.cls == module.cls and m.id != module.id]
    same = file.scope_of(uses[0]) is file.scope_of(target)
    return (target, uses[0]) if same and any(id in called for id in others) else None


def _of_a_template(trace: Trace, found: Finding, target: ast.Attribute, use: ast.Attribute) -> Finding:
    """What is there to be copied by another module trains as those copies only."""
    made = found.cause
    if made is None:
        return found
    here = Source(trace, made.path)
    call = here.file.parent[id(use)]
    taker = site_of(made.path, made.function, call) if isinstance(call, ast.expr) else made
    plain = not any(isinstance(n, ast.Name) and n.id == target.attr for n in here.file.nodes)
    return replace(
        found,
        cause_label="a template: copies of it are called, and not this one",
        related=((taker, "makes its own copies of it"), *found.related),
        fix=f"keep it out of the model: `{target.attr}`, a plain variable, in place of `{ast.unparse(target)}`, here"
        f" and in {located(trace, taker)}, which needs it as its template; the copies train already",
        edits=(*here.replace(target, target.attr), *here.replace(use, target.attr)) if plain else (),
    )


def _meant(trace: Trace, found: Finding, parameter: Parameter, twice: CalledTwice) -> Finding:
    """Another layer of its kind is called in its place: twice, on one input."""
    unused = trace.modules[parameter.module or 0].path.rpartition(".")[2]
    called, call = twice.layer.path.rpartition(".")[2], located(trace, twice.second, "the second call")
    made = found.cause
    return replace(
        found,
        message=f"{found.message}: `{called}` is called a second time in its place",
        cause=twice.second,
        cause_label=f"gives the numbers of the first call once more: `{unused}` has the same form, and is never called",
        related=(
            (twice.first, "the first call, of the same input"),
            *(((made, "made here and never used for a loss"),) if made is not None else ()),
            *found.related,
        ),
        seen=(
            *found.seen,
            f"both calls of `{called}` were given one and the same tensor, and both results are read",
        ),
        fix=f"call `{ast.unparse(twice.function.value)}.{unused}` in place of"
        f" `{called}` in {call}, the second of the two",
        edits=Source(trace, twice.second.path).replace(
            twice.function, f"{ast.unparse(twice.function.value)}.{unused}"
        ),
    )


def _dropped(trace: Trace, known: Paths, place: Site, parameters: list[Parameter], *, aside: bool) -> Finding:
    """What is called, and nothing reads the result; `aside`: but what was computed within it."""
    ids = [p.id for p in parameters]
    names = parameter_names(trace, ids)
    made = dict.fromkeys(site for p in parameters if (site := made_at(trace, p)) is not None)
    loop = loop_name(trace, place)
    call = located(trace, place, "the call")
    parts = listed([f"`{name}`" for name in unread_parts(trace, place)])
    instead = given_instead(trace, place)
    another = another_in_its_place(trace, place) if not loop and instead is None else None
    begun = begun_in_each_turn(trace, place) if parts else None
    turns = other_turns(trace, place, ids) if not parts and another is None else None
    label = "the result goes nowhere"
    if turns is not None:
        label = f"what {f'its {turns.dropped} turn gives' if turns.dropped else 'some of its turns give'} goes nowhere"
    not_held = f"leave {_out_of_theirs(trace, known, parameters)}"
    out = not_held if _serves_others(trace, place) else f"leave the call and {names} out"
    fix = f"let the loss depend on the result of {call}, or {out}"
    if turns is not None and not turns.next_turn:
        which = f"its {turns.dropped} turn" if turns.dropped else "these turns"
        fix = f"let the loss depend on the result of {call} in {which}, too, or {out}"
    if parts:
        label = f"nothing reads {parts} of its results"
        fix = f"let the loss depend on {parts} too ({where(place)}), or {not_held}"
        if begun is not None:
            fix = (
                f"move {located(trace, begun)} before the loop that it stands in: each turn begins with it, and what"
                " the one before gave is dropped"
            )
    elif aside:
        fix = f"if this call is for what is computed within it, {not_held}"
    elif loop:
        fix = f"keep the result of {call} in a list of its own, and go on with that"
    elif another is not None:
        fix = (
            f"keep the result of {call}: {located(trace, another)} puts something else in its place; or {out}"
        )
    elif instead is not None:
        fix = f"return `{instead.result}` in place of `{instead.given.id}` ({where(instead.site)})"
    return Finding(
        message=_message(names, ids),
        cause=place,
        cause_label=f"{label}: the loop's next turn gives `{loop}` another value" if loop else label,
        effect=_last_pass(known),
        effect_label="no backward pass reaches it" if len(ids) == 1 else "no backward pass reaches them",
        related=(
            *(
                ((instead.site, f"gives out `{instead.given.id}`, and not the result"),)
                if instead is not None
                else ()
            ),
            *(((another, "gives its name to something else"),) if another is not None else ()),
            *(((begun, "begins anew in each turn"),) if begun is not None else ()),
            *((site, "made here") for site in made if site.location() != place.location()),
        ),
        seen=(
            f"`.grad` of {names} is None after {passes(known.passes_beside(parameters))}",
            (f"no operation read {parts}, of what {call} gave" if parts else _unread(trace, place, turns))
            + (", while one outside of it read what was computed within it" if aside else ""),
            *(
                (
                    f"`{instead.given.id}`, of the same shape {instead.shape}, was given out and read in its place",
                )
                if instead is not None
                else ()
            ),
        ),
        fix=fix,
        edits=Source(trace, place.path).replace(instead.given, instead.result)
        if instead is not None and not loop
        else moved_out(trace, begun, ast.Assign),
        subjects=parameter_subjects(ids),
    )


def _unread(trace: Trace, place: Site, turns: OtherTurns | None) -> str:
    call = code(trace, place, "the call")
    if turns is None:
        return f"no operation read what {call} gave"
    if turns.next_turn and turns.reader.site.user == place:
        return f"each turn of {call} reads what the one before gave, and no operation read what the last one gave"
    reader = located(trace, turns.reader.site.user, "an operation")
    if turns.next_turn:
        return f"{reader} reads what {call} gave in the turn before, and no operation read what the last one gave"
    missed = f"of its {turns.dropped} turn" if turns.dropped else "of these turns"
    return f"{reader} reads what {call} gave in other turns, and no operation read the result {missed}"


def _serves_others(trace: Trace, place: Site) -> bool:
    """Whether the name that the result is given is read further on: by another object of the class, or in another
    branch, so that the call can't go."""
    file = trace.source_file(place.path)
    statement = file.statement(place)
    return (
        isinstance(statement, ast.Assign)
        and isinstance(statement.targets[0], ast.Name)
        and read_again(file, statement, statement.targets[0].id)
    )


def _message(names: str, ids: list[int]) -> str:
    is_, it = ("is", "it") if len(ids) == 1 else ("are", "them")
    return f"{names} {is_} in the optimizer, but no loss depends on {it}"


def _last_pass(known: Paths) -> Site:
    return max(known.backwards, key=lambda event: (event.call == "backward", event.count)).site.user


def _holder(trace: Trace, known: Paths, parameters: list[Parameter]) -> Optimizer | None:
    """The optimizer that steps them."""
    numbers = sorted(parameters[0].optimizers, key=lambda number: number not in known.stepping)
    return trace.optimizers.get(numbers[0])


def _making(holder: Optimizer | None) -> Site | None:
    return user(holder.site) if holder is not None and holder.made else None


def _holders(trace: Trace, ids: list[int]) -> frozenset[Any]:
    """The optimizers that hold them: GS208 may tell of these parameters with others of the same one."""
    return frozenset(("held", number) for id in ids for number in trace.parameter(id).optimizers)


def _severity(trace: Trace, known: Paths, parameter: Parameter) -> str:
    if parameter.id in kept_up(trace) or in_library(trace, parameter) or not_yet(trace, parameter):
        return "note"
    if taken_apart(trace, parameter) is not None:
        return "note"
    if any(True for graph in trace.graphs for _ in exits(known, graph, parameter.id)):
        return "note"
    return (
        "note"
        if known.passes_beside([parameter]) < MANY_PASSES and alternative(trace, known, parameter) is not None
        else "warning"
    )


def _called_at(trace: Trace, ids: list[int]) -> Site | None:
    """The line that computes with one of them, where there is one."""
    for graph in trace.graphs:
        for value in graph.values:
            if value.parameter in ids:
                for op in graph.consumers.get(value.index, ()):
                    if op.nodes:
                        return op.site.user
    return None


def _some_of_several(trace: Trace, known: Paths, made: Site, parameter: Parameter) -> str:
    """What is told of layers of a container whose others train; "" where they are in none."""
    attribute = source(trace, made).partition("=")[0].partition(":")[0].strip()
    holder = alternative(trace, known, parameter)
    if holder is None or attribute.rpartition(".")[2] not in (holder.path.rpartition(".")[2], holder.name):
        return ""
    return (
        f"nothing, where this run is to use only some of the layers in `{attribute}`; else let `forward` go through"
        f" all of them, or make no more than it uses ({where(made)})"
    )


def _out_of_theirs(trace: Trace, known: Paths, parameters: list[Parameter]) -> str:
    """ "`a` and `b` out of `SGD(…)`, and `c` out of `Adam(…)`": each out of the optimizer that holds it."""
    held: dict[Site | None, list[int]] = {}
    for parameter in parameters:
        held.setdefault(_making(_holder(trace, known, [parameter])), []).append(parameter.id)
    return ", and ".join(
        f"{parameter_names(trace, ids)} out of {located(trace, made, 'the optimizer')}"
        for made, ids in held.items()
    )


def _fix(
    trace: Trace, known: Paths, made: Site | None, parameters: list[Parameter], call: Site | None
) -> str:
    names = parameter_names(trace, [p.id for p in parameters])
    not_held = f"or leave {_out_of_theirs(trace, known, parameters)}"
    if call is not None:
        return f"let a loss depend on the result of {located(trace, call, 'the call')}, {not_held}"
    if made is None:
        return f"let the loss depend on {names}, {not_held}"
    attribute = source(trace, made).partition("=")[0].partition(":")[0].strip()
    if not_yet(trace, parameters[0]):
        return (
            f"nothing, where the branch that uses `{attribute}` is off on purpose; else let that run, or make"
            f" {located(trace, made, 'it')} only where it does"
        )
    if (whole := taken_apart(trace, parameters[0])) is not None:
        return f"nothing, where only parts of `{whole.cls}` are meant to be used; else call it as a whole, {not_held}"
    if (read := _read_at(trace, made, attribute)) is not None:
        return f"let a loss depend on what {located(trace, read)} gives, {not_held}"
    return f"use `{attribute}` in `forward`, or remove {located(trace, made, 'it')}"


def _read_at(trace: Trace, made: Site, attribute: str) -> Site | None:
    """Where the program reads an attribute that a module's constructor makes: taken away, it would fail there."""
    owner, _, name = attribute.rpartition(".")
    makers = trace.source_file(made.path)
    own = makers.class_of(makers.scope(made)) if owner == "self" else None
    if own is None:
        return None
    for path in trace.sources:
        file = trace.source_file(path)
        for function, node in file.of(ast.Attribute):
            if node.attr != name or not isinstance(node.ctx, ast.Load) or function == "__init__":
                continue
            if getattr(node.value, "id", "") != "self" or file.class_of(node) is own:
                return site_of(path, function, node)
    return None
