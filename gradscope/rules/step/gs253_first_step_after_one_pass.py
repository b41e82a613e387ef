"""The first step of an accumulation comes after one pass alone, since the count of the batches begins at 0.

Why: `i % 4 == 0` holds for the first batch, whose index is 0. The first step uses one batch, each later one the batch
that it comes after and those before it, and what is left at the end is used in the next epoch or cleared.

Fix: count from one, `(i + 1) % 4 == 0`, and step after the last batch too.

Measured: the first step of the run used the gradients of one pass, those after it of several each. Silent on: counts
that begin at 1, steps that wait for something else.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from gradscope.analysis.gradients import gradients
from gradscope.analysis.step_conditions import counts_from_zero
from gradscope.analysis.words import located, parameter_subjects, plural
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding, Site
from gradscope.rules import rule
from gradscope.source import LOOPS, SourceFile, called_name
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


class Condition(NamedTuple):
    """`i % 4 == 0`: the comparison, the index in it, and the loop that counts it."""

    test: ast.Compare
    counter: ast.Name
    loop: ast.For


@rule("GS253", name="first-step-after-one-pass", severity="warning")
def first_step_after_one_pass(trace: Trace) -> Iterator[Finding]:
    steps: dict[tuple[str, int], list[tuple[int, Site, frozenset[int]]]] = {}
    for turn in gradients(trace).turns:
        site = turn.step.site.user
        filled = frozenset(id for fill in turn.fills for id in fill.event.filled)
        steps.setdefault(site.location(), []).append((sum(f.times for f in turn.fills), site, filled))
    for found in steps.values():
        (first, site, filled), later = found[0], [passes for passes, _, _ in found[1:] if passes > 1]
        if first != 1 or len(later) < ENOUGH:
            continue
        condition = _condition(trace.source_file(site.path), site)
        if condition is not None:
            yield _finding(trace, site, condition, max(set(later), key=later.count), len(later), filled)


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
        index = _index(test)
        loop = next((one for one in file.above(above) if isinstance(one, ast.For)), None)
        if (
            index is not None
            and isinstance(test, ast.Compare)
            and loop is not None
            and counts_from_zero(loop, index.id)
        ):
            return Condition(test, index, loop)
    return None


def _index(test: ast.expr) -> ast.Name | None:
    """`i` of `i % 4 == 0`."""
    if not isinstance(test, ast.Compare) or len(test.ops) != 1 or not isinstance(test.ops[0], ast.Eq):
        return None
    left, right = test.left, test.comparators[0]
    if (
        not isinstance(left, ast.BinOp)
        or not isinstance(left.op, ast.Mod)
        or not isinstance(left.left, ast.Name)
    ):
        return None
    return left.left if isinstance(right, ast.Constant) and right.value == 0 else None


def _finding(
    trace: Trace, step: Site, condition: Condition, passes: int, later: int, filled: frozenset[int]
) -> Finding:
    here = Source(trace, step.path)
    cause = Site(-1, step.path, *here.file.span(condition.test), step.function, "user")
    text, edits = _from_one(here, condition)
    return Finding(
        message=f"the first step comes after one pass, those after it use {passes} each:"
        f" `{here.file.text(condition.test)}` holds for the first batch, whose index is 0",
        cause=cause,
        cause_label="is true at 0",
        effect=step,
        effect_label="uses one batch alone at first",
        seen=(
            f"the first step used the gradients of 1 pass, {plural(later, 'step')} after it of {passes} each",
        ),
        fix=f"count from one and step after the last batch too: `{text}` in place of {located(trace, cause)}",
        edits=edits,
        count=1,
        subjects=parameter_subjects(filled) | {("step", step.location())},
    )


def _from_one(here: Source, condition: Condition) -> tuple[str, Edits]:
    """`(i + 1) % 4 == 0 or i + 1 == len(loader)`."""
    test, index, call = condition.test, condition.counter, condition.loop.iter
    divided = test.left
    assert isinstance(divided, ast.BinOp) and isinstance(call, ast.Call)
    new = f"({index.id} + 1) % {here.file.operand(divided.right)} == 0"
    given = call.args[0]
    if isinstance(given, ast.Name | ast.Attribute):
        last = here.file.text(given) if called_name(call) == "range" else f"len({here.file.text(given)})"
        new += f" or {index.id} + 1 == {last}"
    return new, here.replace(test, new)
