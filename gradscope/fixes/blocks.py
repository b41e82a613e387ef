"""The mechanical fixes that take more than one change of one call: blocks, loops, optimizers made anew.

Like those of `calls.py`, each gives no edits where the source is not plain enough for it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from gradscope.analysis.words import source
from gradscope.fixes.source import TRAINING, Binds, Edits, Source
from gradscope.fixes.statements import beside
from gradscope.model import Edit, Optimizer, Parameter, Site
from gradscope.source import LOOPS, called_name, method_name, names_in
from gradscope.store import Trace


def rest_without_grad(trace: Trace, site: Site, *, in_place_of_it: bool = False) -> Edits:
    """`with torch.no_grad():` around the statement at `site` and those behind it that use what it
    computes; or in place of that statement, around the rest of its block."""
    here = Source(trace, site.path)
    first = here.file.statement(site)
    if first is None or "torch" not in here.file.imported:
        return ()
    siblings = here.file.siblings(first)
    rest = siblings[siblings.index(first) :] if first in siblings else []
    block = rest[1:] if in_place_of_it else _using(rest)
    if not block or any(_trains(here, node) for statement in block for node in ast.walk(statement)):
        return ()
    if not in_place_of_it:
        return here.together_under(block, "with torch.no_grad():")
    if not here.alone(first):
        return ()
    indented = here.together_under(block, "")
    return (*here.replace(first, "with torch.no_grad():"), *indented) if indented else ()


def _using(rest: list[ast.stmt]) -> list[ast.stmt]:
    """The first of these statements, up to the last that reads what it, or one that reads it, assigns."""
    names: set[str] = set()
    last = 0
    for place, statement in enumerate(rest):
        nodes = [node for node in ast.walk(statement) if isinstance(node, ast.Name)]
        if place == 0 or any(node.id in names for node in nodes):
            names |= {node.id for node in nodes if isinstance(node.ctx, ast.Store)}
            last = place
    return rest[: last + 1]


def _trains(here: Source, node: ast.AST) -> bool:
    """Whether this trains, or calls a function of the file that does, or stops in the middle."""
    if isinstance(node, (ast.Yield, ast.YieldFrom)):
        return True
    if not isinstance(node, ast.Call):
        return False
    name = called_name(node)
    if name in TRAINING:
        return True
    return any(
        isinstance(other, (ast.FunctionDef, ast.AsyncFunctionDef))
        and other.name == name
        and any(isinstance(n, ast.Attribute) and n.attr in TRAINING for n in ast.walk(other))
        for other in here.file.nodes
    )


def made_later(trace: Trace, made: Site | None, user: Site | None, replaced: Iterable[Site | None]) -> Edits:
    """The statement at `made` to the line before the loop around `user`: what it is made of was
    `replaced` on lines between them."""
    if made is None or user is None or not beside(trace, made, user):
        return ()
    here = Source(trace, made.path)
    statement, to = here.file.statement(made), here.file.outermost_loop(user)
    if not isinstance(statement, ast.Assign) or to is None or len(statement.targets) != 1:
        return ()
    last = statement.end_lineno or statement.lineno
    ran = [next(iter(site.frames_in(made)), site.user) for site in replaced if site is not None]
    lines = [site.line for site in ran if site.path == made.path]
    name = ast.unparse(statement.targets[0])
    between = [s for s in here.file.siblings(statement) if last < s.lineno < to.lineno]
    used = any(ast.unparse(n) == name for s in between for n in ast.walk(s) if isinstance(n, ast.expr))
    new = all(last < line < to.lineno for line in lines) if lines else False
    rebound = names_in(statement.value, ast.Load) & {n for s in between for n in names_in(s, ast.Store)}
    if used or not (new or rebound) or to not in here.file.siblings(statement):
        return ()
    return here.move(statement, to)


def made_of_all(trace: Trace, optimizer: Optimizer, backward: Site | None, left: list[Parameter]) -> Edits:
    """The optimizer made anew of the same model, where that has got the parameters `left` since."""
    made = optimizer.site.user if optimizer.site else None
    root = trace.modules[trace.modules[left[0].module or 0].root].variable
    known = bool(root) and f"({root}.parameters()" in source(trace, made)
    if not known:
        return ()
    return made_later(trace, made, backward, [p.site for p in left]) or _made_where_used(trace, made, root)


def _made_where_used(trace: Trace, made: Site | None, root: str) -> Edits:
    """The statement at `made` to the line before the first that names what it makes, where `root` is handled
    in between."""
    here = Source(trace, made.path) if made is not None else None
    statement = here.file.statement(made) if here is not None and made is not None else None
    if (
        here is None
        or not isinstance(statement, ast.Assign)
        or not isinstance(statement.targets[0], ast.Name)
    ):
        return ()
    name, later = statement.targets[0].id, here.file.siblings(statement)
    later = [s for s in later if s.lineno > statement.lineno]
    to = next((s for s in later if name in names_in(s, ast.Load)), None)
    between = [s for s in later if to is not None and s.lineno < to.lineno]
    if to is None or not any(root in names_in(s, ast.Load) for s in between):
        return ()
    rebound = names_in(statement.value, ast.Load) & {n for s in between for n in names_in(s, ast.Store)}
    return here.move(statement, to) if not rebound else ()


def moved_out(trace: Trace, site: Site | None, kind: type[ast.Expr | ast.Assign] = ast.Expr) -> Edits:
    """The call at `site`, a statement (or the assignment of what it gives), to the line before the loop that it stands
    in, where all that it reads is known there."""
    here = Source(trace, site.path) if site is not None else None
    statement = here.file.statement(site) if here is not None and site is not None else None
    loop = here.file.parent.get(id(statement)) if here is not None else None
    if here is None or not isinstance(statement, kind) or not isinstance(loop, LOOPS):
        return ()
    if names_in(loop, ast.Store) & names_in(statement.value, ast.Load):
        return ()
    return here.move(statement, loop)


def only_trained(trace: Trace, made: Site | None, froze: Site | None, group: int | None) -> Edits:
    """`[p for p in net.parameters() if p.requires_grad]` for `net.parameters()` where an optimizer is
    made, behind the line that froze some."""
    if made is None or froze is None or froze.line > made.line or not beside(trace, made, froze):
        return ()
    here = Source(trace, made.path)
    call = here.file.at(made)
    given = call.args[0] if isinstance(call, ast.Call) and call.args else None
    if group is not None and isinstance(given, ast.List) and group < len(given.elts):
        one = given.elts[group]
        pairs = zip(one.keys, one.values, strict=True) if isinstance(one, ast.Dict) else ()
        given = next((v for k, v in pairs if isinstance(k, ast.Constant) and k.value == "params"), None)
    method = given.func if isinstance(given, ast.Call) and not given.args else None
    if given is None or not isinstance(method, ast.Attribute) or method.attr != "parameters":
        return ()
    return here.around(given, "[p for p in ", " if p.requires_grad]", Binds.OR)


def divided(trace: Trace, site: Site, by: str) -> tuple[str, Edits]:
    """`(loss / k).backward()` for `loss.backward()` at `site`, and `scaler.scale(loss / k)` for a scaled one:
    the text of the call, and the edits. `by` is what stands behind the loss: " / k"."""
    here = Source(trace, site.path)
    call = here.file.at(site)
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        return "", ()
    value = call.func.value
    if method_name(value) == "scale" and isinstance(value, ast.Call) and len(value.args) == 1:
        edits = here.around(value.args[0], "", by, Binds.PRODUCT)
    else:
        edits = here.around(value, "(", f"{by})", Binds.PRODUCT)
    return " ".join(here.text_after(call, edits).split()), edits


def buffers_copied(trace: Trace, write: Site | None) -> tuple[str, Edits]:
    """A loop over `buffers()` behind the one over `parameters()` in which `write` averages them: its text, and the
    edits."""
    here = Source(trace, write.path) if write is not None else None
    node = here.file.at(write) if here is not None and write is not None else None
    loop = here.file.statement(write) if here is not None and write is not None else None
    while here is not None and loop is not None and not isinstance(loop, ast.For):
        above = here.file.parent.get(id(loop))
        loop = above if isinstance(above, ast.stmt) else None
    if here is None or not isinstance(loop, ast.For) or not isinstance(loop.target, ast.Tuple):
        return "", ()
    names = [ast.unparse(target) for target in loop.target.elts]
    while isinstance(node, (ast.Call, ast.Attribute)):
        node = node.func if isinstance(node, ast.Call) else node.value
    written = node.id if isinstance(node, ast.Name) else ""
    text = here.file.text(loop.iter)
    if len(names) != 2 or written not in names or text.count(".parameters()") != 2 or "\n" in text:
        return "", ()
    other = names[1 - names.index(written)]
    header = f"for {', '.join(names)} in {text.replace('.parameters()', '.buffers()')}:"
    copies = f"{written}.copy_({other})"
    return f"{header} {copies}", here.after(loop, header, copies)


def spectral_norm_renewed(trace: Trace, path: str) -> Edits:
    """`nn.utils.parametrizations.spectral_norm` for each `nn.utils.spectral_norm` of a file."""
    here = Source(trace, path)
    edits: list[Edit] = []
    for node in here.file.nodes:
        if isinstance(node, ast.Attribute):
            if here.file.imported_name(node) == "torch.nn.utils.spectral_norm":
                edits += here.append(node.value, ".parametrizations")
        elif isinstance(node, ast.ImportFrom) and node.module == "torch.nn.utils":
            names = [alias.name for alias in node.names]
            if names == ["spectral_norm"]:
                line = here.file.text(node).replace("torch.nn.utils", "torch.nn.utils.parametrizations")
                edits += here.replace(node, line)
            elif "spectral_norm" in names:
                return ()
    return tuple(edits)


def switched_off(trace: Trace, site: Site) -> Edits:
    """`… = False` for `… = True` at `site`."""
    here = Source(trace, site.path)
    statement = here.file.statement(site)
    value = statement.value if isinstance(statement, ast.Assign) else None
    return here.replace(value, "False") if isinstance(value, ast.Constant) and value.value is True else ()


def detached_before(trace: Trace, site: Site, names: list[str]) -> Edits:
    """`h = h.detach()` on the line before `site`, or `h, c = h.detach(), c.detach()`, where these are tensors from the
    start: nothing else than the result of a call is assigned to them."""
    here = Source(trace, site.path)
    statement, scope = here.file.statement(site), here.file.scope(site)
    for name in names:
        values = [
            node.value
            for node in ast.walk(scope)
            if isinstance(node, ast.Assign) and [ast.unparse(target) for target in node.targets] == [name]
        ]
        if not (name.isidentifier() and values and all(isinstance(value, ast.Call) for value in values)):
            return ()
    detached = ", ".join(f"{name}.detach()" for name in names)
    return here.before(statement, f"{', '.join(names)} = {detached}")


def written_in_place(trace: Trace, site: Site) -> tuple[str, Edits]:
    """`p -= lr * p.grad` for `p = p - lr * p.grad`, else `p.copy_(…)`: the text, and the edits where gradients are off
    there."""
    here = Source(trace, site.path)
    statement = here.file.statement(site)
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return "", ()
    target, value = statement.targets[0], statement.value
    sign = {ast.Add: "+", ast.Sub: "-"}.get(type(value.op)) if isinstance(value, ast.BinOp) else None
    if not isinstance(target, ast.Name) or target.id not in names_in(value, ast.Load):
        return "", ()
    if isinstance(value, ast.BinOp) and sign is not None and ast.unparse(value.left) == target.id:
        text = f"{target.id} {sign}= {here.part(value.right, Binds.TUPLE)}"
    else:
        text = f"{target.id}.copy_({here.part(value, Binds.WHOLE)})"
    off = False
    for node in here.file.around(site):
        if isinstance(node, (ast.With, ast.AsyncWith)):
            off = off or any("no_grad" in ast.unparse(item.context_expr) for item in node.items)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            off = off or any("no_grad" in ast.unparse(one) for one in node.decorator_list)
            break
    return " ".join(text.split()), here.replace(statement, text) if off else ()


def without_training(trace: Trace, loop: ast.stmt, sites: list[Site]) -> Edits:
    """A loop under `torch.no_grad()`, without the statements at these sites, which clear gradients, compute them or
    step."""
    here = Source(trace, sites[0].path)
    statements = [here.file.statement(site) for site in sites]
    if "torch" not in here.file.imported or not all(isinstance(one, ast.Expr) for one in statements):
        return ()
    indented = here.under(loop, "with torch.no_grad():")
    removed = [edit for one in statements for edit in here.remove(one)]
    gone = {edit.line for edit in removed}
    return (*(edit for edit in indented if edit.line not in gone), *removed) if indented and removed else ()
