"""The closure given to LBFGS computes nothing: the optimizer gets the same loss and gradients for every point.

Why: LBFGS evaluates its closure several times in each step, at other parameters each time, and learns from how loss
and gradients change. A closure that only returns a loss from before leaves the gradients as they were: all later
evaluations of the step are of no use, and it walks on along an old direction.

Fix: put `zero_grad()`, the forward, the loss and `backward()` into the closure, and return the loss.

Silent on: other optimizers, which call a closure once; LBFGS with `max_iter=1` and without a line search, which
evaluates it once as well; closures that work their gradients out by themselves.
"""

import ast
from collections.abc import Iterator

from gradscope.analysis.gradients import gradients
from gradscope.analysis.text import site_of
from gradscope.analysis.words import code, counted, located, optimizer_name
from gradscope.events import Backward, Step
from gradscope.fixes.source import Source
from gradscope.model import Finding, Optimizer, Site
from gradscope.rules import rule
from gradscope.store import Trace


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model, x = nn.Linear(3, 1), torch.randn(8, 3)
    opt = torch.optim.LBFGS(model.parameters(), lr=0.1)

    def closure() -> object:
        return loss  # cause: GS234

    for _ in range(3):
        opt.zero_grad()
        loss = model(x).pow(2).mean()
        loss.backward()  # effect: GS234
        opt.step(closure)


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    model, x = nn.Linear(3, 1), torch.randn(8, 3)
    opt = torch.optim.LBFGS(model.parameters(), lr=0.1)

    def closure() -> object:
        opt.zero_grad()
        loss = model(x).pow(2).mean()
        loss.backward()
        return loss

    for _ in range(3):
        opt.step(closure)


@rule("GS234", name="closure-computes-nothing", severity="error")
def closure_computes_nothing(trace: Trace) -> Iterator[Finding]:
    several = {number for number, optimizer in trace.optimizers.items() if _evaluates(optimizer)}
    lines: dict[tuple[str, int], list[tuple[Step, Backward | None, int]]] = {}
    for turn in gradients(trace).turns if several else ():
        if turn.step.optimizer in several and turn.step.closure:
            before = next((fill.event for fill in turn.fills), None)
            place = turn.step.site.user.location()
            lines.setdefault(place, []).append((turn.step, before, turn.times))
    for place, steps in lines.items():
        if all(before is not None for _, before, _ in steps) and not _inside(trace, place):
            step, before, _ = steps[0]
            yield _finding(trace, step, before, sum(times for _, _, times in steps))


def _evaluates(optimizer: Optimizer) -> bool:
    """Whether its steps evaluate the closure more than once."""
    group = optimizer.groups[0] if optimizer.groups else {}
    return optimizer.cls == "LBFGS" and (group.get("max_iter", 1) > 1 or bool(group.get("line_search_fn")))


def _inside(trace: Trace, place: tuple[str, int]) -> bool:
    """Whether any pass of the run was begun from within a step of that line."""
    return any(_called_from(event.site, place) for event in trace.of(Backward))


def _called_from(site: Site, place: tuple[str, int]) -> bool:
    return any(frame.location() == place for frame in site.stack)


def _finding(trace: Trace, step: Step, before: Backward | None, count: int) -> Finding:
    site, name = step.site.user, optimizer_name(trace, step.optimizer)
    result = _returned(trace, site)
    effect = before.site.user if before is not None else None
    group = trace.optimizers[step.optimizer].groups[0]
    backward = code(trace, effect, "`backward()`")
    return Finding(
        message=f"the closure of {code(trace, site, 'the step')} computes nothing: LBFGS gets the same gradients at"
        " every point that it tries",
        cause=result or site,
        cause_label="all that the closure does is to return this"
        if result is not None
        else "no pass runs in its closure",
        effect=effect,
        effect_label="the only gradients that it gets, from before the step",
        related=((site, "evaluates the closure"),) if result is not None else (),
        seen=(
            f"{counted(count, 'step')} of {name}, which may go {group.get('max_iter')} times to another point in each"
            f" (`max_iter`): no backward pass was begun in any of them, all gradients came from {backward} before",
        ),
        fix=f"put `zero_grad()`, the forward, the loss and {located(trace, effect, '`backward()`')} into the closure,"
        " and let it return that loss",
        count=count,
        subjects=frozenset({("optimizer", step.optimizer)}),
    )


def _returned(trace: Trace, site: Site) -> Site | None:
    """The value that the one `return` of the closure gives, where the step is given a function that is defined
    beside it and whose body is nothing else."""
    here = Source(trace, site.path)
    call = here.file.at(site)
    given = call.args[0] if isinstance(call, ast.Call) and len(call.args) == 1 else None
    if not isinstance(given, ast.Name):
        return None
    nodes = ast.walk(here.file.scope(site))
    functions = [n for n in nodes if isinstance(n, ast.FunctionDef) and n.name == given.id]
    body = functions[0].body if len(functions) == 1 else []
    last = body[0] if len(body) == 1 else None
    value = last.value if isinstance(last, ast.Return) else None
    return site_of(site.path, given.id, value) if value is not None else None
