"""What numpy computes from tensors, computed by torch."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from gradscope.analysis.text import assignments_between
from gradscope.fixes.source import Edits, Source
from gradscope.model import Site
from gradscope.source import names_in
from gradscope.store import Trace

# numpy's name → torch's, of the same for what has one or two axes, given by place
SAME = {
    "dot": "matmul", "matmul": "matmul", "multiply": "mul", "add": "add", "subtract": "sub", "divide": "div",
    **{name: name for name in ("exp", "log", "sqrt", "sin", "cos", "tanh", "abs", "sum", "mean")},
}  # fmt: skip

JOINED = {"stack": "stack", "concatenate": "cat"}  # of a list of arrays, along an `axis`
_ARITHMETIC = (
    ast.BinOp, ast.UnaryOp, ast.operator, ast.unaryop, ast.Subscript, ast.Slice, ast.Constant, ast.Tuple, ast.List,
    ast.expr_context,
)  # fmt: skip
LEAVES = {"numpy", "detach", "cpu"}  # methods between a tensor and its array


def by_torch(trace: Trace, site: Site) -> tuple[str, Edits]:
    """`torch.matmul(a, b)` in place of `torch.tensor(np.dot(a, b))` at `site`: its text, and the edits."""
    here = Source(trace, site.path)
    call = here.file.at(site)
    inner = call.args[0] if isinstance(call, ast.Call) and len(call.args) == 1 and not call.keywords else None
    if not isinstance(call, ast.Call) or not isinstance(inner, ast.Call) or inner.keywords:
        return "", ()
    function = here.file.imported_name(inner.func)
    name = SAME.get(function.removeprefix("numpy.")) if function.startswith("numpy.") else None
    if (
        name is None
        or not inner.args
        or not all(isinstance(a, (ast.Name, ast.Attribute)) for a in inner.args)
    ):
        return "", ()
    text = f"torch.{name}({', '.join(here.file.text(a) for a in inner.args)})"
    return text, here.replace(call, text) if "torch" in here.file.imported else ()


def asked_to_train(trace: Trace, places: Sequence[tuple[str, Site]]) -> Edits:
    """`.requires_grad_()` behind what each of these names is given at its place; none where one is not plain."""
    edits: Edits = ()
    for name, site in places:
        here = Source(trace, site.path)
        statement, node = here.file.statement(site), here.file.at(site)
        if (
            not isinstance(statement, ast.Assign)
            or statement.value is not node
            or len(statement.targets) != 1
        ):
            return ()
        if here.file.text(statement.targets[0]) != name or not isinstance(node, ast.expr):
            return ()
        edits += here.behind(node, ".requires_grad_()")
    return edits


def kept_in_torch(trace: Trace, left: Site, made: Site) -> tuple[list[tuple[str, int]], Edits]:
    """What numpy computes between `x.detach().numpy()` at `left` and `torch.tensor(…)` at `made`, computed by torch of
    `x` itself: the new texts, each with its line, and the edits. None where it is more than arithmetic."""
    here = Source(trace, made.path)
    way = assignments_between(trace, left, made)
    leaving, call = here.file.at(left), here.file.at(made)
    if way is None or not isinstance(leaving, ast.expr) or not isinstance(call, ast.Call) or not call.args:
        return [], ()
    values = [*(one.value for one in way), call.args[0]]
    names = {name for one in way for target in one.targets for name in names_in(target)}
    changed = [_translated(here, value, names, leaving) for value in values]
    inside = {id(node) for value in values for node in ast.walk(value)}
    read = [
        node for node in ast.walk(here.file.scope(made)) if isinstance(node, ast.Name) and node.id in names
    ]
    elsewhere = any(isinstance(node.ctx, ast.Load) and id(node) not in inside for node in read)
    if elsewhere or "torch" not in here.file.imported or None in changed:
        return [], ()
    all_edits = [edits for edits in changed if edits is not None]
    last = here.text_after(call.args[0], all_edits.pop())
    texts = [
        (here.text_after(value, edits), value.lineno)
        for value, edits in zip(values, all_edits, strict=False)
        if edits
    ]
    whole = tuple(edit for edits in all_edits for edit in edits)
    return [*texts, (last, call.lineno)], (*whole, *here.replace(call, last))


def _translated(here: Source, value: ast.expr, names: set[str], leaving: ast.expr) -> Edits | None:
    """The edits that make torch's of numpy's functions in an expression; None where something else stands in it."""
    edits: Edits = ()
    todo: list[ast.AST] = [value]
    while todo:
        node = todo.pop()
        if node is leaving:
            edits += here.replace(leaving, here.file.text(_tensor(leaving)))
        elif isinstance(node, ast.Call):
            function = here.file.imported_name(node.func)
            name = {**SAME, **JOINED}.get(function.removeprefix("numpy."))
            if (
                name is None
                or not function.startswith("numpy.")
                or any(k.arg != "axis" for k in node.keywords)
            ):
                return None
            edits += here.replace(node.func, f"torch.{name}")  # which knows `axis` too
            todo += [*node.args, *(word.value for word in node.keywords)]
        elif isinstance(node, ast.Name):
            if node.id not in names:
                return None
        elif isinstance(node, _ARITHMETIC):
            todo += ast.iter_child_nodes(node)
        else:
            return None
    return edits


def _tensor(leaving: ast.expr) -> ast.expr:
    """`x` of `x.detach().cpu().numpy()`."""
    while (
        isinstance(leaving, ast.Call)
        and isinstance(leaving.func, ast.Attribute)
        and leaving.func.attr in LEAVES
    ):
        leaving = leaving.func.value
    return leaving
