"""What the text of a gradient hook does with the gradient that it is given."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from gradscope.analysis.loop import in_order
from gradscope.analysis.memo import once
from gradscope.events import Backward, GradientHook
from gradscope.model import Site
from gradscope.source import own_name
from gradscope.store import Trace

_OPS = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow)
# Methods of a tensor that compute a new one from another; `add` may be a set's.
_COMPUTES = {
    "mul", "multiply", "sub", "subtract", "div", "divide", "true_divide", "matmul", "mm", "bmm", "mv", "addcmul",
    "masked_fill", "where", "lerp", "maximum", "minimum", "baddbmm", "addmm",
}  # fmt: skip
_VIEWS = {
    "view",
    "reshape",
    "flatten",
    "squeeze",
    "unsqueeze",
    "transpose",
    "permute",
    "t",
    "detach",
    "chunk",
}
_LOOKS = {"norm", "item", "mean", "sum", "max", "min", "abs", "any", "all", "detach", "cpu", "std", "numpy"}


def hook_function(trace: Trace, hook: Site, name: str) -> ast.FunctionDef | ast.Lambda | None:
    """The hook's definition, by the line it starts on."""
    for node in trace.source_file(hook.path).nodes:
        if isinstance(node, ast.Lambda) and name == "<lambda>" and node.lineno == hook.line:
            return node
        if isinstance(node, ast.FunctionDef) and node.name == name:
            first = node.decorator_list[0].lineno if node.decorator_list else node.lineno
            if first <= hook.line <= node.lineno:
                return node
    return None


def _gradients(function: ast.FunctionDef | ast.Lambda, module: bool) -> list[str]:
    """What the hook calls its gradients: one of a tensor, two tuples of a module."""
    arguments = [a.arg for a in (*function.args.posonlyargs, *function.args.args)]
    names = [name for name in arguments if name not in ("self", "cls")]
    return names[1:3] if module else names[:1]


def _is(node: ast.AST, name: str) -> bool:
    while isinstance(node, (ast.Subscript, ast.Attribute)):
        node = node.value
    return isinstance(node, ast.Name) and node.id == name


def written_in(function: ast.FunctionDef | ast.Lambda | None, module: bool) -> ast.AST | None:
    """The statement or call that writes to the gradient in place."""
    given = _gradients(function, module) if function is not None else []
    names = dict.fromkeys(given)
    for node in ast.walk(function) if function is not None else ():
        names |= dict.fromkeys(_bound(node, names))
    for name in names:
        for node in ast.walk(function) if function is not None else ():
            if _writes(node, name):
                return node
    return None


def gathers(trace: Trace) -> bool:
    """Whether a gradient hook keeps something of what it is given, or hands it on: not if it only prints. Of those
    that ran, and, in the text, of those that `register_backward_hook` has put, whose calls are not seen."""
    return any(_event_gathers(trace, event) for event in trace.of(GradientHook)) or unseen_gather(trace)


def unseen_gather(trace: Trace) -> bool:
    """The same of hooks that `register_backward_hook` has put."""
    for path in trace.sources:
        file = trace.source_file(path)
        named = {own_name(call.args[0]) for call in file.calls.get("register_backward_hook", ()) if call.args}
        if any(_gathers(f) for f in file.nodes if isinstance(f, ast.FunctionDef) and f.name in named):
            return True
    return False


@once
def gathering_passes(trace: Trace) -> set[tuple[str, int]]:
    """The lines of the passes in which such a hook ran first."""
    found, line = set(), None
    for _, event in in_order(trace):
        if isinstance(event, Backward):
            line = event.site.user.location()
        elif isinstance(event, GradientHook) and line is not None and _event_gathers(trace, event):
            found.add(line)
    return found


def _event_gathers(trace: Trace, event: GradientHook) -> bool:
    hook = trace.site(event.hook)
    function = hook_function(trace, hook, event.name) if hook is not None else None
    return function is not None and not event.edited and _gathers(function)


def _gathers(function: ast.FunctionDef | ast.Lambda) -> bool:
    if isinstance(function, ast.Lambda):
        return isinstance(function.body, ast.Call) and ast.unparse(function.body.func) != "print"
    outer = {
        n for node in ast.walk(function) if isinstance(node, ast.Global | ast.Nonlocal) for n in node.names
    }
    for node in ast.walk(function):
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        call = node.value if isinstance(node, ast.Expr) else None
        if any(
            isinstance(target, ast.Attribute | ast.Subscript)
            or (isinstance(target, ast.Name) and target.id in outer)
            for target in targets
        ):
            return True
        if isinstance(call, ast.Call) and ast.unparse(call.func) != "print":
            return True
    return False


def of_a_part(function: ast.FunctionDef | ast.Lambda | None, module: bool, node: ast.AST | None) -> bool:
    """Whether what is written has a name of its own in the hook (`for g in grads: g *= 2`)."""
    given = _gradients(function, module) if function is not None else []
    return node is not None and not any(_writes(node, name) for name in given)


def _bound(node: ast.AST, names: Iterable[str]) -> list[str]:
    """Names that a loop or an assignment gives to parts of what `names` stand for."""
    if isinstance(node, (ast.For, ast.comprehension)):
        source, targets = node.iter, [node.target]
        if isinstance(source, ast.Call) and source.args:  # enumerate, zip, filter
            source = ast.Tuple(source.args, ast.Load())
    elif isinstance(node, ast.Assign):
        source, targets = node.value, node.targets
    else:
        return []
    parts = source.elts if isinstance(source, ast.Tuple) else [_viewed(source)]
    if not any(_is(part, name) for part in parts for name in names):
        return []
    return [n.id for target in targets for n in ast.walk(target) if isinstance(n, ast.Name)]


def _viewed(node: ast.expr) -> ast.expr:
    """`grad` of `grad.view(-1)`, which shares its memory."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _VIEWS:
        node = node.func.value
    return node


def _writes(node: ast.AST, name: str) -> bool:
    """Whether this is `g *= …`, `g[…] = …`, `g.mul_(…)`, `torch.clamp_(g, …)` or `f(…, out=g)`."""
    if isinstance(node, ast.AugAssign):
        return _is(node.target, name)
    if isinstance(node, ast.Assign):
        return isinstance(node.targets[0], ast.Subscript) and _is(node.targets[0], name)
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    attribute = node.func.attr
    changes = attribute.endswith("_") and not attribute.endswith("__")
    first = [node.func.value, *node.args[:1]]
    return (changes and any(_is(value, name) for value in first)) or any(
        k.arg == "out" and _is(k.value, name) for k in node.keywords
    )


def dropped_in(function: ast.FunctionDef | ast.Lambda, module: bool) -> ast.AST | None:
    """A statement that computes a new gradient which nothing reads or returns."""
    if isinstance(function, ast.Lambda):
        return None
    if any(isinstance(node, ast.Return) and node.value is not None for node in ast.walk(function)):
        return None
    found = (_dropped(function, name) for name in _gradients(function, module))
    return next((node for node in found if node is not None), None)


def _dropped(function: ast.FunctionDef, name: str) -> ast.AST | None:
    last = function.body[-1]
    if isinstance(last, ast.Expr) and _changes(last.value, name):
        return last
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            edits, reads = _later(function, node, node.targets[0].id)
            made = _changes(node.value, name) or (edits and _copies(node.value, name))
            if made and not reads:
                return node
    return None


def _later(function: ast.FunctionDef, made: ast.Assign, name: str) -> tuple[int, int]:
    """How often what was made is written into, and read otherwise, by later lines."""
    later = [node for node in ast.walk(function) if getattr(node, "lineno", 0) > made.lineno]
    inside = {
        id(node.value)
        for node in later
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store)
    }
    again = {
        id(part)
        for node in later
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and node.targets[0].id == name
        for part in ast.walk(node.value)
    }
    reads = [
        node
        for node in later
        if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load)
    ]
    return len(inside), sum(id(node) not in inside | again for node in reads)


def _copies(value: ast.expr, name: str) -> bool:
    """Whether this is `grad.clone()`."""
    return (
        isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr == "clone"
        and _is(value.func.value, name)
    )  # fmt: skip


def _changes(value: ast.expr, name: str) -> bool:
    """Whether this is arithmetic on the gradient: `grad * 2`, `grad.clamp(-1, 1)`, `mask.mul(grad)`."""
    if isinstance(value, ast.Tuple):
        return any(_changes(part, name) for part in value.elts)
    if isinstance(value, ast.BinOp) and isinstance(value.op, _OPS):
        return any(_is_gradient(side, name) or _changes(side, name) for side in (value.left, value.right))
    if (
        isinstance(value, ast.Call)
        and isinstance(value.func, ast.Name)
        and value.func.id in ("tuple", "list")
    ):
        return any(_changes(part, name) for part in value.args)
    if isinstance(value, (ast.GeneratorExp, ast.ListComp)):
        bound = [one for each in value.generators for one in _bound(each, [name])]
        return any(_changes(value.elt, one) for one in bound)
    if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Attribute):
        return False
    attribute, first = value.func.attr, value.func.value
    if attribute.endswith("_"):
        return False
    if _is_gradient(first, name):
        return attribute not in _LOOKS
    if isinstance(first, ast.Call) and isinstance(first.func, ast.Attribute) and _changes(first, name):
        return attribute not in _LOOKS
    given = any(_is_gradient(a, name) or _changes(a, name) for a in value.args)
    if isinstance(first, ast.Name) and first.id == "torch":
        return given and attribute not in _LOOKS
    return given and attribute in _COMPUTES


def _is_gradient(node: ast.expr, name: str) -> bool:
    """Whether this is the gradient or a part of it, and no property of it such as its shape."""
    while isinstance(node, ast.Subscript) or (isinstance(node, ast.Attribute) and node.attr in ("T", "data")):
        node = node.value
    return isinstance(node, ast.Name) and node.id == name
