"""The mechanical fixes of what is a leaf and what requires a gradient."""

from __future__ import annotations

import ast
from typing import TypeGuard

from gradscope.analysis.names import names_of
from gradscope.analysis.ops import CASTS, MAKERS
from gradscope.analysis.words import owner, source, where
from gradscope.fixes.source import Binds, Edits, Source
from gradscope.model import Edit, Graph, Op, Site
from gradscope.source import called_name, method_name
from gradscope.store import Trace

_FORMS = CASTS | {
    "view", "view_as", "reshape", "reshape_as", "squeeze", "unsqueeze", "flatten", "unflatten", "transpose", "permute",
    "t", "contiguous",
}  # fmt: skip
_SIGNS: dict[type[ast.operator], str] = {ast.Sub: "-", ast.Add: "+"}
ASKING = {"requires_grad_", "detach_", "zero_grad_"}


def asks(value: str) -> bool:
    """Whether an expression makes a tensor that is to get a gradient."""
    return "requires_grad" in value or "Parameter(" in value


def requires_before(trace: Trace, site: Site) -> tuple[str, Edits]:
    """A line before the call at `site` that lets its first argument require a gradient, and the edit, where that
    argument has a name."""
    here = Source(trace, site.path)
    call, statement = here.file.at(site), here.file.statement(site)
    given = call.args[0] if isinstance(call, ast.Call) and call.args else None
    name = given.id if isinstance(given, ast.Name) else "x"
    line = f"{name} = {name} if {name}.requires_grad else {name}.detach().requires_grad_()"
    known = isinstance(given, ast.Name) and statement is not None
    return line, here.before(statement, line) if known else ()


def changed_here(trace: Trace, read: Site) -> bool:
    """Whether the function that reads `x.grad` goes on to change `x`, as a training does: by `x -= …`,
    by a method in place, or by `x = x - …`. True where the text does not say what is read."""
    name = owner(source(trace, read), "grad")
    if not name:
        return True
    here = Source(trace, read.path)
    kept = here.file.statement(read)  # `g = w.grad`
    gradient = {f"{name}.grad"} | {
        ast.unparse(t)
        for t in (kept.targets if isinstance(kept, ast.Assign) else ())
        if isinstance(t, ast.Name)
    }
    return any(_changes(node, name, gradient) for node in ast.walk(here.file.scope(read)))


def _changes(node: ast.AST, name: str, gradient: set[str]) -> bool:
    if isinstance(node, ast.AugAssign):
        return ast.unparse(node.target).removesuffix(".data") == name
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        holder = ast.unparse(node.func.value).removesuffix(".data")
        return holder == name and node.func.attr.endswith("_") and node.func.attr not in ASKING
    if isinstance(node, ast.Assign) and name in [ast.unparse(t).removesuffix(".data") for t in node.targets]:
        parts = {ast.unparse(part) for part in ast.walk(node.value) if isinstance(part, ast.expr)}
        return bool(parts & gradient - {name})
    return False


def asked_last(trace: Trace, made: Site, name: str) -> tuple[Edit, ...]:
    """`.detach().requires_grad_()` behind the value, where the line makes a new tensor to be trained."""
    here = Source(trace, made.path)
    statement = here.file.statement(made)
    if not isinstance(statement, ast.Assign) or [ast.unparse(t) for t in statement.targets] != [
        name.strip("`")
    ]:
        return ()
    value, text = statement.value, here.file.text(statement.value)
    if not asks(text) and not _in_another_form(value, name.strip("`")):
        return ()
    return here.behind(value, ".detach().requires_grad_()")


def _in_another_form(value: ast.expr | None, name: str) -> bool:
    """`w.view(-1, 1)`, `w.to(device)`: the numbers of `name` as they are."""
    while (
        isinstance(value, ast.Call) and method_name(value) in _FORMS and isinstance(value.func, ast.Attribute)
    ):
        value = value.func.value
        if ast.unparse(value) == name:
            return True
    return False


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
    if isinstance(wrapper.args[0], ast.Starred):
        return "", ()
    if not ast.unparse(wrapper.func).endswith("Parameter") or ast.unparse(statement.targets[0]) != target:  # type: ignore[union-attr]
        return "", ()
    behind = here.file.between((*here.file.whole(wrapper)[2:], *here.file.span(value)[2:]))
    text = f"{here.file.text(wrapper.func)}({here.part(wrapper.args[0])}{behind})"
    return text, here.replace(value, text)


def leaf_fix(trace: Trace, name: str, made: Site, rebound: bool) -> str:
    """What to write in place of the line that made a leaf into something computed."""
    plain = name.strip("`") if name.startswith("`") else "w"
    text = names_of(trace).line(made) or ""
    value = text.partition("#")[0].partition("=")[2].strip() if text.startswith(f"{plain} =") else ""
    if rebound and (new := in_place(trace, plain, made)[0]):
        return (
            f"update in place under `with torch.no_grad():`: `{new}` in place of"
            f" `{plain} = {value or '…'}` ({where(made)})"
        )
    statement = trace.source_file(made.path).statement(made)
    kept = isinstance(statement, ast.Assign) and _in_another_form(statement.value, plain)
    if rebound and not asks(value) and not kept:
        return f"change `{plain}` in place under `with torch.no_grad():` ({where(made)})"
    shown = f"({value})" if " " in value and not value.endswith(")") else value or "…"
    return f"ask for the gradient last: `{plain} = {shown}.detach().requires_grad_()` ({where(made)})"


def in_place(trace: Trace, name: str, made: Site) -> tuple[str, tuple[Edit, ...]]:
    """`w -= lr * w.grad` for `w = w - lr * w.grad`, and the edit. "", () for a line that is no such sum."""
    here = Source(trace, made.path)
    statement = here.file.statement(made)
    if not isinstance(statement, ast.Assign) or [ast.unparse(t) for t in statement.targets] != [name]:
        return "", ()
    value = statement.value
    sign = _SIGNS.get(type(value.op)) if isinstance(value, ast.BinOp) else None
    if sign is None or not isinstance(value, ast.BinOp) or ast.unparse(value.left) != name:
        return "", ()
    new = f"{name} {sign}= {here.file.text(value.right)}"
    return " ".join(new.split()), here.replace(statement, new)


def without_request(trace: Trace, site: Site | None) -> tuple[Edit, ...]:
    """Takes out `requires_grad=True`, `.requires_grad_()` or `x.requires_grad = True`."""
    if site is None:
        return ()
    here = Source(trace, site.path)
    node, statement = here.file.at(site), here.file.statement(site)
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "requires_grad_"
    ):
        if isinstance(statement, ast.Expr) and statement.value is node:
            return here.remove(statement)
        return here.replace(node, here.file.text(node.func.value))
    if isinstance(node, ast.Call):
        for keyword in node.keywords:
            if keyword.arg == "requires_grad":
                return here.without_keyword(node, keyword)
    if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]).endswith(".requires_grad"):
        return here.remove(statement)
    return ()


def joined(trace: Trace, site: Site, graph: Graph, cut: Op, made: int) -> tuple[str, tuple[Edit, ...]]:
    """`torch.stack(losses)`, or `torch.cat`, with the graphs of its elements, for a call at `site` that makes a tensor
    of a list of tensors, and the edit. `cut` is the op that reads the first of them (or all), `made` the value that
    it makes. "", () where that is not what it does."""
    here = Source(trace, site.path)
    node = here.file.at(site)
    if not isinstance(node, ast.Call) or len(node.args) != 1 or called_name(node) not in MAKERS:
        return "", ()
    given = node.args[0]
    if isinstance(given, ast.GeneratorExp | ast.Starred) or not here.file.is_imported(node.func):
        return "", ()
    reads = [op for op in graph.called({cut.name}) if op.site.user == cut.site.user]
    elements = [graph.values[i] for op in ([cut] if len(cut.inputs) > 1 else reads) for i in op.inputs]
    whole, first = graph.values[made], elements[0] if elements else None
    if first is None or any((e.shape, e.dtype) != (first.shape, whole.dtype) for e in elements):
        return "", ()
    if whole.shape == (len(elements), *first.shape):
        function = "stack"
    elif whole.shape == (len(elements),) and first.shape == (1,):
        function = "cat"
    else:
        return "", ()
    if "torch" not in here.file.imported or len(elements) < 2:
        return "", ()
    new = f"torch.{function}({here.part(given, Binds.WHOLE)})"
    return new, here.replace(node, new)


def itself(trace: Trace, op: Op) -> tuple[str, tuple[Edit, ...]]:
    """`h` for `torch.tensor(h)` of one tensor, and the edit; no edit where the new one is of another type or place. "",
    () where that is not what `op` does."""
    here = Source(trace, op.site.user.path)
    node = here.file.at(op.site.user)
    if not isinstance(node, ast.Call) or len(node.args) != 1 or called_name(node) not in MAKERS:
        return "", ()
    given = node.args[0]
    if not isinstance(given, ast.Name | ast.Attribute) or len(op.inputs) != 1 or len(op.outputs) != 1:
        return "", ()
    values = trace.graph(op.graph).values
    old, new = values[op.inputs[0]], values[op.outputs[0]]
    text = here.file.text(given)
    if old.shape != new.shape:
        return "", ()
    if old.dtype != new.dtype or any(keyword.arg != "requires_grad" for keyword in node.keywords):
        return text, ()
    statement = here.file.parent.get(id(node))
    if isinstance(statement, ast.Assign) and [ast.unparse(target) for target in statement.targets] == [text]:
        return text, here.remove(statement) or here.replace(node, text)
    return text, here.replace(node, text)


def made_in_init(trace: Trace, made: Site, shapes: set[tuple[int, ...]]) -> tuple[str, tuple[Edit, ...]]:
    """The target of `self.s = nn.Parameter(…)` at `made` and, for a single number, the edits that make it at the end
    of `__init__` and write the value in place here. shapes: of all that the line has made."""
    here = Source(trace, made.path)
    statement, call = here.file.statement(made), here.file.at(made)
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1 or statement.value is not call:
        return "", ()
    target = ast.unparse(statement.targets[0])
    if not isinstance(call, ast.Call) or called_name(call) != "Parameter" or not target.startswith("self."):
        return "", ()
    holder = here.file.class_of(statement)
    begin = next((f for f in holder.body if _is_init(f)), None) if holder is not None else None
    one = shapes == {()} and len(call.args) == 1 and not call.keywords and "torch" in here.file.imported
    if holder is None or begin is None or not one or _asked_about(holder, target):
        return target, ()
    last = begin.body[-1]
    first = here.after(last, f"{target} = {ast.unparse(call.func)}(torch.ones(()))")
    under = here.under(statement, "with torch.no_grad():")
    value = here.replace(statement, f"{target}.copy_({here.part(call.args[0], Binds.WHOLE)})")
    return target, first + under + value if first and under and not isinstance(last, ast.Return) else ()


def _is_init(node: ast.stmt) -> TypeGuard[ast.FunctionDef]:
    return isinstance(node, ast.FunctionDef) and node.name == "__init__"


def _asked_about(holder: ast.ClassDef, target: str) -> bool:
    """Whether a class assigns an attribute at another place too, or asks whether it is there."""
    nodes, name = list(ast.walk(holder)), target.removeprefix("self.")
    named = [node for node in nodes if isinstance(node, ast.Attribute) and ast.unparse(node) == target]
    asked = any(
        isinstance(node, ast.Compare) and not {*map(id, ast.walk(node))}.isdisjoint(map(id, named))
        for node in nodes
    )
    text = any(isinstance(node, ast.Constant) and node.value == name for node in nodes)
    return asked or text or sum(isinstance(node.ctx, ast.Store) for node in named) != 1
