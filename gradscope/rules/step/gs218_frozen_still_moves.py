"""A step changes parameters that are frozen: a gradient of before is left in them, or the program decays them itself.

Why: an optimizer skips a parameter only where its `.grad` is None; `requires_grad` means nothing to it. With
zeros left in `.grad` momentum and weight decay still move it, and an old gradient is applied again with every
step. A weight decay that the program writes itself (`p.data.mul_(1 - decay * rate)`) asks for no gradient at all.

Fix: set `.grad` to None where parameters are frozen, or make an optimizer of the others; leave them out of the decay.

Measured: the values before and after a step of parameters that had gradients, require none any more, and whose
`.grad` nothing has written to since a step used it, or is all zeros. A note where they are trained again later
in the run. Of a decay: that one line multiplies what was frozen and what steps train in each of several steps. Silent
on: gradients that the program writes itself; a line that multiplies only what is frozen.
"""

import ast
from collections.abc import Iterator

from gradscope.analysis.counted import at_least
from gradscope.analysis.own_writes import scaled_by_hand
from gradscope.analysis.since import since_segment
from gradscope.analysis.stops import frozen_by, set_at
from gradscope.analysis.words import code, located, parameter_names, parameter_subjects, plural, where
from gradscope.events import Backward, Flipped, FrozenMoved, RequiresGrad
from gradscope.fixes.freezing import emptied
from gradscope.model import Event, Finding, Site
from gradscope.rules import rule
from gradscope.store import Trace

MANY = 3  # steps


def bad() -> None:
    import torch
    from torch import nn

    model = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for step in range(6):
        if step == 3:
            for p in model[0].parameters():
                p.requires_grad = False  # cause: GS218
        opt.zero_grad(set_to_none=False)
        model(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()  # effect: GS218


def good() -> None:
    import torch
    from torch import nn

    model = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for step in range(6):
        if step == 3:
            for p in model[0].parameters():
                p.requires_grad = False
                p.grad = None
        opt.zero_grad(set_to_none=False)
        model(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()


@rule("GS218", name="frozen-still-moves", severity="warning", over=("GS208",))
def frozen_still_moves(trace: Trace) -> Iterator[Finding]:
    yield from _decayed_by_hand(trace)
    frozen: dict[Site, list[tuple[FrozenMoved, Event | None, Site | None]]] = {}
    for event in trace.of(FrozenMoved):
        off = _switched_off(trace, event)
        froze = set_at(trace, off) if off is not None else None
        frozen.setdefault(event.site.user, []).append((event, off, froze))
    for moved in frozen.values():
        # Of those that were frozen while sampling slept, the line is that of the others.
        known = next(((off, froze) for _, off, froze in moved if froze is not None), (None, None))
        by_line: dict[Site | None, list[FrozenMoved]] = {}
        for event, _, froze in moved:
            by_line.setdefault(froze or known[1], []).append(event)
        for line, events in by_line.items():
            off = next((off for _, off, froze in moved if froze == line), known[0])
            yield _finding(trace, events, off, line)


def _decayed_by_hand(trace: Trace) -> Iterator[Finding]:
    """What no pass has given a gradient since it was frozen, and a line of the program's makes smaller in each step
    together with what steps train."""
    for op, times, ids in scaled_by_hand(trace):
        trained = {id for id in ids if trace.parameter(id).steps}
        frozen = {id: off for id in sorted(ids) if (off := _frozen_unused(trace, id)) is not None}
        if not trained or not frozen or times < MANY:
            continue
        line, off = op.site.user, next(iter(frozen.values()))
        yield Finding(
            message=f"{code(trace, line, 'a line of the program')} changes {parameter_names(trace, list(frozen))},"
            f" which {'are' if len(frozen) > 1 else 'is'} frozen",
            cause=line,
            cause_label="multiplies what is frozen, too",
            effect=off.site.user,
            effect_label="frozen here",
            seen=(
                f"{at_least(trace, times, 'time')} it was run for {plural(len(frozen), 'parameter')} that no pass has"
                f" given a gradient, as for {len(trained)} that steps train",
            ),
            why="`requires_grad` keeps gradients away, and an optimizer passes over what has none. A decay that the"
            " program writes itself does neither: all that it is run for gets smaller with each step.",
            fix=f"run {located(trace, line)} only for parameters that require a gradient{_asked(trace, line)}, or give"
            " the optimizer only those",
            subjects=parameter_subjects(frozen),
        )


def _asked(trace: Trace, line: Site) -> str:
    """The question before the line, of what it names."""
    node = trace.source_file(line.path).at(line)
    target = (
        node.target
        if isinstance(node, ast.AugAssign)
        else getattr(getattr(node, "func", None), "value", None)
    )
    if isinstance(target, ast.Attribute) and target.attr == "data":
        target = target.value
    return f", as in `if {target.id}.requires_grad:`" if isinstance(target, ast.Name) else ""


def _frozen_unused(trace: Trace, id: int) -> RequiresGrad | None:
    parameter = trace.parameter(id)
    return frozen_by(trace, parameter) if parameter.optimizers and not parameter.passes else None


def _finding(trace: Trace, events: list[FrozenMoved], off: Event | None, froze: Site | None) -> Finding:
    event = events[0]
    ids, step = list(dict.fromkeys(id for one in events for id in one.parameters)), event.site.user
    names, stepping = parameter_names(trace, ids), code(trace, step, "the step")
    zeros = set(ids) <= {id for one in events for id in one.zero}
    held = "zeros are" if zeros else "an old gradient is"
    text, edits = emptied(trace, off, froze)
    fix = (
        f"set `.grad` to None where they are frozen{f', by `{text}`' if text else ''}"
        f"{f' ({where(froze)})' if froze else ''}, or make an optimizer of the other parameters for what comes"
        " after it"
    )
    trained = _trained_by_the_first(trace, off, ids)
    if trained:
        fix = (
            f"freeze them before the first forward, in place of {located(trace, froze)}, if they are to stay as they"
            " were: the first pass has trained them; if they are to train, leave that line out"
        )
    return Finding(
        message=f"{stepping} changes {names}, frozen before: {held} left in `.grad`",
        cause=froze or step,
        cause_label="frozen here, with `.grad` left as it was" if froze else "changes what is frozen",
        effect=step if froze else None,
        effect_label="changes what is frozen",
        seen=(
            *trained,
            f"{plural(len(ids), 'parameter')} that {'require' if len(ids) > 1 else 'requires'} no gradient had"
            f" other values after this step than before, and `.grad` held"
            f" {'zeros' if zeros else 'what an earlier step had used'}",
        ),
        why="an optimizer skips a parameter only where its `.grad` is None. "
        + (
            "With zeros there momentum and weight decay still move it"
            if zeros
            else "What is left there is applied again with each step"
        ),
        fix=fix,
        edits=() if trained else edits,
        severity="note" if all(_trained_again(trace, one) for one in events) else "",
        since=since_segment(trace, event.segment),
        subjects=parameter_subjects(ids) | {("optimizer", event.optimizer)},
    )


def _switched_off(trace: Trace, moved: FrozenMoved) -> Event | None:
    """What froze one of them last, or (after steps that sampling slept through) the first to notice it."""
    last: Event | None = None
    behind = False
    for event in trace.of(Flipped, RequiresGrad, FrozenMoved):
        if isinstance(event, FrozenMoved):
            behind = behind or event is moved
        if not isinstance(event, (Flipped, RequiresGrad)) or event.to:
            continue
        if not set(event.leaves) & set(moved.parameters):
            continue
        if behind:
            return last or event
        last = event
    return last


def _trained_by_the_first(trace: Trace, off: Event | None, ids: list[int]) -> tuple[str, ...]:
    """What was measured where a line freezes them in each turn, and stands behind the first pass."""
    if not isinstance(off, RequiresGrad):
        return ()
    again = [e for e in trace.of(RequiresGrad) if e.leaf == off.leaf and e.site == off.site and not e.to]
    passes = max(trace.parameter(id).passes for id in ids)
    if sum(e.count for e in again) < 2 or passes != 1:
        return ()
    return (
        f"{passes} of {trace.summary['passes']} backward passes gave them a gradient: the one before they"
        " were first frozen",
    )


def _trained_again(trace: Trace, moved: FrozenMoved) -> bool:
    """Whether a later pass gives them a gradient: parts that take turns."""
    return any(
        event.segment > moved.segment and set(event.filled) & set(moved.parameters)
        for event in trace.of(Backward)
    )
