"""Optimizers as the user calls them, and what a program's text says about calls that this run
did not see."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from math import isfinite

from gradscope.model import Event, Optimizer, Parameter, Site
from gradscope.names import place
from gradscope.rules._common import source
from gradscope.source import SourceFile
from gradscope.store import Trace

FRESH = ("fresh", "stale")
SCHEDULES = ("LR", "LROnPlateau", "WarmRestarts")  # how the names of torch's end


def variable(trace: Trace, site: Site | None) -> str:
    """The variable that what is made at `site` is assigned to; "" where there is none."""
    return (trace.source_file(site.user.path).variable(site.user) if site is not None else None) or ""


def optimizer_name(trace: Trace, number: int | None) -> str:
    """The user's variable of an optimizer, as in `opt.step()`; "the optimizer" where unknown."""
    known = trace.optimizers.get(number) if number is not None else None
    name = variable(trace, known.site) if known is not None else ""
    return f"`{name}`" if name else "the optimizer"


def method(trace: Trace, number: int | None, call: str, given: str = "") -> str:
    """A call on an optimizer as the user would write it: "`opt.zero_grad()`"."""
    known = trace.optimizers.get(number) if number is not None else None
    name = variable(trace, known.site) if known is not None else ""
    return f"`{name or 'optimizer'}.{call}({given})`"


def where(site: Site | None) -> str:
    """ "train.py:88", or "the loop" where nothing is known."""
    return place(site.user) if site is not None else "the loop"


def parameters_of(trace: Trace, ids: list[int]) -> list[Parameter]:
    """Those that the trace knows: it forgets what lived for one step only."""
    known = {p.id: p for p in trace.parameters}
    return [known[id] for id in ids if id in known]


def idle(p: Parameter) -> bool:
    """Whether nothing in the run ever changed this parameter or used its gradient."""
    return not (p.steps or p.updates or p.changed or used_for_itself(p))


def used_for_itself(p: Parameter) -> bool:
    """Whether its gradients came to something without a step: more than that they were printed. The
    numbers of a leaf that is no `nn.Parameter` may be what is wanted (a saliency map)."""
    return bool(p.taken or (p.handed and not p.declared))


def read_for_itself(p: Parameter, others: list[Parameter]) -> bool:
    """Whether some line reads the gradient of this one and of none of the others: somebody wants to
    see it. A log of all gradients reads theirs too."""
    return bool(set(p.read_at) - {place for other in others for place in other.read_at})


def taken_for_itself(p: Parameter, others: list[Parameter]) -> bool:
    """Whether some line takes the gradient of this one and of none of the others: what is done with
    all gradients is done with theirs too."""
    return bool(set(p.taken_at) - {place for other in others for place in other.taken_at})


def settled(trace: Trace) -> bool:
    """Whether the program ended by itself: what it had not done until an exception, it might do."""
    return trace.program.get("exception") is None


def fresh(event: Event) -> set[int]:
    """Parameters whose new gradient this step or clip meets."""
    states = event.data.get("states") or {}
    return {p for state in FRESH for p in states.get(state, ())}


def by_scaler(event: Event) -> bool:
    """Whether a gradient scaler made this step."""
    return any(f.kind == "torch" and f.path.endswith("grad_scaler.py") for f in event.site.stack)


# -- the program's text ----------------------------------------------------------------


def called_in_source(trace: Trace, made: Site | None, attribute: str) -> bool | None:
    """Whether the program's text calls `.attribute()` on what is made at `made`. None where that
    can't be told: it has no name, or it is handed on."""
    if made is None:
        return None
    site = made.user
    file = trace.source_file(site.path)
    name = file.variable(site)
    if not name:
        return None
    if "." not in name:
        return _calls_on(file, _scope(file.tree, site.line), name, attribute)
    last = name.rpartition(".")[2]  # `self.opt` here is `trainer.opt` elsewhere
    found = [_calls_on(f, f.tree, last, attribute) for f in map(trace.source_file, trace.sources)]
    return True if True in found else None if None in found else False


def _calls_on(file: SourceFile, scope: ast.AST | None, name: str, attribute: str) -> bool | None:
    """Whether `name.attribute()` is called in `scope`; None where the name is handed on."""
    handed_on = False
    for node in ast.walk(scope) if scope is not None else ():
        if not (isinstance(node, ast.Name) and node.id == name) and not (
            isinstance(node, ast.Attribute) and node.attr == name
        ):
            continue
        above = file.parent.get(id(node))
        if isinstance(above, ast.Attribute):
            call = file.parent.get(id(above))
            if above.attr == attribute and isinstance(call, ast.Call) and call.func is above:
                return True
        elif isinstance(node.ctx, ast.Load) and not _makes_schedule(above):
            handed_on = True
    return None if handed_on or scope is None else False


def _makes_schedule(node: ast.AST | None) -> bool:
    """Whether it is `StepLR(…)`: a schedule does not step its optimizer."""
    made = node.func if isinstance(node, ast.Call) else None
    name = getattr(made, "attr", getattr(made, "id", ""))
    return name.endswith(SCHEDULES)


def _scope(tree: ast.AST | None, line: int) -> ast.AST | None:
    """The function that stands around `line`, or the file."""
    best = tree
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.lineno <= line <= (
            node.end_lineno or node.lineno
        ):
            if not isinstance(best, (ast.FunctionDef, ast.AsyncFunctionDef)) or node.lineno > best.lineno:
                best = node
    return best


def calls_in_source(trace: Trace, attribute: str) -> Iterator[tuple[str, int]]:
    """(path, line) of every `.attribute(…)` in the user's files."""
    for path in trace.sources:
        tree = trace.source_file(path).tree
        for node in ast.walk(tree) if tree is not None else ():
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                if node.func.attr == attribute:
                    yield path, node.lineno


def nearest_backward(trace: Trace, ids: set[int]) -> Event | None:
    """The first backward pass that put a gradient into any of these."""
    for event in trace.of("backward"):
        if ids & set(event.data.get("accumulated") or ()):
            return event
    return None


def backward_text(trace: Trace, event: Event | None) -> str:
    """The pass as the user wrote it, with its line: "`loss.backward()` (train.py:12)"."""
    if event is None:
        return "`backward()`"
    return f"`{source(trace, event.site.user) or 'backward()'}` ({where(event.site)})"


def norm(trace: Trace, parameter: int) -> float | None:
    """The last norm measured of this parameter's gradient."""
    measured = trace.numbers("grad_norm", parameter)
    last = measured[-1][1] if measured else trace.parameter(parameter).grad_norm
    return last if isinstance(last, float) and isfinite(last) else None


def trained_by(trace: Trace, p: Parameter) -> Optimizer | None:
    """The first optimizer that holds it."""
    return next((trace.optimizers[n] for n in p.optimizers if n in trace.optimizers), None)
