"""Losses and gradients of a run before and after an edit, as sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from math import isfinite

from gradscope.analysis.names import parameter_name
from gradscope.analysis.words import counted
from gradscope.events import Backward
from gradscope.model import Finding, Parameter
from gradscope.store import Trace
from gradscope.trying.compare import Comparison, Place

_MOST = 3  # parameters of which a gradient is told

Row = list[tuple[int, float]]  # (step, value)


def numbers(compared: Comparison, findings: Iterable[Finding]) -> list[str]:
    """The loss over the steps that both runs made, and the gradients of what the findings are about."""
    before, after = compared.before.trace, compared.after.trace
    losses = _losses(compared)
    common = {step for step, _ in losses[0]} & {step for step, _ in losses[1]}  # not every pass is measured
    last = max(common, default=None)
    said = []
    if any(losses):
        was, now = (_way(row, last) for row in losses)
        far = f" up to step {last:,}" if last is not None and "→" in was + now else ""
        ways = f"{was} before, {now} with the fix" if was != now else f"{was}, the same with the fix"
        said.append(f"loss{far}: {ways}{_then(losses, last)}")
    ids = {subject[1] for f in findings for subject in f.subjects if subject[0] == "parameter"}
    known = _counterparts(compared)
    concerned = [p for p in before.parameters if p.id in ids and parameter_name(before, p)]
    both = {p.id: (_gradient(before, p, last), _gradient(after, known.get(p.id), last)) for p in concerned}
    told = [p for p in concerned if both[p.id] != ("none", "none")]  # else another one took its place
    for p in told[:_MOST]:
        was, now = both[p.id]
        said.append(f"gradient of `{parameter_name(before, p)}`: {was} before, {now} with the fix")
    if len(told) > _MOST:
        said.append(f"and of {counted(len(told) - _MOST, 'more parameter')}")
    return said


def _counterparts(compared: Comparison) -> dict[int, Parameter]:
    """Parameter of the run before → the same one with the edits: of the same name, or, where an edit gives it
    another one (what a `ModuleList` holds), that was made as the same one of its line."""
    before, after = compared.before.trace, compared.after.trace
    alone_before, alone_after = _alone(before), _alone(after)
    made: dict[Place, list[Parameter]] = {}
    for p in after.parameters:
        if p.site is not None:
            made.setdefault(p.site.user.location(), []).append(p)
    found: dict[int, Parameter] = {}
    turns: Counter[Place] = Counter()
    for p in before.parameters:
        alike: list[Parameter] = []
        turn = 0
        if p.site is not None:
            place = p.site.user.location()
            alike = [one for now in sorted(compared.lines.now(place)) for one in made.get(now, ())]
            turn = turns[place]
            turns[place] += 1
        name = parameter_name(before, p)
        same = alone_after.get(name) if name in alone_before else None
        same = same or (alike[turn] if turn < len(alike) else None)
        if same is not None and same.shape == p.shape:
            found[p.id] = same
    return found


def _alone(trace: Trace) -> dict[str, Parameter]:
    """Name → the one parameter that goes by it."""
    named = [(parameter_name(trace, p), p) for p in trace.parameters]
    times = Counter(name for name, _ in named)
    return {name: p for name, p in named if times[name] == 1}


def _losses(compared: Comparison) -> tuple[Row, Row]:
    """The losses of the line whose passes were measured most often, in both runs."""
    rows: dict[tuple[str, int], Row] = {}
    before, after = compared.before.trace, compared.after.trace
    for event in before.of(Backward):
        here = event.site.user.location()
        if here not in rows:
            rows[here] = before.numbers("loss", sites=_sites(before, {here}))
    if not any(rows.values()):
        return [], after.numbers("loss")
    here = max(rows, key=lambda line: len(rows[line]))
    return rows[here], after.numbers("loss", sites=_sites(after, compared.lines.now(here)))


def _sites(trace: Trace, lines: set[tuple[str, int]]) -> set[int]:
    return {event.site.id for event in trace.of(Backward) if event.site.user.location() in lines}


def _way(row: Row, last: int | None) -> str:
    """`0.93 → 0.41`."""
    values = [f"{value:.4g}" for step, value in row if last is None or step <= last]
    return " → ".join([values[0], *values[-1:]] if len(values) > 1 else values) or "none"


def _breaks(row: Row, last: int | None) -> tuple[int, float] | None:
    """The first loss behind that step which is not finite."""
    return next(((s, v) for s, v in row if (last is None or s > last) and not isfinite(v)), None)


def _then(losses: tuple[Row, Row], last: int | None) -> str:
    """What became of both losses behind that step, where that is most of the run or one of them is not finite: `; then
    nan at step 251 before, 0.31 at step 400 with the fix`."""
    if last is None or not (
        any(_breaks(row, last) for row in losses) or any(row and row[-1][0] > 2 * last for row in losses)
    ):
        return ""
    ends = [_end(row, last) for row in losses]
    said = [f"{end} {when}" for end, when in zip(ends, ("before", "with the fix"), strict=True) if end]
    return f"; then {', '.join(said)}"


def _end(row: Row, last: int) -> str:
    """`nan at step 251`: the first that is not finite behind a step, or the last."""
    if not row or row[-1][0] <= last:
        return ""
    step, value = _breaks(row, last) or row[-1]
    return f"{value:.4g} at step {step:,}"


def _gradient(trace: Trace, p: Parameter | None, last: int | None) -> str:
    """The norm of the last one that was measured."""
    if p is None or not p.passes:
        return "none"
    row = trace.numbers("grad_norm", p.id)
    kept = [norm for step, norm in row if last is None or step <= last]
    broken = f" and {_end(row, last)}" if last is not None and _breaks(row, last) is not None else ""
    return f"{kept[-1]:.4g}{broken}" if kept else "not measured"
