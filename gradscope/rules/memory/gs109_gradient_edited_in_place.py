"""A gradient hook writes into the gradient it is given, or returns nothing where a result was meant.

Why: the gradient that a hook gets may be the very tensor that other parts of the graph still use
(the two sides of `a + b` get one tensor), so a write into it changes theirs too. And what a hook
computes counts only if it is returned: without `return` the gradient stays as it was.

Fix: return a new tensor: `return grad.clamp(-1, 1)`.

Silent on: hooks that return their result; hooks that only look (logging, norms).
"""

import ast
from collections.abc import Iterator
from dataclasses import replace

from gradscope.analysis.hook_bodies import dropped_in, hook_function, of_a_part, written_in
from gradscope.analysis.words import MAX_CODE, code, owner, source
from gradscope.events import GradientHook
from gradscope.fixes.source import Source
from gradscope.model import Edit, Finding, Site
from gradscope.rules import rule
from gradscope.store import Trace


def bad_in_place() -> None:
    import torch

    def halve(grad: torch.Tensor) -> None:
        grad.mul_(0.5)  # cause: GS109

    a, b = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)
    h = a * 2
    h.register_hook(halve)  # effect: GS109
    (h + b).pow(2).sum().backward()


def good_returned() -> None:
    import torch

    def halve(grad: torch.Tensor) -> torch.Tensor:
        grad = grad * 0.5
        return grad + 0

    w = torch.ones(3, requires_grad=True)
    w.register_hook(halve)
    w.register_hook(lambda grad: grad.clamp(-0.1, 0.1))
    (w * w).sum().backward()


@rule("GS109", name="gradient-edited-in-place", severity="warning", over=("GS106",), needs=GradientHook)
def gradient_edited_in_place(trace: Trace) -> Iterator[Finding]:
    for event in trace.of(GradientHook):
        hook = trace.site(event.hook)
        module = bool(event.module)
        function = hook_function(trace, hook, str(event.name)) if hook is not None else None
        if event.edited:
            written = written_in(function, module)
            found = _finding(trace, event, hook, written, edited=True)
            if of_a_part(function, module, written):
                fix = f"return new tensors in place of {code(trace, found.cause, 'this')}"
                found = replace(found, fix=fix, edits=())
            yield found
        elif event.returned is False and hook is not None and function is not None:
            dropped = dropped_in(function, module)
            if dropped is not None:
                yield _finding(trace, event, hook, dropped, edited=False)


def _finding(
    trace: Trace, event: GradientHook, hook: Site | None, node: ast.AST | None, *, edited: bool
) -> Finding:
    registered = event.site.user
    at = _at(hook, node) or hook or registered
    text = ast.unparse(node)[:MAX_CODE] if node is not None else ""
    module = bool(event.module)
    what = owner(source(trace, registered), "register_full_backward_hook" if module else "register_hook")
    name = "a lambda" if event.name == "<lambda>" else f"`{event.name}`"
    whose = f"the gradient of `{what}`" if what else "the gradient"
    if edited:
        message = (
            f"{name} writes into {whose} in place{f' (`{text}`)' if text else ''}: other parts may share it"
        )
        refused = event.returned is None
        seen = "torch refused the write" if refused else "the gradient was written to while the hook ran"
        label = "written in place"
    else:
        message = f"{name} computes a new gradient for `{what or 'a tensor'}` and does not return it"
        seen = "the hook returned None: the gradient stayed as it was"
        label = "computed, and dropped"
    return Finding(
        message=message,
        cause=at,
        cause_label=label,
        effect=registered,
        effect_label="hooked here",
        seen=(seen,),
        fix=_advice(trace, at, node, module, edited),
        count=event.count,
        edits=_returned(trace, at, node)
        if node is not None and not module
        else _all_returned(trace, at, node),
        subjects=frozenset({("written", at.location())}),
    )


def _advice(trace: Trace, at: Site, node: ast.AST | None, module: bool, edited: bool) -> str:
    if not module and not edited and _named_in_between(trace, at):
        return _returns(node)
    if module and (new := _of_each(node)):
        return f"return new tensors, one for each: `return {new}`"
    value = _new_value(ast.unparse(node)[:MAX_CODE] if node is not None else "")
    if not value:
        return "return a new tensor"
    if module:
        return f"return new tensors: `return {value if value.endswith(',)') else f'({value},)'}`"
    return f"return a new tensor: `return {value}`"


def _of_each(node: ast.AST | None) -> str:
    """`tuple(g * 2 if g is not None else None for g in grads)` for one that is made of each gradient and dropped."""
    value = node.value if isinstance(node, ast.Expr | ast.Assign) else None
    made = value.args[0] if isinstance(value, ast.Call) and len(value.args) == 1 else value
    if not isinstance(made, ast.GeneratorExp | ast.ListComp) or len(made.generators) != 1:
        return ""
    (each,) = made.generators
    if not isinstance(each.target, ast.Name):
        return ""
    name = each.target.id
    return f"tuple({ast.unparse(made.elt)} if {name} is not None else None for {name} in {ast.unparse(each.iter)})"


def _all_returned(trace: Trace, at: Site, node: ast.AST | None) -> tuple[Edit, ...]:
    """The same at the end of a module's hook."""
    here, new = Source(trace, at.path), _of_each(node)
    statement = here.file.statement(at)
    plain = statement is not None and _is_last(here, statement)
    return here.replace(statement, f"return {new}") if new and plain and statement is not None else ()


def _named_in_between(trace: Trace, site: Site) -> bool:
    """Whether the statement there gives the result a name, and more of the function follows."""
    here = Source(trace, site.path)
    statement = here.file.statement(site)
    return isinstance(statement, ast.Assign) and not _is_last(here, statement)


def _returns(node: ast.AST | None) -> str:
    name = ast.unparse(node.targets[0]) if isinstance(node, ast.Assign) else ""
    return f"return it at the end of the hook: `return {name}`"


def _new_value(text: str) -> str:
    """What a statement writes into the gradient, as a value: `grad * 2` for `grad *= 2`."""
    value = (
        text.partition("=")[2].strip()
        if text.partition("=")[1] and "(" not in text.partition("=")[0]
        else text
    )
    for sign in ("+", "-", "*", "/"):
        left, found, right = text.partition(f" {sign}= ")
        if found:
            value = f"{left} {sign} {right}"
    return value.replace("_(", "(")


def _at(hook: Site | None, node: ast.AST | None) -> Site | None:
    """The place of a statement of the hook."""
    if hook is None or not isinstance(node, (ast.expr, ast.stmt)):
        return None
    end, end_column = node.end_lineno or node.lineno, (node.end_col_offset or 0) + 1
    return Site(-1, hook.path, node.lineno, node.col_offset + 1, end, end_column, hook.function, hook.kind)


def _returned(trace: Trace, site: Site, node: ast.AST) -> tuple[Edit, ...]:
    """`return grad.mul(0.5)` at the end of a function; `grad.mul(0.5)` in a lambda."""
    here = Source(trace, site.path)
    found = here.file.at(site) or here.file.statement(site)
    statement = here.file.statement(site)
    if (
        isinstance(found, ast.Call)
        and isinstance(found.func, ast.Attribute)
        and found.func.attr.endswith("_")
    ):
        _, _, line, end = here.file.span(found.func)
        renamed = (Edit(site.path, line, end - 1, line, end, ""),)
        if isinstance(here.file.parent.get(id(found)), ast.Lambda):
            return renamed
        last = isinstance(statement, ast.Expr) and statement.value is found and _is_last(here, statement)
        return (*here.insert(found, "return "), *renamed) if last else ()
    if isinstance(statement, ast.Assign) and not _is_last(here, statement):
        function = here.file.parent.get(id(statement))
        while function is not None and not isinstance(function, ast.FunctionDef):
            function = here.file.parent.get(id(function))
        name = here.file.text(statement.targets[0])
        return here.after(function.body[-1], f"return {name}") if function is not None else ()
    if statement is None or not _is_last(here, statement):
        return ()
    if isinstance(statement, ast.Expr):
        return here.insert(statement.value, "return ")
    if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
        return here.replace(statement, f"return {here.file.text(statement.value)}")
    if isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name):
        value = ast.BinOp(statement.target, statement.op, statement.value)
        return here.replace(statement, f"return {ast.unparse(value)}")
    return ()


def _is_last(here: Source, statement: ast.stmt) -> bool:
    """Whether a function ends with it."""
    above = here.file.parent.get(id(statement))
    return isinstance(above, ast.FunctionDef) and above.body[-1] is statement
