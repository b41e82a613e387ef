"""Errors of training in several processes."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gradscope.analysis.cuts import Cut, cuts
from gradscope.analysis.first_gone import HUNG, INTERRUPTED, RAISED, THROUGH, FirstGone, first_gone
from gradscope.analysis.names import place
from gradscope.analysis.words import counted, listed, located, parameter_name, quoted, ranks_named
from gradscope.analysis.wrappers import wrapped
from gradscope.crashes import Crash, Place, explain, nowhere
from gradscope.events import Crashed, Unsynced
from gradscope.model import Finding, Parameter, Site
from gradscope.store import Member, Run

_SHOWN = 4  # ranks
_WAITED = "Expected to have finished reduction in the prior iteration before starting a new one"


def _without_gradient(crash: Crash) -> list[Parameter]:
    """The parameters that the reducer waited for, in the order in which the model has them."""
    found = re.search(r"did not receive grad for rank \d+: ([\d ]+)", crash.text)
    given = [p for p in crash.trace.parameters if p.registered and p.requires_grad and p.module is not None]
    if found is None:
        return [p for p in given if not p.passes]
    waiting = len(found[1].split())
    never = [p for p in given if not p.passes]
    return never if len(never) == waiting else []


def _cut(crash: Crash) -> Cut | None:
    missing = {p.id for p in _without_gradient(crash)}
    return next((cut for cut in cuts(crash.trace) if missing & {p.id for p in cut.parameters}), None)


def _lost(crash: Crash) -> Place | None:
    cut = _cut(crash)
    return (cut.site, "their gradient is lost here") if cut is not None else None


def _seen(crash: Crash) -> Iterator[str]:
    missing = _without_gradient(crash)
    if missing:
        names = [f"`{parameter_name(crash.trace, p.id)}`" for p in missing]
        yield f"no pass gave {listed(names)} a gradient"
    if (cut := _cut(crash)) is not None:
        lost = [f"`{parameter_name(crash.trace, p.id)}`" for p in cut.parameters]
        yield f"of these, what {listed(lost)} computed is cut off"


explain(
    "parameters-without-a-part-in-the-loss",
    _WAITED,
    "parameters of the `DistributedDataParallel` model had no part in the loss of the pass before",
    why="it averages gradients over the processes as they come, and waits for one of each parameter",
    fix="use them in the loss, freeze them (`requires_grad_(False)`) before wrapping the model, or take them"
    " out of the"
    " model; `find_unused_parameters=True` lets it look for them in each pass",
    cause=_lost,
    seen=_seen,
)


def _static(crash: Crash) -> Place | None:
    of = next((of for of in wrapped(crash.trace) if of.static), None)
    return (of.site.user, "promises here that each pass uses the same parameters") if of is not None else None


def _never_used(crash: Crash) -> Iterator[str]:
    known = {id for of in wrapped(crash.trace) if of.static for id in of.parameters}
    never = [
        f"`{parameter_name(crash.trace, id)}`" for id in sorted(known) if not crash.trace.parameter(id).passes
    ]
    if 0 < len(never) < len(known):
        yield f"the passes before gave {listed(never)} no gradient"


explain(
    "static-graph-changes",
    "Your training graph has changed in this iteration",
    "other parameters had a part in this loss than in the first pass, and the model was wrapped with"
    " `static_graph=True`",
    why="the wrapper learns in the first pass which gradients come, and in which order, and counts on that afterwards",
    fix="leave `static_graph=True` out where a condition decides what is used;"
    " `find_unused_parameters=True` looks for it in each pass",
    cause=_static,
    seen=_never_used,
)
explain(
    "static-graph-begins-in-no-sync",
    r"expect_autograd_hooks_ INTERNAL ASSERT FAILED",
    "the first pass of a model that was wrapped with `static_graph=True` was made in `no_sync`",
    why="the wrapper learns in its first pass which gradients come, and in `no_sync` it does not look",
    fix="let the first pass average (leave `no_sync` out for it), or leave `static_graph=True` out",
    cause=_static,
    when=lambda crash: any(of.static for of in wrapped(crash.trace)) and bool(crash.trace.of(Unsynced)),
    seen=lambda crash: [f"{counted(crash.trace.summary['steps'], 'step')} before this pass"],
)
explain(
    "another-rank-has-gone",
    r"(Connection closed by peer|Connection reset by peer|Broken pipe|Connection refused"
    r"|Timed out waiting \d+ms for (send|recv) operation|Application timeout caused pair closure)",
    "another rank has gone, or did not come: what waits for it here failed",
    why="ranks compute together, and each call between them needs all of them; the first one that failed or left is"
    " where to look, this error is what follows",
    fix="see what the report says of the other ranks: `gradscope check` on the folder of the run tells how each ended",
    cause=nowhere,
    when=lambda crash: bool(crash.trace.program.get("rank")),
)


def explain_across(run: Run) -> Iterator[tuple[Member, Finding]]:
    """The same of ranks that failed in waiting, with what became of the one that they waited for."""
    found = first_gone(run)
    if found is None:
        return
    first = found.members[0]
    names = ranks_named(found.members)
    its = found.ending
    site = its.site if its is not None else None
    waited: dict[tuple[Site, str], list[Member]] = {}
    for wait in found.waits:
        if wait.site is not None:
            waited.setdefault((wait.site, wait.inside), []).append(wait.member)
    (effect, label_there), *more = [
        (there, f"{ranks_named(members)} {'waits' if len(members) == 1 else 'wait'} here, in {inside}")
        for (there, inside), members in waited.items()
    ]
    how, label, fix = _of_the_first(found, site)
    finding = Finding(
        message=f"{names} {how}, and what waits for {'it' if len(found.members) == 1 else 'them'} failed",
        name="another-rank-has-gone",
        cause=site,
        cause_label=label,
        effect=effect,
        effect_label=label_there,
        related=tuple(more),
        seen=(
            *((f"{first.name} {its.sentence}{_said(found)}",) if its is not None else ()),
            *(
                f"{wait.member.name} was in {wait.inside} at {place(wait.site)}"
                for wait in found.waits[:_SHOWN]
                if wait.site is not None
            ),
        ),
        why="ranks compute together, and each call between them needs all of them: where one does not come, the others"
        " fail or wait",
        fix=fix,
        subjects=frozenset(
            ("crash", event.segment) for w in found.waits for event in w.member.trace.of(Crashed)
        ),
    )
    yield from ((wait.member, finding) for wait in found.waits)


def _said(found: FirstGone) -> str:
    """The first line of the exception's text."""
    text = str((found.members[0].trace.program.get("exception") or {}).get("text") or "").strip()
    return f": {quoted(text.splitlines()[0])}" if text and found.how == RAISED else ""


def _of_the_first(found: FirstGone, site: Site | None) -> tuple[str, str, str]:
    """How the rank went, as the sentence, the label of its place and the repair say it."""
    first, ending = found.members[0], found.ending
    program = first.trace.program
    at = located(first.trace, site, "where it was")
    if found.how == RAISED:
        kind = program["exception"].get("type", "an exception")
        return f"ended by {kind}", f"{kind} is raised here, on {first.name}", (
            f"look at {kind} of {first.name} first: {at}. What the other ranks raise follows from it"
        )  # fmt: skip
    if found.how == THROUGH:
        return "came to the end of the program", "", (
            f"let all ranks make the same calls in the same order: {first.name} makes fewer of them than"
            f" {found.waits[0].member.name}"
        )  # fmt: skip
    if found.how == INTERRUPTED:
        return "was interrupted", f"{first.name} stood here", (
            f"nothing, where the run was ended by hand; where it hung, look for what {first.name} waits for at {at}"
        )  # fmt: skip
    if found.how == HUNG:
        return "did not come", f"{first.name} stood here", f"look for what {first.name} waits for at {at}"
    how = ending.how if ending is not None else "has gone"
    label = (
        f"{first.name} {'stood' if program.get('stood') or first.trace.last_words else 'was last seen'} here"
    )
    if how.endswith("SIGKILL"):
        return how, label, (
            f"look for what has killed {first.name}: SIGKILL comes from outside of the program, most often from the"
            " system where memory runs out (`dmesg` tells)"
        )  # fmt: skip
    if program.get("left") is not None and site is not None:
        return how, f"{first.name} ends itself here", f"look for why {first.name} comes to {at}"
    if site is None:
        return how, label, f"look for what has ended {first.name}"
    return how, label, f"look for what has ended {first.name} at {at}, or soon after"


explain(
    "process-group-missing",
    "Default process group has not been initialized",
    "torch.distributed was used before `init_process_group`",
    why="processes have to find each other before they can talk",
    fix="call `torch.distributed.init_process_group(…)` first, in a program started by `torchrun`; leave the"
    " wrapper"
    " or the collective out in a run of one process",
    cause=nowhere,
)
explain(
    "parallel-without-gradients",
    "DistributedDataParallel is not needed when a module doesn't have any parameters that require a gradient",
    "`DistributedDataParallel` was given a model without a parameter that requires a gradient",
    why="all that it does is average gradients",
    fix="wrap only models that are trained; unfreeze before wrapping",
    cause=nowhere,
)
explain(
    "parallel-ready-twice",
    r"Expected to mark a variable ready only once",
    "`DistributedDataParallel` got a parameter's gradient twice in one pass",
    why="a parameter that several checkpoints use, or a model called in several checkpointed parts, reports its"
    " gradient"
    " more than once",
    fix="pass `use_reentrant=False` to `checkpoint`, or `static_graph=True` to `DistributedDataParallel` where"
    " each pass"
    " is the same",
    cause=nowhere,
)
