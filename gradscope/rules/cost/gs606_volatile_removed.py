"""`volatile=True` does nothing any more: the graph is built and kept.

Why: until torch 0.3 a volatile input switched gradients off for everything computed from it.
Since 0.4 the argument is accepted and ignored, so evaluation written for it keeps the graph
of every forward.

Fix: run the code under `with torch.no_grad():` and pass plain tensors.

Silent on: `Variable(x)` without the argument, which is just `x`; constants and targets of a loss that a pass goes
back through.
"""

import ast
from collections.abc import Iterator
from functools import lru_cache

from gradscope.analysis.calls import Call, calls
from gradscope.analysis.reach import Key, paths
from gradscope.analysis.words import located, plural
from gradscope.fixes.blocks import rest_without_grad
from gradscope.fixes.calls import without_argument
from gradscope.fixes.source import Edits
from gradscope.model import Finding, Op, Site
from gradscope.rules import rule
from gradscope.source import Function, called_name
from gradscope.store import Trace


def bad() -> None:
    import torch
    from torch.autograd import Variable

    weight = torch.ones(3, requires_grad=True)
    x = Variable(torch.ones(3), volatile=True)  # cause: GS606
    y = weight * x
    print(y.requires_grad)


def good_no_grad() -> None:
    import torch
    from torch.autograd import Variable

    weight = torch.ones(3, requires_grad=True)
    with torch.no_grad():
        y = weight * Variable(torch.ones(3))
    assert not y.requires_grad


@rule("GS606", name="volatile-removed", severity="warning", over=("GS402",))
def volatile_removed(trace: Trace) -> Iterator[Finding]:
    for path, text in trace.sources.items():
        executed = {site.function.rpartition(".")[2] for site in trace.sites if site.path == path}
        lines: set[int] = set()
        for span, function in _volatile(text):
            if function not in executed or span[0] in lines:
                continue
            lines.add(span[0])
            line, column, end_line, end_column = span
            cause = Site(-1, path, line, column, end_line, end_column, function, "user")
            nodes, computed = _computed_from(trace, cause)
            if not computed.isdisjoint(paths(trace).roots):
                continue  # a target, or a constant, of what is trained: its graph is wanted
            yield Finding(
                message="`volatile=True` has no effect: the graph of what is computed from it is kept",
                cause=cause,
                cause_label="ignored since torch 0.4",
                seen=(f"what is computed from it built {plural(nodes, 'node')} of a graph",) if nodes else (),
                fix=f"take `volatile=True` out of {located(trace, cause)}, and put it with what is computed from it "
                "under `with torch.no_grad():`",
                edits=_edits(trace, cause),
                subjects=_evaluations(trace, computed),
            )
    yield from _decided_by_the_run(trace)


def _decided_by_the_run(trace: Trace) -> Iterator[Finding]:
    """The same where the argument is no `True` of the text: `volatile=not self.training`."""
    places = {op.site.user.span(): op for op in trace.ops if _was_volatile(op)}
    for op in places.values():
        cause = op.site.user
        written = {span[0] for span, _ in _volatile(trace.sources.get(cause.path, ""))}
        if any(frame.path == cause.path and frame.line in written for frame in op.site.stack):
            continue
        nodes, computed = _computed_from(trace, cause)
        given = next((call.entry for call in _given(trace, computed)), None)
        if not nodes or not computed.isdisjoint(paths(trace).roots):
            continue
        called = located(trace, given) if given is not None else "what is computed from it"
        yield Finding(
            message="`volatile` is true and has no effect: the graph of what is computed from it is kept",
            cause=cause,
            cause_label="ignored since torch 0.4",
            related=((given, "is given such a variable"),) if given is not None else (),
            seen=(f"what is computed from it built {plural(nodes, 'node')} of a graph",),
            fix=f"take `volatile` out of {located(trace, cause)}, and put {called} under `with torch.no_grad():`",
            subjects=_evaluations(trace, computed),
        )


def _was_volatile(op: Op) -> bool:
    return op.name == "Variable" and op.extra.get("volatile") is True


def _edits(trace: Trace, cause: Site) -> Edits:
    """The call without the argument, under `torch.no_grad()` with what is computed from it."""
    taken, under = without_argument(trace, cause, "volatile"), rest_without_grad(trace, cause)
    return taken + under if taken and under else ()


def _evaluations(trace: Trace, computed: set[Key]) -> frozenset[object]:
    """The module calls that were given what is computed from it, which GS402 would report for the
    same cause."""
    return frozenset(("call", call.entry.location()) for call in _given(trace, computed))


def _given(trace: Trace, computed: set[Key]) -> Iterator[Call]:
    for call in calls(trace).all:
        if any((call.event.graph, value) in computed for value in call.event.inputs):
            yield call


@lru_cache(maxsize=32)
def _volatile(text: str) -> list[tuple[tuple[int, int, int, int], str]]:
    """Every call in a file's text that asks for `volatile=True`, with the function it is in: of `Variable`,
    or of a helper that hands the argument on to it."""
    if "volatile" not in text:
        return []
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return []
    own = _own(tree)
    if "<module>" in own or not _has_torchs(tree):
        return []
    helpers = {
        node.name: [argument.arg for argument in node.args.args]
        for node in ast.walk(tree)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and _hands_on(node)
    }
    found: list[tuple[tuple[int, int, int, int], str]] = []
    todo: list[tuple[ast.AST, str]] = [(tree, "<module>")]
    while todo:
        node, function = todo.pop()
        if isinstance(node, ast.Call) and function not in own and _is_volatile(node, helpers):
            end = (node.end_lineno or node.lineno, (node.end_col_offset or node.col_offset) + 1)
            found.append(((node.lineno, node.col_offset + 1, *end), function))
        inside = node.name if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) else function
        todo += [(child, inside) for child in ast.iter_child_nodes(node)]
    return sorted(found)


def _own(tree: ast.Module) -> set[str]:
    """The functions, or the module, that define a `Variable` of their own."""
    found: set[str] = set()
    todo: list[tuple[ast.AST, str]] = [(tree, "<module>")]
    while todo:
        node, function = todo.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            if node.name == "Variable":
                found.add(function)
            function = node.name
        todo += [(child, function) for child in ast.iter_child_nodes(node)]
    return found


def _has_torchs(tree: ast.Module) -> bool:
    """Whether `Variable` may be torch's in a file: it is imported from torch, or by a star, or written out."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            of_torch = (node.module or "").partition(".")[0] == "torch" or [n.name for n in node.names] == [
                "*"
            ]
            if of_torch and any(n.name in ("Variable", "*") for n in node.names):
                return True
        elif isinstance(node, ast.Attribute) and ast.unparse(node).endswith("autograd.Variable"):
            return True
    return False


def _hands_on(function: Function) -> bool:
    """Whether a function gives its own argument `volatile` to `Variable`."""
    names = {argument.arg for argument in [*function.args.args, *function.args.kwonlyargs]}
    return "volatile" in names and any(
        isinstance(node, ast.Call) and called_name(node) == "Variable" and _asks(node, "volatile")
        for node in ast.walk(function)
    )


def _is_volatile(node: ast.Call, helpers: dict[str, list[str]]) -> bool:
    name = called_name(node)
    if name not in helpers:
        return name == "Variable" and _asks(node, True)
    by_position = helpers[name].index("volatile") if "volatile" in helpers[name] else len(node.args)
    if isinstance(node.func, ast.Attribute) and helpers[name][:1] in (["self"], ["cls"]):
        by_position -= 1
    given = node.args[by_position] if 0 <= by_position < len(node.args) else None
    return _asks(node, True) or (isinstance(given, ast.Constant) and given.value is True)


def _asks(node: ast.Call, wanted: object) -> bool:
    """Whether `volatile=` is given: True, or the name of a variable."""
    return any(
        k.arg == "volatile"
        and (
            k.value.value is wanted
            if isinstance(k.value, ast.Constant)
            else getattr(k.value, "id", 0) == wanted
        )
        for k in node.keywords
    )


def _computed_from(trace: Trace, cause: Site) -> tuple[int, set[Key]]:
    """(nodes of the graph, values) that the variable made here led to."""
    ops = {
        (op.graph, op.index): op
        for graph in trace.graphs
        for op in graph.ops
        if _was_volatile(op) and any(_within(frame, cause) for frame in op.site.stack)
    }
    todo = [(op.graph, output) for op in ops.values() for output in op.outputs]
    carried: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for graph in trace.graphs:
        for value in graph.values:
            if value.origin is not None:
                carried.setdefault(value.origin, []).append((graph.id, value.index))
    seen = set(todo)
    while todo:
        key = todo.pop()
        following = carried.get(key, [])
        for op in trace.graph(key[0]).consumers.get(key[1], ()):
            ops[op.graph, op.index] = op
            following = [*following, *((op.graph, made) for made in (*op.outputs, *op.written))]
        todo += [other for other in following if other not in seen]
        seen.update(following)
    return sum(len(op.nodes) for op in ops.values()), seen


def _within(frame: Site, cause: Site) -> bool:
    return frame.path == cause.path and cause.line <= frame.line <= cause.end_line
