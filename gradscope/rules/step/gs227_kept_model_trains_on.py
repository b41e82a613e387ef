"""The best model was kept by a second name: it is the same object, and is trained on.

Why: `best = model` copies no weights. Both names stand for one object, which every step after that changes: what is
taken for the best epoch's model at the end is the model of the last one.

Fix: keep a copy, `best = copy.deepcopy(model)`.

Measured: steps of the loop in which the name is given train that model's parameters, and the model is made nowhere in
that loop.
Silent on: loops that make a model of their own each time, names that are not read after the loop, loops that end as
soon as the model is kept.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.analysis.text import nodes_that_ran, site_of
from gradscope.analysis.words import counted, parameter_subjects, where
from gradscope.events import Step
from gradscope.fixes.copies import deepcopied
from gradscope.model import Finding, Module, Site
from gradscope.rules import rule
from gradscope.source import LOOPS, SCOPES, SourceFile
from gradscope.store import Trace


def bad() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    lowest, best = float("inf"), model
    for _ in range(6):
        loss = (model(torch.randn(8, 3)) - 1).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()  # effect: GS227
        if loss.item() < lowest:
            lowest = loss.item()
            best = model  # cause: GS227
    with torch.no_grad():
        print(best(torch.ones(1, 3)))


def good() -> None:
    import copy

    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    lowest, best = float("inf"), model
    for _ in range(6):
        loss = (model(torch.randn(8, 3)) - 1).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        if loss.item() < lowest:
            lowest = loss.item()
            best = copy.deepcopy(model)
    with torch.no_grad():
        print(best(torch.ones(1, 3)))


@rule("GS227", name="kept-model-trains-on", severity="warning")
def kept_model_trains_on(trace: Trace) -> Iterator[Finding]:
    roots = [(m, _names(trace, m)) for m in trace.modules.values() if m.parent is None]
    for path, function, node in nodes_that_ran(trace, ast.Assign):
        if len(node.targets) != 1:
            continue
        kept, given = node.targets[0], node.value
        if not isinstance(kept, (ast.Name, ast.Attribute)) or not isinstance(
            given, (ast.Name, ast.Attribute)
        ):
            continue
        file, text = trace.source_file(path), ast.unparse(given)
        module = next(
            (m for m, names in roots if not names.isdisjoint({text, text.rpartition(".")[2]})), None
        )
        loop = _loop(file, node)
        if module is None or loop is None or _bound_in(loop, text):
            continue
        if not _read_after(file, loop, ast.unparse(kept)):
            continue
        if steps := _trained_in(trace, module, path, function, loop):
            yield _finding(trace, site_of(path, function, node), node, module, loop, steps)


def _names(trace: Trace, module: Module) -> set[str]:
    """What the program calls a model: its variable, and the expression by which it was called first."""
    call = trace.source_file(module.site.user.path).at(module.site.user) if module.site is not None else None
    return {module.variable, ast.unparse(call.func) if isinstance(call, ast.Call) else ""} - {""}


def _loop(file: SourceFile, node: ast.Assign) -> ast.stmt | None:
    """The outermost loop around an assignment that stands under a comparison and lets the loop go on."""
    asked, loop = False, None
    for above in file.above(node):
        if isinstance(above, SCOPES):
            break
        if isinstance(above, ast.If) and loop is None:
            asked |= any(isinstance(part, ast.Compare) for part in ast.walk(above.test))
            if any(isinstance(part, (ast.Break, ast.Return)) for part in ast.walk(above)):
                return None
        if isinstance(above, LOOPS):
            loop = above
    return loop if asked else None


def _trained_in(trace: Trace, module: Module, path: str, function: str, loop: ast.stmt) -> int:
    """How many steps from within the loop are of an optimizer that holds parameters of the module."""
    inside = range(loop.lineno, (loop.end_lineno or loop.lineno) + 1)
    owned = {
        p.id for p in trace.parameters if p.module in trace.modules and _root(trace, p.module) == module.id
    }
    return sum(
        event.count
        for event in trace.of(Step)
        if any(
            f.path == path and f.function.endswith(function) and f.line in inside for f in event.site.stack
        )
        and not owned.isdisjoint(trace.optimizers[event.optimizer].parameters)
    )


def _root(trace: Trace, module: int | None) -> int | None:
    return trace.modules[module].root if module is not None else None


def _bound_in(loop: ast.stmt, text: str) -> bool:
    """Whether what the name stands for is made, or exchanged, in the loop."""
    return any(
        isinstance(node, (ast.Name, ast.Attribute))
        and isinstance(node.ctx, ast.Store)
        and ast.unparse(node) == text
        for node in ast.walk(loop)
    )


def _read_after(file: SourceFile, loop: ast.stmt, text: str) -> bool:
    """Whether the name is read behind the loop, in its function; an attribute anywhere else."""
    inside = set(map(id, ast.walk(loop)))
    scope = file.scope_of(loop)
    if scope is None:
        return False
    last, name = loop.end_lineno or loop.lineno, text.rpartition(".")[2]
    if "." in text:  # of an object, which may be known by another name elsewhere
        reads = (
            n for n in file.nodes if isinstance(n, ast.Attribute) and n.attr == name and id(n) not in inside
        )
        return any(isinstance(n.ctx, ast.Load) for n in reads)
    names = (n for n in ast.walk(scope) if isinstance(n, ast.Name) and n.id == name and n.lineno > last)
    return any(isinstance(n.ctx, ast.Load) for n in names)


def _finding(
    trace: Trace, place: Site, node: ast.Assign, module: Module, loop: ast.stmt, steps: int
) -> Finding:
    kept, given = ast.unparse(node.targets[0]), ast.unparse(node.value)
    inside = range(loop.lineno, (loop.end_lineno or loop.lineno) + 1)
    frames = (f for e in trace.of(Step) for f in e.site.stack if f.path == place.path and f.line in inside)
    frame = next(frames, None)
    return Finding(
        message=f"`{kept} = {given}` keeps no copy: both are one model, which is trained on",
        cause=place,
        cause_label="a second name for the same object",
        effect=frame,
        effect_label=f"changes `{kept}` too",
        seen=(
            f"{counted(steps, 'step')} of this loop changed the weights of `{given}`; nothing in it copies them, or"
            " makes another model",
        ),
        fix=f"keep a copy: `{kept} = copy.deepcopy({given})` ({where(place)})",
        edits=deepcopied(trace, place, node.value),
        subjects=parameter_subjects(p.id for p in trace.parameters if _root(trace, p.module) == module.id),
    )
