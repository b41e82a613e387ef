"""The optimizer steps, but none of its parameters has a gradient.

Why: `step()` leaves a parameter alone whose `.grad` is None, and a gradient that was just
zeroed moves it only by momentum and weight decay. Nothing is learned from this step.

Fix: order the loop `zero_grad()`, forward, `backward()`, `step()`, and give the optimizer
the parameters of the model that makes the loss.

Silent on: closures of a run with any backward pass, one step before the first backward
(scheduler warm-up), schedules that are tried out (nothing is computed between the steps), steps skipped by a
gradient scaler, optimizers whose parameters are all frozen, a rare step without gradient
among others.
"""

import ast
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace

from gradscope.analysis.cuts import Cut, cut_before_steps, cut_words
from gradscope.analysis.gradients import gradients
from gradscope.analysis.idle import Tally, forwards, tallied
from gradscope.analysis.loop import nearest_backward, parameters_of
from gradscope.analysis.names import names_of, place
from gradscope.analysis.reach import paths
from gradscope.analysis.since import since_segment
from gradscope.analysis.stops import frozen_throughout
from gradscope.analysis.switched import OffAtThePass, off_at_the_pass
from gradscope.analysis.text import named_subject, nodes_that_ran, not_called, parentheses, site_of
from gradscope.analysis.trainers import last_with_graph, runs_it
from gradscope.analysis.words import (
    code,
    listed,
    located,
    method,
    optimizer_name,
    parameter_names,
    parameter_subjects,
    user,
    variable,
    where,
)
from gradscope.events import Backward, RequiresGrad, Step, ZeroGrad
from gradscope.fixes.calls import receiver_replaced
from gradscope.fixes.source import Edits, Source
from gradscope.fixes.statements import moved
from gradscope.model import Finding, Site
from gradscope.rules import rule
from gradscope.store import Trace


def bad() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        opt.zero_grad()
        loss = model(torch.randn(8, 3)).pow(2).mean()
        opt.step()  # cause: GS204
        loss.backward()


def good_schedule_tried_out() -> None:
    import torch

    opt = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.1)
    scheduler = torch.optim.lr_scheduler.StepLR(opt, 2)
    for _ in range(5):
        opt.step()
        scheduler.step()


@rule("GS204", name="step-without-gradient", severity="warning", over=("GS205", "GS302", "GS308", "GS402"))
def step_without_gradient(trace: Trace) -> Iterator[Finding]:
    tallies = tallied(trace)
    if trace.of(Backward):  # by the closure, it may be, before the optimizer cleared its gradients
        tallies = {
            number: tally
            for number, tally in tallies.items()
            if not (tally.closure and _goes_back(trace, {site.id for site in tally.at}))
            and not _fills_itself(trace, number, tally)
        }
    elif not forwards(trace, set(tallies)):
        return
    for number, tally in tallies.items():
        if (told := tally.told()) and number not in frozen_throughout(trace):  # GS208's
            yield _finding(trace, number, tally, told)


def _goes_back(trace: Trace, calls: set[int]) -> bool:
    """Whether a pass was made within these calls: a wrapper may hand on a closure that does nothing."""
    return any(frame.id in calls for event in trace.of(Backward) for frame in event.site.stack)


def _fills_itself(trace: Trace, number: int, tally: Tally) -> bool:
    """Whether all gradients that an optimizer ever found were made within its own `step()`, into which nobody
    looks: then it says nothing that it finds none before."""
    ids = set(trace.optimizers[number].parameters)
    return tally.fed > 0 and all(ids.isdisjoint(event.filled) for event in trace.of(Backward))


def _finding(trace: Trace, number: int, tally: Tally, told: Counter[Site]) -> Finding:
    (step, _), empty = told.most_common(1)[0], told.total()
    ids = trace.optimizers[number].parameters
    late, meant = _own_pass(trace, set(ids)), not_called(trace, "backward")
    within = _of_closure(trace, step) if tally.closure else ()
    closure = tally.closure and bool(
        within or not trace.of(Backward)
    )  # else it is one that a wrapper hands on
    found = Finding(
        message=f"{code(trace, step, 'the step')} runs without any gradient: nothing is learned from it",
        cause=step,
        cause_label=f"{parameter_names(trace, ids)}: no gradient at this point",
        seen=(f"{empty} of {tally.steps} steps of this `{trace.optimizers[number].cls}` found no gradient",),
        related=within if not trace.of(Backward) else (),
        fix=_fix(trace, number, step, late, closure),
        count=empty,
        edits=moved(trace, step, late.site.user, after=True) if late is not None else (),
        subjects=parameter_subjects(_filled(trace, ids) or ids) | {("optimizer", number)},
        since=since_segment(trace, tally.first) if tally.first is not None else None,
    )
    if number in paths(trace).mistaken:
        return _mistaken(trace, number, found)
    if late is None and not closure and (past := _past_all(trace)) is not None:
        return _goes_past(trace, number, found, *past)
    if late is None and not closure and meant is None and (cut := cut_before_steps(trace, number)):
        return _cut_off(trace, number, found, cut)
    if not closure and (switched := off_at_the_pass(trace, step, frozenset(ids))) is not None:
        return _switched_off(trace, number, found, switched)
    call = next((runs_it(e.site) for e in trace.of(Step) if e.site.user == step), None)
    if call is not None and meant is None:
        return _of_a_library(trace, number, call, late, found)
    if meant is None and not closure and (skipped := _in_a_branch(trace)) is not None:
        return _never_reached(trace, found, step, *skipped)
    if meant is None or late is not None:
        return found
    return replace(
        found,
        cause=meant,
        cause_label="named, but not called: no gradient is computed",
        effect=step,
        effect_label=found.cause_label,
        fix=f"call it: `{names_of(trace).text(meant) or 'backward'}()`",
        edits=parentheses(meant),
        subjects=found.subjects | {named_subject(meant)},
    )


def _in_a_branch(trace: Trace) -> tuple[Site, ast.If, ast.Expr] | None:
    """The one `backward()` of functions that ran, of a run without any pass, and the `if` in whose branch it stands."""
    calls = [
        (path, function, node)
        for path, function, node in nodes_that_ran(trace, ast.Call)
        if isinstance(node.func, ast.Attribute) and node.func.attr == "backward"
    ]
    if trace.of(Backward) or len(calls) != 1:
        return None
    path, function, call = calls[0]
    file = trace.source_file(path)
    statement = file.statement_of(call)
    branch = file.parent.get(id(statement)) if statement is not None else None
    if not isinstance(statement, ast.Expr) or not isinstance(branch, ast.If):
        return None
    return site_of(path, function, call), branch, statement


def _never_reached(
    trace: Trace, found: Finding, step: Site, call: Site, branch: ast.If, statement: ast.Expr
) -> Finding:
    """The program has a pass, and never comes to it."""
    here = Source(trace, call.path)
    test, text = ast.unparse(branch.test), code(trace, call)
    other = statement in branch.orelse
    within = f"in the {'`else`' if other else 'branch'} of `{test}`"
    move = "out of the `else`, behind the `if`" if other else "out of the `if`"
    return replace(
        found,
        message=f"{found.message}: {text} stands in a branch that is never taken",
        cause=call,
        cause_label=f"never reached: {within}",
        effect=step,
        effect_label=found.cause_label,
        seen=(*found.seen, f"{text} was reached in no turn, and no other pass was made"),
        fix=f"take {located(trace, call)} {move} (line {branch.lineno}), so that it runs whatever `{test}` is",
        edits=here.out_of_else(branch) if branch.orelse == [statement] else (),
    )


def _cut_off(trace: Trace, number: int, found: Finding, cut: Cut) -> Finding:
    """The pass before the step is there, and its loss was computed from what the optimizer holds, behind a cut."""
    at, holder = cut.site, optimizer_name(trace, number, found.cause)
    loss = cut.loss.site.user if cut.loss is not None else None
    names, words = parameter_names(trace, [p.id for p in cut.parameters]), cut_words(cut.op, cut.kind)
    return replace(
        found,
        message=f"{found.message.partition(':')[0]}: {words} takes what {holder} holds out of the loss before it",
        cause=at,
        cause_label=f"{names}: no gradient comes past here",
        effect=found.cause,
        effect_label="makes a step without a gradient",
        related=((loss, "goes back, and reaches none of them"),) if loss is not None else (),
        fix=f"compute the loss of {located(trace, loss, 'the pass')} without the cut of {located(trace, at)}, which"
        f" lies on every way from it to what {holder} holds; what that loss is compared with is what may be detached",
        edits=(),
        subjects=found.subjects | parameter_subjects(p.id for p in cut.parameters),
    )


def _switched_off(trace: Trace, number: int, found: Finding, switched: OffAtThePass) -> Finding:
    """The pass before the step is there, while all that the optimizer holds is switched off."""
    off, loss = _call_in(switched.off.site, found.cause), switched.event.site.user
    on = _call_in(switched.on.site, found.cause) if switched.on is not None else None
    names, holder = parameter_names(trace, trace.optimizers[number].parameters), optimizer_name(trace, number)
    computed = _first_use(trace, off, loss, set(trace.optimizers[number].parameters))
    again = ""
    edits: Edits = ()
    if on is not None and computed is not None:
        here = Source(trace, on.path)
        statement, before = here.file.statement(on), here.file.statement(computed)
        plain = isinstance(statement, ast.Expr) and computed.path == on.path
        again = f", as {located(trace, on)} does" if plain else ""
        edits = here.before(before, here.file.text(statement)) if plain and statement is not None else ()
    at = located(trace, computed, "the forward")
    return replace(
        found,
        message=f"{found.message.partition(':')[0]}: all that {holder} holds is switched off at the pass before it",
        cause=off,
        cause_label=f"{names}: no gradient from here on",
        effect=found.cause,
        effect_label="makes a step without a gradient",
        related=((loss, "goes back, and reaches none of them"),),
        fix=f"switch them on again before {at}{again}",
        edits=edits,
    )


def _call_in(site: Site, step: Site | None) -> Site:
    """The call in the function of the step by which the flags were set: a helper may do it for several models."""
    same = list(site.frames_in(step)) if step is not None else []
    return same[-1] if same else site.user


def _first_use(trace: Trace, off: Site, loss: Site, ids: set[int]) -> Site | None:
    """Where the function of the pass first computes with one of these parameters, between the two lines."""
    found = [
        frame
        for graph in trace.graphs
        for op in graph.ops
        if any(graph.values[i].parameter in ids for i in op.inputs)
        for frame in op.site.frames_in(loss)
        if off.line < frame.line <= loss.line
    ]
    return min(found, key=lambda frame: (frame.line, frame.column), default=None)


def _past_all(trace: Trace) -> tuple[Backward, RequiresGrad] | None:
    """A pass, as all of the run, that fills no parameter, and where the leaf that it does fill was told to need a
    gradient."""
    passes = trace.of(Backward)
    looked = [event for event in passes if event.graph >= 0]
    if not looked or any(event.filled or not event.leaves for event in looked):
        return None
    values = trace.graph(looked[0].graph).values
    leaves = {values[leaf["value"]].parameter for leaf in looked[0].leaves} - {None}
    told = (e for e in trace.of(RequiresGrad) if e.to and e.parameter is None and e.leaf in leaves)
    found = next(told, None)
    return (looked[0], found) if found is not None else None


def _goes_past(trace: Trace, number: int, found: Finding, event: Backward, told: RequiresGrad) -> Finding:
    """The pass goes back to a tensor that was made a leaf by hand, and to nothing that was computed."""
    line, holder = told.site.user, optimizer_name(trace, number)
    graph = trace.graph(told.graph) if told.graph >= 0 else None
    name = names_of(trace).name(graph, told.value) if graph is not None else None
    text = code(trace, line, "").strip("`").partition(".requires_grad")[0]
    leaf = f"`{name or text}`" if name or text else "a leaf"
    return replace(
        found,
        message=f"{found.message.partition(':')[0]}: the pass before it goes back to {leaf}, which no parameter made",
        cause=line,
        cause_label="is told to need a gradient: the graph begins here",
        effect=event.site.user,
        effect_label=f"reaches nothing that {holder} holds",
        related=((found.cause, "makes a step without a gradient"),) if found.cause is not None else (),
        why="`requires_grad_()` makes a tensor a leaf: the error that it has no graph is gone, and the graph is there"
        " no more than before",
        fix=f"compute {leaf} from the parameters that {holder} holds, with gradients on, in place of"
        f" {located(trace, line)}",
        edits=(),
    )


def _filled(trace: Trace, ids: Iterable[int]) -> list[int]:
    """Those of them that passes gave gradients, which were gone at the step: that of the others has another cause."""
    return [p.id for p in parameters_of(trace, list(ids)) if p.passes]


def _of_closure(trace: Trace, step: Site) -> tuple[tuple[Site, str], ...]:
    """Where the closure of this step makes the last value with a graph, which it returns and nothing goes through."""
    for graph in trace.graphs:
        for op in reversed(graph.ops):
            frames = op.site.stack
            at = next((i for i, frame in enumerate(frames) if frame.location() == step.location()), None)
            inside = [f for f in frames[at + 1 :] if f.kind == "user"] if at is not None and op.nodes else []
            if inside:
                return ((inside[0], f"the last that `{inside[0].function}` computes: no pass begins here"),)
    return ()


def _of_a_library(trace: Trace, number: int, call: Site, late: Backward | None, found: Finding) -> Finding:
    """The library steps by itself: what the program gave it for that is where the gradients are missing."""
    here = code(trace, call, "the library")
    label = "its steps find no gradient"
    if trace.of(Backward):  # through others' parameters
        made = user(trace.optimizers[number].site)
        if made is None or not _goes_back(trace, {call.id}) or made.location() == call.location():
            return found
        return replace(
            found,
            message=f"{here} steps {optimizer_name(trace, number)} without any gradient: no pass reaches what it holds",
            cause=made,
            effect=call,
            effect_label=label,
            fix="give it the parameters of the model that is trained",
            edits=(),
        )
    hook = last_with_graph(trace, call)
    if hook is None or not hook.known:  # a closure, if there is one, is the library's
        return replace(found, related=(), fix=_fix(trace, number, found.cause or call, late, False))
    message = f"{here} steps without any gradient: no pass goes back from the loss of `{hook.name}`"
    fix = f"call `backward()`, or the library's own function for it, on the loss in `{hook.name}` ({place(hook.line)})"
    if hook.returns_nothing:
        message += ", which returns nothing"
        fix = f"return the loss, with its graph, from `{hook.name}` ({place(hook.line)})"
    elif empty := hook.empty_returns:
        fix = f"return the loss, with its graph, from `{hook.name}` ({place(hook.line)}): {_giving_back(empty)} nothing"
    return replace(
        found,
        message=message,
        cause=hook.line,
        cause_label="the last that has a graph here",
        effect=call,
        effect_label=label,
        related=(),
        fix=fix,
        edits=(),
    )


def _giving_back(empty: list[Site]) -> str:
    return f"{listed([place(line) for line in empty])} {'gives' if len(empty) == 1 else 'give'} back"


def _mistaken(trace: Trace, number: int, found: Finding) -> Finding:
    """The step of one optimizer stands where that of another belongs."""
    own, made_for = paths(trace).mistaken[number]
    name, made = optimizer_name(trace, own), user(trace.optimizers[own].site)
    meant = parameter_subjects(trace.optimizers[own].parameters)
    return replace(
        found,
        effect=made_for.site.user,
        effect_label=f"computes gradients for {name}, which never steps",
        fix=f"call {method(trace, own, 'step', at=found.cause)} here ({where(found.cause)})",
        edits=receiver_replaced(trace, found.cause, "step", variable(trace, made), made),
        subjects=found.subjects | meant | {("optimizer", own)},
    )


def _own_pass(trace: Trace, ids: set[int]) -> Backward | None:
    """The pass that the step should have followed: not one that a step has used, its own or another
    optimizer's (a generator's pass also fills the discriminator)."""
    late = nearest_backward(trace, ids)
    others = {p for o in trace.optimizers.values() if not ids & set(o.parameters) for p in o.parameters}
    if late is None or others & set(late.filled):
        return None
    used = {fill.line for fill in gradients(trace).fills if ids & fill.used}
    return None if late.site.user.location() in used else late


def _fix(trace: Trace, number: int, step: Site, late: Backward | None, closure: bool) -> str:
    if closure:
        call = f"`backward()` on the loss in the closure that {located(trace, step, 'the step')} calls"
        if trace.of(ZeroGrad):
            return f"call {call}"
        return (
            f"call {method(trace, number, 'zero_grad')}, and then {call}, and return the loss: a step may call it"
            " several times, and each pass adds to what the gradients hold"
        )
    if late is None:
        return f"call `backward()` on the loss before {located(trace, step, 'the step')}"
    return (
        f"move {located(trace, step, 'the step')} after {located(trace, late.site.user, '`backward()`')}, with"
        f" {method(trace, number, 'zero_grad', at=step)} before the forward"
    )
