"""What numpy computes from tensors, computed by torch."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from gradscope.fixes.source import Edits, Source
from gradscope.model import Site
from gradscope.store import Trace

# numpy's name → torch's, of the same for what has one or two axes, given by place
SAME = {
    "dot": "matmul", "matmul": "matmul", "multiply": "mul", "add": "add", "subtract": "sub", "divide": "div",
    **{name: name for name in ("exp", "log", "sqrt", "sin", "cos", "tanh", "abs", "sum", "mean")},
}  # fmt: skip


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
