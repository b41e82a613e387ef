"""The best model was kept by a second name: it is the same object, and is trained on.

Why: `best = model` copies no weights. Both names stand for one object, which every step after that changes: what is
taken for the best epoch's model at the end is the model of the last one.

Fix: keep a copy, `best = copy.deepcopy(model)`.

Measured: steps of the loop in which the name is given, or which calls a method that gives it, train that model's
parameters, and the model is made nowhere in that loop.
Silent on: loops that make a model of their own each time, names that are not read after the loop, loops that end as
soon as the model is kept.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from gradscope.analysis.text import nodes_of_functions, nodes_that_ran, site_of
from gradscope.analysis.words import counted, parameter_subjects, where
from gradscope.events import Step
from gradscope.fixes.copies import deepcopied
from gradscope.model import Finding, Module, Site
from gradscope.rules import rule
from gradscope.source import LOOPS, SCOPES, SourceFile, method_name, names_in
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
    for path, function, node in nodes_of_functions(trace, ast.Assign):
        kept, given = node.targets[0], node.value
        if len(node.targets) != 1 or not all(
            isinstance(part, ast.Name | ast.Attribute) for part in (kept, given)
        ):
            continue
        for place in _places(trace, path, node):
            module = next((m for m, names in roots if _is_called(place.text, names)), None)
            if module is None or _bound_in(place.loop, place.text):
                continue
            if not _read_after(trace.source_file(path), place.within, ast.unparse(kept)):
                continue
            if steps := _trained_in(trace, module, place):
                yield _finding(trace, site_of(path, function, node), node, module, place, steps)
                break


class _Place(NamedTuple):
    """A loop in which a model is kept: in its own text, or in that of a method which it calls."""

    path: str
    function: str
    loop: ast.stmt
    within: ast.stmt  # the loop, or that method: only what reads the kept name elsewhere counts
    text: str  # what the model is called in the loop


def _places(trace: Trace, path: str, node: ast.Assign) -> Iterator[_Place]:
    file, text = trace.source_file(path), ast.unparse(node.value)
    loop = _loop(file, node)
    if loop is not None:
        yield _Place(path, getattr(file.function_of(loop), "name", ""), loop, loop, text)
        return
    method = file.function_of(node)
    holds = isinstance(node.targets[0], ast.Attribute) and isinstance(node.value, ast.Name)
    if not holds or not isinstance(method, ast.FunctionDef) or not _asked(file, node, method):
        return
    own = [argument.arg for argument in method.args.args]
    if text not in own or text in names_in(method, ast.Store):
        return
    named_so = [n for _, _, n in nodes_of_functions(trace, ast.FunctionDef) if n.name == method.name]
    for other, function, call in nodes_that_ran(trace, ast.Call):
        if (
            method_name(call) != method.name or len(named_so) != 1
        ):  # else it may be the method of another class
            continue
        given = {word.arg: word.value for word in call.keywords} | dict(zip(own[1:], call.args, strict=False))
        around = _outermost_loop(trace.source_file(other), call)
        if around is not None and text in given:
            yield _Place(other, function, around, method, ast.unparse(given[text]))


def _asked(file: SourceFile, node: ast.AST, method: ast.FunctionDef) -> bool:
    """Whether a method keeps what it was given where a number is larger or smaller than one that it then keeps too:
    without that it may just be told of its model."""
    above = next((one for one in file.above(node) if isinstance(one, ast.If | ast.FunctionDef)), None)
    if file.function_of(node) is not method or not isinstance(above, ast.If):
        return False
    compared = [part for part in ast.walk(above.test) if isinstance(part, ast.Compare)]
    read = {
        ast.unparse(side)
        for one in compared
        if isinstance(one.ops[0], ast.Lt | ast.LtE | ast.Gt | ast.GtE)
        for side in (one.left, *one.comparators)
    }
    kept = {ast.unparse(n.targets[0]) for n in above.body if isinstance(n, ast.Assign)}
    return not read.isdisjoint(kept)


def _outermost_loop(file: SourceFile, node: ast.AST) -> ast.stmt | None:
    loop = None
    for above in file.above(node):
        if isinstance(above, SCOPES):
            break
        loop = above if isinstance(above, LOOPS) else loop
    return loop


def _is_called(text: str, names: set[str]) -> bool:
    return not names.isdisjoint({text, text.rpartition(".")[2]})


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


def _trained_in(trace: Trace, module: Module, place: _Place) -> int:
    """How many steps from within the loop are of an optimizer that holds parameters of the module."""
    owned = {
        p.id for p in trace.parameters if p.module in trace.modules and _root(trace, p.module) == module.id
    }
    return sum(
        event.count
        for event in trace.of(Step)
        if any(_is_inside(f, place) for f in event.site.stack)
        and not owned.isdisjoint(trace.optimizers[event.optimizer].parameters)
    )


def _is_inside(frame: Site, place: _Place) -> bool:
    inside = range(place.loop.lineno, (place.loop.end_lineno or place.loop.lineno) + 1)
    return frame.path == place.path and frame.function.endswith(place.function) and frame.line in inside


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
    trace: Trace, site: Site, node: ast.Assign, module: Module, place: _Place, steps: int
) -> Finding:
    kept, given = ast.unparse(node.targets[0]), ast.unparse(node.value)
    frames = (f for e in trace.of(Step) for f in e.site.stack if _is_inside(f, place))
    frame = next(frames, None)
    of_loop = (
        "this loop"
        if place.within is place.loop
        else f"the loop that calls `{getattr(place.within, 'name', '')}`"
    )
    return Finding(
        message=f"`{kept} = {given}` keeps no copy: both are one model, which is trained on",
        cause=site,
        cause_label="a second name for the same object",
        effect=frame,
        effect_label=f"changes `{kept}` too",
        seen=(
            f"{counted(steps, 'step')} of {of_loop} changed the weights of `{given}`; nothing in it copies them, or"
            " makes another model",
        ),
        fix=f"keep a copy: `{kept} = copy.deepcopy({given})` ({where(site)})",
        edits=deepcopied(trace, site, node.value),
        subjects=parameter_subjects(p.id for p in trace.parameters if _root(trace, p.module) == module.id),
    )
