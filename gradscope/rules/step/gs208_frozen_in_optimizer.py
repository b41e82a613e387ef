"""An optimizer holds parameters that never require a gradient, or from some step on no longer.

Why: a frozen parameter gets no gradient. The optimizer skips it where `.grad` is None; where an old
gradient or zeros are left in it, momentum and weight decay still move it. Where a group with settings of
its own is frozen as a whole, somebody meant it to train.

Fix: unfreeze the group (`requires_grad_(True)`, `nn.Embedding.from_pretrained(vectors, freeze=False)`), or leave it out
of the optimizer.

A note; a warning only where the optimizer trains nothing at all, or a whole group with a learning
rate of its own never trains, and nothing in the program's text unfreezes anything; a note as well for
parameters that were trained and then frozen, while their optimizer steps on (GS218 where that moves
them). Silent on: parameters that are unfrozen later in the run.
"""

import ast
from collections.abc import Iterator

from gradscope.analysis.intent import milder, says_unfreeze
from gradscope.analysis.loop import in_order, parameters_of
from gradscope.analysis.made import made_at
from gradscope.analysis.stops import Stop, frozen, frozen_by, frozen_throughout, set_at, stops, thawed
from gradscope.analysis.unheld import left_out
from gradscope.analysis.words import located, optimizer_name, parameter_names, parameter_subjects, plural
from gradscope.events import Backward, RequiresGrad, Step
from gradscope.fixes.blocks import only_trained
from gradscope.fixes.calls import with_argument
from gradscope.model import Event, Finding, Optimizer, Parameter, Site
from gradscope.rules import rule
from gradscope.store import Trace

FEW = 3  # lines that are named
MAKERS = {"Embedding.from_pretrained", "EmbeddingBag.from_pretrained"}  # torch's, which freeze by default


def bad() -> None:
    import torch
    from torch import nn

    model = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 1))
    model[0].requires_grad_(False)  # effect: GS208
    opt = torch.optim.SGD(  # cause: GS208
        [
            {"params": model[0].parameters(), "lr": 0.01},
            {"params": model[1].parameters(), "lr": 0.1},
        ]
    )
    for _ in range(3):
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()


def good_only_what_trains() -> None:
    import torch
    from torch import nn

    model = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 1))
    model[0].requires_grad_(False)
    opt = torch.optim.SGD((p for p in model.parameters() if p.requires_grad), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()


@rule("GS208", name="frozen-in-optimizer", severity="warning", over=("GS302",))
def frozen_in_optimizer(trace: Trace) -> Iterator[Finding]:
    for found in _always(trace):
        yield milder(found, says_unfreeze(trace))
    for stop in stops(trace):
        if still := frozen(trace, stop):
            yield _from_then_on(trace, stop, still)


def _from_then_on(trace: Trace, stop: Stop, still: dict[int, Event]) -> Finding:
    """Frozen in the middle of the run: a note while the optimizer has others to train, since that is how
    a phase that trains a part of a model is written."""
    ids, holder = sorted(still), optimizer_name(trace, stop.optimizer)
    names = parameter_names(trace, ids)
    froze = set_at(trace, still[ids[0]])
    return Finding(
        message=f"{names}: frozen from here on, while {holder} steps on with"
        f" {'it' if len(ids) == 1 else 'them'}",
        cause=froze or stop.site,
        cause_label="frozen here" if froze else "steps on without a gradient",
        effect=stop.site if froze else None,
        effect_label="steps on without a gradient",
        seen=(stop.seen(trace, ids),),
        fix=f"leave {located(trace, froze, 'the line that freezes')} out, or make an optimizer of the other"
        f" parameters for what comes after it, in place of {holder}",
        count=stop.after,
        severity="" if stop.whole and len(ids) == len(stop.parameters) else "note",
        subjects=parameter_subjects(ids) | {("optimizer", stop.optimizer)},
        since=stop.since,
    )


def _always(trace: Trace) -> Iterator[Finding]:
    """Frozen in every step of the run."""
    told = {
        number
        for parameters, known, left in left_out(trace)
        if len(parameters) == len(known) + len(left)  # it was made over the whole model
        for p in known
        if not p.steps
        for number in p.optimizers
    }
    for number, optimizer in trace.optimizers.items():
        if optimizer.steps < 2 or number in told:  # GS206's: what should train was put in later
            continue
        groups = [parameters_of(trace, group["parameters"]) for group in optimizer.groups]
        frozen = [[p for p in group if _frozen(p)] for group in groups]
        if number in frozen_throughout(trace):
            if trace.of(Backward) and optimizer.parameters:
                yield _nothing_to_train(trace, number, optimizer)
            continue
        for place, (some, group) in enumerate(zip(frozen, groups, strict=True)):
            if some:
                rates = [str(other.get("lr")) for other in optimizer.groups]
                whole = len(some) == len(group) and rates.count(rates[place]) == 1
                yield _finding(trace, number, optimizer, place, some, whole)


def _frozen(p: Parameter) -> bool:
    """Never trained, nor kept up with another network by the program itself (a momentum encoder)."""
    return not (p.requires_grad or p.steps or p.passes or p.updates > 1)


def _finding(
    trace: Trace, number: int, optimizer: Optimizer, place: int | None, frozen: list[Parameter], whole: bool
) -> Finding:
    names, holder = parameter_names(trace, [p.id for p in frozen]), optimizer_name(trace, number)
    lines = _froze(trace, {p.id for p in frozen})
    born = _born_frozen(trace, frozen)
    if born and {line.location() for line in lines} <= {site.location() for site in born}:
        return _from_pretrained(trace, number, optimizer, frozen, whole, born)
    froze = lines[0] if lines else None
    one = place is not None and len(optimizer.groups) > 1
    group = f"group {place} of {holder}" if one else holder
    idle = _never_reached(trace, optimizer)
    unused = (
        (f"{parameter_names(trace, [p.id for p in idle])}, in {holder} too, never got a gradient either",)
        if idle
        else ()
    )
    made = dict.fromkeys(site for p in idle if (site := made_at(trace, p)) is not None)
    return Finding(
        message=f"{names}: frozen all the time, though {group} holds "
        + ("them" if len(frozen) > 1 else "it"),
        cause=optimizer.site.user if optimizer.site else None,
        cause_label=f"holds {plural(len(frozen), 'parameter')} that will get no gradient",
        effect=froze,
        effect_label="frozen here",
        seen=(f"no gradient and no change in {plural(optimizer.steps, 'step')} of {holder}", *unused),
        related=(
            *((line, "others are frozen here") for line in lines[1:FEW]),
            *((site, "no loss reaches what is made here") for site in made),
        ),
        fix=(
            f"take {' and '.join(located(trace, line, 'this line') for line in lines[:FEW])} out"
            if lines
            else "call `requires_grad_(True)` on them"
        )
        + f" if they should train; if they should stay as they are, give {holder} only the others",
        severity="" if whole else "note",
        count=1,
        edits=()
        if not thawed(trace).keys().isdisjoint(optimizer.parameters)  # others that it is to train later
        else only_trained(
            trace, optimizer.site.user if optimizer.site else None, froze, place if one else None
        ),
        subjects=parameter_subjects(p.id for p in frozen) | {("optimizer", number), ("held", number)},
    )


def _born_frozen(trace: Trace, frozen: list[Parameter]) -> list[Site]:
    """The calls of `Embedding.from_pretrained` that made all of these, which do not say themselves that they freeze."""
    found: dict[tuple[str, int, int, int, int], Site] = {}
    for p in frozen:
        stack = p.site.stack if p.site is not None else ()
        if p.site is None or not any(frame.kind == "torch" and frame.function in MAKERS for frame in stack):
            return []
        node = trace.source_file(p.site.user.path).at(p.site.user)
        if isinstance(node, ast.Call):
            given = [keyword.arg for keyword in node.keywords]
            if len(node.args) > 1 or "freeze" in given or None in given:
                return []
        found.setdefault(p.site.user.span(), p.site.user)
    return list(found.values())


def _from_pretrained(
    trace: Trace, number: int, optimizer: Optimizer, frozen: list[Parameter], whole: bool, born: list[Site]
) -> Finding:
    """Tables that are frozen from the start, since `from_pretrained` does so unless it is told otherwise."""
    names, holder = parameter_names(trace, [p.id for p in frozen]), optimizer_name(trace, number)
    held = optimizer.site.user if optimizer.site else None
    them, train = ("them", "they") if len(frozen) > 1 else ("it", "it")
    edits = [with_argument(trace, site, "freeze", "False", 1) for site in born]
    calls = [located(trace, site, "`from_pretrained`") for site in born[:FEW]]
    more = f" and {plural(len(born) - FEW, 'further call')}" if born[FEW:] else ""
    return Finding(
        message=f"{names}: `from_pretrained` has made {them} frozen, and {holder} holds {them}: {train} will stay as"
        " loaded",
        cause=born[0],
        cause_label="freezes what it makes, unless it is given `freeze=False`",
        effect=held,
        effect_label=f"holds {plural(len(frozen), 'parameter')} that will get no gradient",
        related=tuple((site, "and so does this one") for site in born[1:FEW]),
        seen=(
            f"made by `from_pretrained` with `requires_grad` False; no gradient and no change in"
            f" {plural(optimizer.steps, 'step')} of {holder}",
        ),
        why="`nn.Embedding.from_pretrained(vectors)` has `freeze=True` as its default: the table gets no gradient, and"
        " an optimizer that is given all parameters passes over it without a word.",
        fix=f"add `freeze=False` to {' and '.join(calls)}{more} if {train} should train; if {train} should stay as"
        f" loaded, give {holder} only the others",
        severity="" if whole else "note",
        count=1,
        edits=tuple(edit for each in edits for edit in each) if all(edits) else (),
        subjects=parameter_subjects(p.id for p in frozen) | {("optimizer", number), ("held", number)},
    )


def _never_reached(trace: Trace, optimizer: Optimizer) -> list[Parameter]:
    """Parameters of the same optimizer that would train, and that no backward pass gave a gradient."""
    held = parameters_of(trace, optimizer.parameters)
    return [p for p in held if p.requires_grad and not (p.passes or p.steps or p.updates)]


def _nothing_to_train(trace: Trace, number: int, optimizer: Optimizer) -> Finding:
    """All that it holds is frozen at each of its steps, whatever has trained it before."""
    held = sorted(parameters_of(trace, optimizer.parameters), key=lambda p: bool(p.passes or p.steps))
    new = [p for p in held if not (p.passes or p.steps)]
    names, holder = parameter_names(trace, [p.id for p in held]), optimizer_name(trace, number)
    lines = _froze(trace, {p.id for p in held})
    last = frozen_by(trace, held[0])
    froze = last.site.user if last is not None else lines[-1] if lines else None
    made = optimizer.site.user if optimizer.site else None
    calls = [frame for frame in last.site.stack[:-1] if frame.kind == "user"] if last is not None else []
    steps = [event for event in trace.of(Step) if event.optimizer == number]
    before = _pass_before(trace, number)
    drawn = dict.fromkeys(
        site for p in (new if len(new) < len(held) else ()) if (site := made_at(trace, p)) is not None
    )
    reached = (
        (f"the pass before them ({located(trace, before.site.user, '`backward()`')}) reached none of these",)
        if before is not None
        else ()
    )
    again = f" again ({located(trace, calls[-1])} does)" if calls and len(new) < len(held) else ""
    return Finding(
        message=f"{names}: frozen all the time, though {holder} holds {'them' if len(held) > 1 else 'it'}, and it"
        " holds nothing else",
        cause=froze or made,
        cause_label=f"freezes what {holder} is to train"
        if froze
        else "holds nothing that will get a gradient",
        effect=made if froze else steps[0].site.user if steps else None,
        effect_label=f"holds {plural(len(held), 'parameter')}, none of which requires a gradient",
        seen=(
            f"none of {plural(len(held), 'parameter')} required a gradient at any of"
            f" {plural(optimizer.steps, 'step')} of {holder}",
            *reached,
        ),
        related=(
            *((frame, "and this is the call that does so") for frame in calls[-1:]),
            *((line, "others are frozen here") for line in lines if froze is None or line != froze),
            *((site, "made here, and frozen before its first step") for site in list(drawn)[:FEW]),
        ),
        fix=(
            f"do not let {located(trace, froze)} run over them{again} if they should train, or call"
            if froze
            else "call"
        )
        + f" `requires_grad_(True)` on what should train ({parameter_names(trace, [p.id for p in new or held])})"
        + (" after it" if froze else "")
        + f"; if all should stay as they are, {holder} is of no use",
        count=1,
        subjects=parameter_subjects(p.id for p in held) | {("optimizer", number), ("held", number)},
    )


def _pass_before(trace: Trace, number: int) -> Backward | None:
    """The pass that came before a step of this optimizer."""
    last: Backward | None = None
    for _, event in in_order(trace):
        if isinstance(event, Backward):
            last = event
        elif isinstance(event, Step) and event.optimizer == number:
            return last
    return None


def _froze(trace: Trace, ids: set[int]) -> list[Site]:
    """The lines of the program that froze these, in the order of the run."""
    events = (event for event in trace.of(RequiresGrad) if event.to is False and event.leaf in ids)
    return list({event.site.user.location(): event.site.user for event in events}.values())
