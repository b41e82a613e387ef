"""What mends an in-place write to values that backward needs: a new tensor for the name, or a copy for
the call that saved them.

A copy of what is *written* mends nothing where the same statement reads it (`x[i] = f(x[i])`), and a
write to a copy is lost to everything that reads the memory later. A copy of what is *saved* is right
for every write: the memory holds what the program puts there, and backward has its own values.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from gradscope.analysis.made import layer_made
from gradscope.analysis.names import names_of, place
from gradscope.analysis.text import own_nodes
from gradscope.analysis.words import code, located, source
from gradscope.analysis.writes import before_writes, memory_root
from gradscope.events import ErrorRaised
from gradscope.fixes.own_copy import OwnCopy, own_copy
from gradscope.fixes.source import Edits, Source
from gradscope.model import GRADIENTS_OFF, Edit, Graph, Module, Op, Site, Value
from gradscope.source import called_name, method_name, names_in
from gradscope.store import Trace

# In-place methods with a twin that gives the same values in a new tensor.
_TWINS = set(
    "abs add addbmm addcdiv addcmul addmm addmv baddbmm ceil clamp clamp_max clamp_min clip cos cumprod cumsum div"
    " divide erf exp expm1 floor fmod index_add index_copy index_fill index_put lerp log log10 log1p log2"
    " masked_fill masked_scatter mul multiply nan_to_num neg negative pow reciprocal relu remainder renorm round"
    " rsqrt scatter scatter_add sigmoid sign sin sqrt square sub subtract tan tanh tril triu true_divide"
    " trunc".split()
)
# Which operand of a call its node keeps under a name.
_POSITIONS = {
    "self": 0,
    "input": 0,
    "other": 1,
    "mat2": 1,
    "vec": 1,
    "tensor": 1,
    "exponent": 1,
    "weight": 1,
    "target": 1,
}
_VIEWS = set(
    "chunk detach diagonal expand expand_as flatten movedim narrow permute ravel reshape select split squeeze swapaxes"
    " t transpose unbind unflatten unfold unsqueeze view view_as".split()
)
_STORING = {"append", "add", "insert", "setdefault", "extend", "register_buffer"}
MAX_SHOWN = 3
MAX_TEXT = 80  # characters of a new statement that a sentence can take


class Copy(NamedTuple):
    """A copy to be made where a call saves its operand, or of what it gives."""

    old: str
    new: str
    call: Site
    edits: Edits


def mended(trace: Trace, event: ErrorRaised, write: dict[str, Any]) -> tuple[str, Edits]:
    """The fix of a backward that stopped at what `write` had changed, and its edits; with those of all that was
    written besides, at which it would stop next."""
    told = [_mended(trace, event, trace.site(write.get("site")), event.spoilt)]
    for number in dict.fromkeys(one["write"] for one in event.spoilt_too):
        group = [one for one in event.spoilt_too if one["write"] == number]
        told.append(_mended(trace, event, trace.site(number), group))
    fixes = list(dict.fromkeys(fix for fix, _ in told if fix))
    whole = all(edits for _, edits in told)
    edits: dict[Edit, None] = dict.fromkeys(edit for _, edits in told for edit in edits) if whole else {}
    return "; and ".join(fixes), tuple(edits)


def _mended(
    trace: Trace, event: ErrorRaised, site: Site | None, spoilt: Sequence[dict[str, Any]]
) -> tuple[str, Edits]:
    if site is None:
        return "", ()
    op = _op(trace, event, site)
    if op is not None and _is_trained(trace, op):
        saved = trace.site(spoilt[0]["site"] if spoilt else event.saved_site)
        again = f", or compute {code(trace, saved.user, 'what saved it')} again after it" if saved else ""
        backward = located(trace, event.site.user, "the backward")
        return f"let {located(trace, site.user, 'the write')} come after {backward}{again}", ()
    return (
        _not_in_place(trace, site, op)
        or _anew(trace, site.user, op)
        or _item_anew(trace, site.user, op, spoilt)
        or _own_copy(trace, site, op, spoilt)
        or _copied_where_saved(trace, event, site, op, spoilt)
    )


# -- a new tensor in place of the write -------------------------------------------


def _not_in_place(trace: Trace, site: Site, op: Op | None) -> tuple[str, Edits] | None:
    """Without `inplace=True`, where the call's result is used and what it wrote to is not read again."""
    here = Source(trace, site.user.path)
    call = here.file.at(site.user)
    if not isinstance(call, ast.Call) or isinstance(here.file.parent.get(id(call)), ast.Expr):
        return None
    if _in_place_keyword(call) is not None:
        read = call.args[0] if call.args else None
        if isinstance(read, ast.Name) and is_read_later(here, call, read.id):
            return None
        return _without_in_place(trace, site.user.path, call, "call")
    module = trace.modules.get(op.module) if op is not None and op.module is not None else None
    if module is None or site.kind != "torch":
        return None
    only = layer_not_in_place(trace, module.cls, module)
    return only or (f"make `{module.path or module.cls}` (`{module.cls}`) without `inplace=True`", ())


def layer_not_in_place(trace: Trace, cls: str, module: Module | None = None) -> tuple[str, Edits] | None:
    """A layer of torch's own made without `inplace=True`: `module`, where the line that made it is known, or the
    only one of its class that the program makes so."""
    own = layer_made(trace, module) if module is not None else None
    if own is not None and _in_place_argument(own[1]) is not None:
        return _without_in_place(trace, *own, "make")
    made = [
        (path, node)
        for path in trace.sources
        for node in trace.source_file(path).nodes
        if isinstance(node, ast.Call) and called_name(node) == cls and _in_place_argument(node) is not None
    ]
    return _without_in_place(trace, *made[0], "make") if len(made) == 1 else None


def call_not_in_place(trace: Trace, site: Site) -> tuple[str, Edits] | None:
    """The call at `site` without `inplace=True`; None where it has none."""
    call = trace.source_file(site.path).at(site)
    found = isinstance(call, ast.Call) and _in_place_keyword(call) is not None
    return _without_in_place(trace, site.path, call, "call") if isinstance(call, ast.Call) and found else None


def result_not_in_place(trace: Trace, site: Site) -> tuple[str, Edits] | None:
    """`h.clamp(0, 1)` for the `h.clamp_(0, 1)` at `site`, whose result is used; a call without `inplace=True`."""
    here = Source(trace, site.path)
    call = here.file.at(site)
    if not isinstance(call, ast.Call) or isinstance(here.file.parent.get(id(call)), ast.Expr):
        return None
    if _in_place_keyword(call) is not None:
        return _without_in_place(trace, site.path, call, "call")
    method = method_name(call)
    line, _, last, end = here.file.span(call.func)
    if not method.endswith("_") or method[:-1] not in _TWINS or line != last:
        return None
    new = f"{here.file.text(call.func)[:-1]}{here.file.text(call).removeprefix(here.file.text(call.func))}"
    return (
        f"compute a new tensor: `{' '.join(new.split())}`",
        (Edit(site.path, last, end - 1, last, end, ""),),
    )


def _in_place_keyword(call: ast.Call) -> ast.keyword | None:
    found = (k for k in call.keywords if k.arg == "inplace")
    return next((k for k in found if isinstance(k.value, ast.Constant) and k.value.value is True), None)


def _in_place_argument(call: ast.Call) -> ast.keyword | ast.expr | None:
    """What makes a layer one that writes in place: `inplace=True`, or a plain `True` as the last argument."""
    last = call.args[-1] if call.args and not call.keywords else None
    plain = isinstance(last, ast.Constant) and last.value is True
    return _in_place_keyword(call) or (last if plain else None)


def _without_in_place(trace: Trace, path: str, call: ast.Call, verb: str) -> tuple[str, Edits] | None:
    here, argument = Source(trace, path), _in_place_argument(call)
    if argument is None:
        return None
    site = Site(-1, path, *here.file.span(call), "", "user")
    if isinstance(argument, ast.expr):
        return f"{verb} {located(trace, site)} with `inplace=False`", here.replace(argument, "False")
    return f"{verb} {located(trace, site)} without `inplace=True`", here.without_keyword(call, argument)


def is_read_later(here: Source, call: ast.Call, name: str) -> bool:
    """Whether the same function reads the variable behind the call, before it is bound anew."""
    statement: ast.AST | None = call
    while statement is not None and not isinstance(statement, ast.stmt):
        statement = here.file.parent.get(id(statement))
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    if any(isinstance(t, ast.Name) and t.id == name for t in targets):
        return False
    site = Site(-1, here.path, *here.file.span(call), "", "user")
    return any(
        isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Load) and n.lineno > call.lineno
        for n in own_nodes(here.file.scope(site))
    )


def new_statement(trace: Trace, site: Site) -> str:
    """The write at `site` as one that gives its variable a new tensor; "" where it is none to a variable."""
    here = Source(trace, site.path)
    node, statement = here.file.at(site), here.file.statement(site)
    if isinstance(node, ast.AugAssign):
        return _added(here, node)[1]
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        return _method(here, statement.value)[1]
    return ""


def on_a_copy(trace: Trace, site: Site, target: str, copy: str) -> str:
    """The statement at `site` with a copy in place of `target`: `y[i] = f(y[i].clone())` for
    `x[i] = f(x[i])`. What it reads of that is copied once more, since it is written later."""
    file = trace.source_file(site.path)
    statement = file.statement(site)
    if not isinstance(statement, (ast.Assign, ast.AugAssign, ast.Expr)) or not target:
        return ""
    call = statement.value if isinstance(statement, ast.Expr) else None
    if isinstance(call, ast.Call) and (
        not isinstance(call.func, ast.Attribute) or file.is_imported(call.func)
    ):
        return ""
    tree = ast.parse(ast.unparse(statement)).body[0]
    text = ast.unparse(_OnACopy(target, copy).visit(tree))
    return text if "\n" not in text else ""


class _OnACopy(ast.NodeTransformer):
    def __init__(self, target: str, copy: str):
        self.target, self.copy = target, copy

    def visit(self, node: ast.AST) -> Any:
        if isinstance(node, (ast.Assign, ast.AugAssign)):
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                self._rename(target)
            node.value = self.visit(node.value)
            return node
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            call = node.value
            self._rename(call.func)
            call.args = [self.visit(one) for one in call.args]
            call.keywords = [self.visit(one) for one in call.keywords]
            return node
        part = node
        while isinstance(part, ast.Subscript):
            part = part.value
        if isinstance(part, (ast.Name, ast.Attribute)) and ast.unparse(part) == self.target:
            return ast.parse(f"{self._renamed(ast.unparse(node))}.clone()", mode="eval").body
        return self.generic_visit(node)

    def _renamed(self, text: str) -> str:
        return f"{self.copy}{text.removeprefix(self.target)}"

    def _rename(self, node: ast.AST) -> None:
        """Puts the copy's name at the root of what is written."""
        while isinstance(node, (ast.Subscript, ast.Attribute)):
            if ast.unparse(node.value) == self.target:
                node.value = ast.Name(self.copy, ast.Load())
                return
            node = node.value
        if isinstance(node, ast.Name) and node.id == self.target:
            node.id = self.copy


def _anew(trace: Trace, site: Site, op: Op | None) -> tuple[str, Edits] | None:
    """`h = h + x` for `h += x`, `h = h.relu()` for `h.relu_()`, `h = torch.add(h, x)` for one with
    `out=h`: where `h` is the only name of what it writes to."""
    here = Source(trace, site.path)
    node = here.file.at(site)
    statement = here.file.statement(site)
    if op is None or not isinstance(node, (ast.AugAssign, ast.Call)) or statement is None:
        return None
    if isinstance(node, ast.AugAssign):
        name, text = _added(here, node)
    elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        name, text = _method(here, statement.value) if not node.keywords else ("", "")
        if not name:
            name, text = _given_out(here, statement.value)
    else:
        return None
    if not name or "\n" in text or not _alone(trace, here, site, op, name):
        return None
    return f"make a new tensor: `{text}`", here.replace(statement, text)


def _item_anew(
    trace: Trace, site: Site, op: Op | None, spoilt: Sequence[dict[str, Any]]
) -> tuple[str, Edits] | None:
    """`maps[i] = maps[i] + x` for `maps[i] += x`, `self.h = self.h + x` for `self.h += x`: an item of a list or an
    attribute, which holds a tensor that its call has saved as its own result."""
    here = Source(trace, site.path)
    node = here.file.at(site)
    results = all(any(n.startswith(("result", "output")) for n in one["as"]) for one in spoilt)
    if op is None or not isinstance(node, ast.AugAssign) or not spoilt or not results:
        return None
    if not isinstance(node.target, (ast.Subscript, ast.Attribute)) or _calls_in(node.target):
        return None
    graph = trace.graph(op.graph)
    parts = any(other.name == "__setitem__" and other.site.user == site for other in graph.ops)
    if parts or any(_is_view(graph, value) for value in op.writes) or _gradients_are_off(trace, op):
        return None
    target, value = here.file.text(node.target), here.file.operand(node.value)
    sign = here.file.text(node)[len(target) :].lstrip().partition("=")[0]
    text = f"{target} = {target} {sign} {value}"
    if "\n" in text:
        return None
    shown = text if len(text) <= MAX_TEXT else f"{target} = {target} {sign} …"
    return f"make a new tensor: `{shown}`", here.replace(node, text)


def _calls_in(node: ast.expr) -> bool:
    """Whether a place would be worked out twice by calls that may do something."""
    return any(isinstance(part, (ast.Call, ast.NamedExpr, ast.Await)) for part in ast.walk(node))


def _added(here: Source, node: ast.AugAssign) -> tuple[str, str]:
    if not isinstance(node.target, ast.Name):
        return "", ""
    value, name = node.value, node.target.id
    text = here.file.text(value) if isinstance(value, ast.Constant) else here.file.operand(value)
    sign = here.file.text(node)[len(name) :].lstrip().partition("=")[0]
    return name, f"{name} = {name} {sign} {text}"


def _method(here: Source, call: ast.Call) -> tuple[str, str]:
    """The variable and the new statement for `h.mul_(2).add_(1)`."""
    text = here.file.text(call)
    first, start, _, _ = here.file.span(call)
    node: ast.expr = call
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        line, _, last, end = here.file.span(node.func)
        method = node.func.attr
        if method.removesuffix("_") not in _TWINS or not method.endswith("_") or not first == line == last:
            return "", ""
        text = f"{text[: end - start - 1]}{text[end - start :]}"
        node = node.func.value
    return (node.id, f"{node.id} = {text}") if isinstance(node, ast.Name) else ("", "")


def _given_out(here: Source, call: ast.Call) -> tuple[str, str]:
    """The variable and the new statement for `torch.add(h, x, out=h)`."""
    out = next((k.value for k in call.keywords if k.arg == "out"), None)
    if not isinstance(out, ast.Name):
        return "", ""
    text = here.file.text(call)
    new = re.sub(rf",\s*out\s*=\s*{re.escape(out.id)}\s*(?=[,)])", "", text, count=1)
    return (out.id, f"{out.id} = {new}") if new != text else ("", "")


def _alone(trace: Trace, here: Source, site: Site, op: Op, name: str) -> bool:
    """Whether nothing but this variable of the function leads to what the op wrote to, so that it may
    get a new tensor instead, and that new tensor has the graph that the written one would have."""
    graph = trace.graph(op.graph)
    if any(_is_view(graph, value) for value in op.writes) or _gradients_are_off(trace, op):
        return False
    bound = False
    for node in own_nodes(here.file.scope(site)):
        if isinstance(node, ast.Assign):
            targets = [t for target in node.targets for t in ast.walk(target)]
            if any(isinstance(t, ast.Name) and t.id == name for t in targets):
                bound = True
                if not makes(node.value):
                    return False
        if not isinstance(node, ast.Name) or node.id != name or not isinstance(node.ctx, ast.Load):
            continue
        above = here.file.parent.get(id(node))
        call = here.file.parent.get(id(above)) if above is not None else None
        held = isinstance(above, (ast.List, ast.Tuple, ast.Set, ast.Dict)) and not isinstance(call, ast.Call)
        stored = isinstance(above, ast.Call) and getattr(above.func, "attr", "") in _STORING
        if isinstance(above, (ast.Assign, ast.AnnAssign, ast.NamedExpr)) or (held and above) or stored:
            return False
    return bound


def makes(value: ast.expr) -> bool:
    """Whether an expression may give a tensor of its own: no other name, no part or view of one."""
    if isinstance(value, ast.Call):
        return not (isinstance(value.func, ast.Attribute) and value.func.attr in _VIEWS)
    return isinstance(value, (ast.BinOp, ast.UnaryOp))


def _is_view(graph: Graph, index: int) -> bool:
    return graph.values[before_writes(graph, index)].alias_of is not None


def _gradients_are_off(trace: Trace, op: Op) -> bool:
    number = op.region
    while number is not None and (region := trace.regions.get(number)) is not None:
        if region.kind in GRADIENTS_OFF:
            return True
        number = region.parent
    return False


def _op(trace: Trace, event: ErrorRaised, site: Site) -> Op | None:
    """The last recorded call at a site that wrote to something."""
    graphs = [trace.graph(event.graph)] if event.graph >= 0 else []
    for graph in (*graphs, *reversed(trace.graphs)):
        for op in graph.ops[::-1]:
            if op.site.id == site.id and op.writes:
                return op
    return None


def _is_trained(trace: Trace, op: Op) -> bool:
    graph = trace.graph(op.graph)
    return any(_is_leaf(graph.values[memory_root(graph, v)]) for v in op.writes)


def _is_leaf(value: Value) -> bool:
    return value.is_leaf and value.requires_grad


# -- a copy for the function that writes ------------------------------------------


def argument_written(trace: Trace, event: ErrorRaised, write: dict[str, Any]) -> OwnCopy | None:
    """Where the write of a failed backward is one to the tensor that a function was given: its copy of that."""
    site = trace.site(write.get("site"))
    op = _op(trace, event, site) if site is not None else None
    return _copy_of_argument(trace, site, op, event.spoilt) if site is not None else None


def _own_copy(
    trace: Trace, site: Site, op: Op | None, spoilt: Sequence[dict[str, Any]]
) -> tuple[str, Edits] | None:
    found = _copy_of_argument(trace, site, op, spoilt)
    return (found.fix, found.edits) if found is not None else None


def _copy_of_argument(
    trace: Trace, site: Site, op: Op | None, spoilt: Sequence[dict[str, Any]]
) -> OwnCopy | None:
    if op is None or not spoilt or _gradients_are_off(trace, op):
        return None
    graph = trace.graph(op.graph)
    roots = [memory_root(graph, before_writes(graph, value)) for value in op.writes]
    if any(graph.values[root].kind != "intermediate" for root in roots):
        return None  # a buffer or what is carried along may be meant to be written
    saved = [found for one in spoilt if (found := trace.site(one["site"])) is not None]
    return own_copy(trace, site, written_name(trace, site.user), saved)


# -- a copy for the call that saved -----------------------------------------------


def _copied_where_saved(
    trace: Trace, event: ErrorRaised, write: Site, op: Op | None, spoilt: Sequence[dict[str, Any]]
) -> tuple[str, Edits]:
    fix, edits = copied_where_saved(trace, event.graph, spoilt, _written_names(trace, write, op))
    return (f"{fix}{_or_stack(trace, write)}", edits) if fix else _by_hand(trace, write, op, spoilt)


def copied_where_saved(
    trace: Trace, graph: int, spoilt: Sequence[dict[str, Any]], names: set[str]
) -> tuple[str, Edits]:
    """The copies that the calls of `spoilt` (as in an `error` event of `graph`) need of what they saved,
    which the program calls `names`; nothing where one of them cannot be told."""
    copies: dict[Edits, Copy] = {}
    for one in spoilt:
        site = trace.site(one["site"])
        found = list(_copies(trace, graph, site, one, names)) if site is not None else []
        if not found:
            return "", ()
        copies.update({copy.edits: copy for copy in found})
    if not copies:
        return "", ()
    texts = list(dict.fromkeys(_written(trace, copy) for copy in copies.values()))
    more = f" (and {len(texts) - MAX_SHOWN} more)" if len(texts) > MAX_SHOWN else ""
    edits: dict[Edit, None] = dict.fromkeys(edit for copy in copies.values() for edit in copy.edits)
    return f"let backward keep a copy of its own: write {' and '.join(texts[:MAX_SHOWN])}{more}", tuple(edits)


def _written(trace: Trace, copy: Copy) -> str:
    where = (
        f"({place(copy.call)})" if source(trace, copy.call) == copy.old else f"in {located(trace, copy.call)}"
    )
    return f"`{copy.new}` in place of `{copy.old}` {where}"


def _by_hand(trace: Trace, write: Site, op: Op | None, spoilt: Sequence[dict[str, Any]]) -> tuple[str, Edits]:
    target = written_name(trace, write.user)
    what = f"`{target}`" if target else "what is written"
    here = located(trace, write.user, "the write")
    if spoilt and all(any(n.startswith(("result", "output")) for n in one["as"]) for one in spoilt):
        call = trace.site(spoilt[0]["site"])
        if op is not None and target.isidentifier() and _is_all(trace, op, target):
            way = f"put `{target} = {target}.clone()` before {here}"
        else:
            saved = located(trace, call.user if call is not None else None, "the call")
            way = (
                f"let {saved} give a new tensor, and a copy (`.clone()`) of that to whatever is written later"
            )
        return f"the call has saved its own result: {way}{_or_stack(trace, write)}", ()
    return (
        f"give the call that saves {what} a copy of it (`.clone()`), before"
        f" {located(trace, write.user, 'the write')}{_or_stack(trace, write)}"
    ), ()


def _is_all(trace: Trace, op: Op, name: str) -> bool:
    """Whether a variable stands for the whole of the memory that an op wrote to, not for a part of it."""
    graph, known = trace.graph(op.graph), names_of(trace)
    return all(known.name(graph, memory_root(graph, value)) == name for value in op.writes)


def _or_stack(trace: Trace, write: Site) -> str:
    """For rows that a loop writes: the way without a write."""
    file = trace.source_file(write.user.path)
    statement = file.statement(write.user)
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    loops = [node for node in file.around(write.user) if isinstance(node, ast.For)]
    counted = {n.id for loop in loops for n in ast.walk(loop.target) if isinstance(n, ast.Name)}
    rows = any(isinstance(t, ast.Subscript) and names_in(t.slice, ast.Load) & counted for t in targets)
    return "; or collect the rows in a list, and `torch.stack` them after the loop" if rows else ""


def written_name(trace: Trace, site: Site) -> str:
    """The name of what a statement writes to: "x" of `x[i] = …`, `x.mul_(…)`, `torch.add(…, out=x)`."""
    file = trace.source_file(site.path)
    node = file.at(site)
    if isinstance(node, ast.Call):
        out = next((k.value for k in node.keywords if k.arg == "out"), None)
        given = node.args[0] if node.args and file.is_imported(node.func) else None
        held = node.func.value if isinstance(node.func, ast.Attribute) and given is None else None
        return root_name(out or given or held)
    return root_name(node.target if isinstance(node, ast.AugAssign) else node)


def root_name(node: ast.AST | None) -> str:
    """The variable or attribute at the root of `h[t - 1]`, `h.detach()`, `self.h[0]`."""
    while True:
        if isinstance(node, ast.Subscript):
            node = node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            node = node.func.value
        elif isinstance(node, ast.Attribute) and node.attr in ("data", "T", "mT"):
            node = node.value
        else:
            break
    return ast.unparse(node) if isinstance(node, (ast.Name, ast.Attribute)) else ""


def _written_names(trace: Trace, write: Site, op: Op | None) -> set[str]:
    """What the program calls the memory that was written."""
    written = (*op.writes, *op.written) if op is not None else ()
    return {written_name(trace, write.user), *names_of_memory(trace, op.graph if op else -1, written)} - {""}


def names_of_memory(trace: Trace, number: int, values: Iterable[int]) -> set[str]:
    """What the program calls these values of a graph, and all that share memory with them."""
    if number < 0:
        return set()
    graph, known = trace.graph(number), names_of(trace)
    roots = {memory_root(graph, v) for v in values}
    shared = (v.index for v in graph.values if memory_root(graph, v.index) in roots)
    return {name for index in shared if (name := known.name(graph, index))}


def _copies(trace: Trace, graph: int, site: Site, one: dict[str, Any], names: set[str]) -> Iterator[Copy]:
    here = Source(trace, site.user.path)
    node = here.file.at(site.user)
    direct = site.kind == "user"
    results = [name for name in one["as"] if name.startswith(("result", "output"))]
    inputs = [name for name in one["as"] if name not in results]
    if isinstance(node, ast.AugAssign):  # it saves what it is given, and writes to its target
        if not results and root_name(node.value) in names and not _makes_new(node.value):
            yield _copy(here, node.value, site.user)
        return
    if not isinstance(node, ast.expr):
        return
    if results and _gives_it(trace, graph, here, node, site, one, direct, names):
        yield _copy(here, node, site.user)
    elif results and not inputs and (copy := _into_its_part(here, node, site.user, names)) is not None:
        yield copy
    elif results:
        return
    for operand in _saved_operands(here, node, inputs, direct, names) if inputs else ():
        yield _copy(here, operand, site.user)


def _copy(here: Source, node: ast.expr, call: Site) -> Copy:
    text, operand = (" ".join(shown.split()) for shown in (here.file.text(node), here.file.operand(node)))
    return Copy(text, f"{operand}.clone()", call, here.behind(node, ".clone()"))


def _into_its_part(here: Source, node: ast.expr, call: Site, names: set[str]) -> Copy | None:
    """`x[i] = x[i].exp()` for `x[i].exp_()`, `x[i] = F.relu(x[i])` for one with `inplace=True`: the call saves a
    tensor of its own, of which a copy is written."""
    statement = here.file.parent.get(id(node))
    if not isinstance(node, ast.Call) or not isinstance(statement, ast.Expr):
        return None
    argument, text = _in_place_keyword(node), here.file.text(node)
    imported = here.file.is_imported(node.func)
    part = node.args[0] if imported and node.args else getattr(node.func, "value", None)
    if not isinstance(part, ast.Subscript) or root_name(part) not in names or _calls_in(part) or "\n" in text:
        return None
    if argument is not None:
        new = re.sub(r",\s*inplace\s*=\s*True\s*(?=[,)])", "", text, count=1)
    else:
        function = here.file.text(node.func)
        new = f"{function.removesuffix('_')}{text.removeprefix(function)}"
    if new == text:
        return None
    new = f"{here.file.text(part)} = {new}"
    return Copy(text, new, call, here.replace(statement, new))


def _gives_it(
    trace: Trace, graph: int, here: Source, node: ast.expr, site: Site, one: dict[str, Any], direct: bool,
    names: set[str],
) -> bool:  # fmt: skip
    """Whether the value of the expression is the tensor that its call saved as its own result."""
    above = here.file.parent.get(id(node))
    if isinstance(above, ast.Expr):
        return False
    if direct:
        ops = trace.graph(graph).ops if graph >= 0 else ()
        op = ops[one["op"]] if one["op"] < len(ops) else None
        return op is None or op.site.id != site.id or (len(op.outputs) == 1 and not op.writes)
    target = above.targets[0] if isinstance(above, ast.Assign) and len(above.targets) == 1 else None
    return isinstance(target, (ast.Name, ast.Attribute)) and ast.unparse(target) in names


def _saved_operands(
    here: Source, node: ast.expr, inputs: list[str], direct: bool, names: set[str]
) -> list[ast.expr]:
    operands = _operands(here, node)
    if isinstance(node, ast.Call) and _writes_in_place(node):
        operands = operands[1:]  # to write to a copy loses the write
    known = [operand for operand in operands if root_name(operand) in names and not _makes_new(operand)]
    if direct:
        for name in inputs:
            place_of = _POSITIONS.get(name)
            if place_of is not None and place_of < len(operands) and not _makes_new(operands[place_of]):
                known += [operands[place_of]] if operands[place_of] not in known and not known else []
    return known


def _writes_in_place(call: ast.Call) -> bool:
    method = method_name(call)
    return method.endswith("_") and method[:-1] in _TWINS


def _makes_new(operand: ast.expr) -> bool:
    """Whether an operand is computed on the spot: what it gives is not what was written later."""
    while isinstance(operand, ast.Subscript):
        operand = operand.value
    if isinstance(operand, ast.Call) and isinstance(operand.func, ast.Attribute):
        return operand.func.attr not in _VIEWS
    return isinstance(operand, (ast.Call, ast.Constant, ast.BinOp, ast.UnaryOp))


def _operands(here: Source, node: ast.expr) -> list[ast.expr]:
    """What an expression computes with, as it stands there."""
    if isinstance(node, ast.BinOp):
        return [node.left, node.right]
    if isinstance(node, ast.UnaryOp):
        return [node.operand]
    if not isinstance(node, ast.Call):
        return [node.value] if isinstance(node, (ast.Attribute, ast.Subscript)) else []
    given = [
        part
        for argument in (*node.args, *(k.value for k in node.keywords))
        for part in (argument.elts if isinstance(argument, (ast.List, ast.Tuple)) else [argument])
    ]
    held = node.func.value if isinstance(node.func, ast.Attribute) else None
    if held is not None and not here.file.is_imported(held):
        given.insert(0, held)
    return given
