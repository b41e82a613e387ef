"""Which line of the program's text puts a loss into a list."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

from gradscope.model import Edit, Site
from gradscope.rules._common import located
from gradscope.rules._edits import number_of
from gradscope.rules._keepers import Keepers, given_to, keepers, kept_by_append, method, own_nodes
from gradscope.source import SourceFile, Span
from gradscope.store import Trace


def stored_at(trace: Trace, made: Site) -> Site | None:
    """The one line that puts the losses of `made` into a list, where its function or a caller has one."""
    found: dict[tuple[str, int], Site] = {}
    callee = ""
    for frame in reversed(list(made.stack)):  # innermost first
        if frame.kind != "user":
            continue
        name = frame.function.rpartition(".")[2]
        statement = trace.source_file(frame.path).statement(frame)
        call = statement.value if isinstance(statement, ast.Expr) else None
        passing = isinstance(call, ast.Call) and method(call) == "backward"  # the loss was first seen there
        if not callee and not passing and isinstance(statement, (ast.Expr, ast.AugAssign)):
            return _keeps(trace, frame, statement.value if isinstance(statement, ast.Expr) else statement)
        own = assigned(statement)
        for span in _appends(trace.source_file(frame.path), name, callee, own, keepers(trace)):
            found[frame.path, span[0]] = Site(-1, frame.path, *span, frame.function, "user")
        if found:
            return next(iter(found.values())) if len(found) == 1 else None
        callee = name
    return None


def _keeps(trace: Trace, frame: Site, node: ast.expr | ast.AugAssign) -> Site | None:
    """The statement that makes the value, where it puts it into a list as well."""
    if not kept_by_append(node):
        return None
    return Site(-1, frame.path, *trace.source_file(frame.path).span(node), frame.function, "user")


def _appends(
    file: SourceFile, function: str, callee: str, own: frozenset[str], keeping: Keepers
) -> tuple[Span, ...]:
    """Spans of every `….append(loss)` in `function`, for a `loss` that is one of `own`, or that it
    backwards or gets from `callee`, and of those to a list whose elements it backwards; else of the
    calls that give it to one of `keeping`."""
    tree = file.tree or ast.Module([], [])
    scopes: list[ast.AST] = [tree] if function == "<module>" else []
    scopes += [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef) and n.name == function]
    losses = own or frozenset(name for scope in scopes for name in _losses(scope, callee))
    entries = frozenset(text for scope in scopes for text in _backwarded_entries(scope))
    lists = frozenset(name for scope in scopes for name in _backwarded_lists(scope))
    here: list[Span] = []
    handed: list[Span] = []
    for node in (node for scope in scopes for node in own_nodes(scope)):
        if not isinstance(node, (ast.Call, ast.AugAssign)):
            continue
        kept = kept_by_append(node)
        holder = node.target if isinstance(node, ast.AugAssign) else getattr(node.func, "value", None)
        whole = bool(kept) and getattr(holder, "id", "") in lists
        for part, spans in ((kept, here), (given_to(node, keeping), handed)):
            if (whole and spans is here) or any(
                getattr(k, "id", None) in losses or _calls(k, callee) or ast.unparse(k) in entries
                for k in part
            ):
                spans.append(file.span(node))
    return tuple(dict.fromkeys(here or handed))


def _losses(scope: ast.AST, callee: str) -> Iterator[str]:
    for node in own_nodes(scope):
        if isinstance(node, ast.Call) and method(node) == "backward":
            yield getattr(getattr(node.func, "value", None), "id", "")
        elif isinstance(node, ast.Assign) and _calls(node.value, callee):
            yield from assigned(node)


def _backwarded_entries(scope: ast.AST) -> Iterator[str]:
    """The text of a loss that has no name of its own: `out["loss"]` in `out["loss"].backward()`."""
    for node in own_nodes(scope):
        if isinstance(node, ast.Call) and method(node) == "backward":
            held = getattr(node.func, "value", None)
            if isinstance(held, (ast.Subscript, ast.Attribute)):
                yield ast.unparse(held)


def assigned(statement: ast.AST | None) -> frozenset[str]:
    """The names that a statement gives a value: `loss`, or `loss, parts`."""
    return frozenset(
        name.id
        for target in (statement.targets if isinstance(statement, ast.Assign) else ())
        for name in (target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target])
        if isinstance(name, ast.Name)
    )


def _calls(node: ast.AST, callee: str) -> bool:
    if not callee or not isinstance(node, ast.Call):
        return False
    return callee in (method(node), getattr(node.func, "id", None))


def is_backwarded(trace: Trace, cause: Site) -> bool:
    """Whether the program's backward takes the loss from the very list that keeps it."""
    file = trace.source_file(cause.path)
    held = getattr(getattr(getattr(file.at(cause), "func", None), "value", None), "id", None)
    tree = file.tree or ast.Module([], [])
    scopes = [tree, *(node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))]
    return any(held == name for scope in scopes for name in _backwarded_lists(scope))


def _backwarded_lists(scope: ast.AST) -> Iterator[str]:
    """The names in `losses[-1].backward()`."""
    for node in own_nodes(scope):
        if isinstance(node, ast.Call) and method(node) == "backward":
            held = getattr(node.func, "value", None)
            if isinstance(held, ast.Subscript) and isinstance(held.value, ast.Name):
                yield held.value.id


def without_graph(
    trace: Trace, cause: Site, *, handed: bool = False, whole: bool = False
) -> tuple[str, tuple[Edit, ...]]:
    """The fix, and its edits, where there are any: the number in place of a loss; of `whole` tensors
    the values."""
    place = located(trace, cause, "this line")
    if is_backwarded(trace, cause):
        return (
            f"give the loss a name and call its `backward()`; keep only its number, with `.item()`, in {place}",
            (),
        )
    edits = tuple(number_of(trace, cause, handed=handed))
    if not edits:
        return f"keep the number, with `.item()`, in {place}", ()
    bare = [edit.text.removesuffix(".item()").removesuffix(".detach()") for edit in edits]
    kept = bare[0]
    if whole:
        values = tuple(replace(edit, text=f"{text}.detach()") for edit, text in zip(edits, bare, strict=True))
        return f"write `{kept}.detach()` in place of `{kept}` in {place}", values
    aside = f"or `{kept}.detach()` where it should stay on the device"
    return f"write `{kept}.item()` in place of `{kept}` in {place}, {aside}", edits
