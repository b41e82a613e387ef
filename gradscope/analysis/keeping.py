"""Which line of the program's text puts a loss into a list: what a run records is only that it was kept."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator

from gradscope.analysis.memo import once
from gradscope.analysis.text import nodes_of_program, own_nodes
from gradscope.model import Site
from gradscope.source import SourceFile, Span, called_name, method_name
from gradscope.store import Trace


def stored_at(trace: Trace, made: Site, but: Collection[tuple[str, int]] = ()) -> Site | None:
    """The one line that puts the losses of `made` into a list, where its function or a caller has one; `but` those of
    which it is known what they keep."""
    found: dict[tuple[str, int], Site] = {}
    callee = ""
    for frame in reversed(list(made.stack)):  # innermost first
        if frame.kind != "user":
            continue
        name = frame.function.rpartition(".")[2]
        statement = trace.source_file(frame.path).statement(frame)
        call = statement.value if isinstance(statement, ast.Expr) else None
        passing = method_name(call) == "backward"  # the loss was first seen there
        if not callee and not passing and isinstance(statement, (ast.Expr, ast.AugAssign)):
            kept = _keeps(trace, frame, statement.value if isinstance(statement, ast.Expr) else statement)
            if kept is not None or isinstance(statement, ast.Expr):
                return kept  # `total += loss` makes a value that another line may keep
        own = assigned(statement)
        for span in _appends(trace.source_file(frame.path), frame, name, callee, own, keepers(trace)):
            found[frame.path, span[0]] = Site(-1, frame.path, *span, frame.function, "user")
        if found:
            left = [site for place, site in found.items() if place not in but]
            return left[0] if len(left) == 1 else None
        callee = name
    return None


def _keeps(trace: Trace, frame: Site, node: ast.expr | ast.AugAssign) -> Site | None:
    """The statement that makes the value, where it puts it into a list as well."""
    if not kept_by_append(node):
        return None
    return Site(-1, frame.path, *trace.source_file(frame.path).span(node), frame.function, "user")


def _appends(
    file: SourceFile, frame: Site, function: str, callee: str, own: frozenset[str], keeping: Keepers
) -> tuple[Span, ...]:
    """Spans of every `….append(loss)` in `function`, for a `loss` that is one of `own`, or that it
    backwards or gets from `callee`, and of those to a list whose elements it backwards; else of the
    calls that give it to one of `keeping`."""
    scopes: list[ast.AST] = [file.tree] if function == "<module>" and file.tree is not None else []
    scopes += [
        n
        for n in file.nodes
        if isinstance(n, ast.FunctionDef)
        and n.name == function
        and n.lineno <= frame.line <= (n.end_lineno or 0)
    ]
    losses = own or frozenset(name for scope in scopes for name in _losses(scope, callee))
    entries = frozenset(text for scope in scopes for text in _entries_with_a_pass(scope))
    lists = frozenset(name for scope in scopes for name in lists_with_a_pass(scope))
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
        if isinstance(node, ast.Call) and method_name(node) == "backward":
            yield getattr(getattr(node.func, "value", None), "id", "")
        elif isinstance(node, ast.Assign) and _calls(node.value, callee):
            yield from assigned(node)


def _entries_with_a_pass(scope: ast.AST) -> Iterator[str]:
    """The text of a loss that has no name of its own: `out["loss"]` in `out["loss"].backward()`."""
    for node in own_nodes(scope):
        if isinstance(node, ast.Call) and method_name(node) == "backward":
            held = getattr(node.func, "value", None)
            if isinstance(held, (ast.Subscript, ast.Attribute)):
                yield ast.unparse(held)


def assigned(statement: ast.AST | None) -> frozenset[str]:
    """The names that a statement gives a value: `loss`, or `loss, parts`."""
    targets = [statement.target] if isinstance(statement, ast.AugAssign) else []
    return frozenset(
        name.id
        for target in (statement.targets if isinstance(statement, ast.Assign) else targets)
        for name in (target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target])
        if isinstance(name, ast.Name)
    )


def _calls(node: ast.AST, callee: str) -> bool:
    if not callee or not isinstance(node, ast.Call):
        return False
    return callee in (method_name(node), getattr(node.func, "id", None))


def lists_with_a_pass(scope: ast.AST) -> Iterator[str]:
    """The names in `losses[-1].backward()`."""
    for node in own_nodes(scope):
        if isinstance(node, ast.Call) and method_name(node) == "backward":
            held = getattr(node.func, "value", None)
            entry = isinstance(held, ast.Subscript)
            while isinstance(held, ast.Subscript):
                held = held.value
            if entry and isinstance(held, ast.Name):
                yield held.id


Keepers = frozenset[tuple[str, int | str]]  # (function, position or name of the argument; "**" for any other)


@once
def keepers(trace: Trace) -> Keepers:
    """The arguments that the program's functions put into a list as they are."""
    nodes = list(nodes_of_program(trace))
    methods = {id(f) for c in nodes if isinstance(c, ast.ClassDef) for f in c.body if not _static(f)}
    found: set[tuple[str, int | str]] = set()
    for function in (node for node in nodes if isinstance(node, ast.FunctionDef)):
        found |= _kept(function, bound=id(function) in methods)
    return frozenset(found)


def _static(node: ast.AST) -> bool:
    return any(getattr(d, "id", "") == "staticmethod" for d in getattr(node, "decorator_list", ()))


def _kept(function: ast.FunctionDef, *, bound: bool) -> set[tuple[str, int | str]]:
    names = [arg.arg for arg in function.args.args[bound:]]
    only = [arg.arg for arg in function.args.kwonlyargs]
    others = function.args.kwarg.arg if function.args.kwarg is not None else None
    nodes = list(own_nodes(function))
    held = {getattr(k, "id", "") for n in nodes for k in kept_by_append(n)}
    held |= {of for name, of in _items(nodes) if name in held}
    found: set[tuple[str, int | str]] = set()
    for i, name in enumerate(names):
        found |= {(function.name, i), (function.name, name)} if name in held else set()
    found |= {(function.name, name) for name in only if name in held}
    return found | ({(function.name, "**")} if others in held else set())


def _items(nodes: list[ast.AST]) -> Iterator[tuple[str, str]]:
    """(value, dictionary) of every `for key, value in dictionary.items()`."""
    for node in nodes:
        if (
            isinstance(node, ast.For)
            and isinstance(node.target, ast.Tuple)
            and isinstance(node.iter, ast.Call)
        ):
            function, value = node.iter.func, node.target.elts[-1]
            if isinstance(function, ast.Attribute) and function.attr == "items":
                yield getattr(value, "id", ""), getattr(function.value, "id", "")


def kept_by_append(node: ast.AST) -> list[ast.expr]:
    """What `….append(x)`, `….append((step, x))` or `… += [x]` puts into a list."""
    if isinstance(node, ast.AugAssign):
        return node.value.elts if isinstance(node.value, ast.List) else []
    if not isinstance(node, ast.Call):
        return []
    if not isinstance(node.func, ast.Attribute) or node.func.attr != "append" or len(node.args) != 1:
        return []
    return _parts(node.args[0])


def given_to(node: ast.AST, keepers: Keepers) -> list[ast.expr]:
    """What a call gives to a function that keeps it."""
    if not isinstance(node, ast.Call):
        return []
    name = called_name(node)
    given = [arg for i, arg in enumerate(node.args) if (name, i) in keepers]
    given += [k.value for k in node.keywords if (name, k.arg or "**") in keepers or (name, "**") in keepers]
    return [part for arg in given for part in _parts(arg)]


def _parts(node: ast.expr) -> list[ast.expr]:
    if isinstance(node, (ast.Tuple, ast.List)):
        return node.elts
    return node.values if isinstance(node, ast.Dict) else [node]
