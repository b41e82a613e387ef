"""Steps that use the gradients of several mean losses, added up and divided by nothing."""

from __future__ import annotations

from dataclasses import dataclass, field

from gradscope.analysis.gradients import Turn, gradients
from gradscope.analysis.memo import once
from gradscope.analysis.ops import ADDITIONS, LOSSES, MEANS, MULTIPLICATIONS, NEGATIONS, SCALES
from gradscope.events import Clip, Rooted, Step
from gradscope.model import Event, Graph, Op, Site
from gradscope.store import Trace


@dataclass
class Undivided:
    """Passes of one line that a step used together."""

    steps: dict[Site, int] = field(default_factory=dict)
    sizes: list[int] = field(default_factory=list)
    parameters: set[int] = field(default_factory=set)
    first: int = -1  # the stretch of the first of these steps

    @property
    def usual(self) -> int:
        """How many passes most of the steps use."""
        return max(set(self.sizes), key=self.sizes.count)


@once
def undivided(trace: Trace) -> dict[Site, Undivided]:
    """By the line of the passes."""
    plain: dict[tuple[int, int], bool] = {}
    sums: dict[Site, Undivided] = {}
    for turn in gradients(trace).turns:
        if _as_long_as_the_sum(trace, turn.step):
            _count(trace, turn, sums, plain)
    return sums


def _count(trace: Trace, turn: Turn, sums: dict[Site, Undivided], plain: dict[tuple[int, int], bool]) -> None:
    step, passes = turn.step, [fill.event for fill in turn.fills]
    total = sum(fill.times for fill in turn.fills)
    if total < 2 or len({event.site for event in passes}) != 1 or any(map(_inside_a_step, passes)):
        return
    filled = {frozenset(event.filled) for event in passes}
    looked = [event for event in passes if event.graph >= 0]
    if len(filled) != 1 or not next(iter(filled)) <= step.fresh or not looked:
        return
    for event in looked:
        key = (event.graph, event.position)
        if key not in plain:
            plain[key] = is_undivided_mean(trace, event)
        if not plain[key]:
            return
    one = sums.setdefault(passes[0].site.user, Undivided())
    one.sizes.append(total)
    one.first = turn.stretch if one.first < 0 else one.first
    one.steps[step.site.user] = one.steps.get(step.site.user, 0) + 1
    one.parameters |= set(passes[0].filled)


def _as_long_as_the_sum(trace: Trace, step: Step) -> bool:
    """Whether the step is longer for a larger gradient, or a clip meets it."""
    return not divides_by_size(trace, step.optimizer) or bool(trace.of(Clip))


def divides_by_size(trace: Trace, number: int) -> bool:
    """Whether the optimizer divides each gradient by its own size, so that a larger one makes no longer step."""
    optimizer = trace.optimizers.get(number)
    return optimizer is not None and any("eps" in group for group in optimizer.groups)


def _inside_a_step(event: Event) -> bool:
    """Whether a closure that the step itself calls made the pass. (One that does nothing is given by libraries.)"""
    return any("Optimizer.profile_hook_step" in frame.function for frame in event.site.stack)


def is_undivided_mean(trace: Trace, event: Rooted) -> bool:
    """Whether the pass starts at a mean that nothing has divided."""
    graph, roots = trace.graph(event.graph), list(event.roots)
    if len(roots) != 1:
        return False
    op = graph.maker(roots[0])
    if op is not None and op.name in MULTIPLICATIONS and by_scaler(op):
        op = graph.maker(op.inputs[0])
    if op is None or graph.values[roots[0]].shape:
        return False
    return _mean_of(trace, graph, op)


def _mean_of(trace: Trace, graph: Graph, op: Op) -> bool:
    """Whether `op` takes a mean, also with the other sign, or adds one to others that may have a weight."""
    while op.name in NEGATIONS and op.inputs and (below := graph.maker(op.inputs[0])) is not None:
        op = below
    if op.name in ADDITIONS:
        terms = [graph.maker(value) for value in op.inputs]
        weighted = [
            graph.maker(t.inputs[0]) if t and t.name in MULTIPLICATIONS and t.inputs else t for t in terms
        ]
        known = all(term is not None and _mean_of(trace, graph, term) for term in weighted)
        return known and any(term is not None and term.name not in MULTIPLICATIONS for term in terms)
    if op.name in MEANS:
        return not _divided(graph, op.inputs[0])
    return op.name in LOSSES and op.extra.get("reduction", "mean") == "mean"


def by_scaler(op: Op) -> bool:
    """Whether this is the factor of `GradScaler.scale`, which the step takes out again."""
    return any(frame.kind == "torch" and frame.path.endswith("grad_scaler.py") for frame in op.site.stack)


def _divided(graph: Graph, value: int) -> bool:
    """Whether a mean is taken of something that was divided last."""
    op = graph.maker(value)
    return op is not None and op.name in SCALES
