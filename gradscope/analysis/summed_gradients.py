"""Gradients that the program sums over the ranks by itself, and uses as they are."""

from __future__ import annotations

from typing import NamedTuple

from gradscope.analysis.parting import paired
from gradscope.analysis.rank_gradients import (
    Followed,
    alike,
    all_without_wrapper,
    followed,
    losses,
    reductions,
)
from gradscope.analysis.undivided import is_undivided_mean
from gradscope.events import Backward
from gradscope.model import Site
from gradscope.store import Run, Trace

_NOISE = 1e-5  # relative
_LONGER = 1.05  # than any mean can be


class Summed(NamedTuple):
    """Gradients that are summed over the ranks, and used as they are. `own`: norms of the one of the first parameter
    that each rank's first pass left; `used`: of what its step used."""

    site: Site  # of the `all_reduce`
    step: Site | None
    parameters: list[int]  # ids in the first member's trace
    own: list[float]
    used: float
    steps: int  # that were compared


def summed_by_hand(run: Run) -> Summed | None:
    """Where a step uses sums of what the ranks' passes left: longer than their mean can be, by the triangle inequality,
    and no longer than their sum. None where traces are missing, or the steps are not those of the passes."""
    if not all_without_wrapper(run):
        return None
    trace = run.ranks[0].trace
    site = next(reductions(trace), None)
    if site is None or len(trace.optimizers) != 1 or not all(_own_means(m.trace) for m in run.ranks):
        return None
    if alike([next(losses(member), 0.0) for member in run.ranks]):
        return None  # one loss, of which each rank may hold a part
    together = paired(list(run.ranks), "gradients")
    steps = followed(list(run.ranks), together[0]) if len(together) == 1 else None
    if steps is None:
        return None
    summed = [
        one for one in steps.parameters if all(map(alike, one.gradients))
    ]  # others are left as they are
    told: list[tuple[Followed, list[float], float]] = []  # of each step the first that shows it
    for place, step in enumerate(steps.numbers):
        longer = []
        for one in summed:
            used = one.gradients[place][0]
            own = [_norm_at(m.trace, int(id), step) for m, id in zip(run.ranks, one.ids, strict=True)]
            left = [norm for norm in own if norm]
            if not used or len(left) < len(own):
                continue
            if used > sum(left) * (1 + _NOISE):
                return None
            if used > sum(left) / len(left) * _LONGER:
                longer.append((one, left, used))
        if not longer:
            return None
        told.append(longer[0])
    first, own_norms, value = told[0]
    parameters = [first, *(one for one in summed if one is not first)]
    ids = [int(one.ids[0]) for one in parameters]
    return Summed(site, steps.first, ids, own_norms, value, steps.compared)


def _own_means(trace: Trace) -> bool:
    """Whether each step has one pass of its own, from a mean over what this rank has: nothing came from the others."""
    looked = [event for event in trace.of(Backward) if event.graph >= 0]
    return (
        bool(looked)
        and trace.summary["passes"] == trace.summary["steps"]
        and all(
            is_undivided_mean(trace, event)
            and not any(_between_ranks(op.site) for op in trace.graph(event.graph).ops)
            for event in looked
        )
    )


def _between_ranks(site: Site) -> bool:
    return any("/torch/distributed/" in frame.path for frame in (site, *site.stack))


def _norm_at(trace: Trace, parameter: int, step: int) -> float | None:
    return next((value for at, value in trace.numbers("grad_norm", parameter) if at == step), None)
