"""The mechanical fixes that are one change of one call, by the sites of a finding.

Each gives no edits where the source is not plain enough for it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.analysis.made import layer_made
from gradscope.events import Scaler
from gradscope.fixes.source import Binds, Edits, Source, of_torch
from gradscope.fixes.statements import beside
from gradscope.model import Edit, Op, Site
from gradscope.source import method_name, names_in
from gradscope.store import Trace

BEHIND_AN_ORDER = {"norm", "normalize", "vector_norm"}  # take the order of the norm first, then the axis


def assigned_back(trace: Trace, site: Site | None) -> Edits:
    """`x.detach()` as a statement: `x = x.detach()`."""
    node = call_at(trace, site)
    if site is None or node is None or not isinstance(node.func, ast.Attribute):
        return ()
    here, target = Source(trace, site.path), node.func.value
    named = isinstance(target, (ast.Name, ast.Attribute, ast.Subscript))
    alone = isinstance(here.file.parent.get(id(node)), ast.Expr)
    return here.insert(node, f"{here.file.text(target)} = ") if named and alone else ()


def without_argument(trace: Trace, site: Site | None, name: str) -> Edits:
    """The call at `site` without this keyword."""
    node = call_at(trace, site)
    keyword = next((k for k in node.keywords if k.arg == name), None) if node is not None else None
    if site is None or node is None or keyword is None:
        return ()
    return Source(trace, site.path).without_keyword(node, keyword)


def with_argument(trace: Trace, site: Site | None, name: str, value: str, position: int = -1) -> Edits:
    """The call at `site` with `name=value`, in the place of what it gives for that now."""
    node = call_at(trace, site)
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
    node = call_at(trace, site)
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
    node = call_at(trace, made)
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
    node = call_at(trace, site)
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
    position = (name in BEHIND_AN_ORDER) + int(file.is_imported(node.func))
    return with_argument(trace, site, "dim", str(dim), position)


def renamed(trace: Trace, site: Site | None, old: str, new: str) -> Edits:
    """`module.old(…)` or `x.old(…)` at `site` as a call of `new`; only of a function of torch's that
    is named by its module, or of a method, so that `new` is known there too."""
    node = call_at(trace, site)
    if site is None or node is None or not isinstance(node.func, ast.Attribute) or node.func.attr != old:
        return ()
    here = Source(trace, site.path)
    if not of_torch(trace, here.file, node.func):
        return ()
    _, _, line, end = here.file.span(node.func)
    return (Edit(site.path, line, end - len(old), line, end, new),)


def receiver_in_place_of(trace: Trace, site: Site | None, method: str) -> Edits:
    """`x` for the call `x.item()` at `site`, or `model` for `model.forward` in `model.forward(x)`."""
    node = call_at(trace, site)
    if site is None or node is None or not isinstance(node.func, ast.Attribute) or node.func.attr != method:
        return ()
    here, target = Source(trace, site.path), node.func.value
    above = here.file.parent.get(id(node))
    same = isinstance(above, ast.Assign) and [ast.unparse(t) for t in above.targets] == [ast.unparse(target)]
    if isinstance(above, ast.stmt) and (same or isinstance(above, ast.Expr)) and method != "forward":
        return here.remove(above)
    return here.replace(node.func if method == "forward" else node, here.file.text(target))


def call_at(trace: Trace, site: Site | None) -> ast.Call | None:
    """The call that stands at `site`; None where something else does."""
    node = trace.source_file(site.path).at(site) if site is not None else None
    return node if isinstance(node, ast.Call) else None


def receiver_replaced(trace: Trace, site: Site | None, method: str, name: str, made: Site | None) -> Edits:
    """`opt.zero_grad()` for the call `model.zero_grad()` at `site`, where `opt`, made at `made`, is known."""
    node = call_at(trace, site)
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
    node = call_at(trace, site)
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
    node = call_at(trace, site)
    known = optimizer.replace(".", "").isidentifier() and beside(trace, scaled, site)
    if node is None or not known or ast.unparse(node) != f"{optimizer}.step()":
        return ()
    here = Source(trace, site.path)
    updated = any(event.call == "update" for event in trace.of(Scaler))
    update = () if updated else here.after(here.file.statement(site), f"{scaler}.update()")
    return here.replace(node, f"{scaler}.step({optimizer})") + update


def in_place_of(trace: Trace, site: Site | None, old: str, new: str) -> Edits:
    """`f(new.parameters())` for `f(old.parameters())` at `site`, where `old` stands there once and `new` is known
    in the same block before."""
    node = call_at(trace, site)
    here = Source(trace, site.path) if site is not None else None
    found = [n for n in ast.walk(node) if isinstance(n, ast.Name) and n.id == old] if node is not None else []
    if here is None or node is None or len(found) != 1:
        return ()
    return here.replace(found[0], new) if new in names_in(here.before_line(node), ast.Store) else ()


def taken_out(trace: Trace, site: Site, reader: Site) -> Edits:
    """`x` for `torch.f(x, …)` or `x.f(…)` at `site`, where nothing but the call at `reader` gets the
    result: as its argument, or by a variable that is read there alone."""
    node, here = call_at(trace, site), Source(trace, site.path)
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
    node, here = call_at(trace, site), Source(trace, site.path)
    if node is None or not isinstance(node.func, ast.Attribute) or node.keywords:
        return ()
    imported = here.file.is_imported(node.func)
    if len(node.args) != int(imported) or isinstance(here.file.parent.get(id(node)), ast.Expr):
        return ()
    value = node.args[0] if imported else node.func.value
    return here.replace(node, here.file.text(value)) if not isinstance(value, ast.Starred) else ()


def call_around_taken(trace: Trace, site: Site | None) -> Edits:
    """`x` for `torch.f(x)` at `site`, as edits that leave the text of `x` to others."""
    node = call_at(trace, site)
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
    """`x.squeeze(1)` for the argument `x` of the call at `site`, or for one side of `x - y` there; `(1 - x).squeeze(1)`
    for what needs its parentheses."""
    here = Source(trace, site.path)
    node = here.file.at(site)
    parts = node.args if isinstance(node, ast.Call) else []
    if isinstance(node, ast.BinOp):
        parts = [node.left, node.right]
    found = [p for p in parts if " ".join(here.file.text(p).split()) == text]
    return here.behind(found[0], method) if len(found) == 1 else ()


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
    node = call_at(trace, site)
    if site is None or node is None or not isinstance(node.func, ast.Attribute) or node.keywords:
        return "", None
    imported = Source(trace, site.path).file.is_imported(node.func)
    given = node.args[0] if imported and len(node.args) == 1 else node.func.value
    plain = bool(node.args) == imported and not isinstance(given, ast.Starred)
    return node.func.attr, given if plain else None


def copied(trace: Trace, site: Site | None) -> Edits:
    """A copy in place of shared memory: `x.numpy().copy()`, `torch.tensor(array)` for `torch.from_numpy(array)`."""
    node = call_at(trace, site)
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
