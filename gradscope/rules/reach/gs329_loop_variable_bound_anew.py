"""A loop over parameters gives its own variable another value: no parameter is written.

Why: `p` in `for p in model.parameters()` is a name for one tensor after the other. `p = …` gives that name to another
tensor and leaves the parameter as it was; in the next turn the name is taken again, so that the line does nothing.
A copy of weights, a moving average, a cast or an initialisation that is written like that never happens.

Fix: write into the tensor: `with torch.no_grad(): p.copy_(…)`; for a cast or another device `model.to(…)`.

Measured: the function ran, and no operation at this line wrote into a tensor.
Silent on: a value that is read further on in the loop or behind it, updates by gradients (GS212), loops over other
things, calls that may write by themselves.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.analysis.ops import CASTS
from gradscope.analysis.text import nodes_of_functions, own_nodes, site_of
from gradscope.analysis.words import located
from gradscope.events import Backward
from gradscope.fixes.source import Edits, Source
from gradscope.model import Finding
from gradscope.rules import rule
from gradscope.source import LOOPS, SCOPES, SourceFile, called_name, names_in
from gradscope.store import Trace

GIVE_PARAMETERS = {"parameters", "named_parameters", "buffers", "named_buffers", "state_dict"}
PLAIN = CASTS | {
    "detach",
    "clone",
    "contiguous",
    "mul",
    "add",
    "sub",
    "div",
    "lerp",
    "clamp",
    "sign",
    "pow",
    "mean",
}
RESOLVED = 2  # assignments that a name is followed through
DEEP = 2  # calls between a function that was seen and the loop


def bad() -> None:
    import torch
    from torch import nn

    model, average = nn.Linear(4, 2), nn.Linear(4, 2)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)

    def average_them() -> None:
        for p, q in zip(model.state_dict().values(), average.state_dict().values(), strict=True):
            q = 0.9 * q + 0.1 * p  # cause: GS329

    average_them()
    for _ in range(4):
        x = torch.randn(8, 4)
        with torch.no_grad():
            target = 0.9 * average(x)
        opt.zero_grad()
        (model(x) - target - 1).pow(2).mean().backward()
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    model, average = nn.Linear(4, 2), nn.Linear(4, 2)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)

    @torch.no_grad()
    def follow() -> None:
        for p, q in zip(model.parameters(), average.parameters(), strict=True):
            q.copy_(0.9 * q + 0.1 * p)

    follow()
    for _ in range(4):
        x = torch.randn(8, 4)
        with torch.no_grad():
            target = 0.9 * average(x)
        opt.zero_grad()
        (model(x) - target - 1).pow(2).mean().backward()
        opt.step()


@rule("GS329", name="loop-variable-bound-anew", severity="warning", over=("GS102",), needs=Backward)
def loop_variable_bound_anew(trace: Trace) -> Iterator[Finding]:
    lines = {site.location() for site in trace.sites if site.kind == "user"}
    writing = {
        frame.location()
        for graph in trace.graphs
        for op in graph.ops
        if op.writes
        for frame in op.site.stack
        if frame.kind == "user"
    }
    for path, function, loop in nodes_of_functions(trace, ast.For):
        file = trace.source_file(path)
        if not _ran(file, path, loop, lines, DEEP):
            continue
        for statement in _lost(file, loop):
            if (path, statement.lineno) not in writing:
                yield _finding(trace, path, function, loop, statement)


def _ran(file: SourceFile, path: str, node: ast.AST, lines: set[tuple[str, int]], deep: int) -> bool:
    """Whether the function around a node was seen to run, or a function that was calls it or makes its object."""
    function = file.function_of(node)
    if function is None or any(
        (path, n) in lines for n in range(function.lineno, (function.end_lineno or 0) + 1)
    ):
        return True
    owner = file.parent.get(id(function))
    name = owner.name if isinstance(owner, ast.ClassDef) and function.name == "__init__" else function.name
    return any(_ran(file, path, call, lines, deep - 1) for call in (file.calls.get(name, ()) if deep else ()))


def _lost(file: SourceFile, loop: ast.For) -> Iterator[ast.Assign]:
    """The statements in a loop over parameters that give one of its variables a value which nothing reads."""
    targets = names_in(loop.target, ast.Store)
    if not _over_parameters(file, loop.iter, RESOLVED):
        return
    scope = file.scope_of(loop)
    for statement in _statements(loop.body):
        if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
            continue
        target, value = statement.targets[0], statement.value
        if not isinstance(target, ast.Name) or target.id not in targets or not _plain(file, value):
            continue
        if names_in(value, ast.Load) & targets or isinstance(value, ast.Call):
            if scope is not None and not _read_after(scope, loop, statement, target.id):
                yield statement


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Those of a block and of the branches in it, but of no loop."""
    for statement in body:
        yield statement
        if isinstance(statement, (ast.If, ast.With)):
            yield from _statements([*statement.body, *getattr(statement, "orelse", ())])


def _over_parameters(file: SourceFile, node: ast.expr, deep: int) -> bool:
    """Whether an expression gives parameters or buffers of a module: its text says so, or that of its names."""
    if any(called_name(part) in GIVE_PARAMETERS for part in ast.walk(node)):
        return True
    for part in ast.walk(node) if deep else ():
        if not isinstance(part, (ast.Name, ast.Attribute)) or not isinstance(part.ctx, ast.Load):
            continue
        given = file.assigned.get(ast.unparse(part), ())
        if given and all(_over_parameters(file, one, deep - 1) for one in given):
            return True
    return False


def _plain(file: SourceFile, value: ast.expr) -> bool:
    """Whether working it out changes nothing by itself, and no gradient takes part in it."""
    for node in ast.walk(value):
        if isinstance(node, ast.Call):
            name = called_name(node)
            of_torch = isinstance(node.func, ast.Attribute) and file.is_imported(node.func)
            made = of_torch or name == "Parameter"
            if (
                name.endswith("_")
                or any(k.arg == "out" for k in node.keywords)
                or not (made or name in PLAIN)
            ):
                return False
        elif isinstance(node, ast.Attribute) and node.attr == "grad":
            return False
        elif isinstance(node, (ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom, ast.Subscript)):
            return False
    return True


def _read_after(scope: ast.AST, loop: ast.For, statement: ast.Assign, name: str) -> bool:
    """Whether anything may read the variable after the statement, before it is bound by the loop again."""
    last = (statement.end_lineno or statement.lineno, statement.end_col_offset or 0)
    inside = {id(node) for node in ast.walk(loop)}
    # `p.requires_grad = True` reads nothing of the new tensor: it ends with the turn all the same.
    flagged = {
        id(node.value)
        for node in ast.walk(loop)
        if isinstance(node, ast.Attribute)
        and node.attr == "requires_grad"
        and isinstance(node.ctx, ast.Store)
    }
    for node in ast.walk(scope):
        if isinstance(node, (ast.Global, ast.Nonlocal)) and name in node.names:
            return True
        if not isinstance(node, ast.Name) or node.id != name or not isinstance(node.ctx, ast.Load):
            continue
        if id(node) in inside:
            if (node.lineno, node.col_offset) >= last and id(node) not in flagged:
                return True
        elif not _bound_by_another(scope, node, name):
            return True
    # a function made in the loop may be called later
    return any(isinstance(node, SCOPES) and name in names_in(node) for node in ast.walk(loop))


def _bound_by_another(scope: ast.AST, node: ast.Name, name: str) -> bool:
    """Whether a name outside of the loop is that of another loop, a comprehension, or of a function's own."""
    for above in [scope, *own_nodes(scope)]:
        if (
            isinstance(above, LOOPS)
            and isinstance(above, ast.For)
            and name in names_in(above.target, ast.Store)
        ):
            if any(part is node for statement in above.body for part in ast.walk(statement)):
                return True
        if isinstance(above, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
            bound = {n for one in above.generators for n in names_in(one.target, ast.Store)}
            if name in bound and any(part is node for part in ast.walk(above)):
                return True
    return any(
        isinstance(above, SCOPES)
        and above is not scope
        and (
            name in {a.arg for a in ast.walk(above.args) if isinstance(a, ast.arg)}
            or name in names_in(above, ast.Store)
        )
        and any(part is node for part in ast.walk(above))
        for above in ast.walk(scope)
    )


def _finding(trace: Trace, path: str, function: str, loop: ast.For, statement: ast.Assign) -> Finding:
    here = Source(trace, path)
    name, value = ast.unparse(statement.targets[0]), here.file.text(statement.value)
    site = site_of(path, function, statement)
    cast = called_name(statement.value) in CASTS
    over = here.file.text(loop.iter)
    return Finding(
        message=f"`{name} = {value}` only gives the loop's variable another value: nothing is written into the tensors"
        f" that `{over}` gives",
        cause=site,
        cause_label=f"`{name}` is a name here, and the loop binds it anew before anything reads it",
        related=((site_of(path, function, loop.iter), "what the loop goes over"),),
        seen=(f"no operation of the run wrote into a tensor at line {statement.lineno}",),
        fix=f"call `.to(…)` or its like on the module itself in place of {located(trace, site)}"
        if cast
        else f"write into the tensor in place of {located(trace, site)}: `with torch.no_grad(): {name}.copy_({value})`",
        edits=() if cast else _written(here, statement, name, value),
        count=1,
        subjects=frozenset({("name", *site.location())}),
    )


def _written(here: Source, statement: ast.Assign, name: str, value: str) -> Edits:
    indent = " " * statement.col_offset
    if "torch" not in here.file.imported or statement.lineno != statement.end_lineno:
        return ()
    return here.replace(statement, f"with torch.no_grad():\n{indent}    {name}.copy_({value})")
