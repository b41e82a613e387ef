"""Parameters that should be the same on all ranks differ.

Why: each rank holds a whole copy of the model, and the copies stay equal only as long as every rank makes the same
steps with the same averaged gradients. Once they have parted nothing brings them together again: what is averaged are
gradients of different models, and what is saved is the model of one rank.

Fix: let every rank do the same to the gradients and the parameters: clip, step, load and initialise on all of them,
or before the model is wrapped. Keep what is trained inside the wrapped model. Use `no_sync` only for passes that are
followed by one more before the step.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from gradscope.analysis.child_copies import ChildCopy, child_copies
from gradscope.analysis.copies_apart import CopyApart, copies_apart
from gradscope.analysis.hand_averaged import HandAveraged, Mixed, hand_averaged, mixed
from gradscope.analysis.left_behind import LeftBehind, left_behind
from gradscope.analysis.names import place
from gradscope.analysis.parting import (
    Drift,
    Parting,
    done_apart,
    drifted,
    paired,
    parted,
    stepped_apart,
    written_apart,
)
from gradscope.analysis.rank_gradients import (
    TooLate,
    averaged_too_late,
    changed_after_average,
    parameters_averaged,
    reductions,
)
from gradscope.analysis.stops import set_at
from gradscope.analysis.text import site_of
from gradscope.analysis.unmet import CALL, OVER, PASS, Unmet, Wait, unmet
from gradscope.analysis.unsharded import Unsharded, left_unsharded
from gradscope.analysis.words import listed, located, parameter_names, parameter_subjects, quoted, ranks_named
from gradscope.analysis.wrappers import rounds, wrapped
from gradscope.events import Crashed, Flipped, RequiresGrad, Scheduled, Update, Wrapped
from gradscope.fixes.collectives import written_back
from gradscope.model import Finding, Parameter, Since, Site
from gradscope.rules import rule_across
from gradscope.store import Member, Run, Trace

_SHOWN = 4  # ranks whose numbers are told
_ASKED = 32  # ranks at whose ends is looked
_AGAIN = "a reentrant checkpoint runs the layer again within the pass: what that adds stays on its rank"
_FREED = "trained from here on; the model was wrapped before, when it was frozen"
_OTHER_PASSES = "behind another pass on other ranks"
_RATES = "sets another rate on other ranks"
_UNSYNCED = "under `no_sync`, and a step uses these gradients as they are"


def bad() -> None:
    import torch
    from torch import nn
    from torch.nn.parallel import DistributedDataParallel

    model = DistributedDataParallel(nn.Linear(4, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(5):
        opt.zero_grad()
        model(torch.randn(8, 4)).pow(2).mean().backward()
        if torch.distributed.get_rank() == 0:
            nn.utils.clip_grad_norm_(model.parameters(), 0.01)  # cause: GS801
        opt.step()  # effect: GS801


def good() -> None:
    import torch
    from torch import nn
    from torch.nn.parallel import DistributedDataParallel

    model = DistributedDataParallel(nn.Linear(4, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(5):
        opt.zero_grad()
        model(torch.randn(8, 4)).pow(2).mean().backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.01)
        opt.step()


@rule_across("GS801", name="ranks-diverge", severity="error", over=("GS205",), over_apart=("GS701", "GS757"))
def ranks_diverge(run: Run) -> Iterator[tuple[Member, Finding]]:
    if (parting := parted(run)) is not None and not parameters_averaged(run.ranks[0].trace):
        finding = _finding(run, parting)
        yield from ((member, finding) for member in run.ranks)
    if (averaged := hand_averaged(run)) is not None:
        finding = _not_alike(averaged)
        yield from ((member, finding) for member in run.ranks)
    if (mix := mixed(run)) is not None:
        finding = _mixed(mix)
        yield from ((member, finding) for member in run.ranks)
    if (late := averaged_too_late(run)) is not None:
        finding = _too_late(late)
        yield from ((member, finding) for member in run.ranks)
    if (unsharded := left_unsharded(run)) is not None:
        finding = _unsharded(unsharded)
        yield from ((member, finding) for member in run.ranks)
    if (left := left_behind(run)) is not None:
        finding = _left_behind(left)
        yield from ((member, finding) for member in [*left.writers, *left.others])
    if (other := copies_apart(run)) is not None:
        finding = _copy_apart(other)
        yield from ((member, finding) for member in run.ranks)
    if (copy := child_copies(run)) is not None:
        finding = _copied(copy)
        yield from ((member, finding) for member in copy.children)
    if (drift := drifted(run)) is not None:
        finding = _drift(drift)
        yield from ((member, finding) for member, _ in drift.values)
    if (found := unmet(run)) is not None:
        for waits in (found.ahead, found.others) if found.others[0].inside != OVER else (found.ahead,):
            finding = _waits(waits, found)
            yield from ((wait.member, finding) for wait in waits)


def _not_alike(found: HandAveraged) -> Finding:
    trace = found.values[0][0].trace
    names = parameter_names(trace, found.parameters)
    first = parameter_names(trace, found.parameters[:1])
    other = parameter_names(trace, [found.averaged])
    shown = ", ".join(f"{value:.7g} on {m.name}" for m, value in found.values[:_SHOWN])
    made = trace.parameter(found.parameters[0]).site
    if found.at_first:
        return Finding(
            message=f"{names} {_differ(found.parameters)} between the ranks before the first step, and gradients alone"
            " are averaged",
            cause=made.user if made is not None else found.site,
            cause_label="made with other numbers on each rank",
            effect=found.site,
            effect_label="the same gradients for different models",
            seen=(
                f"norm of {first} before the first step: {shown}",
                f"the gradient of {first} was the same on all ranks before the first steps",
            ),
            why="averaged gradients keep models equal that are; they do not make them so",
            fix="send the parameters of one rank to all before the first step: `dist.broadcast(p.detach(), 0)` for"
            " each; or let `DistributedDataParallel` do both",
            subjects=parameter_subjects(found.parameters),
        )
    return Finding(
        message=f"the gradients of {names} differ between the ranks, while those of others are averaged",
        cause=found.site,
        cause_label="makes another step with them on each rank",
        seen=(
            f"norm of {first}'s gradient at this step: {shown}",
            f"that of {other}'s gradient was the same on all ranks, as were all parameters before the first step",
        ),
        why="what is not averaged parts with each step: the ranks train different models",
        fix=f"average the gradients of {names} too, as those of {other} are",
        severity="note" if found.whole else "warning",
        subjects=parameter_subjects(found.parameters),
    )


def _mixed(found: Mixed) -> Finding:
    one, other = (
        f"{parameter_names(member.trace, [id])} on {member.name}"
        for member, id in zip(found.members, found.parameters, strict=True)
    )
    trace = found.members[0].trace
    reduced = next(reductions(trace), None)
    call = located(trace, reduced or found.site, "the call between ranks")
    return Finding(
        message=f"{one} and {other} get one gradient, the sum of both: each rank averages those that it has",
        cause=reduced or found.site,
        cause_label="comes to another parameter's gradient on each rank",
        effect=found.site if reduced is not None else None,
        effect_label="makes another step on each rank",
        seen=(
            f"norm of that gradient at step {found.step:,}: {found.norm:.7g}, of {one} as of {other}; neither has one"
            " on the other rank",
            f"the gradient of {parameter_names(trace, [found.averaged])} was the same on all ranks",
        ),
        why="a call between ranks adds up what each of them gives it, whatever it is: where a rank leaves out a"
        " parameter without a gradient, its next one meets another parameter's",
        fix=f"leave none out: give a parameter without a gradient zeros (`p.grad = torch.zeros_like(p)`) before {call},"
        " so that all ranks reduce the same ones in the same order",
        subjects=parameter_subjects(found.parameters[:1]),
    )


def _differ(things: Sequence[object]) -> str:
    return "differs" if len(things) == 1 else "differ"


def _too_late(found: TooLate) -> Finding:
    trace = found.values[0][0].trace
    names = parameter_names(trace, found.parameters)
    first = parameter_names(trace, found.parameters[:1])
    shown = ", ".join(f"{value:.7g} on {m.name}" for m, value in found.values[:_SHOWN])
    step = located(trace, found.step, "the step")
    seen = (
        f"norm of {first}'s gradient when the first step used it: {shown}",
        f"they differed at each of the first {found.steps:,} steps, and the parameters, which were the same before"
        " them, do now",
    )
    if found.how == "copy":
        return Finding(
            message=f"what is averaged over the ranks is a copy of the gradients of {names}, which goes nowhere",
            cause=found.site,
            cause_label="nothing reads it after this",
            effect=found.step,
            effect_label="makes another step on each rank",
            seen=seen,
            why="`all_reduce` writes to the tensor that it is given; the gradients that the step uses are others",
            fix=f"write the average back into `p.grad` after {located(trace, found.site, '`all_reduce`')}, or give it"
            " `p.grad` itself and divide that",
            edits=written_back(trace, found.site),
            subjects=parameter_subjects(found.parameters),
            since=Since(1),
        )
    if found.how == "one":
        return Finding(
            message=f"the gradients of {names} are reduced to one rank, and all ranks make steps",
            cause=found.site,
            cause_label="the other ranks keep their own",
            effect=found.step,
            effect_label="makes another step on each rank",
            seen=seen,
            why="`reduce` gives the sum to the rank that it names; on the others the gradients are those of their data",
            fix=f"call `all_reduce` in place of {located(trace, found.site, '`reduce`')}",
            subjects=parameter_subjects(found.parameters),
            since=Since(1),
        )
    if found.adds is not None:
        last = located(trace, found.adds, "the last pass")
        return Finding(
            message=f"the gradients of {names} are averaged over the ranks before the last pass adds to them",
            cause=found.site,
            cause_label="averages the sum of the passes so far",
            effect=found.adds,
            effect_label="adds the gradients of this rank's data",
            related=((found.step, "makes another step on each rank"),) if found.step is not None else (),
            seen=seen,
            why="what a pass adds after the average is of one rank: the step uses a sum that is another one on each",
            fix=f"average once, between {last} and {step}",
            subjects=parameter_subjects(found.parameters),
            since=Since(1),
        )
    return Finding(
        message=f"the gradients of {names} are averaged over the ranks, and the step has used them before",
        cause=found.site,
        cause_label="averages what the step no longer uses",
        effect=found.step,
        effect_label="makes another step on each rank",
        seen=seen,
        why="a step uses the gradients as they are when it is called: these are still those of one rank's data",
        fix=f"average the gradients between `backward()` and {step}, and wait for it where it is asynchronous",
        subjects=parameter_subjects(found.parameters),
        since=Since(1),
    )


def _unsharded(found: Unsharded) -> Finding:
    trace = found.values[0][0].trace
    names = parameter_names(trace, found.parameters)
    first = parameter_names(trace, found.parameters[:1])
    shown = ", ".join(f"{value:.7g} on {m.name}" for m, value in found.values[:_SHOWN])
    made = trace.parameter(found.parameters[0]).site
    return Finding(
        message=f"{names} {_differ(found.parameters)} between the ranks: the parameters beside are sharded, and nothing"
        " averages the gradients of what was left out",
        cause=made.user if made is not None else found.site,
        cause_label="no part of what was sharded",
        effect=found.site,
        effect_label="makes another step with them on each rank",
        seen=(
            f"norm of {first} after step {found.step:,}: {shown}; before the first step it was the same",
            f"its gradient was another one on each rank at each of the first {found.compared:,} steps",
            f"{parameter_names(trace, [found.sharded])}, of the same optimizer, is sharded",
        ),
        why="sharding takes care of the gradients of what it was given; nobody averages those of other parameters",
        fix="call `fully_shard` on the whole model too, after its parts: it takes what these have left",
        severity="warning",
        subjects=parameter_subjects(found.parameters),
    )


def _left_behind(found: LeftBehind) -> Finding:
    trace = found.writers[0].trace
    names = parameter_names(trace, found.parameters)
    writers, others = ranks_named(found.writers), ranks_named(found.others)
    return Finding(
        message=f"{names}, which all ranks work with, are written to on {writers} alone",
        cause=found.site,
        cause_label=f"{writers} {'comes' if len(found.writers) == 1 else 'come'} here, others do not",
        effect=found.call,
        effect_label=f"{others} {'works' if len(found.others) == 1 else 'work'} with what they were at first",
        seen=(
            f"norm of {parameter_names(trace, found.parameters[:1])} before step {found.step:,}:"
            f" {found.norms[0]:.7g} on {found.writers[0].name}, {found.norms[1]:.7g} on {found.others[0].name}",
            f"{found.times:,} writes on {found.writers[0].name}, none on {others};"
            f" {found.others[0].name} called their module {found.calls:,} times",
        ),
        why="no wrapper knows them, and nothing sends them to the other ranks",
        fix=f"do it on all ranks ({located(trace, found.site, 'this line')}), whose parameters are the same; or send"
        " the result: `dist.broadcast(p, 0)` for each",
        severity="warning",
        subjects=parameter_subjects(found.parameters),
    )


def _copy_apart(found: CopyApart) -> Finding:
    trace = found.values[0][0].trace
    names = parameter_names(trace, found.parameters)
    first = parameter_names(trace, found.parameters[:1])
    shown = ", ".join(f"{value:.7g} on {m.name}" for m, value in found.values[:_SHOWN])
    made, wrapper = located(trace, found.made, "the copy"), located(trace, found.wrapper, "the wrapper")
    send = "send them from one rank to all before the first step: `dist.broadcast(p, 0)` for each"
    return Finding(
        message=f"{names} {_differ(found.parameters)} between the ranks: each works with another copy of the model",
        cause=found.made,
        cause_label="holds other numbers on each rank",
        effect=found.call,
        effect_label="each rank works with its own",
        related=(
            (found.wrapper, "sends one rank's parameters to all: those of what it is given, and no others"),
        ),
        seen=(
            f"norm of {first} before step {found.step:,}: {shown}",
            "the parameters of the wrapped model, of the same names and shapes, are the same on all ranks",
        ),
        why="a copy that is made before the model is wrapped has the numbers that its rank began with; the wrapper does"
        " not know it, and averaging the model into it does not make the copies the same",
        fix=f"make {made} after {wrapper}, from what it wraps (`.module`), or {send}"
        if found.before
        else send,
        severity="warning",
        subjects=parameter_subjects(found.parameters),
    )


def _copied(found: ChildCopy) -> Finding:
    names = parameter_names(found.children[0].trace, found.parameters)
    child = "a child has" if len(found.children) == 1 else "each child has"
    start = located(found.parent.trace, found.start, "the start")
    call = located(found.parent.trace, found.call, "this call")
    return Finding(
        message=f"{names}, which {child} trained, are copies: {found.parent.name} works with its own",
        cause=found.start,
        cause_label="the child begins with a copy of all memory",
        effect=found.call,
        effect_label="works with what no child has changed",
        seen=(
            f"{found.children[0].name} made {found.steps:,} steps with them, in memory that no other process sees",
            f"{found.parent.name} made none, nothing wrote to its own, and it works with them at {place(found.call)}",
        ),
        why="what a forked process writes, its parent never sees, unless the memory is shared",
        fix=f"call `share_memory()` of the model before {start}; or send the child's `state_dict()` back through a"
        f" queue and load it before {call}",
        severity="warning",
        subjects=parameter_subjects(found.parameters),
    )


def _drift(found: Drift) -> Finding:
    trace = found.values[0][0].trace
    of = next(of for of in wrapped(trace) if of.wrapper == found.wrapper)
    names = listed([f"`{name}`" for name in found.buffers])
    shown = ", ".join(f"{value:.5g} on {m.name}" for m, value in found.values[:_SHOWN])
    return Finding(
        message=f"{names} of the wrapped model {_differ(found.buffers)} between the ranks that evaluate it",
        cause=of.site.user,
        cause_label="with `broadcast_buffers=False` no buffer is sent to the other ranks",
        effect=found.site,
        effect_label="each rank evaluates another model",
        seen=(f"norm of `{found.buffers[0]}` in this evaluation: {shown}",),
        why="running statistics are taken of the data of each rank; nothing averages them",
        fix="leave `broadcast_buffers=True`, or convert the model with `nn.SyncBatchNorm.convert_sync_batchnorm` before"
        " it is wrapped, or average the buffers before an evaluation",
        severity="warning",
    )


def _waits(waits: list[Wait], found: Unmet) -> Finding:
    ahead, other = found.ahead[0], found.others[0]
    trace = other.member.trace
    over, end = other.inside == OVER, None
    names = ranks_named([wait.member for wait in found.ahead])
    # Where the others are in a call that they make in the middle of the run, that may be what is too much.
    later = other.inside in (OVER, "`barrier`")
    if ahead.inside == PASS and (later or other.inside == CALL):
        others = (
            "the others are through"
            if over
            else f"{ranks_named([w.member for w in found.others])} in {other.inside}"
        )
        wait = "wait" if len(found.ahead) > 1 else "waits"
        message = f"ranks make different numbers of passes: {names} {wait} in one more, and {others}"
        why = "each pass averages gradients over all ranks; one that makes no such pass is waited for until it is gone"
        fix = (
            "let no rank leave a pass out (a batch that is skipped, a loss that is not finite, a loop that ends early"
            " by the rank's own numbers), and give all the same number of batches (`DistributedSampler` does,"
            " `drop_last=True`), or put the loop into `with model.join():`"
        )
        end = _early_end(ahead) if over else None
        if end is not None:
            way_out = located(ahead.member.trace, end, "the way out")
            left = ranks_named([w.member for w in found.others])
            fix = (
                f"where {left} left the loop by {way_out}: let all ranks decide alike, by a number that is the same on"
                f" all of them (`dist.all_reduce` before the test); else {fix}"
            )
    elif ahead.inside == CALL and later:
        wait = "wait" if len(found.ahead) > 1 else "waits"
        message = f"{names} {wait} in a call of the wrapped model that other ranks do not make"
        why = "before each call the wrapper sends the buffers of the first rank to all others: also in an evaluation"
        fix = "where only some ranks evaluate, call the `.module` of the wrapper; or let all ranks do it"
    else:
        others = ranks_named([w.member for w in found.others if w.inside == other.inside])
        message = f"ranks wait for each other in different calls: {names} in {ahead.inside}, {others} in {other.inside}"
        why = "a call between ranks ends when all of them have come to it: these never meet"
        fix = "let all ranks make the same calls in the same order, whatever their number or their data"
        if ahead.inside == PASS:
            there = located(trace, other.site, "that call")
            fix = f"let all ranks come to {there}, whatever their number or their data, or none"
    seen = [
        f"after {wait.passes:,} passes {wait.member.name} was in {wait.inside}"
        + (f" at {place(wait.site)}" if wait.site is not None else "")
        for wait in [*found.ahead[:_SHOWN], *found.others[:_SHOWN]]
    ]
    shown = {site.location() for wait in (ahead, other) if (site := wait.site) is not None}
    more = {w.site.location(): w for w in [*found.ahead, *found.others] if w.site is not None}
    return Finding(
        message=message,
        cause=ahead.site,
        cause_label=f"{ahead.member.name} waits here",
        effect=other.site,
        effect_label=f"{other.member.name} waits here",
        related=tuple(
            (w.site, f"{w.member.name} waits here")
            for place, w in more.items()
            if place not in shown and w.site is not None
        )
        + (((end, f"may end the loop on {ranks_named([w.member for w in found.others])}"),) if end else ()),
        seen=(*seen, *([found.counts] if found.counts else [])),
        why=why,
        fix=fix,
        severity="" if over or any(wait.failed for wait in [*found.ahead, *found.others]) else "warning",
        subjects=frozenset(
            ("crash", event.segment) for wait in waits[:_ASKED] for event in wait.member.trace.of(Crashed)
        ),
    )


def _early_end(wait: Wait) -> Site | None:
    """The one `break` or `return` under a test that ends a loop around the call that a rank waits in."""
    if wait.site is None:
        return None
    file = wait.member.trace.source_file(wait.site.path)
    loops = {id(node) for node in file.around(wait.site) if isinstance(node, (ast.For, ast.While))}
    found = [
        node
        for node in ast.walk(file.scope(wait.site))
        if isinstance(node, (ast.Break, ast.Return))
        and id(file.loop_of(node)) in loops
        and any(isinstance(above, ast.If) for above in file.above(node))
    ]
    return site_of(wait.site.path, wait.site.function, found[0]) if len(found) == 1 else None


def _finding(run: Run, parting: Parting) -> Finding:
    trace = parting.values[0][0].trace
    names = parameter_names(trace, parting.parameters)
    shown = ", ".join(f"{value:.7g} on {m.name}" for m, value in parting.values[:_SHOWN])
    when = f"after step {parting.step:,}" if parting.step else "before the first step"
    if parting.after_pass:
        when = f"after pass {parting.step:,}"
    same = (
        f"they were the same after step {parting.last:,}" if parting.last else "they were the same before it"
    )
    cause, label = _cause(run, trace, parting)
    apart = cause is not None and parting.site is not None and cause.location() != parting.site.location()
    outside = "`DistributedDataParallel` does not know them: nothing averages their gradients"
    chosen = _choice(trace, cause) if cause is not None and label == _UNSYNCED else None
    return Finding(
        message=f"{names} {_differ(parting.parameters)} between the ranks",
        cause=cause or parting.site,
        cause_label=label if cause is not None else "",
        effect=parting.site if apart else None,
        effect_label=f"{when} the ranks hold different models",
        related=((chosen, "says which passes are averaged"),) if chosen is not None else (),
        seen=(
            f"norm of {parameter_names(trace, parting.parameters[:1])} {when}: {shown}",
            *((same,) if parting.step > 1 and not parting.after_pass else ()),
            *(() if parting.known else (outside,)),
            *_settings([member for member, _ in parting.values]),
            *(_rates(parting) if label == _RATES else ()),
            *(_other_passes(run) if label == _OTHER_PASSES else ()),
        ),
        fix=_fix(trace, parting, cause, label),
        subjects=parameter_subjects(parting.parameters),
        since=Since(max(parting.step, 1)),
    )


def _choice(trace: Trace, call: Site) -> Site | None:
    """What decides whether a call of the model is in `no_sync`: the test of `nullcontext() if … else model.no_sync()`,
    or of the `if` around the `with`; where that is a variable, what is assigned to it."""
    file = trace.source_file(call.path)
    around = list(file.around(call))
    block = next((node for node in around if isinstance(node, ast.With)), None)
    if block is None:
        return None
    choices = [
        node for item in block.items for node in ast.walk(item.context_expr) if isinstance(node, ast.IfExp)
    ]
    branch = next((node for node in around[around.index(block) :] if isinstance(node, ast.If)), None)
    tests = [*(choice.test for choice in choices), *([branch.test] if branch is not None else [])]
    if not tests:
        return None
    test = tests[0]
    if isinstance(test, ast.Name):
        assigned = [
            node
            for node in ast.walk(file.scope(call))
            if isinstance(node, ast.Assign)
            and any(isinstance(target, ast.Name) and target.id == test.id for target in node.targets)
        ]
        return site_of(call.path, call.function, assigned[0]) if len(assigned) == 1 else None
    return site_of(call.path, call.function, test)


def _cause(run: Run, trace: Trace, parting: Parting) -> tuple[Site | None, str]:
    if not parting.step:
        for site, members in written_apart(run):
            return (
                site,
                f"{ranks_named(members)} {'writes' if len(members) == 1 else 'write'} to parameters here alone",
            )
    for site, times in done_apart(run):
        never = [member.name for member, count in times if not count]
        if never:
            does = [member.name for member, count in times if count]
            return (
                site,
                f"{' and '.join(does[:_SHOWN])} {'comes' if len(does) == 1 else 'come'} here, others do not",
            )
        told = ", ".join(f"{count:,} times on {member.name}" for member, count in times[:_SHOWN])
        return site, told
    if not parting.known:
        return _why_unknown(trace, parting)
    for of in wrapped(trace):
        for round_ in rounds(trace, of):
            if not round_.synced and not round_.around and round_.step is not None:
                return round_.call.site.user, _UNSYNCED
    if (changed := changed_after_average(parting)) is not None:
        return changed.site, _AGAIN if changed.again else "writes to the gradients after they were averaged"
    if (written := _written(trace, parting)) is not None:
        return written, "writes to what differs afterwards, and to nothing else"
    ends = _last_rates(parting)
    if ends[0] is not None and any(end is None or end.after != ends[0].after for end in ends):
        return ends[0].site.user, _RATES
    if list(_settings([member for member, _ in parting.values])):
        optimizer = next(iter(trace.optimizers.values()))
        return (optimizer.site.user if optimizer.site is not None else None), "made otherwise on other ranks"
    if (other := stepped_apart(run)) is not None and other.number <= parting.step:
        return other.site, _OTHER_PASSES
    return None, ""


def _last_rates(parting: Parting) -> list[Scheduled | None]:
    """Of each rank the last time that its schedule was stepped."""
    return [found[-1] if (found := member.trace.of(Scheduled)) else None for member, _ in parting.values]


def _written(trace: Trace, parting: Parting) -> Site | None:
    """The program's own write to parameters that differ, where others do not."""
    apart = set(parting.parameters)
    known = {id for of in wrapped(trace) for id in of.parameters}
    written: dict[Site, set[int]] = {}
    for event in trace.of(Update):
        if event.parameter is not None:
            written.setdefault(event.site.user, set()).add(event.parameter)
    if apart >= known:
        return None
    return next((site for site, ids in written.items() if ids == apart), None)


def _why_unknown(trace: Trace, parting: Parting) -> tuple[Site | None, str]:
    """Of parameters whose gradients no wrapper averages."""
    parameter = trace.parameter(parting.parameters[0])
    of = _wrapper_above(trace, parameter)
    if of is not None and (event := _unfrozen(trace, of, parameter.id)) is not None:
        if (freed := set_at(trace, event)) is not None:
            return freed, _FREED
        return of.site.user, "wrapped here while they were frozen, and trained later"
    made = parameter.site.user if parameter.site is not None else None
    return (
        made,
        "trained outside the wrapped model" if of is None else "not there yet when the model was wrapped",
    )


def _wrapper_above(trace: Trace, parameter: Parameter) -> Wrapped | None:
    """The last wrapper of a model that this parameter is part of by now."""
    module = trace.modules.get(parameter.module) if parameter.module is not None else None
    above = [of for of in wrapped(trace) if module is not None and of.module in (module.id, module.root)]
    return above[-1] if above else None


def _unfrozen(trace: Trace, of: Wrapped, parameter: int) -> Flipped | RequiresGrad | None:
    """What made it require a gradient once the model was wrapped."""
    for event in trace.of(Flipped, RequiresGrad):
        if isinstance(event, (Flipped, RequiresGrad)) and event.to and event.segment >= of.segment:
            if parameter in event.leaves:
                return event
    return None


def _settings(ranks: list[Member]) -> Iterator[str]:
    """Optimizers of another kind, or with other rates, on other ranks."""
    for numbers in paired(ranks, "parameters"):
        found = [m.trace.optimizers.get(number) for m, number in zip(ranks, numbers, strict=True)]
        for what, told in (
            ("optimizer", [one.cls if one is not None else "none" for one in found]),
            ("rate", [[group.get("lr") for group in one.groups] if one is not None else [] for one in found]),
        ):
            if any(one != told[0] for one in told):
                shown = [f"{one} on {m.name}" for m, one in zip(ranks, told, strict=True)][:_SHOWN]
                yield f"the {what} is {', '.join(shown)}"
                break


def _rates(parting: Parting) -> Iterator[str]:
    """The rates at the end, as the schedules of the ranks have set them."""
    ends = zip(parting.values, _last_rates(parting), strict=True)
    known = [
        f"{listed([f'{rate:g}' for rate in end.after])} on {m.name}"
        for (m, _), end in ends
        if end is not None
    ]
    yield f"the rate that it set last is {', '.join(known[:_SHOWN])}"


def _other_passes(run: Run) -> Iterator[str]:
    if (other := stepped_apart(run)) is not None:
        shown = [f"pass {count} on {member.name}" for member, count in other.passes[:_SHOWN]]
        yield f"step {other.number} was made behind {', '.join(shown)}"


def _fix(trace: Trace, parting: Parting, cause: Site | None, label: str) -> str:
    if not parting.known:
        parameter = trace.parameter(parting.parameters[0])
        of = _wrapper_above(trace, parameter)
        if of is not None and _unfrozen(trace, of, parameter.id) is not None:
            when = f"after {located(trace, cause)}" if label == _FREED else "once they are trained"
            return (
                f"wrap the model again {when}, and call the new wrapper; or wrap it before any of its parameters is"
                " frozen"
            )
        names = parameter_names(trace, parting.parameters)
        return (
            f"make {names} part of the module that `DistributedDataParallel` is given, before it is wrapped; or wrap"
            " what holds them as well, and call that wrapper"
        )
    if cause is None:
        step = located(trace, parting.site, "the step")
        return f"look for what only some ranks do to the parameters or gradients before {step}"
    if label == _UNSYNCED:
        call = located(trace, cause, "the call of the model")
        chosen = _choice(trace, cause)
        by = f" (let {located(trace, chosen)} say so)" if chosen is not None else ""
        return (
            f"make {call} outside of `no_sync` where its pass is the last before a step{by}: that one averages the"
            " sum"
        )
    if label == _OTHER_PASSES:
        return (
            f"let all ranks make {located(trace, cause, 'the step')} in the same passes: reduce what they decide by"
            " over the ranks before they do, `dist.all_reduce(…, op=dist.ReduceOp.MAX)`"
        )
    if label == _RATES:
        node = trace.source_file(cause.path).at(cause)
        if isinstance(node, ast.Call) and (given := [*node.args, *(word.value for word in node.keywords)]):
            return (
                f"give {located(trace, cause, 'the schedule')} the same number on all ranks: average"
                f" {quoted(ast.unparse(given[0]))} over them before"
            )
    if label == _AGAIN:
        return f"call {located(trace, cause, 'the checkpoint')} with `use_reentrant=False`"
    if not parting.step and parting.known:
        line = located(trace, cause, "this line")
        return (
            f"run {line} on all ranks, or before the model is wrapped: `DistributedDataParallel` sends what the first"
            " rank has to all of them then, and not later"
        )
    return f"let all ranks do the same at {located(trace, cause, 'this line')}"
