"""The optimizer of a shared model uses the same gradients in each step: those that its first worker has left.

Why: workers (A3C, Hogwild) train a copy each and hand the copy's gradients to the shared model. Where they do that only
while the shared model has none (`if shared.grad is not None: return`), they count on its `.grad` being the copy's own
tensor, filled anew by each pass. Since torch 2.0 `zero_grad()` drops the copy's gradients: the next pass makes others,
and the shared model keeps the first ones for ever. Among threads it keeps those of the worker that came first.

Fix: hand the gradients over in every turn, or clear those of the shared model (`optimizer.zero_grad()`) before each.

Measured: steps of an optimizer all of whose gradients an earlier step had used, while passes filled those of a copy.
"""

import ast
from collections.abc import Iterator
from typing import NamedTuple

from gradscope.analysis.loop import in_order
from gradscope.analysis.text import nodes_that_ran, site_of
from gradscope.analysis.words import located, optimizer_name, parameter_names, parameter_subjects
from gradscope.events import Backward, Step
from gradscope.model import Finding, Site
from gradscope.rules import rule
from gradscope.source import SourceFile
from gradscope.store import Trace

_ENOUGH = 3  # steps
_GRADIENTS = ("grad", "_grad")


def bad() -> None:
    import torch
    from torch import nn

    shared, local = nn.Linear(3, 1), nn.Linear(3, 1)
    opt = torch.optim.SGD(shared.parameters(), lr=0.1)
    for _ in range(6):
        local.load_state_dict(shared.state_dict())
        local.zero_grad()
        local(torch.randn(8, 3)).pow(2).mean().backward()
        for own, held in zip(local.parameters(), shared.parameters(), strict=True):
            if held.grad is None:  # cause: GS812
                held.grad = own.grad
        opt.step()  # effect: GS812


def good() -> None:
    import torch
    from torch import nn

    shared, local = nn.Linear(3, 1), nn.Linear(3, 1)
    opt = torch.optim.SGD(shared.parameters(), lr=0.1)
    for _ in range(6):
        local.load_state_dict(shared.state_dict())
        local.zero_grad()
        local(torch.randn(8, 3)).pow(2).mean().backward()
        for own, held in zip(local.parameters(), shared.parameters(), strict=True):
            held.grad = own.grad
        opt.step()


class _Again(NamedTuple):
    step: Step
    times: int  # steps with nothing but used gradients
    steps: int
    copy: list[int]  # parameters that passes filled meanwhile


@rule("GS812", name="shared-gradient-never-renewed", severity="error")
def shared_gradient_never_renewed(trace: Trace) -> Iterator[Finding]:
    for number, optimizer in trace.optimizers.items():
        copy = _copy(trace, set(optimizer.parameters))
        found = _again(trace, number, set(optimizer.parameters), copy) if copy else None
        if found is not None:
            yield _finding(trace, number, found)


def _copy(trace: Trace, ids: set[int]) -> set[int]:
    """Parameters that no optimizer holds, named and shaped as these are: of a copy of the model."""
    held = {(trace.parameter(id).name, trace.parameter(id).shape) for id in ids}
    copies = [p for p in trace.parameters if not p.optimizers and p.passes and p.id not in ids]
    found = {p.id for p in copies if (p.name, p.shape) in held}
    return found if {(trace.parameter(id).name, trace.parameter(id).shape) for id in found} == held else set()


def _again(trace: Trace, number: int, ids: set[int], copy: set[int]) -> _Again | None:
    """None where later steps found gradients that none had used."""
    times = steps = 0
    filled = False
    last = None
    for repeat, event in in_order(trace):
        if isinstance(event, Backward):
            if not ids.isdisjoint(event.filled):
                return None
            filled = filled or not copy.isdisjoint(event.filled)
        elif isinstance(event, Step) and event.optimizer == number:
            used = event.in_state("used")
            if steps and not (used and filled and not event.in_state("fresh", "stale")):
                return None
            if steps:
                times, last = times + repeat, event
            steps, filled = steps + repeat, False
    return _Again(last, times, steps, sorted(copy)) if last is not None and times >= _ENOUGH else None


def _finding(trace: Trace, number: int, found: _Again) -> Finding:
    names = parameter_names(trace, trace.optimizers[number].parameters)
    guard = _guard(trace)
    step = found.step.site.user
    name = optimizer_name(trace, number)
    return Finding(
        message=f"{name} uses the same gradients of {names} again and again: those that its first step has used",
        cause=guard or step,
        cause_label="hands no gradient over once there is one"
        if guard is not None
        else "nothing has renewed them",
        effect=step if guard is not None else None,
        effect_label="a step with gradients that an earlier one has used",
        seen=(
            f"{found.times:,} of {found.steps:,} steps found no gradient that was new to them, while passes filled"
            f" those of {parameter_names(trace, found.copy)}, of a copy with the same names and shapes",
        ),
        why="`zero_grad()` drops the gradients of the copy, and the next pass makes new ones: the shared model keeps"
        " the tensors that it was given first",
        fix=f"hand the gradients over in every turn, whatever {located(trace, guard, 'the test')} finds; or call"
        f" `{name.strip('`')}.zero_grad()` before each hand-over"
        if guard is not None
        else f"give the shared model the copy's gradients before each {located(trace, step)}",
        subjects=parameter_subjects(trace.optimizers[number].parameters),
    )


def _guard(trace: Trace) -> Site | None:
    """The test by which a hand-over (`shared.grad = own.grad`) is left out where there is a gradient already."""
    for path, function, node in nodes_that_ran(trace, ast.Assign):
        target = node.targets[0]
        if not (isinstance(target, ast.Attribute) and target.attr in _GRADIENTS and _reads_grad(node.value)):
            continue
        file = trace.source_file(path)
        around = [above for above in file.above(node) if isinstance(above, ast.If)]
        tests = [*around, *_leaves_before(file, node)]
        test = next((one for one in tests if _asks_for_grad(one.test)), None)
        return site_of(path, function, test.test if test is not None else node)
    return None


def _leaves_before(file: SourceFile, node: ast.Assign) -> Iterator[ast.If]:
    for other in file.siblings(node):
        if isinstance(other, ast.If) and isinstance(other.body[-1], (ast.Return, ast.Continue, ast.Break)):
            yield other


def _reads_grad(node: ast.AST) -> bool:
    return any(isinstance(part, ast.Attribute) and part.attr in _GRADIENTS for part in ast.walk(node))


def _asks_for_grad(test: ast.expr) -> bool:
    return any(
        isinstance(part, ast.Compare)
        and isinstance(part.ops[0], (ast.Is, ast.IsNot))
        and _reads_grad(part.left)
        for part in ast.walk(test)
    )
