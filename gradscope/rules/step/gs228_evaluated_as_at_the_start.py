"""A model is trained, and what is evaluated has the weights from before the first step.

Why: an average of weights, or a copy that is kept beside the model, follows the training only where each step, or each
epoch, writes to it. Where that line never runs, the copy keeps the numbers of the start; written over the model, or
loaded into another one, it undoes all that was learned.

Fix: run the line that is to follow the weights; put the trained weights back after the copy has been saved.

Measured: at each call of the model without gradients from this line, after steps that moved the weights, all that was
compared was bit-equal to what it was before the first step.
Silent on: weights that are put back before a new start and evaluated trained, one copy that is made before the training
and stays (a reference), models that are evaluated in both states from one line.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from gradscope.analysis.calls import calls
from gradscope.analysis.reach import paths
from gradscope.analysis.text import nodes_of_functions, own_nodes, site_of
from gradscope.analysis.words import code, located, optimizer_name, parameter_names, parameter_subjects, where
from gradscope.analysis.writes import loads_state, memory_root
from gradscope.events import BackAtStart, Step
from gradscope.fixes.statements import beside, line_after, line_before
from gradscope.model import Edit, Finding, Op, Site
from gradscope.rules import rule
from gradscope.source import FUNCTIONS, called_name, method_name
from gradscope.store import Trace

COMPILED = "_orig_mod."
WRAPPERS = {COMPILED: "a compiled model", "module.": "a wrapped model"}  # names of its parameters begin with


def bad() -> None:
    import torch
    from torch import nn

    class Average:
        def __init__(self, model: nn.Module):
            self.model = model
            self.kept = [p.detach().clone() for p in model.parameters()]

        @torch.no_grad()
        def update(self) -> None:
            for kept, p in zip(self.kept, self.model.parameters(), strict=True):
                kept.lerp_(p, 0.1)

        @torch.no_grad()
        def apply(self) -> None:
            for kept, p in zip(self.kept, self.model.parameters(), strict=True):
                p.copy_(kept)  # cause: GS228

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 1))
    average = Average(model)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(6):
        for _ in range(4):
            opt.zero_grad()
            model(torch.randn(16, 3)).pow(2).mean().backward()
            opt.step()
        average.apply()
        with torch.no_grad():
            print(model(torch.ones(1, 3)).item())  # effect: GS228


def good() -> None:
    import torch
    from torch import nn

    class Average:
        def __init__(self, model: nn.Module):
            self.model = model
            self.kept = [p.detach().clone() for p in model.parameters()]

        @torch.no_grad()
        def update(self) -> None:
            for kept, p in zip(self.kept, self.model.parameters(), strict=True):
                kept.lerp_(p, 0.1)

        @torch.no_grad()
        def apply(self) -> None:
            for kept, p in zip(self.kept, self.model.parameters(), strict=True):
                p.copy_(kept)

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 1))
    average = Average(model)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(6):
        for _ in range(4):
            opt.zero_grad()
            model(torch.randn(16, 3)).pow(2).mean().backward()
            opt.step()
            average.update()
        average.apply()
        with torch.no_grad():
            print(model(torch.ones(1, 3)).item())


class _Idle(NamedTuple):
    """The line that is to follow the weights, and did not run."""

    site: Site
    holder: str  # what it writes to: "self.shadow"
    function: str
    condition: ast.If | None  # that it stands under
    asks: bool  # its function has parameters


@rule("GS228", name="evaluated-as-at-the-start", severity="warning", needs=BackAtStart)
def evaluated_as_at_the_start(trace: Trace) -> Iterator[Finding]:
    told: set[tuple[str, int]] = set()
    for event in trace.of(BackAtStart):
        write = _write(trace, event)
        place = (write or event.site.user).location()
        if place not in told and not _trains_with(trace, event):
            told.add(place)
            yield _finding(trace, event, write)


def _trains_with(trace: Trace, event: BackAtStart) -> bool:
    """Whether a loss is computed from what is evaluated: a target network is left behind on purpose for a while."""
    known, here = paths(trace), event.site.user.location()
    return any(
        (graph.id, value) in known.used.order
        for graph in trace.graphs
        for op in graph.ops
        if any(frame.location() == here for frame in op.site.stack)
        for value in op.outputs
    )


def _write(trace: Trace, event: BackAtStart) -> Site | None:
    """The last line that wrote to the parameters of what is evaluated."""
    known = calls(trace)
    ids = {
        p.id
        for call in known.all
        if call.event.site.user == event.site.user
        for p in known.parameters(call.event)
    }
    found: Op | None = None
    for graph in trace.graphs:
        for op in graph.ops:
            if op.name != "copy_" or not op.writes or not (loads_state(op) or op.site.kind == "user"):
                continue
            if any(graph.values[memory_root(graph, w)].parameter in ids for w in op.writes):
                found = op
    return found.site.user if found is not None else None


def _finding(trace: Trace, event: BackAtStart, write: Site | None) -> Finding:
    step = next((e.site.user for e in trace.of(Step) if e.optimizer == event.optimizer), None)
    holder = optimizer_name(trace, event.optimizer)
    idle = _idle(trace, write) if write is not None else None
    evaluated = code(trace, event.site.entry, "the model")
    what = f"{evaluated} evaluates" if not event.copies else f"{evaluated} evaluates a copy that has"
    message = f"{what} the weights of before the first step: nothing of the training is in them"
    fix, edits = _fix(trace, event, write, idle, step)
    updates = _never_updated(trace) if event.average else []
    if event.average:
        fix = _average_fix(trace, updates, step)
    related = [(idle.site, "never ran")] if idle is not None else [(site, "never ran") for site in updates]
    caller = _caller(trace, write)
    if caller is not None:
        related.append((caller, "called here"))
    steps = event.steps
    return Finding(
        message=message,
        cause=write or event.site.user,
        cause_label="writes what was kept at the start" if write is not None else "evaluated here",
        effect=event.site.user if write is not None else None,
        effect_label="evaluated here",
        related=tuple(related),
        seen=(
            f"in {event.evaluations} of {event.evaluations} evaluations, after {steps[0]:,} to {steps[-1]:,} steps of"
            f" {holder}, {parameter_names(trace, event.parameters)} had the numbers of before step 1, bit by bit",
        ),
        why=_why(idle),
        fix=fix,
        edits=edits,
        count=event.evaluations,
        subjects=parameter_subjects(event.parameters),
    )


def _never_updated(trace: Trace) -> list[Site]:
    """The lines that would give a torch `AveragedModel` the weights."""
    return [
        site_of(path, function, node)
        for path, function, node in nodes_of_functions(trace, ast.Call)
        if method_name(node) == "update_parameters"
    ]


def _average_fix(trace: Trace, updates: list[Site], step: Site | None) -> str:
    after = f"after {located(trace, step)}" if step is not None else "after each step"
    if not updates:
        return f"call its `update_parameters(model)` {after}, from where on the weights are to be averaged"
    line = located(trace, updates[0])
    file = trace.source_file(updates[0].path)
    asked = next((above for above in file.around(updates[0]) if isinstance(above, ast.If)), None)
    if asked is None:
        return f"run {line} {after}: it never ran"
    condition = site_of(updates[0].path, updates[0].function, asked.test)
    return f"let {located(trace, condition)} be true before the training ends: {line} never ran"


def _why(idle: _Idle | None) -> str:
    if idle is None:
        return ""
    if idle.condition is not None:
        return (
            f"`{idle.holder}` follows the weights by a line whose condition, `{ast.unparse(idle.condition.test)}`, was"
            " never true"
        )
    return f"`{idle.holder}` follows the weights in `{idle.function}` only, which the program calls nowhere"


def _fix(
    trace: Trace, event: BackAtStart, write: Site | None, idle: _Idle | None, step: Site | None
) -> tuple[str, tuple[Edit, ...]]:
    after = f" after {located(trace, step)}" if step is not None else " after each step"
    if idle is None:
        kept = f"what {located(trace, write)} copies" if write is not None else "what is evaluated"
        return f"let {kept} follow the weights{after}, or evaluate the trained model itself", ()
    if idle.condition is not None:
        return _let_in(trace, idle)
    back, call = _puts_back(trace, idle, write), f"{_receiver(trace, write, idle.function)}()"
    text = f"call `{call}`{after}"
    known = beside(trace, _caller(trace, write), step) and "." in call and not back and not idle.asks
    if not event.copies:
        again = f" with `{back}()`, which is called nowhere either" if back else ""
        text += f", and put the trained weights back once the copy has been used{again}"
    return text, line_after(trace, step, call) if known else ()


def _let_in(trace: Trace, idle: _Idle) -> tuple[str, tuple[Edit, ...]]:
    """How the condition comes to be true."""
    assert idle.condition is not None
    site = site_of(idle.site.path, idle.site.function, idle.condition.test)
    test = idle.condition.test
    name = test.left.id if isinstance(test, ast.Compare) and isinstance(test.left, ast.Name) else ""
    prefix = _prefix(trace)
    if name and prefix and isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.In):
        line = f'{name} = {name}.removeprefix("{prefix}")'
        return (
            f"the names of {WRAPPERS[prefix]}'s parameters begin with `{prefix}`: put `{line}` before the condition"
            f" ({where(site)}), or give it the model itself",
            line_before(trace, site, line),
        )
    return f"let {located(trace, site)} be true for the parameters that are trained", ()


def _prefix(trace: Trace) -> str:
    """What the names of the parameters begin with, where the model that is trained was wrapped by torch."""
    for module in trace.modules.values():
        if f"{module.path.partition('.')[0]}." in WRAPPERS:
            return f"{module.path.partition('.')[0]}."
    calls = (called_name(node) for path in trace.sources for node in trace.source_file(path).nodes)
    return COMPILED if "compile" in calls else ""


def _caller(trace: Trace, write: Site | None) -> Site | None:
    """The call of the function that writes, where that is the program's own."""
    frames = [frame for frame in write.stack if frame.kind == "user"] if write is not None else []
    return frames[-2] if len(frames) > 1 else None


def _receiver(trace: Trace, write: Site | None, function: str) -> str:
    """`self.ema.update`, where the write's own function is called as `self.ema.apply`."""
    caller = _caller(trace, write)
    node = trace.source_file(caller.path).at(caller) if caller is not None else None
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return f"{ast.unparse(node.func.value)}.{function}"
    return function


def _idle(trace: Trace, write: Site) -> _Idle | None:
    """The one line of the same file that writes to what is copied at `write`, and of which no call was ever seen."""
    file = trace.source_file(write.path)
    holder = _holder(file.at(write), file.scope(write))
    if not holder:
        return None
    ran = {site.line for site in trace.sites if site.path == write.path}
    found = []
    for node in file.nodes:
        if not isinstance(node, ast.FunctionDef) or node.name == "__init__":
            continue
        for statement in own_nodes(node):
            if isinstance(statement, ast.stmt) and _follows(statement, holder, node):
                if ran.isdisjoint(range(statement.lineno, (statement.end_lineno or statement.lineno) + 1)):
                    found.append((node, statement))
    if len(found) != 1:
        return None
    function, statement = found[0]
    called = any(called_name(node) == function.name for node in file.nodes)
    above = next((n for n in file.above(statement) if isinstance(n, (ast.If, *FUNCTIONS))), None)
    condition = above if isinstance(above, ast.If) else None
    if called != (condition is not None):
        return None
    asks = [argument.arg for argument in function.args.args] not in ([], ["self"])
    return _Idle(site_of(write.path, function.name, statement), holder, function.name, condition, asks)


def _holder(node: ast.AST | None, scope: ast.AST) -> str:
    """`self.shadow` of `p.copy_(self.shadow[name])`, of `twin.load_state_dict(self.shadow)`, or of a loop over it."""
    given = node.args[0] if isinstance(node, ast.Call) and node.args else None
    while isinstance(given, ast.Subscript):
        given = given.value
    if isinstance(given, ast.Name):
        return _looped_over(given.id, scope) or given.id
    return ast.unparse(given) if isinstance(given, ast.Attribute) else ""


def _looped_over(name: str, scope: ast.AST) -> str:
    """What `name` is an element of: `for kept, p in zip(self.kept, …)`."""
    for node in own_nodes(scope):
        if not isinstance(node, ast.For):
            continue
        if isinstance(node.target, ast.Name) and node.target.id == name:
            return ast.unparse(node.iter) if isinstance(node.iter, (ast.Name, ast.Attribute)) else ""
        if (
            isinstance(node.target, ast.Tuple)
            and called_name(node.iter) == "zip"
            and isinstance(node.iter, ast.Call)
        ):
            for target, over in zip(node.target.elts, node.iter.args, strict=False):
                if isinstance(target, ast.Name) and target.id == name:
                    return ast.unparse(over)
    return ""


def _follows(statement: ast.stmt, holder: str, scope: ast.AST) -> bool:
    """Whether the statement writes in place to an element of `holder`."""
    if isinstance(statement, ast.Assign):
        target = statement.targets[0]
        return isinstance(target, ast.Subscript) and ast.unparse(target.value) == holder
    call = statement.value if isinstance(statement, ast.Expr) else None
    while isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
        written: ast.expr = call.func.value
        if method_name(call).endswith("_") and not method_name(call).endswith("__"):
            part = written
            while isinstance(part, ast.Subscript):
                part = part.value
            if isinstance(part, ast.Name) and (_looped_over(part.id, scope) or part.id) == holder:
                return True
            if ast.unparse(part) == holder:
                return True
        call = written
    return False


def _puts_back(trace: Trace, idle: _Idle, write: Site | None) -> str:
    """Another method of the class that writes to parameters as `write` does, and that the program calls nowhere."""
    file = trace.source_file(idle.site.path)
    for cls in file.nodes:
        if not isinstance(cls, ast.ClassDef):
            continue
        methods = [part for part in cls.body if isinstance(part, ast.FunctionDef)]
        if write is None or not any(m.lineno <= write.line <= (m.end_lineno or m.lineno) for m in methods):
            continue
        for other in methods:
            if other.name in (idle.function, "__init__") or any(
                called_name(n) == other.name for n in file.nodes
            ):
                continue
            if any(method_name(node) == "copy_" for node in ast.walk(other)):
                return _receiver(trace, write, other.name)
    return ""
