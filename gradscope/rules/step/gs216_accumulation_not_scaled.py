"""Mean losses of several batches are added up without dividing by their number.

Why: the sum of k mean losses has a gradient k times as large as that of one batch of all their
samples. The step is k times longer than with one large batch, and changes with k.

Fix: divide the loss by the number of passes before `backward()`. Where training goes well as it is the
learning rate suits the sum: then multiply it by that number.

A note; a warning where another loss of the same loop is scaled. Silent on: losses that are divided or
reduced by a sum, several different losses before one step, optimizers that divide gradients by their own
size (Adam) where nothing clips them.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from statistics import mean

from gradscope.analysis.counted import at_least
from gradscope.analysis.gradients import Turn, gradients
from gradscope.analysis.ops import ADDITIONS, LOSSES, MEANS, MULTIPLICATIONS, SCALES
from gradscope.analysis.since import since_stretch
from gradscope.analysis.words import code, listed, located, parameter_names, parameter_subjects, where
from gradscope.events import Backward, Clip, Rooted, Step
from gradscope.fixes.blocks import divided
from gradscope.fixes.source import is_name
from gradscope.model import Event, Finding, Graph, Op, Site
from gradscope.rules import rule
from gradscope.store import Trace

CONSTANT = 0.8  # of the steps with gradients of one number of passes: the others are the last of an epoch
FEW = 4  # such numbers that are named


def bad() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=1)
    for i in range(8):
        loss = nn.functional.mse_loss(model(torch.randn(8, 3)), torch.zeros(8, 1))
        loss.backward()  # cause: GS216
        if i % 4 == 3:
            opt.step()  # effect: GS216
            opt.zero_grad()


def good_divided() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for i in range(8):
        loss = nn.functional.mse_loss(model(torch.randn(8, 3)), torch.zeros(8, 1)) / 4
        loss.backward()
        if i % 4 == 3:
            opt.step()
            opt.zero_grad()


@dataclass
class _Sum:
    """Passes of one line that a step used together."""

    steps: dict[Site, int] = field(default_factory=dict)
    sizes: list[int] = field(default_factory=list)
    parameters: set[int] = field(default_factory=set)
    first: int = -1  # the stretch of the first of these steps


@rule("GS216", name="accumulation-not-scaled", severity="warning")
def accumulation_not_scaled(trace: Trace) -> Iterator[Finding]:
    plain: dict[tuple[int, int], bool] = {}
    sums: dict[Site, _Sum] = {}
    for turn in gradients(trace).turns:
        if _as_long_as_the_sum(trace, turn.step):
            _count(trace, turn, sums, plain)
    for site, one in sums.items():
        if len(one.sizes) >= 2:
            yield _finding(trace, site, one)


def _count(trace: Trace, turn: Turn, sums: dict[Site, _Sum], plain: dict[tuple[int, int], bool]) -> None:
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
            plain[key] = _is_mean(trace, event)
        if not plain[key]:
            return
    one = sums.setdefault(passes[0].site.user, _Sum())
    one.sizes.append(total)
    one.first = turn.stretch if one.first < 0 else one.first
    one.steps[step.site.user] = one.steps.get(step.site.user, 0) + 1
    one.parameters |= set(passes[0].filled)


def _as_long_as_the_sum(trace: Trace, step: Step) -> bool:
    """Whether the step is longer for a larger gradient: not where the optimizer divides each by its own size."""
    optimizer = trace.optimizers.get(step.optimizer)
    by_size = optimizer is not None and any("eps" in group for group in optimizer.groups)
    return not by_size or bool(trace.of(Clip))


def _inside_a_step(event: Event) -> bool:
    """Whether a closure that the step itself calls made the pass. (One that does nothing is given by libraries.)"""
    return any("Optimizer.profile_hook_step" in frame.function for frame in event.site.stack)


def _is_mean(trace: Trace, event: Rooted) -> bool:
    """Whether the pass starts at a mean that nothing has divided."""
    graph, roots = trace.graph(event.graph), list(event.roots)
    if len(roots) != 1:
        return False
    op = graph.maker(roots[0])
    if op is not None and op.name in MULTIPLICATIONS and _by_scaler(op):
        op = graph.maker(op.inputs[0])
    if op is None or graph.values[roots[0]].shape:
        return False
    return _mean_of(trace, graph, op)


def _mean_of(trace: Trace, graph: Graph, op: Op) -> bool:
    """Whether `op` takes a mean, or adds one to others that may have a weight."""
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


def _by_scaler(op: Op) -> bool:
    """Whether this is the factor of `GradScaler.scale`, which the step takes out again."""
    return any(frame.kind == "torch" and frame.path.endswith("grad_scaler.py") for frame in op.site.stack)


def _divided(graph: Graph, value: int) -> bool:
    """Whether a mean is taken of something that was divided last."""
    op = graph.maker(value)
    return op is not None and op.name in SCALES


def _finding(trace: Trace, site: Site, one: _Sum) -> Finding:
    k, step = max(set(one.sizes), key=one.sizes.count), max(one.steps, key=lambda place: one.steps[place])
    backward, stepping = code(trace, site, "`backward()`"), code(trace, step, "the step")
    many = one.sizes.count(k) < CONSTANT * len(one.sizes)  # other numbers in other steps
    number = (_number(trace, site, step) or "…") if many else str(k)
    shown, edits = divided(trace, site, f" / {number}") if number != "…" else ("", ())
    fix = f"write `{shown or f'(loss / {number}).backward()'}` in place of {backward} ({where(site)})"
    if many:
        sizes = listed([str(size) for size in sorted(set(one.sizes))[:FEW]])
        fix += f": by the number of passes of each step, which was {sizes}"
    steps = (
        f"{at_least(trace, len(one.sizes), 'step')} used gradients of {k} passes each into"
        f" {parameter_names(trace, sorted(one.parameters))}"
    )
    beside, fell = _scaled_beside(trace, site, k), _fell(trace, site)
    if beside is not None:
        scaled, by = beside
        shown, edits = divided(trace, site, by)
        fell = ""
        fix = (
            f"write `{shown or f'(loss{by}).backward()'}` in place of {backward} ({where(site)}), as"
            f" {located(trace, scaled)} does"
        )
    if fell:
        fix += (
            f" and multiply the learning rate by {k}: both together leave each step as long as it is. Dividing alone"
            f" makes the steps {k} times shorter, right only if they are too long"
        )
    return Finding(
        message=f"{stepping} uses the sum of {k} mean losses, not their mean",
        cause=site,
        cause_label=f"{k} passes add up before a step, and the loss is not divided by {k}",
        effect=step,
        effect_label="uses the sum",
        related=((beside[0], "a loss of the same loop, which is scaled"),) if beside is not None else (),
        severity="" if beside is not None else "note",
        seen=(steps, fell) if fell else (steps,),
        fix=fix,
        edits=() if fell else edits,
        count=len(one.sizes),
        subjects=parameter_subjects(one.parameters),
        since=since_stretch(trace, one.first),
    )


def _number(trace: Trace, site: Site, step: Site) -> str:
    """What the program calls the number of passes before a step: by what it divides a count, or compares one with, to
    know when to take it. "" where it has no name for it."""
    file = trace.source_file(step.path)
    node = file.statement(step)
    above = file.above(node) if node is not None and file.scope(step) is file.scope(site) else ()
    for test in (one.test for one in above if isinstance(one, ast.If)):
        parts = [n.right for n in ast.walk(test) if isinstance(n, ast.BinOp) and isinstance(n.op, ast.Mod)]
        if not parts and isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.GtE | ast.Eq):
            parts = test.comparators[:1]
        if len(parts) == 1 and is_name(parts[0]):
            return ast.unparse(parts[0])
    return ""


def _scaled_beside(trace: Trace, site: Site, k: int) -> tuple[Site, str] | None:
    """Where another loss of the same loop, k of which are added up as well, is multiplied with a plain number before
    its pass, and how that is written: " * ratio"."""
    file = trace.source_file(site.path)
    loop = file.outermost_loop(site)
    summed = (turn.fills for turn in gradients(trace).turns if sum(fill.times for fill in turn.fills) == k)
    for event in {fill.event.site.user: fill.event for fills in summed for fill in fills}.values():
        here = event.site.user
        if (
            event.graph < 0
            or len(event.roots) != 1
            or here.path != site.path
            or file.outermost_loop(here) is not loop
        ):
            continue
        op = trace.graph(event.graph).maker(event.roots[0])
        node = file.at(op.site.user) if op is not None and op.site.user.path == site.path else None
        if op is None or op.name not in SCALES or len(op.inputs) != 1 or _by_scaler(op) or loop is None:
            continue
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult | ast.Div) and is_name(node.right):
            if file.scope(op.site.user) is file.scope(site) and here != site:
                sign = " * " if isinstance(node.op, ast.Mult) else " / "
                return op.site.user, f"{sign}{ast.unparse(node.right)}"
    return None


def _fell(trace: Trace, site: Site) -> str:
    """What the loss was at first and at last, where it has fallen: then the steps are not too long."""
    sites = {event.site.id for event in trace.of(Backward) if event.site.user == site}
    losses = [loss for _, loss in trace.numbers("loss", sites=sites)]
    third = len(losses) // 3
    if third < 2 or not (first := mean(losses[:third])) > (last := mean(losses[-third:])):
        return ""
    return f"the loss fell, from {first:.3g} in the first third of its passes to {last:.3g} in the last"
