"""Losses that came no lower than that of a constant answer, over a run that was long enough to learn one."""

from __future__ import annotations

from collections.abc import Iterator
from math import isclose, isfinite
from statistics import fmean
from typing import NamedTuple

from gradscope.analysis.gradients import thrown_away
from gradscope.analysis.memo import once
from gradscope.analysis.ops import BINARY_LOSSES
from gradscope.analysis.reach import Paths, paths
from gradscope.events import Backward, ConstantAnswer, PassTime
from gradscope.model import Op, Parameter, Site
from gradscope.store import Trace

PASSES = 100
MEASURED = 16  # losses
OF_SEVERAL = 5  # of each network, where one line trains several: what it has measured is spread over them
LATE = 2  # of them, at least, in the second half of the run
NO_BETTER = 0.97  # of what the constant answer has
ALMOST_ONE = 1e-8  # of the first loss: what that answer has where the targets are nearly one number
APART = 0.5  # of the targets' variance lies between batches: those that were looked at stand for no others
SAME = 1e-4  # of a loss by hand: how near to what it would be
STILL_FALLS = 0.9  # of the losses before, the last quarter's: it has begun to learn


class NoBetter(NamedTuple):
    """op: the call of the loss; compared: that or, of a loss by hand, the difference of the answers and the targets;
    line: that of its passes; passes: how many; loss: the mean of those that
    were measured in the second half of the run."""

    event: ConstantAnswer
    op: Op
    compared: Op
    line: Site
    passes: int
    loss: float
    parameters: frozenset[int]  # that they fill
    falls: bool  # still, at the end

    @property
    def no_lower(self) -> str:
        return "no lower" if self.loss >= self.event.best else "hardly lower"


def no_better(trace: Trace) -> Iterator[NoBetter]:
    """Those that all passes of a line begin with, as they are, and that parameters are stepped for: no term of a sum,
    no attack on the inputs. Where one line trains several networks, each of them has to stand there."""
    known = paths(trace)
    begun, others = _begun(trace)
    for answer in trace.of(ConstantAnswer):
        by_hand = answer.first is not None
        key = _by_hand(trace, begun, answer) if by_hand else (answer.name, answer.site.id)
        found = begun.get(key, []) if key is not None else []
        lines = {event.site.user.location() for _, event in found}
        if any(len(others[line]) > 1 for line in lines) or answer.apart > APART:
            continue
        networks = _networks(known, [event for _, event in found])
        beside = _networks(known, [e for e in known.backwards if e.site.user.location() in lines])
        several = len(beside) > 1
        times = [time for time in trace.of(PassTime) if time.site.user.location() in lines]
        passes, sites = sum(time.passes for time in times), {time.site.id for time in times}
        if several:
            passes = min((max(map(_uses, map(trace.parameter, ids))) for ids in networks), default=0)
        if passes < PASSES or not networks:
            continue
        if answer.name in BINARY_LOSSES and _is_fooled(known, lines, frozenset().union(*networks)):
            continue
        enough = OF_SEVERAL if several else MEASURED
        courses = [
            _course(trace, answer, trace.numbers("loss", sites=sites, filled=ids if several else ()), enough)
            for ids in networks
        ]
        stands = [course for course in courses if course is not None]
        if len(stands) == len(networks):  # what the best answer has is known of all their targets together
            op, event = found[0]
            late, falls = fmean(late for late, _ in stands), any(falls for _, falls in stands)
            compared = (_difference(known, op, answer) if by_hand else op) or op
            filled = frozenset().union(*networks)
            yield NoBetter(answer, op, compared, event.site.user, passes, late, filled, falls)


@once
def losses_by_hand(trace: Trace) -> frozenset[int]:
    """The sites of the differences whose mean square, or mean size, is all that a pass begins with."""
    begun, _ = _begun(trace)
    answers = [answer for answer in trace.of(ConstantAnswer) if answer.first is not None]
    return frozenset(answer.site.id for answer in answers if _by_hand(trace, begun, answer) is not None)


_Begun = dict[tuple[str, int], list[tuple[Op, Backward]]]


@once
def _begun(trace: Trace) -> tuple[_Begun, dict[tuple[str, int], set[tuple[str, int] | None]]]:
    """The passes by the call that gave their one loss; and by line what its passes begin with."""
    known = paths(trace)
    begun: _Begun = {}
    others: dict[tuple[str, int], set[tuple[str, int] | None]] = {}
    for event in known.backwards:
        if event.call != "backward" or event.inputs:
            continue
        ops = [known.graph(event.graph).maker(root) for root in event.roots]
        op = ops[0] if len(ops) == 1 else None
        key = (op.name, op.site.id) if op is not None else None
        others.setdefault(event.site.user.location(), set()).add(key)
        if op is not None and key is not None:
            begun.setdefault(key, []).append((op, event))
    return begun, others


def _by_hand(trace: Trace, begun: _Begun, answer: ConstantAnswer) -> tuple[str, int] | None:
    """The loss that was at first what this one would be, and that is computed from its difference: whatever the
    calls between, it is that mean."""
    known = paths(trace)
    for key, found in begun.items():
        op, event = found[0]
        losses = trace.numbers("loss", event.site.id)
        if losses and answer.first and isclose(losses[0][1], answer.first, rel_tol=SAME):
            if _difference(known, op, answer) is not None:
                return key
    return None


def _difference(known: Paths, loss: Op, answer: ConstantAnswer) -> Op | None:
    ops = known.graph(loss.graph).ops
    return next((op for op in ops if op.site.id == answer.site.id and op.index < loss.index), None)


def _is_fooled(known: Paths, lines: set[tuple[str, int]], ids: frozenset[int]) -> bool:
    """Whether passes of other lines go through this network and train another one alone: of two that play against each
    other, a discriminator that can tell nothing apart is what the other aims at."""
    for event in known.backwards:
        if event.call != "backward" or event.site.user.location() in lines:
            continue
        trained = _networks(known, [event])
        if trained and not any(one & ids for one in trained):
            if ids & known.fed_by(*((event.graph, root) for root in event.roots)):
                return True
    return False


def _networks(known: Paths, events: list[Backward]) -> list[set[int]]:
    """What is trained by these passes, apart where no pass fills parameters of both."""
    found: list[set[int]] = []
    for event in events:
        spent = thrown_away(known.trace).get(event.site.user.location(), set())
        ids = {id for id in known.filled_by(event) if _is_trained(known.trace, id)} - spent
        if ids:
            joined = [one for one in found if one & ids]
            found = [one for one in found if not one & ids] + [ids.union(*joined)]
    return found


def _course(
    trace: Trace, answer: ConstantAnswer, losses: list[tuple[int, float]], enough: int
) -> tuple[float, bool] | None:
    """The mean of the late losses of one network, and whether they still fall; None where they are lower than the
    constant answer's, or are too few to tell."""
    if len(losses) < enough or not all(isfinite(loss) for _, loss in losses):
        return None
    # Ever fewer are measured in the course of a run: what counts as late has to lie in its second half.
    half, steps = len(losses) // 2, max((o.steps for o in trace.optimizers.values()), default=0)
    # Of updates by hand only the order is known.
    late = [loss for step, loss in losses[half:] if step > steps / 2 or not steps]
    if answer.best <= ALMOST_ONE * losses[0][1] or len(late) < LATE:
        return None
    means = [fmean(late), *(fmean(loss for _, loss in part) for part in (losses[:half], losses[half:]))]
    if min(means) < NO_BETTER * answer.best:
        return None
    before, last = losses[-2 * (half // 2) : -(half // 2)], losses[-(half // 2) :]
    falls = fmean(loss for _, loss in last) < STILL_FALLS * fmean(loss for _, loss in before)
    return means[0], falls


def _uses(parameter: Parameter) -> int:
    return max(parameter.steps, parameter.updates)


def _is_trained(trace: Trace, id: int) -> bool:
    parameter = trace.parameter(id)
    return parameter.steps > 0 or parameter.updates > 1
