"""The mechanical fixes that are one change of one call or statement, by the sites of a finding.

Each gives no edits where the source is not plain enough for it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence

from gradscope.analysis.made import layer_made
from gradscope.analysis.text import site_of
from gradscope.events import Scaler
from gradscope.fixes.source import Binds, Edits, Source, has_long_text, of_torch
from gradscope.model import Edit, Op, Site
from gradscope.source import LOOPS, PRIMARIES, SourceFile, method_name, names_in
from gradscope.store import Trace

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


def line_before(trace: Trace, site: Site | None, text: str) -> Edits:
    """The statement `text` on a line of its own before the one at `site`."""
    return (here := Source(trace, site.path)).before(here.file.statement(site), text) if site else ()


def line_after(trace: Trace, site: Site | None, text: str) -> Edits:
    """The statement `text` on a line of its own after the one at `site`."""
    return (here := Source(trace, site.path)).after(here.file.statement(site), text) if site else ()


def beside(trace: Trace, site: Site | None, other: Site | None) -> bool:
    """Whether both stand in the same function, so that the names of one are known at the other."""
    if site is None or other is None or site.path != other.path:
        return False
    file = trace.source_file(site.path)
    scopes = [[node for node in file.around(s) if isinstance(node, _SCOPES)][:1] for s in (site, other)]
    return file.tree is not None and scopes[0] == scopes[1]


def under_no_grad(trace: Trace, site: Site | None) -> Edits:
    """The statement at `site`, which gives names their values, under `with torch.no_grad():`."""
    if site is None:
        return ()
    here = Source(trace, site.path)
    statement = here.file.statement(site)
    plain = isinstance(statement, (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Expr))
    return here.under(statement, "with torch.no_grad():") if plain and "torch" in here.file.imported else ()


def moved(
    trace: Trace, site: Site | None, target: Site | None, *, after: bool = False, conditional: bool = False
) -> Edits:
    """The call at `site`, which is a statement, to the line right before or after that of `target`; a
    `conditional` one with the `if` around it.

    Not where a loop stands around one of them alone: it would run more often, or less."""
    if site is None or target is None or not beside(trace, site, target):
        return ()
    here = Source(trace, site.path)
    statement, to = here.file.statement(site), here.file.statement(target)
    if not isinstance(statement, ast.Expr) or to is None or not _as_often(here, statement, to):
        return ()
    whole = _with_condition(here, statement, to) if conditional else statement
    if whole is not statement:
        to = next((near for near in here.file.siblings(whole) if _holds(near, to)), to)
    return here.move(whole, to, after=after, lines=conditional)


def _with_condition(here: Source, statement: ast.stmt, to: ast.stmt) -> ast.stmt:
    """The `if` around a statement that is all it decides on, where `to` stands outside of it."""
    above = here.file.parent.get(id(statement))
    while (
        isinstance(above, ast.If) and above.body == [statement] and not above.orelse and not _holds(above, to)
    ):
        statement, above = above, here.file.parent.get(id(above))
    return statement


def taken_away(trace: Trace, site: Site) -> Edits:
    """Takes the call at `site` out, where it is a statement."""
    here = Source(trace, site.path)
    statement = here.file.statement(site)
    return here.remove(statement) if isinstance(statement, ast.Expr) else ()


def moved_behind(trace: Trace, site: Site | None, target: Site | None) -> Edits:
    """The call at `site`, which is a statement, behind that of `target`, and behind the loop or
    condition that `target` stands in and `site` does not; with the `if` around it where `target` stands outside."""
    if site is None or target is None or not beside(trace, site, target):
        return ()
    here = Source(trace, site.path)
    statement, to = here.file.statement(site), here.file.statement(target)
    if not isinstance(statement, ast.Expr) or to is None:
        return ()
    around = next((s for s in here.file.siblings(statement) if _holds(s, to)), None)
    if around is None:
        whole = _with_condition(here, statement, to)
        around = next((s for s in here.file.siblings(whole) if _holds(s, to)), None)
        once = around is not None and not isinstance(around, LOOPS)
        return here.move(whole, around, after=True, lines=True) if around is not None and once else ()
    test = condition_within(here, to, around) if isinstance(around, LOOPS) else ""
    if test:
        removed = here.remove(statement)
        return (
            (*removed, *here.rows_after(around, [(0, f"if {test}:"), (1, here.text_of(statement))]))
            if removed
            else ()
        )
    return here.move(statement, around, after=True)


def condition_within(here: Source, statement: ast.stmt, around: ast.stmt) -> str:
    """The condition under which a statement within another one runs, where it is the same throughout that: none of its
    names is given a value in it. "" where there is none."""
    given = names_in(around, ast.Store)
    above, inner = here.file.parent.get(id(statement)), statement
    while above is not None and inner is not around:
        if isinstance(above, ast.If) and inner in above.body:
            names = {part.id for part in ast.walk(above.test) if isinstance(part, ast.Name)}
            if names and not names & given:
                return here.file.text(above.test)
        if isinstance(above, ast.stmt):
            inner = above
        above = here.file.parent.get(id(above))
    return ""


def behind_their_loop(trace: Trace, sites: list[Site], around: int = 2) -> tuple[int, Edits]:
    """The calls at `sites`, which are statements of one loop, behind that loop, where so many, with itself, stand
    around them: the line of the loop, and the edits."""
    here = Source(trace, sites[0].path)
    loops = []
    for node in here.file.around(sites[0]):
        if isinstance(node, _SCOPES):
            break
        if isinstance(node, LOOPS):
            loops.append(node)
    statements = sorted(
        (s for site in sites if (s := here.file.statement(site)) is not None), key=lambda s: s.lineno
    )
    if len(loops) < around or not all(s in loops[0].body and isinstance(s, ast.Expr) for s in statements):
        return 0, ()
    loop = loops[0]
    if loop.body[-len(statements) :] == statements and len(loop.body) > len(statements) and not loop.orelse:
        return loop.lineno, out_of(here, statements, loop)
    if loop.body[-1] in statements:
        return loop.lineno, ()
    return loop.lineno, tuple(e for s in statements for e in here.move(s, loop, after=True))


def out_of(here: Source, last: Sequence[ast.stmt], block: ast.stmt) -> Edits:
    """The last statements of a block's body behind the block: as far to the left as it stands."""
    if any(has_long_text(s) for s in last):
        return ()
    more = last[0].col_offset - block.col_offset
    return tuple(Edit(here.path, n, 1, n, 1 + more, "") for n in _lines(last))


def _lines(statements: Iterable[ast.stmt]) -> list[int]:
    return [n for s in statements for n in range(s.lineno, (s.end_lineno or s.lineno) + 1)]


def into_the_loop(trace: Trace, loop: ast.stmt, last: Site) -> Edits:
    """The calls that follow a loop, up to that at `last`, at the end of its body."""
    here = Source(trace, last.path)
    end = here.file.statement(last)
    after = [s for s in here.file.siblings(loop) if s.lineno > (loop.end_lineno or loop.lineno)]
    if end not in after or not isinstance(loop, LOOPS) or loop.orelse:
        return ()
    moved = after[: after.index(end) + 1]
    if not all(isinstance(s, ast.Expr) and not has_long_text(s) for s in moved):
        return ()
    indent = here.file.lines[loop.body[0].lineno - 1][loop.col_offset : loop.body[0].col_offset]
    return tuple(Edit(here.path, n, 1, n, 1, indent) for n in _lines(moved))


def _holds(statement: ast.stmt, other: ast.stmt) -> bool:
    return any(node is other for node in ast.walk(statement))


def _as_often(here: Source, statement: ast.stmt, to: ast.stmt) -> bool:
    """Whether the same loops stand around both."""
    loops: list[list[int]] = []
    for node in (statement, to):
        found: list[int] = []
        above: ast.AST | None = here.file.parent.get(id(node))
        while above is not None and not isinstance(above, _SCOPES):
            found += [id(above)] if isinstance(above, LOOPS) else []
            above = here.file.parent.get(id(above))
        loops.append(found)
    return loops[0] == loops[1]


def assigned_back(trace: Trace, site: Site | None) -> Edits:
    """`x.detach()` as a statement: `x = x.detach()`."""
    node = _call(trace, site)
    if site is None or node is None or not isinstance(node.func, ast.Attribute):
        return ()
    here, target = Source(trace, site.path), node.func.value
    named = isinstance(target, (ast.Name, ast.Attribute, ast.Subscript))
    alone = isinstance(here.file.parent.get(id(node)), ast.Expr)
    return here.insert(node, f"{here.file.text(target)} = ") if named and alone else ()


def without_argument(trace: Trace, site: Site | None, name: str) -> Edits:
    """The call at `site` without this keyword."""
    node = _call(trace, site)
    keyword = next((k for k in node.keywords if k.arg == name), None) if node is not None else None
    if site is None or node is None or keyword is None:
        return ()
    return Source(trace, site.path).without_keyword(node, keyword)


def with_argument(trace: Trace, site: Site | None, name: str, value: str, position: int = -1) -> Edits:
    """The call at `site` with `name=value`, in the place of what it gives for that now."""
    node = _call(trace, site)
    if site is None or node is None:
        return ()
    here = Source(trace, site.path)
    given = [k.value for k in node.keywords if k.arg == name] + node.args[position : position + 1]
    if any(isinstance(a, ast.Starred) for a in node.args) or any(k.arg is None for k in node.keywords):
        return ()
    if (position >= 0 and given) or any(k.arg == name for k in node.keywords):
        return here.replace(given[0], value)
    arguments: list[ast.expr] = [*node.args, *(k.value for k in node.keywords)]
    if not arguments:
        return here.replace(node, f"{here.file.text(node.func)}({name}={value})")
    if isinstance(arguments[0], ast.GeneratorExp):
        return ()
    last = max(arguments, key=lambda a: (a.end_lineno or 0, a.end_col_offset or 0))
    return here.append(last, f", {name}={value}")


def argument_as(trace: Trace, site: Site | None, name: str, position: int, form: str) -> Edits:
    """What the call at `site` is given as its argument `name`, or in that place, as `form` says: "({} + 1) / 2"."""
    node = _call(trace, site)
    if site is None or node is None:
        return ()
    given = [k.value for k in node.keywords if k.arg == name] + node.args[position : position + 1]
    if not given or any(isinstance(a, ast.Starred) for a in node.args[: position + 1]):
        return ()
    here = Source(trace, site.path)
    return here.replace(given[0], form.format(here.part(given[0])))


def first_argument(trace: Trace, call: Site | None, reader: Site) -> str:
    """The text of the first argument of the call at `call` where it means the same at `reader`: both stand in one
    function, or in methods of one class and it begins with `self`; else ""."""
    made = call.user if call is not None else None
    node = _call(trace, made)
    if made is None or node is None or not node.args or isinstance(node.args[0], ast.Starred):
        return ""
    file = trace.source_file(made.path)
    text = " ".join(file.text(node.args[0]).split())
    classes = [{id(n) for n in file.around(s) if isinstance(n, ast.ClassDef)} for s in (made, reader)]
    one_class = made.path == reader.path and bool(classes[0] & classes[1])
    of_self = text.startswith("self.") and in_method(trace, made) and in_method(trace, reader)
    return text if (one_class and of_self) or beside(trace, made, reader) else ""


def along(trace: Trace, site: Site | None, name: str, dim: int) -> Edits:
    """`torch.f(x, dim=…)`, `x.f(…)` or `nn.F(…)` at `site` along another axis."""
    node = _call(trace, site)
    if site is None or node is None or not isinstance(node.func, ast.Attribute):
        return ()
    if node.func.attr in ("Softmax", "LogSoftmax") and node.func.attr.lower() == name.replace("_", ""):
        made = with_argument(trace, site, "dim", str(dim), 0)
        return made if node.args or node.keywords else ()
    if node.func.attr != name:
        return ()
    file = Source(trace, site.path).file
    if not of_torch(trace, file, node.func):
        return ()
    return with_argument(trace, site, "dim", str(dim), int(file.is_imported(node.func)))


def renamed(trace: Trace, site: Site | None, old: str, new: str) -> Edits:
    """`module.old(…)` or `x.old(…)` at `site` as a call of `new`; only of a function of torch's that
    is named by its module, or of a method, so that `new` is known there too."""
    node = _call(trace, site)
    if site is None or node is None or not isinstance(node.func, ast.Attribute) or node.func.attr != old:
        return ()
    here = Source(trace, site.path)
    if not of_torch(trace, here.file, node.func):
        return ()
    _, _, line, end = here.file.span(node.func)
    return (Edit(site.path, line, end - len(old), line, end, new),)


def receiver_in_place_of(trace: Trace, site: Site | None, method: str) -> Edits:
    """`x` for the call `x.item()` at `site`, or `model` for `model.forward` in `model.forward(x)`."""
    node = _call(trace, site)
    if site is None or node is None or not isinstance(node.func, ast.Attribute) or node.func.attr != method:
        return ()
    here, target = Source(trace, site.path), node.func.value
    above = here.file.parent.get(id(node))
    same = isinstance(above, ast.Assign) and [ast.unparse(t) for t in above.targets] == [ast.unparse(target)]
    if isinstance(above, ast.stmt) and (same or isinstance(above, ast.Expr)) and method != "forward":
        return here.remove(above)
    return here.replace(node.func if method == "forward" else node, here.file.text(target))


def _call(trace: Trace, site: Site | None) -> ast.Call | None:
    node = trace.source_file(site.path).at(site) if site is not None else None
    return node if isinstance(node, ast.Call) else None


def receiver_replaced(trace: Trace, site: Site | None, method: str, name: str, made: Site | None) -> Edits:
    """`opt.zero_grad()` for the call `model.zero_grad()` at `site`, where `opt`, made at `made`, is known."""
    node = _call(trace, site)
    if site is None or node is None or not isinstance(node.func, ast.Attribute) or node.func.attr != method:
        return ()
    known = name.isidentifier() and beside(trace, site, made)
    return Source(trace, site.path).replace(node.func.value, name) if known else ()


def without_inference(trace: Trace, site: Site) -> Edits:
    """`with torch.no_grad():` in place of the `with torch.inference_mode():` that opens at `site`."""
    here = Source(trace, site.path)
    statement = here.file.statement(site)
    for item in statement.items if isinstance(statement, ast.With) else ():
        call = item.context_expr
        if isinstance(call, ast.Call) and ast.unparse(call) == "torch.inference_mode()":
            return here.replace(call, "torch.no_grad()")
    return ()


def result_kept(trace: Trace, near: Site, name: str, methods: tuple[str, ...]) -> Edits:
    """`x = x.to(…)` for the statement `x.to(…)` in the function of `near`, if there is one of `methods`."""
    here = Source(trace, near.path)
    for node in ast.walk(here.file.scope(near)):
        call = node.value if isinstance(node, ast.Expr) else None
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr in methods:
            if ast.unparse(call.func.value) == name:
                return here.insert(call, f"{name} = ")
    return ()


def in_method(trace: Trace, site: Site) -> bool:
    """Whether `self` is known there."""
    for node in trace.source_file(site.path).around(site):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            return any(argument.arg == "self" for argument in node.args.args[:1])
    return False


def assigned_value(trace: Trace, site: Site | None, target: str) -> str:
    """The text of what the statement at `site` assigns to `target`; "…" where it is another statement."""
    here = Source(trace, site.path) if site is not None else None
    value = _assigned(here, site, target) if here is not None and site is not None else None
    return " ".join(here.file.text(value).split()) if here is not None and value is not None else "…"


def wrapped_value(trace: Trace, site: Site | None, target: str, wrapper: str) -> Edits:
    """`target = wrapper(value)` for `target = value` at `site`, and the same for the lists within a list, also
    for those that are appended to it; `wrapper` begins with `nn`."""
    if site is None:
        return ()
    here = Source(trace, site.path)
    value = _assigned(here, site, target)
    prefix = "" if "nn" in here.file.imported else "torch." if "torch" in here.file.imported else None
    if value is None or prefix is None or (wrapper == "nn.ModuleDict" and not _by_text(value)):
        return ()
    within = (*_lists_in(value), *_lists_appended(here, target)) if wrapper == "nn.ModuleList" else ()
    edits = here.around(value, f"{prefix}{wrapper}(", ")")
    return edits + tuple(edit for one in within for edit in here.around(one, f"{prefix}{wrapper}(", ")"))


def _lists_in(value: ast.expr) -> Iterator[ast.expr]:
    """The lists that a list has for its elements."""
    elements = value.elts if isinstance(value, (ast.List, ast.Tuple)) else ()
    if isinstance(value, (ast.ListComp, ast.GeneratorExp)):
        elements = [value.elt]
    for element in elements:
        if isinstance(element, (ast.List, ast.Tuple, ast.ListComp)):
            yield element
            yield from _lists_in(element)


def _lists_appended(here: Source, target: str) -> Iterator[ast.expr]:
    """The lists that are appended to `target`."""
    for node in here.file.nodes:
        if isinstance(node, ast.Call) and method_name(node) == "append" and len(node.args) == 1:
            if ast.unparse(node.func) == f"{target}.append" and isinstance(
                node.args[0], (ast.List, ast.ListComp)
            ):
                yield node.args[0]
                yield from _lists_in(node.args[0])


def _assigned(here: Source, site: Site, target: str) -> ast.expr | None:
    statement = here.file.statement(site)
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    if isinstance(statement, ast.AnnAssign):
        targets = [statement.target]
    if len(targets) != 1 or ast.unparse(targets[0]) != target:
        return None
    return statement.value if isinstance(statement, (ast.Assign, ast.AnnAssign)) else None


def _by_text(value: ast.expr) -> bool:
    """Whether every key of a dict is a text: `nn.ModuleDict` takes no other."""
    keys = value.keys if isinstance(value, ast.Dict) else [None]
    return all(isinstance(key, ast.Constant) and isinstance(key.value, str) for key in keys)


def scaled_by(trace: Trace, site: Site | None, step: Site, scaler: str) -> Edits:
    """`scaler.scale(loss).backward()` for `loss.backward()` at `site`."""
    node = _call(trace, site)
    if (
        site is None
        or node is None
        or not isinstance(node.func, ast.Attribute)
        or node.func.attr != "backward"
    ):
        return ()
    here, loss = Source(trace, site.path), node.func.value
    if not beside(trace, site, step) or here.file.is_imported(loss):
        return ()
    return here.replace(loss, f"{scaler}.scale({here.part(loss, Binds.WHOLE)})")


def stepped_by(trace: Trace, scaled: Site, site: Site, scaler: str, optimizer: str) -> Edits:
    """`scaler.step(opt)` and, where nothing calls it, `scaler.update()` for `opt.step()` at `site`."""
    node = _call(trace, site)
    known = optimizer.replace(".", "").isidentifier() and beside(trace, scaled, site)
    if node is None or not known or ast.unparse(node) != f"{optimizer}.step()":
        return ()
    here = Source(trace, site.path)
    updated = any(event.call == "update" for event in trace.of(Scaler))
    update = () if updated else here.after(here.file.statement(site), f"{scaler}.update()")
    return here.replace(node, f"{scaler}.step({optimizer})") + update


def listed_once(trace: Trace, site: Site) -> tuple[str, str, Edits]:
    """For the first argument of the call at `site`, a variable: its name, what it is made of in the
    same function, and the edits that make that a list."""
    node = _call(trace, site)
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


def in_place_of(trace: Trace, site: Site | None, old: str, new: str) -> Edits:
    """`f(new.parameters())` for `f(old.parameters())` at `site`, where `old` stands there once and `new` is known
    in the same block before."""
    node = _call(trace, site)
    here = Source(trace, site.path) if site is not None else None
    found = [n for n in ast.walk(node) if isinstance(n, ast.Name) and n.id == old] if node is not None else []
    if here is None or node is None or len(found) != 1:
        return ()
    return here.replace(found[0], new) if new in names_in(here.before_line(node), ast.Store) else ()


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
    call = _call(trace, made.user) if made is not None else None
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


def taken_out(trace: Trace, site: Site, reader: Site) -> Edits:
    """`x` for `torch.f(x, …)` or `x.f(…)` at `site`, where nothing but the call at `reader` gets the
    result: as its argument, or by a variable that is read there alone."""
    node, here = _call(trace, site), Source(trace, site.path)
    call = here.file.at(reader) if beside(trace, site, reader) else None
    if node is None or not isinstance(node.func, ast.Attribute) or not isinstance(call, ast.Call):
        return ()
    imported = here.file.is_imported(node.func)
    value = node.func.value if not imported else node.args[0] if node.args else None
    name = here.file.variable(site)
    above = here.file.parent.get(id(node))
    if isinstance(above, ast.Assign) and name:
        scope = here.file.scope(site)
        reads = [
            n
            for n in ast.walk(scope)
            if isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Load)
        ]
        alone = len(reads) == 1 and any(reads[0] in ast.walk(given) for given in call.args)
    else:
        alone = node in call.args
    plain = alone and value is not None and not isinstance(value, ast.Starred)
    return here.replace(node, here.file.text(value)) if plain and value is not None else ()


def unwrapped(trace: Trace, site: Site) -> Edits:
    """`x` for `torch.f(x)` or `x.f()` at `site`, which gives a name or a caller its value."""
    node, here = _call(trace, site), Source(trace, site.path)
    if node is None or not isinstance(node.func, ast.Attribute) or node.keywords:
        return ()
    imported = here.file.is_imported(node.func)
    if len(node.args) != int(imported) or isinstance(here.file.parent.get(id(node)), ast.Expr):
        return ()
    value = node.args[0] if imported else node.func.value
    return here.replace(node, here.file.text(value)) if not isinstance(value, ast.Starred) else ()


def call_around_taken(trace: Trace, site: Site | None) -> Edits:
    """`x` for `torch.f(x)` at `site`, as edits that leave the text of `x` to others."""
    node = _call(trace, site)
    if site is None or node is None or node.keywords or len(node.args) != 1:
        return ()
    here = Source(trace, site.path)
    if isinstance(node.args[0], ast.Starred) or not here.file.is_imported(node.func):
        return ()
    whole, inner = here.file.span(node), here.file.span(node.args[0])
    return (Edit(site.path, *whole[:2], *inner[:2], ""), Edit(site.path, *inner[2:], *whole[2:], ""))


def without_last_layer(trace: Trace, op: Op) -> Edits:
    """Takes the module that computes `op` out of the `nn.Sequential(…)` whose last layer it is: the others keep their
    names."""
    module = trace.modules.get(op.module) if op.module is not None else None
    made = layer_made(trace, module) if module is not None else None
    if made is None:
        return ()
    path, call = made
    here = Source(trace, path)
    above = here.file.parent.get(id(call))
    if not isinstance(above, ast.Call) or len(above.args) < 2 or above.args[-1] is not call or above.keywords:
        return ()
    _, _, line, column = here.file.span(above.args[-2])
    _, _, last, end = here.file.span(call)
    return (Edit(path, line, column, last, end, ""),)


def method_added(trace: Trace, site: Site, text: str, method: str) -> Edits:
    """`x.squeeze(1)` for the argument `x` of the call at `site`, or for one side of `x - y` there."""
    here = Source(trace, site.path)
    node = here.file.at(site)
    parts = node.args if isinstance(node, ast.Call) else []
    if isinstance(node, ast.BinOp):
        parts = [node.left, node.right]
    found = [p for p in parts if " ".join(here.file.text(p).split()) == text]
    return here.behind(found[0], method) if len(found) == 1 and isinstance(found[0], PRIMARIES) else ()


def _is_torch(function: ast.Attribute) -> bool:
    return ast.unparse(function).startswith("torch.")


def kept_positive(trace: Trace, site: Site | None) -> Edits:
    """`x.clamp(min=1e-8)` for the argument of the logarithm at `site`, `x + 1e-8` for that of the root there, which may
    be a power."""
    if site is None:
        return ()
    here = Source(trace, site.path)
    power = here.file.at(site)
    if isinstance(power, ast.BinOp) and isinstance(power.op, ast.Pow):
        return here.replace(power.left, f"({here.part(power.left, Binds.SUM)} + 1e-8)")
    name, given = _only_argument(trace, site)
    if given is None:
        return ()
    if name in ("log", "log2", "log10"):
        return here.replace(given, f"{here.part(given)}.clamp(min=1e-8)")
    if name == "sqrt":
        return here.replace(given, f"{here.part(given, Binds.SUM)} + 1e-8")
    return ()


def kept_inside(trace: Trace, site: Site | None, *bounds: str) -> Edits:
    """`x.clamp(low, high)` for the only argument of the call at `site`; of one bound it is "min=0"."""
    _, given = _only_argument(trace, site)
    if site is None or given is None:
        return ()
    here = Source(trace, site.path)
    return here.replace(given, f"{here.part(given)}.clamp({', '.join(bounds)})")


def _only_argument(trace: Trace, site: Site | None) -> tuple[str, ast.expr | None]:
    """What is called at `site`, a function of torch (`torch.log(x)`) or a method (`x.log()`), and x; None where it
    has more arguments."""
    node = _call(trace, site)
    if site is None or node is None or not isinstance(node.func, ast.Attribute) or node.keywords:
        return "", None
    imported = Source(trace, site.path).file.is_imported(node.func)
    given = node.args[0] if imported and len(node.args) == 1 else node.func.value
    plain = bool(node.args) == imported and not isinstance(given, ast.Starred)
    return node.func.attr, given if plain else None


def copied(trace: Trace, site: Site | None) -> Edits:
    """A copy in place of shared memory: `x.numpy().copy()`, `torch.tensor(array)` for `torch.from_numpy(array)`."""
    node = _call(trace, site)
    if site is None or node is None or not isinstance(node.func, ast.Attribute):
        return ()
    if node.func.attr in ("numpy", "asarray", "from_dlpack"):
        return Source(trace, site.path).append(node, ".clone()" if _is_torch(node.func) else ".copy()")
    if node.func.attr in ("untyped_storage", "storage"):
        return Source(trace, site.path).append(node, ".clone()")
    return renamed(trace, site, "from_numpy", "tensor")


def factor_moved(trace: Trace, product: Site, weighed: Site, term: Site, added: Site) -> tuple[str, Edits]:
    """`f` of `f * x` at `product`, where x was made at `weighed`, and the edits that give it to another term in its
    place: the other side of the sum at `added`, or the expression at `term`."""
    here = Source(trace, product.path)
    node = here.file.at(product)
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Mult) or weighed.path != product.path:
        return "", ()
    names = here.file.variable(weighed), here.file.at(weighed)
    kept = next((side for side in (node.left, node.right) if side is names[1] or _is(side, names[0])), None)
    if kept is None:
        return "", ()
    factor = node.left if kept is node.right else node.right
    text = here.file.text(factor)
    other = here.file.at(term) if (term.path, term.function) == (product.path, product.function) else None
    total = here.file.at(added) if added.path == product.path else None
    if isinstance(total, ast.BinOp) and isinstance(total.op, ast.Add) and node in (total.left, total.right):
        other = total.right if node is total.left else total.left
    if not isinstance(other, ast.expr) or "\n" in text:
        return text, ()
    left = here.part(factor, Binds.PRODUCT)
    new = f"{left} * {here.part(other, Binds.SIGN)}"
    return text, here.replace(other, new) + here.replace(node, here.file.text(kept))


def _is(node: ast.expr, name: str | None) -> bool:
    return isinstance(node, ast.Name) and node.id == name
