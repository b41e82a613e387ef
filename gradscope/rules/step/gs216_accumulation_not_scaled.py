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
from statistics import mean

from gradscope.analysis.counted import at_least
from gradscope.analysis.gradients import gradients
from gradscope.analysis.ops import SCALES
from gradscope.analysis.since import since_stretch
from gradscope.analysis.undivided import Undivided, by_scaler, divides_by_size, undivided
from gradscope.analysis.words import code, listed, located, parameter_names, parameter_subjects, where
from gradscope.events import Backward, Clip
from gradscope.fixes.blocks import divided
from gradscope.fixes.source import is_name
from gradscope.model import Finding, Site
from gradscope.rules import rule
from gradscope.store import Trace

CONSTANT = 0.8  # of the steps with gradients of one number of passes: the others are the last of an epoch
_WHY_CLIPPED = (
    "the sum of k mean losses has a gradient k times as large as that of one batch of all their samples. The optimizer"
    " takes that out again, the clip does not: it cuts gradients whose mean it would have left as they are"
)
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


@rule("GS216", name="accumulation-not-scaled", severity="warning")
def accumulation_not_scaled(trace: Trace) -> Iterator[Finding]:
    for site, one in undivided(trace).items():
        if len(one.sizes) >= 2:
            yield _finding(trace, site, one)


def _finding(trace: Trace, site: Site, one: Undivided) -> Finding:
    k, step = one.usual, max(one.steps, key=lambda place: one.steps[place])
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
    clipped = _only_clipped(trace, one)
    if clipped:
        fix += ", and leave the learning rate: the optimizer divides each gradient by its size, whatever its scale"
    if beside is not None:
        scaled, by = beside
        shown, edits = divided(trace, site, by)
        fell = clipped = ""
        fix = (
            f"write `{shown or f'(loss{by}).backward()'}` in place of {backward} ({where(site)}), as"
            f" {located(trace, scaled)} does"
        )
    scales = fell and not clipped
    if scales:
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
        seen=tuple(filter(None, (steps, clipped, fell if scales else ""))),
        why=_WHY_CLIPPED if clipped else "",
        fix=fix,
        edits=() if scales else edits,
        count=len(one.sizes),
        subjects=parameter_subjects(one.parameters) | {("sum", *site.location())},
        since=since_stretch(trace, one.first),
    )


def _only_clipped(trace: Trace, one: Undivided) -> str:
    """What the sum does to the steps of optimizers that divide each gradient by its own size: only the clip sees it."""
    held = {number for id in one.parameters for number in trace.parameter(id).optimizers}
    clips = [event for event in trace.of(Clip) if one.parameters & event.fresh]
    if not clips or not all(divides_by_size(trace, number) for number in held):
        return ""
    limit = f", with a limit of {clips[0].limit:g}" if clips[0].limit is not None else ""
    return f"{code(trace, clips[0].site.user, 'the clip')} met the sum{limit}"


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
        if op is None or op.name not in SCALES or len(op.inputs) != 1 or by_scaler(op) or loop is None:
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
