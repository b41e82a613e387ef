"""Backward passes are wasted: their gradients are cleared before a step uses them.

Why: gradients are accumulated over several passes and used by one step. Cleared at every pass, or just before
the last one, only that one counts, and the batches before it have cost their time for nothing.

Fix: clear the gradients where they were used: `zero_grad()` right after `step()`, in the same
branch.

A note where a gradient hook gathers something and some of the passes are used, where the step waits for something else
than a count of passes, where the program keeps what it reads of the gradients (a study of their sizes), and for the
rest of each epoch that is shorter than an accumulation and is cleared.
Silent on: the end of training, a batch that is skipped now and then, steps
that a gradient scaler skips, gradients of another network (a GAN), gradients that are read and of which no step waits
for a number of passes, or that an input wanted (adversarial examples), closures.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace
from pathlib import PurePath

from gradscope.analysis.dropped import missed
from gradscope.analysis.gradients import gradients
from gradscope.analysis.hook_bodies import gathers
from gradscope.analysis.looks import read_for_more
from gradscope.analysis.loop import in_order
from gradscope.analysis.memo import once
from gradscope.analysis.passes import Line, counts_passes, other_clears, passes_by_line
from gradscope.analysis.since import since_stretch
from gradscope.analysis.trainers import runs_it
from gradscope.analysis.words import code, listed, located, parameter_names, parameter_subjects, plural, where
from gradscope.analysis.wrappers import rounds, wrapped
from gradscope.events import Backward, Step, ZeroGrad
from gradscope.fixes.source import Source, is_name, receiver
from gradscope.fixes.statements import beside, line_after, moved, taken_away
from gradscope.model import Edit, Finding, Optimizer, Site
from gradscope.rules import rule
from gradscope.source import FUNCTIONS, LOOPS, method_name
from gradscope.store import Trace


def bad() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for i in range(8):
        loss = model(torch.randn(8, 3)).pow(2).mean() / 4
        opt.zero_grad()  # cause: GS215
        loss.backward()  # effect: GS215
        if i % 4 == 3:
            opt.step()


def good() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for i in range(10):
        loss = model(torch.randn(8, 3)).pow(2).mean() / 4
        loss.backward()
        if i % 4 == 3:
            opt.step()
            opt.zero_grad()
    opt.zero_grad()


@rule("GS215", name="accumulation-dropped", severity="warning", over=("GS605",))
def accumulation_dropped(trace: Trace) -> Iterator[Finding]:
    if not any(event.dropped for event in trace.of(ZeroGrad)):
        return
    found = _all(trace)
    if gathers(trace):  # a pass may be there for what its hooks gather
        why = "a gradient hook keeps something of what it is given: these passes may be there for that"
        found = (replace(one, severity="note", edits=(), seen=(*one.seen, why)) for one in found)
    yield from found


def _all(trace: Trace) -> Iterator[Finding]:
    lines = passes_by_line(trace)
    before = {(found.clear, found.step) for found in missed(trace)}  # steps that found nothing: GS202's
    for site, line in lines.items():
        if site.location() in _unsynced(trace):  # where the wrapper takes the gradients too
            line = replace(line, kept=bool(line.parameters & read_for_more(trace)))
        line = _looked_at(line)
        often = line.dropped >= 2 and line.dropped * 5 >= 2 * (line.dropped + line.used)
        by_count = line.used and line.step is not None and counts_passes(trace, site, line.step)
        if not often or line.spared or (line.kept and not by_count):
            if not (line.spared or line.kept):
                yield from _rest(trace, site, line)
                yield from _of_one_optimizer(trace, site, line)
            continue
        own = {clear: number for clear, number in line.parts.items() if number in _users(trace, site)}
        if line.used and line.step is not None and len(own) > 1:
            yield _several(trace, site, line)
        elif line.used and line.step is not None and (_most(line), line.step) in before:
            continue
        elif line.used and line.step is not None:
            mine = _of_its_own(trace, line, own) if len(line.parts) > 1 and own else line
            yield _beside(trace, lines, site, mine, _finding(trace, site, mine, line.step))
        elif (
            not line.used
            and not gathers(trace)
            and (step := _cleared_in_between(trace, lines, site)) is not None
        ):
            yield _finding(trace, site, line, step)


def _looked_at(line: Line) -> Line:
    """Without the passes that nobody saw cleared since nobody looked, where the program clears by hand."""
    by_hand = line.dropped and line.by_hand and line.used > line.asleep
    return replace(line, used=line.used - line.asleep) if by_hand else line


def _users(trace: Trace, site: Site) -> set[int]:
    """The optimizers whose steps used gradients of a line's passes."""
    return _users_by_line(trace).get(site.location(), set())


@once
def _users_by_line(trace: Trace) -> dict[tuple[str, int], set[int]]:
    found: dict[tuple[str, int], set[int]] = {}
    for turn in gradients(trace).turns:
        for fill in turn.fills:
            if turn.step.optimizer is not None:
                found.setdefault(fill.line, set()).add(turn.step.optimizer)
    return found


def _of_its_own(trace: Trace, line: Line, own: dict[Site, int]) -> Line:
    """A line without what the clears of other optimizers take, whose steps never use its gradients: they have to."""
    clear, number = next(iter(own.items()))
    held = line.parameters & set(trace.optimizers[number].parameters)
    return replace(
        line, clears={clear: line.dropped}, first={clear: min(line.first.values())}, parameters=held
    )


def _beside(trace: Trace, lines: dict[Site, Line], site: Site, line: Line, found: Finding) -> Finding:
    """With what the same call clears of other passes, whose gradients its optimizer never uses: cleared later, they
    would be added to these."""
    clear = _most(line)
    others = [
        place
        for place, other in lines.items()
        if place != site and clear in other.parts and other.parts[clear] not in _users(trace, place)
    ]
    if not others:
        return found
    texts = listed([f"{code(trace, other, 'another pass')} ({where(other)})" for other in others])
    names = parameter_names(trace, sorted(line.parameters))
    return replace(
        found,
        fix=f"{found.fix}; {texts} {'fills' if len(others) == 1 else 'fill'} the gradients of {names} too, which are"
        " not to be added to these: `requires_grad_(False)` on them for the time of that pass",
        edits=(),
    )


def _rest(trace: Trace, site: Site, line: Line) -> Iterator[Finding]:
    """The last passes of a loop, fewer than a step waits for, that are cleared behind the loop (or before
    its next round), each time."""
    if (
        line.step is None
        or not counts_passes(trace, site, line.step)
        or _outside_the_loop(trace, line.step, site)
    ):
        return
    for clear, times in line.times.items():
        if times < 2 or not _outside_the_loop(trace, clear, site):
            continue
        clearing, stepping = _cleared(trace, clear), code(trace, line.step, "the step")
        yield Finding(
            message=f"{clearing} clears what the last passes of a loop have accumulated, unused",
            cause=clear,
            cause_label="no step stands between the end of the loop and this line",
            effect=site,
            effect_label="the last passes here are for nothing",
            seen=(
                f"{line.clears[clear]} of {line.dropped + line.used} backward passes were cleared here unused, "
                f"in {plural(times, 'round')} of the loop around it",
            ),
            severity="note",
            fix=f"let {stepping} ({where(line.step)}) run at the last batch of the loop too",
            count=line.clears[clear],
            subjects=parameter_subjects(line.parameters),
            since=since_stretch(trace, line.first[clear]),
        )


def _of_one_optimizer(trace: Trace, site: Site, line: Line) -> Iterator[Finding]:
    """An optimizer that clears at every pass what it steps with only after several, beside another one that steps as
    often and keeps its part of all these passes: the loop accumulates."""
    if not line.others:
        return
    owners = [o for o in trace.optimizers.values() if line.filled & set(o.parameters)]
    parts = [part for o in owners if (part := passes_by_line(trace, set(o.parameters)).get(site)) is not None]
    whole = [part for part in parts if part.step is not None and not part.dropped and not part.spared]
    for part in parts:
        if part.spared or part.kept or part.step is None or part.dropped < max(2, part.used):
            continue
        passes, steps = part.used + part.dropped, _times(trace, part.step)
        beside = [
            other.step
            for other in whole
            if other.step is not None and other.used == passes > _times(trace, other.step) == steps
        ]
        if beside and counts_passes(trace, site, part.step):
            names = parameter_names(trace, sorted(part.parameters))
            found = _finding(trace, site, part, part.step)
            yield replace(
                found,
                effect_label=f"{part.dropped} of {passes} passes here are for nothing to {names}",
                seen=(
                    f"{part.dropped} of {passes} backward passes were cleared unused from {names}; "
                    f"{code(trace, beside[0], 'the other step')} ({where(beside[0])}) used all {passes}",
                    *found.seen[1:],
                ),
            )


def _times(trace: Trace, step: Site) -> int:
    """How often the step of a line used gradients."""
    turns = gradients(trace).turns
    return sum(
        turn.times for turn in turns if turn.fills and turn.step.site.user.location() == step.location()
    )


def _once_a_step(trace: Trace, clear: Site, step: Site) -> bool:
    """Whether a line clears no more often than the step of a line comes."""
    found = {clear.location(): 0, step.location(): 0}
    for repeat, event in in_order(trace):
        place = event.site.user.location()
        if place in found and isinstance(event, ZeroGrad if place == clear.location() else Step):
            found[place] += repeat
    return found[clear.location()] <= found[step.location()]


def _cleared_in_between(trace: Trace, lines: dict[Site, Line], site: Site) -> Site | None:
    """The step that a pass was made for which never reaches it: made for one optimizer only, it is
    cleared each time, and that optimizer steps with another pass over just the same parameters. A pass in
    `no_sync` is there to be added to by one that is not."""
    line = lines[site]
    if site.location() in _unsynced(trace):
        return next(
            (other.step for other in lines.values() if other.used and other.filled == line.filled), None
        )
    owners = [o for o in trace.optimizers.values() if line.parameters <= set(o.parameters)]
    if not owners or line.others or line.asks or _for_another(trace, site, owners):
        return None
    for place, other in lines.items():
        alike = other.used <= line.dropped <= 2 * other.used and other.filled == line.parameters
        if alike and not other.spared and place.location() != site.location():
            return other.step
    return None


def _for_another(trace: Trace, site: Site, owners: list[Optimizer]) -> bool:
    """Whether the step that comes next after these passes is one of an optimizer that holds none of what they filled:
    they were made for that, and what it did not get is another question (a generator behind a `detach()`)."""
    mine, waiting = {owner.id for owner in owners}, False
    for _, event in in_order(trace):
        if isinstance(event, Backward):
            waiting = event.site.user.location() == site.location()
        elif isinstance(event, Step) and waiting:
            if event.optimizer not in mine:
                return True
            waiting = False
    return False


@once
def _unsynced(trace: Trace) -> set[tuple[str, int]]:
    """The lines whose passes were all made in `no_sync`."""
    found: dict[bool, set[tuple[str, int]]] = {True: set(), False: set()}
    for of in wrapped(trace):
        for turn in rounds(trace, of):
            found[turn.synced].update(event.site.user.location() for event in turn.passes)
    return found[False] - found[True]


def _finding(trace: Trace, site: Site, line: Line, step: Site) -> Finding:
    clear = _most(line)
    clearing, stepping = _cleared(trace, clear), code(trace, step, "the step")
    passes = line.dropped + line.used
    names = parameter_names(trace, sorted(line.parameters))
    after, too = other_clears(trace, line.parameters, clear, step)
    elsewhere = line.by_hand or not beside(trace, clear, step)
    own = _own_clear(trace, step, line.parameters) if after is None and elsewhere else ""
    wrapper = _steps_now_and_then(trace, clear, step) if after is None and not too else None
    if wrapper is not None and (not own or _asked_alike(trace, step)):
        fix, edits = _cleared_by_wrapper(trace, clear, step, wrapper)
    else:
        fix, edits = _cleared_once(trace, clear, step, after, too, own)
        edits = () if own and line.by_hand else edits  # of a loop over parameters
    aside = not line.used and _keeps_its_graph(trace, site)
    if aside:
        here = located(trace, site, "this pass")
        fix = f"leave {here} out, where a later one goes through the same graph; otherwise {fix}"
        edits = ()
    looked = " that were looked at" if line.by_hand and line.asleep else ""
    seen = [f"{line.dropped} of {passes} backward passes{looked} were cleared unused"]
    if line.kept:
        seen.append("the program keeps what it reads of these gradients")
    if line.norm:
        seen.append(f"norm of a gradient that was cleared unused: {line.norm:.4g}")
    return Finding(
        message=f"{clearing} clears accumulated gradients of {names} before {stepping} uses them",
        cause=clear,
        cause_label="runs before the last pass of a step, not after the step"
        if _once_a_step(trace, clear, step)
        else "runs at every pass, not only after a step",
        effect=site,
        effect_label=f"{line.dropped} of {passes} passes here are for nothing",
        related=tuple((other, "and this") for other in too),
        seen=tuple(seen),
        severity="note" if line.kept or aside or not counts_passes(trace, site, step) else "",
        fix=fix,
        count=line.dropped,
        edits=edits,
        subjects=parameter_subjects(line.parameters),
        since=since_stretch(trace, line.first[clear]),
    )


def _keeps_its_graph(trace: Trace, site: Site) -> bool:
    """Whether each pass of this line kept its graph for a later one, which may be the one that is to train: then its
    own gradients are a by-product."""
    here = [event for event in trace.of(Backward) if event.site.user.location() == site.location()]
    return bool(here) and all(event.retain_graph for event in here)


def _cleared_once(
    trace: Trace, clear: Site, step: Site, after: Site | None, too: list[Site], own: str
) -> tuple[str, tuple[Edit, ...]]:
    """The gradients cleared after the step, and nowhere else; by `own`, a call that clears them there, where the
    step stands in another function."""
    out = too if after is None and not own else [clear, *too]
    gone = listed([f"{_cleared(trace, place)} ({where(place)})" for place in out])
    stepping, removed = (
        f"{code(trace, step, 'the step')} ({where(step)})",
        [taken_away(trace, p) for p in out],
    )
    if own:
        fix = f"call `{own}` right after {stepping}, and take {gone} out"
        removed.append(line_after(trace, step, own))
    elif after is None:
        fix = f"move {_cleared(trace, clear)} ({where(clear)}) right after {stepping}, into the same branch"
        fix += f", and take {gone} out" if out else ""
        removed.append(moved(trace, clear, step, after=True))
    else:
        fix = (
            f"take {gone} out: {code(trace, after, 'another line')} ({where(after)}) clears after {stepping}"
        )
    return fix, tuple(edit for edits in removed for edit in edits) if all(removed) else ()


def _steps_now_and_then(trace: Trace, clear: Site, step: Site) -> ast.Call | None:
    """`self.optimizer.step()` beside the call that clears, of an object that makes the step itself: it stands in
    the same block, so that it runs as often as that, and steps in some of its calls only."""
    here = Source(trace, clear.path)
    own = [f for f in step.frames_in(clear) if f.kind == "user"]
    call = here.file.at(own[-1]) if own else None
    statement, cleared = here.file.statement(own[-1]) if own else None, here.file.statement(clear)
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        return None
    if own[-1].id == step.id and not any(e.site.user == step and runs_it(e.site) for e in trace.of(Step)):
        return None
    if statement is None or cleared is None or not any(s is cleared for s in here.file.siblings(statement)):
        return None
    name = ast.unparse(call.func.value)
    moves = cleared.lineno < statement.lineno and receiver(trace, clear, "zero_grad") == name
    return call if is_name(call.func.value) and not moves else None


def _cleared_by_wrapper(
    trace: Trace, clear: Site, step: Site, call: ast.Call
) -> tuple[str, tuple[Edit, ...]]:
    """The gradients cleared by the object that steps in some of its calls only, by the same condition."""
    here = Source(trace, clear.path)
    node = here.file.at(clear)
    clearing = f"{_cleared(trace, clear)} ({where(clear)})"
    stepping = f"`{here.file.text(call)}` ({PurePath(clear.path).name}:{call.lineno})"
    assert isinstance(call.func, ast.Attribute)
    name = here.file.text(call.func.value)
    test = _asked_alike(trace, step)
    if test and isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        text = f"{name}.{here.file.text(node).removeprefix(f'{here.file.text(node.func.value)}.')}"
        return (
            f"call `{text}` in place of {clearing}: {stepping} makes a step only where `{test}` holds, and that"
            " asks the same",
            here.replace(node.func.value, name),
        )
    return (
        f"clear only where {stepping} makes a step, which it does in some of its calls alone: put {clearing} under what"
        f" that asks, or let `{name}` clear them where its `zero_grad()` asks the same",
        (),
    )


def _asked_alike(trace: Trace, step: Site) -> str:
    """What the method around a step asks before it, where a `zero_grad` of the same class asks it too; "" else."""
    file = trace.source_file(step.path)
    statement = file.statement(step)
    holder = file.class_of(statement) if statement is not None else None
    above = file.parent.get(id(statement))
    if holder is None or not isinstance(above, ast.If):
        return ""
    test = file.text(above.test)
    clears = [f for f in holder.body if isinstance(f, ast.FunctionDef) and f.name == "zero_grad"]
    asks = [
        node for f in clears for node in f.body if isinstance(node, ast.If) and file.text(node.test) == test
    ]
    return test if any(method_name(n) == "zero_grad" for node in asks for n in ast.walk(node)) else ""


def _own_clear(trace: Trace, step: Site, parameters: set[int]) -> str:
    """`self.optimizer.zero_grad()` for `self.optimizer.step()`, where that optimizer holds them all."""
    call = trace.source_file(step.path).at(step)
    holders = {event.optimizer for event in trace.of(Step) if event.site.user.location() == step.location()}
    held = [trace.optimizers[number].parameters for number in holders if number in trace.optimizers]
    if not isinstance(call, ast.Call) or call.args or not isinstance(call.func, ast.Attribute):
        return ""
    if call.func.attr != "step" or not all(parameters <= set(known) for known in held):
        return ""
    return f"{ast.unparse(call.func.value)}.zero_grad()"


def _most(line: Line) -> Site:
    """The call that dropped most of its passes."""
    return max(line.clears, key=lambda place: line.clears[place])


def _several(trace: Trace, site: Site, line: Line) -> Finding:
    """Several optimizers clear a part each."""
    steps = {event.optimizer: event.site.user for event in trace.of(Step)}
    pairs = [(clear, steps[number]) for clear, number in line.parts.items() if number in steps]
    clears = [_cleared(trace, clear) for clear in line.parts]
    moves = [
        f"{_cleared(trace, clear)} ({where(clear)}) right after {code(trace, step, 'its step')} ({where(step)})"
        for clear, step in pairs
    ]
    passes = line.dropped + line.used
    first, *others = line.parts
    moved_edits = [moved(trace, clear, step, after=True) for clear, step in pairs]
    return Finding(
        message=f"{listed(clears)} clear accumulated gradients before a step uses them",
        cause=first,
        cause_label="runs at every pass, not only after a step",
        effect=site,
        effect_label=f"{line.dropped} of {passes} passes here are for nothing",
        related=tuple((clear, "and this") for clear in others),
        seen=(f"{line.dropped} of {passes} backward passes were cleared unused",),
        severity="note"
        if line.kept or line.step is None or not counts_passes(trace, site, line.step)
        else "",
        fix=f"move {listed(moves)}, into the same branch",
        count=line.dropped,
        edits=tuple(edit for edits in moved_edits for edit in edits) if all(moved_edits) else (),
        subjects=parameter_subjects(line.parameters),
        since=since_stretch(trace, min(line.first.values())),
    )


def _cleared(trace: Trace, clear: Site) -> str:
    text = code(trace, clear, "`zero_grad()`")
    return f"{text[:-1]} = None`" if text.endswith(".grad`") else text


def _outside_the_loop(trace: Trace, clear: Site, backward: Site) -> bool:
    """Whether `backward` stands in a loop that `clear` does not, in the same function."""
    if clear.path != backward.path:
        return False
    file = trace.source_file(clear.path)
    around: list[list[ast.AST]] = []
    for site in (clear, backward):
        nodes: list[ast.AST] = []
        for node in file.around(site):
            nodes.append(node)
            if isinstance(node, FUNCTIONS):
                break
        around.append(nodes)
    loop = next((node for node in around[1] if isinstance(node, LOOPS)), None)
    return loop is not None and loop not in around[0] and around[0][-1] is around[1][-1]
