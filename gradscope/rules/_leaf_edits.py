"""The mechanical fixes that make a computed tensor a leaf."""

from __future__ import annotations

import ast

from gradscope.model import Edit, Site
from gradscope.rules._edits import Source
from gradscope.store import Trace


def asks(value: str) -> bool:
    """Whether an expression makes a tensor that is to get a gradient."""
    return "requires_grad" in value or "Parameter(" in value


def asked_last(trace: Trace, made: Site, name: str) -> tuple[Edit, ...]:
    """`.detach().requires_grad_()` behind the value, where the line makes a new tensor to be trained."""
    here = Source(trace, made.path)
    statement = here.file.statement(made)
    if not isinstance(statement, ast.Assign) or [ast.unparse(t) for t in statement.targets] != [
        name.strip("`")
    ]:
        return ()
    value, text = statement.value, here.file.text(statement.value)
    if not asks(text):
        return ()
    if isinstance(value, (ast.Call, ast.Name, ast.Attribute, ast.Subscript)):
        return here.append(value, ".detach().requires_grad_()")
    return here.insert(value, "(") + here.append(value, ").detach().requires_grad_()")


def inside_out(trace: Trace, made: Site | None, target: str) -> tuple[str, tuple[Edit, ...]]:
    """`nn.Parameter(x.to(d))` for `nn.Parameter(x).to(d)`: the text and the edit."""
    if made is None:
        return "", ()
    here = Source(trace, made.path)
    statement = here.file.statement(made)
    value = statement.value if isinstance(statement, ast.Assign) else None
    if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Attribute):
        return "", ()
    wrapper = value.func.value
    if not isinstance(wrapper, ast.Call) or len(wrapper.args) != 1 or wrapper.keywords:
        return "", ()
    if not ast.unparse(wrapper.func).endswith("Parameter") or ast.unparse(statement.targets[0]) != target:  # type: ignore[union-attr]
        return "", ()
    inner, whole = here.file.text(wrapper.args[0]), here.file.text(value)
    text = f"{here.file.text(wrapper.func)}({inner}{whole[len(here.file.text(wrapper)) :]})"
    return text, here.replace(value, text)
