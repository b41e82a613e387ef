"""The mechanical fixes of what a call is given as a list: the parameters of an optimizer, the layers of a container.

Each gives no edits where the source is not plain enough for it.
"""

from __future__ import annotations

import ast

from gradscope.analysis.text import site_of
from gradscope.fixes.calls import call_at
from gradscope.fixes.source import Edits, Source
from gradscope.model import Site
from gradscope.source import SourceFile, names_in
from gradscope.store import Trace


def listed_once(trace: Trace, site: Site) -> tuple[str, str, Edits]:
    """For the first argument of the call at `site`, a variable: its name, what it is made of in the
    same function, and the edits that make that a list."""
    node = call_at(trace, site)
    name = node.args[0].id if node is not None and node.args and isinstance(node.args[0], ast.Name) else ""
    here = Source(trace, site.path)
    made = [
        other.value
        for other in ast.walk(here.file.scope(site))
        if isinstance(other, ast.Assign) and [ast.unparse(t) for t in other.targets] == [name]
    ]
    if not name or len(made) != 1:
        return "", "", ()
    return name, here.file.text(made[0]), here.around(made[0], "list(", ")")


def also_given(
    trace: Trace, made: Site | None, missing: list[str], *, single: bool = False, instead: bool = False
) -> Edits:
    """`[*trunk.parameters(), *head.parameters()]` for `trunk.parameters()` where the optimizer is made;
    `[*trunk.parameters(), weight]` where what is missing are `single` parameters; `instead` of what stands there,
    one thing that is missing alone."""
    site = made.user if made is not None else None
    here = Source(trace, site.path) if site is not None else None
    node = here.file.at(site) if here is not None and site is not None else None
    if here is None or not isinstance(node, ast.Call) or not node.args:
        return ()
    given = _bound_once(here.file, node.args[0]) or node.args[0]
    names = names_in(here.before_line(node), ast.Store)
    if not all(name.replace(".", "").isidentifier() and name.partition(".")[0] in names for name in missing):
        return ()
    method = given.func if isinstance(given, ast.Call) and not given.args else None
    if not isinstance(method, ast.Attribute) or method.attr != "parameters":
        return () if instead else _added_to(here, given, missing, single)
    if instead:
        return here.replace(given, f"{missing[0]}.parameters()") if len(missing) == 1 else ()
    more = missing if single else [f"*{name}.parameters()" for name in missing]
    return here.replace(given, f"[{', '.join([f'*{here.file.text(given)}', *more])}]")


def list_given(trace: Trace, made: Site | None) -> Site | None:
    """The one line that makes the list which an optimizer is given by its name; None where it is given otherwise."""
    call = call_at(trace, made.user) if made is not None else None
    if made is None or call is None or not call.args:
        return None
    bound = _bound_once(trace.source_file(made.user.path), call.args[0])
    return site_of(made.user.path, made.user.function, bound) if bound is not None else None


def _bound_once(file: SourceFile, given: ast.expr) -> ast.expr | None:
    """What a name stands for that one statement of the file binds; None for anything else."""
    bound = file.assigned.get(given.id, ()) if isinstance(given, ast.Name) else ()
    return bound[0] if len(bound) == 1 else None


def _added_to(here: Source, given: ast.expr, missing: list[str], single: bool) -> Edits:
    """What is missing at the end of a list of groups or of parameters, or of a sum of lists."""
    if isinstance(given, ast.List) and given.elts:
        if all(isinstance(part, ast.Dict) for part in given.elts):
            groups = [
                f'{{"params": {f"[{name}]" if single else f"{name}.parameters()"}}}' for name in missing
            ]
        elif any(isinstance(part, ast.Starred) for part in given.elts):
            groups = missing if single else [f"*{name}.parameters()" for name in missing]
        else:
            return ()
        last = given.elts[-1]
        between = ", " if last.lineno == given.lineno else ",\n" + " " * last.col_offset
        return here.append(last, "".join(between + group for group in groups))
    if isinstance(given, ast.BinOp) and isinstance(given.op, ast.Add):
        lists = [f"[{name}]" if single else f"list({name}.parameters())" for name in missing]
        twice = _given_twice(here, given)
        if twice is not None and len(lists) == 1:
            return here.replace(twice, lists[0])
        return here.append(given, "".join(f" + {one}" for one in lists))
    return ()


def _given_twice(here: Source, given: ast.BinOp) -> ast.expr | None:
    """The right side of a sum of lists, where the same list is in it already."""
    texts, left = [], given.left
    while isinstance(left, ast.BinOp):
        texts.append(here.file.text(left.right))
        left = left.left
    return given.right if here.file.text(given.right) in [*texts, here.file.text(left)] else None
