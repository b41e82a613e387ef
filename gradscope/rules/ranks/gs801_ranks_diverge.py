"""Parameters that should be the same on all ranks differ.

Why: each rank holds a whole copy of the model, and the copies stay equal only as long as every rank makes the same
steps with the same averaged gradients. Once they have parted nothing brings them together again: what is averaged are
gradients of different models, and what is saved is the model of one rank.

Fix: let every rank do the same to the gradients and the parameters: clip, step, load and initialise on all of them,
or before the model is wrapped. Keep what is trained inside the wrapped model. Use `no_sync` only for passes that are
followed by one more before the step.
"""

from __future__ import annotations

from collections.abc import Iterator

from gradscope.analysis.parting import Parting, Uneven, done_apart, parted, uneven
from gradscope.analysis.words import located, parameter_names, parameter_subjects
from gradscope.analysis.wrappers import rounds, wrapped
from gradscope.events import Crashed
from gradscope.model import Finding, Since, Site
from gradscope.rules import rule_across
from gradscope.store import Member, Run, Trace

_SHOWN = 4  # ranks whose numbers are told


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


@rule_across("GS801", name="ranks-diverge", severity="error")
def ranks_diverge(run: Run) -> Iterator[tuple[Member, Finding]]:
    if (parting := parted(run)) is not None:
        for member in run.ranks:
            yield member, _finding(run, member, parting)
    if (found := uneven(run)) is not None:
        for member, _ in found.waiting:
            yield member, _more_passes(member, found)


def _more_passes(member: Member, found: Uneven) -> Finding:
    ended = ", ".join(f"{m.name} ended after {count:,}" for m, count in found.through[:_SHOWN])
    waiting = ", ".join(f"{m.name} was in one more after {count:,}" for m, count in found.waiting[:_SHOWN])
    return Finding(
        message="ranks make different numbers of passes: this one waits for others that are through",
        cause=found.site,
        cause_label="goes on here, where other ranks have ended",
        seen=(f"of these passes {ended}; {waiting}",),
        why="each pass averages gradients over all ranks; where one has no more data the others wait for it for ever,"
        " or until it is gone",
        fix="give all ranks the same number of batches (`DistributedSampler` does, `drop_last=True`), or put the loop"
        " into `with model.join():`",
        subjects=frozenset({("crash", event.segment) for event in member.trace.of(Crashed)}),
    )


def _finding(run: Run, member: Member, parting: Parting) -> Finding:
    trace = parting.values[0][0].trace
    names = parameter_names(trace, parting.parameters)
    shown = ", ".join(f"{value:.7g} on {m.name}" for m, value in parting.values[:_SHOWN])
    when = f"after step {parting.step:,}" if parting.step else "before the first step"
    same = (
        f"they were the same after step {parting.last:,}" if parting.last else "they were the same before it"
    )
    cause, label = _cause(run, trace, parting)
    apart = (
        cause is not None and parting.site is not None and cause.location() != parting.site.user.location()
    )
    outside = "`DistributedDataParallel` does not know them: nothing averages their gradients"
    return Finding(
        message=f"{names} differ between the ranks",
        cause=cause or parting.site,
        cause_label=label if cause is not None else "",
        effect=parting.site if apart else None,
        effect_label=f"{when} the ranks hold different models",
        seen=(
            f"norm of {parameter_names(trace, parting.parameters[:1])} {when}: {shown}",
            *((same,) if parting.step > 1 else ()),
            *(() if parting.known else (outside,)),
            *_settings(run),
        ),
        fix=_fix(trace, parting, cause),
        subjects=parameter_subjects(parting.parameters),
        since=Since(max(parting.step, 1)),
    )


def _cause(run: Run, trace: Trace, parting: Parting) -> tuple[Site | None, str]:
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
        made = trace.parameter(parting.parameters[0]).site
        return (made.user if made is not None else None), "trained outside the wrapped model"
    for of in wrapped(trace):
        for round_ in rounds(trace, of):
            if not round_.synced and not round_.around and round_.step is not None:
                return round_.call.site.user, "under `no_sync`, and a step uses these gradients as they are"
    return None, ""


def _settings(run: Run) -> Iterator[str]:
    """Optimizers with other rates on other ranks."""
    ranks = run.ranks
    for number, optimizer in ranks[0].trace.optimizers.items():
        rates = []
        for member in ranks:
            other = member.trace.optimizers.get(number)
            rates.append([group.get("lr") for group in other.groups] if other is not None else [])
        if any(rate != rates[0] for rate in rates):
            told = ", ".join(
                f"{rate} on {m.name}" for m, rate in list(zip(ranks, rates, strict=True))[:_SHOWN]
            )
            yield f"the rate of {optimizer.cls} is {told}"


def _fix(trace: Trace, parting: Parting, cause: Site | None) -> str:
    if not parting.known:
        return "make them part of the module that `DistributedDataParallel` is given, before it is wrapped"
    if cause is None:
        step = located(trace, parting.site, "the step")
        return f"look for what only some ranks do to the parameters or gradients before {step}"
    return f"let all ranks do the same at {located(trace, cause, 'this line')}"
