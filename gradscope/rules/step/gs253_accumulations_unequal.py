"""The steps of an accumulation use unequal numbers of passes, since the count of the batches does not fit them.

Why: `i % 4 == 0` holds for the first batch, whose index is 0: the first step uses one batch alone. `(i + 1) % 4 == 0`
holds for the last batch of a loader only where 4 divides its length: the batches after the last step are left to the
first step of the next epoch, which sums up to 7 batches where each was divided by 4, and those of the last epoch are
lost. Where the gradients are cleared before each epoch, and it has no more than 4 batches, its first batch is all that
is ever used.

Fix: count from one, `(i + 1) % 4 == 0`, and step after the last batch too.

Measured: how many passes each step used, and which were cleared unused behind the loop. A note where the rest of an
epoch is carried on: some leave it so on purpose.
Silent on: counts that begin at 1, steps that wait for something else, a rest that is cleared (GS215).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from gradscope.analysis.gradients import gradients
from gradscope.analysis.passes import passes_by_line
from gradscope.analysis.step_conditions import counts_from_zero, without_remainder
from gradscope.analysis.text import has_length
from gradscope.analysis.words import code, located, parameter_subjects, plural
from gradscope.fixes.source import Binds, Edits, Source
from gradscope.model import Finding, Site
from gradscope.rules import rule
from gradscope.source import LOOPS, SourceFile, called_name, stands_in
from gradscope.store import Trace

ENOUGH = 2  # steps after the first


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    batches = [torch.randn(8, 4) for _ in range(16)]
    for i, x in enumerate(batches):
        (model(x).pow(2).mean() / 4).backward()
        if i % 4 == 0:  # cause: GS253
            opt.step()  # effect: GS253
            opt.zero_grad()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    batches = [torch.randn(8, 4) for _ in range(16)]
    for i, x in enumerate(batches):
        (model(x).pow(2).mean() / 4).backward()
        if (i + 1) % 4 == 0 or i + 1 == len(batches):
            opt.step()
            opt.zero_grad()


WHY_FIRST = """`i % 4 == 0` holds for the first batch, whose index is 0: the first step uses one batch alone, with a
gradient that was divided by 4"""
WHY_LATE = """an index that begins at 0 comes to n when n + 1 batches are through: the first step of each round through
the loop uses one gradient more than the loss was divided for, and what is left behind the last step is added to it"""
WHY_REST = """what is left of an epoch is added to the first passes of the next one: that step is longer than the
others, as each pass was divided by their number. What is left of the last epoch is lost"""


class Condition(NamedTuple):
    """`i % 4 == 0`, `not (i + 1) % 4` and their like: the index that is divided, by what, and the loop that counts
    it."""

    divisor: ast.expr
    counter: ast.Name
    from_one: bool
    loop: ast.For
    whole: ast.expr  # with `i > 0 and` before it, where that leaves the first batch out
    behind_the_first: bool  # it does


class Used(NamedTuple):
    """The steps of a line: how many passes each used, in their order, and what those filled."""

    step: Site
    passes: list[int]
    filled: frozenset[int]
    condition: Condition


WHY_ONLY = """`i % 4 == 0` holds for the first batch, whose index is 0, and the loop ends before it holds again: the
step uses that batch alone, with a gradient that was divided for several, and what all later batches gave is cleared
before the next one"""


@rule("GS253", name="accumulations-unequal", severity="warning", over=("GS215",))
def accumulations_unequal(trace: Trace) -> Iterator[Finding]:
    for used in _steps(trace):
        if set(used.passes) == {1}:
            yield from _only_first(trace, used)
        elif len(set(used.passes)) == 1:
            continue
        elif used.condition.from_one:
            yield from _carried_on(trace, used)
        elif used.condition.behind_the_first:
            yield from _one_more(trace, used)
        else:
            yield from _first(trace, used)


def _steps(trace: Trace) -> Iterator[Used]:
    """Of each line that steps where a count of the batches leaves no rest."""
    passes: dict[tuple[str, int], list[int]] = {}
    filled: dict[tuple[str, int], set[int]] = {}
    sites: dict[tuple[str, int], Site] = {}
    for turn in gradients(trace).turns:
        site = sites.setdefault(turn.step.site.user.location(), turn.step.site.user)
        used = sum(fill.times for fill in turn.fills)
        passes.setdefault(site.location(), []).extend([used] * turn.times)
        filled.setdefault(site.location(), set()).update(*(fill.event.filled for fill in turn.fills))
    for place, site in sites.items():
        if len(passes[place]) > ENOUGH and set(passes[place]) != {0}:
            condition = _condition(trace.source_file(site.path), site)
            if condition is not None:
                yield Used(site, passes[place], frozenset(filled[place]), condition)


def _condition(file: SourceFile, step: Site) -> Condition | None:
    """What the step waits for, where that is a count from 0 that is divided without a rest."""
    node = file.statement(step)
    for above in file.above(node) if node is not None else ():
        if isinstance(above, (ast.FunctionDef, ast.AsyncFunctionDef, *LOOPS)):
            return None
        if not isinstance(above, ast.If):
            continue
        test = above.test
        if isinstance(test, ast.Name):
            given = file.assigned.get(test.id, [])
            test = given[0] if len(given) == 1 else test
        loop = next((one for one in file.above(above) if isinstance(one, ast.For)), None)
        whole, test = test, _behind_the_first(test)
        counted = _counted(test)
        if counted is not None and loop is not None:
            index, from_one, divisor = counted
            known = counts_from_zero(loop, index.id)
            return Condition(divisor, index, from_one, loop, whole, test is not whole) if known else None
    return None


def _behind_the_first(test: ast.expr) -> ast.expr:
    """`i % 4 == 0` of `i > 0 and i % 4 == 0`; any other condition itself."""
    if not isinstance(test, ast.BoolOp) or not isinstance(test.op, ast.And) or len(test.values) != 2:
        return test
    for one, other in (test.values, test.values[::-1]):
        counted = _counted(other)
        if counted is not None and not counted[1]:
            index = counted[0].id
            if ast.unparse(one) in (index, f"{index} > 0", f"{index} != 0", f"{index} >= 1", f"0 < {index}"):
                return other
    return test


def _counted(test: ast.expr) -> tuple[ast.Name, bool, ast.expr] | None:
    """`i` of `i % 4 == 0` or `not i % 4`, whether it is `i + 1` that is divided, and by what."""
    rest = without_remainder(test)
    if rest is None or not rest[1]:
        return None
    divided, divisor = rest[0].left, rest[0].right
    if isinstance(divided, ast.Name):
        return divided, False, divisor
    if isinstance(divided, ast.BinOp) and isinstance(divided.op, ast.Add):
        sides = divided.left, divided.right
        one = any(isinstance(side, ast.Constant) and side.value == 1 for side in sides)
        index = next((side for side in sides if isinstance(side, ast.Name)), None)
        return (index, True, divisor) if one and index is not None else None
    return None


def _first(trace: Trace, used: Used) -> Iterator[Finding]:
    """The step of the first batch alone."""
    later = [passes for passes in used.passes[1:] if passes > 1]
    if used.passes[0] != 1 or len(later) < ENOUGH:
        return
    step, text, edits = used.step, *_with_the_last(trace, used)
    cause, passes = _place(trace, used), max(set(later), key=later.count)
    yield Finding(
        message=f"the first step comes after one pass, those after it use {passes} each:"
        f" {code(trace, cause)} holds for the first batch, whose index is 0",
        cause=cause,
        cause_label="is true at 0",
        effect=step,
        effect_label="uses one batch alone at first",
        seen=(
            f"the first step used the gradients of 1 pass, {plural(len(later), 'step')} after it of {passes} each",
        ),
        fix=f"count from one{_too(text)}: {text} in place of {located(trace, cause)}",
        edits=edits,
        why=WHY_FIRST,
        count=1,
        subjects=parameter_subjects(used.filled) | {("step", step.location())},
    )


def _only_first(trace: Trace, used: Used) -> Iterator[Finding]:
    """The step of each round's first batch, whose other ones are cleared behind the loop, unused."""
    condition = used.condition
    if condition.from_one or condition.behind_the_first:
        return
    cleared, clears = _cleared_behind(trace, used)
    steps = len(used.passes)
    if cleared < steps or len(clears) != 1:
        return
    step, text, edits = used.step, *_with_the_last(trace, used)
    cause, (clear,) = _place(trace, used), clears
    yield Finding(
        message=f"each step uses the first pass of a loop alone: {code(trace, cause)} holds for the first"
        " batch, whose index is 0, and not for the last one",
        cause=cause,
        cause_label="is true at 0, and at no later batch",
        effect=step,
        effect_label="uses one batch alone, each time",
        related=((clear, "clears what the batches after it gave"),),
        seen=(
            f"{plural(steps, 'step')} used the gradients of 1 pass each; {plural(cleared, 'pass')} behind them got no"
            " step, and were cleared",
        ),
        fix=f"count from one{_too(text)}: {text} in place of {located(trace, cause)}",
        edits=edits,
        why=WHY_ONLY,
        count=cleared,
        subjects=parameter_subjects(used.filled) | {("step", step.location())},
    )


def _cleared_behind(trace: Trace, used: Used) -> tuple[int, list[Site]]:
    """How many passes of the loop were cleared unused, and by which lines; none where one of these stands in it."""
    loop, path, cleared = used.condition.loop, used.step.path, 0
    clears: dict[tuple[str, int], Site] = {}
    for site, line in passes_by_line(trace).items():
        if line.dropped and line.parameters & used.filled:
            if site.path != path or not stands_in(loop, site):
                return 0, []
            cleared += line.dropped
            clears |= {clear.location(): clear for clear in line.clears}
    inside = any(site.path == path and stands_in(loop, site) for site in clears.values())
    return (0, []) if inside else (cleared, list(clears.values()))


def _one_more(trace: Trace, used: Used) -> Iterator[Finding]:
    """The first step, which counts from the batch whose index is 0 to that whose index is n."""
    usual = max(set(used.passes), key=used.passes.count)
    if usual < 2 or used.passes[0] != usual + 1 or used.passes.count(usual) < ENOUGH:
        return
    step, text, edits = used.step, *_with_the_last(trace, used)
    cause = _place(trace, used)
    yield Finding(
        message=f"the first step uses {usual + 1} passes, those after it {usual} each: {code(trace, cause)} holds one"
        " batch too late, as the index begins at 0",
        cause=cause,
        cause_label=f"is true at {usual} first, when {usual + 1} batches are through",
        effect=step,
        effect_label=f"uses {usual + 1} passes at first",
        seen=(
            f"the first step used the gradients of {usual + 1} passes, {plural(used.passes.count(usual), 'step')} of"
            f" {usual}" + (f", the longest of {max(used.passes)}" if max(used.passes) > usual + 1 else ""),
        ),
        fix=f"count from one{_too(text)}: {text} in place of {located(trace, cause)}",
        edits=edits,
        why=WHY_LATE,
        count=1,
        subjects=parameter_subjects(used.filled) | {("step", step.location())},
    )


def _carried_on(trace: Trace, used: Used) -> Iterator[Finding]:
    """What is left of an epoch and counts for the next one's first step."""
    usual = used.passes[0]
    longer = [passes for passes in used.passes if passes != usual]
    least, most = min(longer), max(longer)
    if usual < 2 or len(longer) < ENOUGH or not usual < least <= most < 2 * usual:
        return
    step, text, edits = used.step, *_with_the_last(trace, used)
    cause, rest = _place(trace, used), most - usual
    span = f"{most}" if least == most else f"{least} to {most}"
    left = plural(rest, "pass") if least == most else f"up to {plural(rest, 'pass')}"
    yield Finding(
        message=f"{left} at the end of the loop {'gets' if rest == 1 else 'get'} no step: the first step of the next"
        f" round through it uses {span} passes, the others {usual}",
        cause=cause,
        cause_label="does not hold for the last batch",
        effect=step,
        effect_label=f"uses {span} passes at once, time and again",
        seen=(
            f"of {plural(len(used.passes), 'step')} {len(used.passes) - len(longer)} used the gradients of {usual}"
            f" passes, {len(longer)} of {span}",
        ),
        severity="note",
        why=WHY_REST,
        fix=f"step after the last batch too: {text} in place of {located(trace, cause)}",
        edits=edits,
        count=len(longer),
        subjects=parameter_subjects(used.filled) | {("step", step.location())},
    )


def _place(trace: Trace, used: Used) -> Site:
    span = Source(trace, used.step.path).file.span(used.condition.whole)
    return Site(-1, used.step.path, *span, used.step.function, "user")


def _with_the_last(trace: Trace, used: Used) -> tuple[str, Edits]:
    """`(i + 1) % 4 == 0 or i + 1 == len(loader)`."""
    here = Source(trace, used.step.path)
    index, call, whole = used.condition.counter, used.condition.loop.iter, used.condition.whole
    assert isinstance(call, ast.Call)
    new = f"({index.id} + 1) % {here.part(used.condition.divisor, Binds.SIGN)} == 0"
    given = call.args[0]
    counted, named = called_name(call) == "range", isinstance(given, ast.Name | ast.Attribute)
    if counted or (named and has_length(trace, ast.unparse(given))):
        last = here.file.text(given) if counted else f"len({here.file.text(given)})"
        new += f" or {index.id} + 1 == {last}"
    elif used.condition.from_one or named:
        return f"`{new} or {index.id} + 1 == n`, with `n` the number of batches,", ()
    return f"`{new}`", here.replace(whole, new)


def _too(text: str) -> str:
    """What is said of the last batch, where the condition can ask for it."""
    return " and step after the last batch too" if " or " in text else ""
