"""The learning rate that the program writes reaches none of its optimizer's groups, or the last of them only.

Why: `optimizer.state_dict()` makes new dicts of the groups: a rate that is written into these goes with them, and the
optimizer steps at the one that it has. And the variable of a loop over `optimizer.param_groups` still holds the last
group behind the loop: a line that stands there, and not within it, writes that one's rate alone. So does a line that
names a group by its number, in a loop that counts them. And a condition such as `i + 1 % n == 0`, where `%` takes the 1
alone, never lets its line run.

Fix: write into `optimizer.param_groups`, and in the loop over them; put parentheses around the sum.

Measured: which groups of the optimizer stepped at another rate than at their first step, of all steps. Silent on:
rates that did arrive, programs that write rates in other places too, a state that is kept and loaded again.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from gradscope.analysis.schedules import is_rate, rates_written
from gradscope.analysis.step_conditions import OfOnePart, of_one_part
from gradscope.analysis.text import nodes_called, site_of
from gradscope.analysis.words import code, counted, located, optimizer_name
from gradscope.events import RatesStood
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding, Site
from gradscope.rules import rule
from gradscope.source import FUNCTIONS, SourceFile, called_name, method_name, names_in
from gradscope.store import Trace

GROUPS = "param_groups"


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(8):
        for group in opt.state_dict()["param_groups"]:
            group["lr"] = 0.1 * 0.5**step  # cause: GS395
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()  # effect: GS395


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(8):
        for group in opt.param_groups:
            group["lr"] = 0.1 * 0.5**step
        opt.zero_grad()
        model(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()


class Written(NamedTuple):
    """A line that writes a rate. `copied`: the call whose copy it writes to; `behind`: the loop over the groups that
    it stands behind, with the last of them."""

    site: Site
    node: ast.Assign
    copied: ast.Call | None
    behind: ast.For | None


@rule("GS395", name="rate-never-arrives", severity="warning", needs=RatesStood)
def rate_never_arrives(trace: Trace) -> Iterator[Finding]:
    stood, lines = trace.of(RatesStood), list(rates_written(trace))
    if not stood or not lines or len(trace.optimizers) != 1:
        return
    ran = {id(node) for _, _, node in nodes_called(trace, ast.Assign)}
    written = [
        _written(trace.source_file(path), path, function, node)
        for path, function, node in lines
        if id(node) in ran
    ]
    event = stood[0]
    for line in written:
        one = _of_one_group(trace.source_file(line.site.path), line, event) if event.moved else None
        if one is not None:
            yield _always_that(trace, line, *one, event)
    if len(written) != 1:
        return
    (line,) = written
    if line.copied is not None and not event.moved:
        yield _of_a_copy(trace, line, line.copied, event)
    elif line.behind is not None and event.moved == (len(event.rates) - 1,):
        yield _of_the_last(trace, line, line.behind, event)
    elif not event.moved and (asked := _asked_in_vain(trace.source_file(line.site.path), line)) is not None:
        yield _never_written(trace, line, *asked, event)


def _of_one_group(
    file: SourceFile, line: Written, event: RatesStood
) -> tuple[ast.For, ast.Constant, int] | None:
    """(loop, index, group) of `groups[0]["lr"] = …` in a loop that counts over several groups and reads its number
    nowhere: a group that the loop counts, and that kept its first rate."""
    target = next(target for target in line.node.targets if is_rate(target))
    group = target.value if isinstance(target, ast.Subscript) else None
    loop = file.loop_of(line.node)
    if not isinstance(group, ast.Subscript) or not _is_groups(group.value) or not isinstance(loop, ast.For):
        return None
    index, numbers = group.slice, _counted_numbers(loop)
    if not isinstance(index, ast.Constant) or type(index.value) is not int or index.value not in numbers:
        return None
    if any(isinstance(loop.target, ast.Name) and loop.target.id in names_in(one) for one in loop.body):
        return None
    kept = [n for n in numbers if n < len(event.rates) and n not in event.moved]
    return (loop, index, kept[0]) if kept and index.value in event.moved else None


def _counted_numbers(loop: ast.For) -> range:
    """The numbers of `for i in range(2)`, where they are written out."""
    call = loop.iter
    if called_name(call) != "range" or not isinstance(call, ast.Call) or call.keywords:
        return range(0)
    given = [one.value for one in call.args if isinstance(one, ast.Constant) and type(one.value) is int]
    return range(*given) if 0 < len(given) == len(call.args) < 3 else range(0)


def _always_that(
    trace: Trace, line: Written, loop: ast.For, index: ast.Constant, group: int, event: RatesStood
) -> Finding:
    here, always, name = Source(trace, line.site.path), str(index.value), ast.unparse(loop.target)
    holder = optimizer_name(trace, event.optimizer)
    target = next(target for target in line.node.targets if is_rate(target))
    return Finding(
        message=f"{code(trace, line.site, 'the rate')} writes the rate of group {always} in every round, and that"
        f" of group {group} never",
        cause=line.site,
        cause_label=f"does not read `{name}`, which counts the groups",
        effect=event.site.user,
        effect_label=f"steps group {group} at its first rate, {event.rates[group]:g}",
        related=((site_of(line.site.path, line.site.function, loop.iter), "counts the groups"),),
        seen=(
            f"in {counted(event.steps, 'step')} group {always} of {holder} came to step at other rates, group"
            f" {group} stayed at {event.rates[group]:g}",
        ),
        why="a line that names a group by its number writes that one's rate again in each round of the loop; the"
        " others step at what they were made with.",
        fix=f"take the loop's own number: `{here.text_with(target, index, name)}` in {located(trace, line.site)}",
        edits=here.replace(index, name),
        count=event.steps,
        subjects=frozenset({("rate", event.optimizer)}),
    )


def _asked_in_vain(file: SourceFile, line: Written) -> tuple[ast.If, OfOnePart] | None:
    """The branch that it stands in, where that asks for the remainder of one term of a sum."""
    for above in file.above(line.node):
        if isinstance(above, FUNCTIONS):
            return None
        if isinstance(above, ast.If) and line.node not in above.orelse:
            part = of_one_part(above.test)
            if part is not None:
                return above, part
    return None


def _never_written(
    trace: Trace, line: Written, branch: ast.If, part: OfOnePart, event: RatesStood
) -> Finding:
    here = Source(trace, line.site.path)
    asked = site_of(line.site.path, line.site.function, branch.test)
    whole = site_of(line.site.path, line.site.function, part.sum)
    new = part.text(here.file)
    return Finding(
        message=f"the learning rate of {optimizer_name(trace, event.optimizer)} is written under a condition that has"
        " not held once: `%` takes the remainder of one term of a sum",
        cause=asked,
        cause_label=f"adds to the remainder `{here.file.text(part.remainder)}`: `%` binds like a product",
        effect=line.site,
        effect_label="writes the rate, and never ran",
        seen=(f"{counted(event.steps, 'step')}, all at the rate {_rates(event)}",),
        why="`i + 1 % n` is `i + (1 % n)`: that is 0 for no count above 0, or for hardly any.",
        fix=f"put parentheses around the sum: `{new}` in place of {located(trace, whole)}",
        edits=here.replace(part.sum, new),
        subjects=frozenset({("optimizer", event.optimizer)}),
    )


def _written(file: SourceFile, path: str, function: str, node: ast.Assign) -> Written:
    site = site_of(path, function, node)
    target = next(target for target in node.targets if is_rate(target))
    group = target.value if isinstance(target, ast.Subscript) else target
    if not isinstance(group, ast.Name):
        return Written(site, node, _state_in(group), None)
    loops = [one for one in file.above(node) if isinstance(one, ast.For) and _binds(one, group.id)]
    if loops:
        return Written(site, node, _state_in(loops[0].iter), None)
    above = [one for one in file.siblings(node) if isinstance(one, ast.For) and one.lineno < node.lineno]
    behind = above[-1] if above and _binds(above[-1], group.id) and _is_groups(above[-1].iter) else None
    return Written(site, node, None, behind)


def _binds(loop: ast.For, name: str) -> bool:
    names = loop.target.elts if isinstance(loop.target, ast.Tuple) else [loop.target]
    return any(isinstance(one, ast.Name) and one.id == name for one in names)


def _is_groups(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == GROUPS


def _state_in(node: ast.expr) -> ast.Call | None:
    """The `state_dict()` of `opt.state_dict()["param_groups"]`, whose result nothing else holds."""
    calls = (one for one in ast.walk(node) if isinstance(one, ast.Call) and method_name(one) == "state_dict")
    named = any(isinstance(one, ast.Constant) and one.value == GROUPS for one in ast.walk(node))
    return next(calls, None) if named else None


def _of_a_copy(trace: Trace, line: Written, state: ast.Call, event: RatesStood) -> Finding:
    holder = optimizer_name(trace, event.optimizer)
    source = Source(trace, line.site.path)
    owner = state.func.value if isinstance(state.func, ast.Attribute) else state
    groups = f"{source.file.operand(owner)}.{GROUPS}"
    return Finding(
        message=f"{code(trace, line.site, 'the rate')} writes into a copy: {holder} steps at the rate that it had",
        cause=line.site,
        cause_label="writes into what `state_dict()` has made",
        effect=event.site.user,
        effect_label=f"steps at {_rates(event)} throughout",
        seen=(
            f"in {counted(event.steps, 'step')} no group of {holder} stepped at another rate than {_rates(event)}",
        ),
        fix=f"write into `{groups}` in place of what `{source.file.text(state)}` gives ({located(trace, line.site)})",
        edits=_in_place(source, state, groups),
        count=event.steps,
        subjects=frozenset({("rate", event.optimizer)}),
    )


def _in_place(source: Source, state: ast.Call, groups: str) -> Edits:
    """`opt.param_groups` for `opt.state_dict()["param_groups"]`."""
    around = next(iter(source.file.above(state)), None)
    if (
        isinstance(around, ast.Subscript)
        and isinstance(around.slice, ast.Constant)
        and around.slice.value == GROUPS
    ):
        return source.replace(around, groups)
    return ()


def _of_the_last(trace: Trace, line: Written, loop: ast.For, event: RatesStood) -> Finding:
    holder = optimizer_name(trace, event.optimizer)
    many = len(event.rates)
    others = "the first" if many == 2 else f"the other {many - 1}"
    looped = site_of(line.site.path, line.site.function, loop.iter)
    return Finding(
        message=f"{code(trace, line.site, 'the rate')} stands behind the loop over the {many} groups of {holder}: only"
        " the last one gets the rate",
        cause=line.site,
        cause_label="writes to the group that the loop ended with",
        effect=event.site.user,
        effect_label=f"steps with {others} as at first, {_rates(event)}",
        related=((looped, "the loop over the groups"),),
        seen=(
            f"in {counted(event.steps, 'step')} the last group of {holder} came to step at other rates, {others}"
            f" stayed at {_rates(event)}",
        ),
        fix=f"put {located(trace, line.site, 'the line')} into the loop over the groups (line {loop.lineno})",
        count=event.steps,
        subjects=frozenset({("rate", event.optimizer)}),
    )


def _rates(event: RatesStood) -> str:
    """The rates of the groups that kept theirs."""
    kept = dict.fromkeys(f"{rate:g}" for n, rate in enumerate(event.rates) if n not in event.moved)
    return " and ".join(kept)
