"""Gradients are computed again and again, and no step of their optimizer ever uses them.

Why: `backward()` only fills `.grad`. An optimizer's parameters change in its `step()`, which this
run never called: they still have the values that they began with.

Fix: call `optimizer.step()` after `backward()`, with the parentheses: `optimizer.step` alone
does nothing.

A note where the program reads the gradients for more than to print them (saliency, attribution, a list of
their norms). Silent on: a run that ends
before an accumulation is full, a step that is there and waits for its turn: if not for 100 passes, and not
behind a counter that begins anew before its turn comes.
"""

import ast
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from gradscope.analysis.looks import kept_gradients
from gradscope.analysis.loop import idle, norm, parameters_of, settled
from gradscope.analysis.names import place
from gradscope.analysis.since import since_pass
from gradscope.analysis.step_conditions import (
    BeginsAnew,
    Guard,
    OfOnePart,
    Remainder,
    begins_anew,
    guard_of,
    of_one_part,
    remainder,
)
from gradscope.analysis.text import called_in_source, parentheses, site_of, uncalled
from gradscope.analysis.unread import time_of
from gradscope.analysis.words import (
    code,
    located,
    method,
    optimizer_name,
    parameter_names,
    parameter_subjects,
    plural,
    quoted,
    source,
    variable,
    where,
)
from gradscope.events import Backward, SchedulerMade, Step, ZeroGrad
from gradscope.fixes.source import Edits, Source
from gradscope.fixes.statements import beside, line_after
from gradscope.model import Edit, Event, Finding, Optimizer, Parameter, Site
from gradscope.rules import rule
from gradscope.source import FUNCTIONS, LOOPS
from gradscope.store import Trace

MANY = 100  # passes: more than an accumulation takes for one step


def bad() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)  # cause: GS205
    for _ in range(3):
        opt.zero_grad()
        loss = model(torch.randn(8, 3)).pow(2).mean()
        loss.backward()  # effect: GS205


def good_gradients_logged() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    sizes = []
    for _ in range(3):
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        sizes.append(sum(float(p.grad.norm()) for p in model.parameters() if p.grad is not None))


@rule("GS205", name="backward-without-step", severity="warning", over=("GS201", "GS206", "GS605"))
def backward_without_step(trace: Trace) -> Iterator[Finding]:
    if not settled(trace):
        return
    any_step = bool(trace.of(Step))
    for number, optimizer in trace.optimizers.items():
        held = parameters_of(trace, optimizer.parameters)
        trained = [p for p in held if p.passes]
        # what needs no gradient (the vectors of a spectral norm) may well be written by hand
        if optimizer.steps or not trained or not all(idle(p) for p in held if p.requires_grad or p.passes):
            continue
        if max(p.passes for p in trained) >= 2 and _forgotten(trace, number, optimizer, trained, any_step):
            found = _finding(trace, number, optimizer, trained)
            kept = any(p.id in kept_gradients(trace) for p in trained)
            yield _may_be_meant(found) if kept else found


def _may_be_meant(found: Finding) -> Finding:
    """The numbers of the gradients may be all that the passes are for."""
    seen = (*found.seen, "the program keeps what it reads of these gradients")
    return replace(found, severity="note", seen=seen, edits=())


def _forgotten(
    trace: Trace, number: int, optimizer: Optimizer, trained: list[Parameter], any_step: bool
) -> bool:
    """Whether no step is to come: the text has none, or what was computed is thrown away unused."""
    written = called_in_source(trace, optimizer.site, "step")
    ids = {p.id for p in trained}
    if written is False:
        return True
    drops = [e for e in trace.of(ZeroGrad) if ids & set(e.dropped)]
    thrown = sum(e.count for e in drops) >= 2
    if not any_step:
        return thrown or (not drops and written is True and _held_back(trace, optimizer, trained) is not None)
    return thrown and written is None and bool(_own_passes(trace, ids))


def _own_passes(trace: Trace, ids: set[int]) -> list[Event]:
    """Passes that fill nothing but these: they can have been made for them only."""
    return [e for e in trace.of(Backward) if e.filled and set(e.filled) <= ids and not e.leaves]


def _finding(trace: Trace, number: int, optimizer: Optimizer, trained: list[Parameter]) -> Finding:
    ids = {p.id for p in trained}
    passes = max(p.passes for p in trained)
    passing = _pass(trace, ids)
    effect = passing.user if passing is not None else None
    last = norm(trace, trained[0].id)
    bare = _named_only(trace, number, optimizer)
    step = method(trace, number, "step", at=effect)
    after = (
        f"after {code(trace, effect, '`backward()`')} ({where(effect)})" if effect else "after `backward()`"
    )
    seen = [f"{plural(passes, 'backward pass')}, no step; the parameters never changed"]
    took = time_of(trace, passing) if passing is not None else ""
    if took:
        seen.append(f"the passes of this line took {took} in all")
    if last:
        seen.append(f"norm of the last gradient of {parameter_names(trace, [trained[0].id])}: {last:.4g}")
    held_back = None if bare else _held_back(trace, optimizer, trained)
    if held_back is not None and not any(ids & set(e.dropped) for e in trace.of(ZeroGrad)):
        return _under_a_condition(trace, number, trained, effect, seen, *held_back)
    return Finding(
        message=f"gradients for {optimizer_name(trace, number)} are computed {passes} times and never used:"
        " it never steps",
        cause=bare or (optimizer.site.user if optimizer.site else None),
        cause_label="names the method, and does not call it"
        if bare
        else "no step of this optimizer in the whole run",
        effect=effect,
        effect_label="computes gradients that nothing uses",
        seen=tuple(seen),
        fix=f"call it, with its parentheses: `{source(trace, bare)}()`" if bare else f"call {step} {after}",
        count=passes,
        edits=parentheses(bare) if bare else _step_added(trace, number, optimizer, effect),
        subjects=parameter_subjects(ids) | {("optimizer", number)},
        since=since_pass(trace, ids),
    )


def _held_back(
    trace: Trace, optimizer: Optimizer, trained: list[Parameter]
) -> tuple[Guard, BeginsAnew | OfOnePart | Remainder | None] | None:
    """The condition that keeps the step from running, where it will never hold: nothing that it asks for comes
    any farther, or it has not held in more passes than an accumulation takes."""
    guard = guard_of(trace, optimizer)
    if guard is None:
        return None
    if (part := of_one_part(guard.test)) is not None:
        return guard, part
    rest = remainder(guard)
    if rest is not None and rest.never:
        return guard, rest
    found = begins_anew(trace, guard)
    if found is None and max(p.passes for p in trained) < MANY:
        return None
    return guard, found or rest


def _under_a_condition(
    trace: Trace,
    number: int,
    trained: list[Parameter],
    effect: Site | None,
    seen: list[str],
    guard: Guard,
    why: BeginsAnew | OfOnePart | Remainder | None,
) -> Finding:
    """The step is there, under a condition that no turn has met."""
    ids, passes = {p.id for p in trained}, max(p.passes for p in trained)
    test, step = guard.site, guard.step
    repair = _repair(trace, guard, why) if why is not None else None
    return Finding(
        message=f"gradients for {optimizer_name(trace, number)} are computed {passes} times and never used:"
        " it never steps",
        cause=test,
        cause_label="decides when to step, and has not let it once",
        effect=effect,
        effect_label="computes gradients that nothing uses",
        related=((step, "never ran"), *(repair.related if repair is not None else ())),
        seen=tuple(seen),
        fix=repair.text
        if repair is not None
        else f"change {located(trace, test)}, so that {located(trace, step)} runs: it did not in {passes} passes",
        count=passes,
        edits=repair.edits if repair is not None else (),
        subjects=parameter_subjects(ids) | {("optimizer", number)},
        since=since_pass(trace, ids),
    )


class Repair(NamedTuple):
    """What makes the condition hold."""

    text: str
    edits: Edits = ()
    related: tuple[tuple[Site, str], ...] = ()


def _repair(trace: Trace, guard: Guard, why: BeginsAnew | OfOnePart | Remainder) -> Repair:
    if isinstance(why, OfOnePart):
        return _of_the_sum(trace, guard, why)
    return (
        _counted_on(trace, guard, why)
        if isinstance(why, BeginsAnew)
        else _compared_with_zero(trace, guard, why)
    )


def _of_the_sum(trace: Trace, guard: Guard, found: OfOnePart) -> Repair:
    here = Source(trace, guard.path)
    new = found.text(here.file)
    asked = located(trace, site_of(guard.path, guard.function, found.sum))
    part = here.file.text(found.remainder)
    return Repair(
        f"put parentheses around the sum: `{new}` in place of {asked}, which adds to `{part}`: `%` binds like a"
        " product",
        here.replace(found.sum, new),
    )


def _compared_with_zero(trace: Trace, guard: Guard, found: Remainder) -> Repair:
    if found.number is None:
        here, node = Source(trace, guard.path), found.remainder
        return Repair(
            f"ask for a remainder of 0: `{here.file.text(node)} == 0` ({place(guard.site)}). By itself it counts as"
            " true for every other one, and it was 0 each time",
            here.append(node, " == 0"),
        )
    here, number = Source(trace, guard.path), found.number
    text = here.file.text(number)
    asked = located(trace, site_of(guard.path, guard.function, found.remainder))
    if found.never:
        by = found.remainder.right
        last = f"{here.file.text(by)} - 1"
        if isinstance(by, ast.Constant) and isinstance(by.value, int):
            last = str(by.value - 1)
        return Repair(
            f"compare {asked} with {quoted(last)}, the largest that it can be: a remainder is never {quoted(text)}",
            here.replace(number, last),
        )
    return Repair(
        f"compare {asked} with 0: it was never {text}, and a remainder by 1 is always 0",
        here.replace(number, "0"),
    )


def _counted_on(trace: Trace, guard: Guard, found: BeginsAnew) -> Repair:
    name, loop, outer, reset = found.name, found.loop, found.outer, found.reset
    if isinstance(outer, FUNCTIONS):
        whole = f"call of `{outer.name}()`"
    else:
        assert isinstance(outer, LOOPS)
        header = outer.test if isinstance(outer, ast.While) else outer.iter
        whole = f"turn of the loop over {located(trace, site_of(guard.path, guard.function, header))}"
    how, edits = _outliving(Source(trace, guard.path), found)
    asking: list[ast.AST] = [guard.test, loop.target, *(branch.test for branch in guard.branches)]
    if reset is not None:
        asking += [*reset.targets, *(node for node in ast.walk(loop) if isinstance(node, ast.AugAssign))]
    used = _uses(outer, name) - set().union(*(_uses(node, name) for node in asking))
    anew = site_of(guard.path, guard.function, reset.value if reset is not None else loop.iter)
    return Repair(
        f"let `{name}` count on{how}. It begins anew with each {whole}, and came at least {found.turns} times no"
        f" farther than {located(trace, guard.site)} lets pass",
        edits if not used else (),
        ((anew, f"`{name}` begins anew"),),
    )


def _uses(node: ast.AST, name: str) -> set[int]:
    return {id(n) for n in ast.walk(node) if isinstance(n, ast.Name) and n.id == name}


def _outliving(here: Source, found: BeginsAnew) -> tuple[str, Edits]:
    """How the counter is made to count on, and the change of the text where that is plain."""
    loop, outer, reset = found.loop, found.outer, found.reset
    if not isinstance(outer, LOOPS):
        return ", in a variable that outlives the call", ()
    if reset is not None:
        return f": set it once, before line {outer.lineno}", here.move(reset, outer)
    assert isinstance(loop.iter, ast.Call)
    turns = _plain_range(outer)
    given = loop.iter.args
    if turns and ast.unparse(loop.iter.func) == "enumerate" and len(given) == 1:
        if isinstance(given[0], (ast.Name, ast.Attribute)):
            many = f"enumerate({ast.unparse(given[0])}, {turns} * len({ast.unparse(given[0])}))"
            return f": `{many}`", here.replace(loop.iter, many)
    return f": set one before line {outer.lineno}, and raise it in the loop", ()


def _plain_range(outer: ast.AST) -> str:
    """`epoch` of `for epoch in range(n)`."""
    over = outer.iter if isinstance(outer, ast.For) and isinstance(outer.target, ast.Name) else None
    plain = isinstance(over, ast.Call) and ast.unparse(over.func) == "range" and len(over.args) == 1
    return ast.unparse(outer.target) if plain and isinstance(outer, ast.For) else ""


def _named_only(trace: Trace, number: int, optimizer: Optimizer) -> Site | None:
    """`opt.step` as a statement of its own, where it must be this optimizer's."""
    for path, function, node in uncalled(trace, {"step"}):
        holder = ast.unparse(node.value)
        mine = holder.rpartition(".")[2] == variable(trace, optimizer.site).rpartition(".")[2]
        schedules = {variable(trace, event.site).rpartition(".")[2] for event in trace.of(SchedulerMade)}
        if mine or (len(trace.optimizers) == 1 and holder.rpartition(".")[2] not in schedules):
            return site_of(path, function, node)
    return None


def _pass(trace: Trace, ids: set[int]) -> Site | None:
    own = _own_passes(trace, ids) or [e for e in trace.of(Backward) if ids & set(e.filled)]
    return own[0].site if own else None


def _step_added(trace: Trace, number: int, optimizer: Optimizer, after: Site | None) -> tuple[Edit, ...]:
    """`opt.step()` after the pass, where the gradients are cleared."""
    name = variable(trace, optimizer.site)
    if not name or optimizer.site is None:
        return ()
    cleared = any(set(optimizer.parameters) <= set(e.parameters) for e in trace.of(ZeroGrad))
    if not cleared or not beside(trace, optimizer.site.user, after):
        return ()
    return line_after(trace, after, f"{name}.step()")
