"""Saved values were overwritten through NumPy or raw storage: backward computes a wrong gradient, silently.

Why: `.numpy()`, `torch.from_numpy`, DLPack and `.untyped_storage()` share memory with a
tensor. A write on their side never reaches autograd's version counter, so backward uses
the new values where the saved ones belong.

Fix: copy where the data changes hands: `x.detach().cpu().numpy().copy()`, `torch.tensor(array)`. Where the tensor is
meant to change with the array (a buffer that is filled again), give the call that saves it a copy:
`layer(batch.clone())`.

Silent on: arrays that are only read, and memory that backward does not read again.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from gradscope.analysis.names import place
from gradscope.analysis.text import own_nodes
from gradscope.analysis.words import source, variable
from gradscope.fixes.calls import copied
from gradscope.fixes.in_place import root_name
from gradscope.fixes.statements import beside
from gradscope.model import Finding, Site
from gradscope.rules import rule
from gradscope.rules.memory._corruption import OTHER_LIBRARIES, copied_for_backward, corruption, corruptions
from gradscope.source import LOOPS, Function, SourceFile, arguments, called_name
from gradscope.store import Trace

HANDED_OUT = "hands out the memory itself: writes on the other side are hidden from autograd's version check"
MAX_WRITES = 2


def bad() -> None:
    import torch

    a = torch.tensor([7.0, 0.0, 0.0], requires_grad=True)
    b = a + 2
    loss = torch.mean(b * b)
    array = b.detach().numpy()
    array[:] = 0  # cause: GS103
    loss.backward()  # effect: GS103


def good_copy() -> None:
    import torch

    a = torch.tensor([7.0, 0.0, 0.0], requires_grad=True)
    b = a + 2
    loss = torch.mean(b * b)
    array = b.detach().numpy().copy()
    array[:] = 0
    loss.backward()


@rule("GS103", name="numpy-write-corrupts-gradient", severity="error", over=("GS102",))
def numpy_write_corrupts_gradient(trace: Trace) -> Iterator[Finding]:
    for events in corruptions(trace):
        through = str(events[0].through)
        if through in OTHER_LIBRARIES:
            # A write on the other side is no call of torch: the site is where the memory was handed out.
            site = trace.site(events[0].write)
            found = corruption(trace, events, site, through, HANDED_OUT, "")
            told = _at_the_write(trace, found)
            fix, edits = _fix(trace, found.cause), copied(trace, found.cause)
            if _changes_with_it(trace, found.cause, told.cause):
                kept, copies = copied_for_backward(trace, events, *_called(trace, found.cause))
                fix, edits = kept or "give the call that saves this memory a copy of it (`.clone()`)", copies
            yield replace(told, fix=fix, edits=edits)


def _changes_with_it(trace: Trace, handed_out: Site | None, write: Site | None) -> bool:
    """Whether the tensor is meant to hold what is written: the memory is shared once and written again
    and again, from a loop or a method, or the tensor is read behind the write."""
    if handed_out is None or write is None or handed_out.location() == write.location():
        return False
    file = trace.source_file(handed_out.path)
    if not beside(trace, handed_out, write):
        target = file.variable(handed_out) or ""
        return target.startswith("self.")
    loops = [[n for n in file.around(site) if isinstance(n, LOOPS)] for site in (handed_out, write)]
    if any(loop not in loops[0] for loop in loops[1]):
        return True
    call = file.at(handed_out)
    method = call.func if isinstance(call, ast.Call) else None
    of_torch = method is not None and file.is_imported(method)
    name = file.variable(handed_out) if of_torch else root_name(method)
    return any(
        isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Load) and n.lineno > write.line
        for n in own_nodes(trace.source_file(write.path).scope(write))
    )


def _called(trace: Trace, handed_out: Site | None) -> set[str]:
    """What the program may call a tensor that is an attribute where it is made: `window.tensor` for `self.tensor`."""
    name = variable(trace, handed_out)
    own, _, attribute = name.rpartition(".")
    if handed_out is None or not own:
        return {name}
    nodes = trace.source_file(handed_out.path).nodes
    return {name, *(ast.unparse(n) for n in nodes if isinstance(n, ast.Attribute) and n.attr == attribute)}


def _fix(trace: Trace, handed_out: Site | None) -> str:
    text = source(trace, handed_out)
    if handed_out is None or not text:
        return "copy at the border: `x.detach().numpy().copy()`, `torch.tensor(array)`"
    of_torch = text.startswith("torch.") or text.endswith("storage()")
    copy = (
        text.replace("from_numpy(", "tensor(")
        if "from_numpy(" in text
        else f"{text}.{'clone' if of_torch else 'copy'}()"
    )
    return f"hand out a copy: `{copy}` ({place(handed_out)})"


def _at_the_write(trace: Trace, found: Finding) -> Finding:
    """The finding at the line that writes, where the text of the program has one such line."""
    if found.cause is None:
        return found
    writes = array_writes(trace, found.cause)
    lines = _between(found.cause, found.effect, writes.plain or writes.calls)
    if len(lines) == 1 or (lines and writes.plain):
        (first, label), *others = lines
        return replace(
            found,
            cause=first,
            cause_label=f"{label}: hidden from autograd's version check",
            related=((found.cause, "hands out the memory itself"), *others[: MAX_WRITES - 1], *found.related),
        )
    return replace(found, related=(*lines[:MAX_WRITES], *found.related))


def _between(start: Site, end: Site | None, lines: list[tuple[Site, str]]) -> list[tuple[Site, str]]:
    """Those that stand between the hand-over and the backward, or in other functions; else all."""
    last = end.line if end is not None and end.path == start.path and end.line > start.line else None
    fitting = [
        (site, label)
        for site, label in lines
        if last is None or site.path != start.path or start.line < site.line < last
    ]
    return fitting or lines


WRITING_METHODS = {
    "fill", "sort", "partition", "put", "itemset", "resize", "setfield", "byteswap", "setflat",
    "fill_", "copy_", "zero_",  # of a storage
}  # fmt: skip


WRITING_FUNCTIONS = {"copyto", "put", "place", "putmask", "fill_diagonal", "shuffle", "put_along_axis", "at"}


VIEWING_METHODS = {"reshape", "ravel", "view", "transpose", "squeeze", "swapaxes", "diagonal"}


VIEWING_FUNCTIONS = {"asarray", "ravel", "reshape", "squeeze", "transpose", "atleast_1d", "atleast_2d"}


READING = {
    "print", "len", "float", "int", "bool", "list", "tuple", "max", "min", "sum", "abs", "str", "repr", "type", "id",
    "isinstance", "enumerate", "zip", "range", "iter", "sorted", "any", "all",
}  # fmt: skip


LIBRARIES = {"numpy", "torch", "matplotlib"}


MAX_FOLLOWED = 40  # names


Called = Function | ast.Lambda


Scope = ast.AST


@dataclass
class Writes:
    """`plain` are statements that write; `calls` may do so: code that is not the program's gets the array."""

    plain: list[tuple[Site, str]] = field(default_factory=list)
    calls: list[tuple[Site, str]] = field(default_factory=list)


def array_writes(trace: Trace, handed_out: Site) -> Writes:
    """The writes into the array that the call at `handed_out` shares memory with."""
    return _Search(trace).run(handed_out)


class _Search:
    def __init__(self, trace: Trace):
        self.trace = trace
        self.found = Writes()
        self.todo: list[tuple[str, Scope, str]] = []  # file, scope, what the array is called there
        self.seen: set[tuple[str, int, str]] = set()
        self.functions: dict[str, list[tuple[str, Called]]] = {}
        for path in trace.sources:
            for node in trace.source_file(path).nodes:
                if isinstance(node, Function):
                    self.functions.setdefault(node.name, []).append((path, node))
                elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Lambda):
                    for name in node.targets:
                        self.functions.setdefault(ast.unparse(name), []).append((path, node.value))

    def run(self, handed_out: Site) -> Writes:
        file = self.trace.source_file(handed_out.path)
        call = file.at(handed_out)
        if isinstance(call, ast.Call):
            given = ast.unparse(call.func).endswith("from_numpy") and call.args
            name = ast.unparse(call.args[0]) if given else file.variable(handed_out)
            self._called(handed_out, call, name)
        for path, scope, name in self.todo:  # grows on the way
            if len(self.seen) > MAX_FOLLOWED:
                break
            self._look(path, scope, name)
        return self.found

    def _called(self, site: Site, node: ast.AST, name: str | None) -> None:
        """The array is called `name` at `site`; without a name it may be returned to the caller."""
        file = self.trace.source_file(site.path)
        function = next((n for n in file.around(site) if isinstance(n, Function)), None)
        caller = site.parent if function is not None else None
        if name:
            scope = _scope(file, site, name)
            self._follow(site.path, scope, name)
            if scope is function and caller is not None and isinstance(function, Function):
                self._from_caller(caller, function, name)
        elif caller is not None and isinstance(file.parent.get(id(node)), ast.Return):
            self._to_caller(caller)
        else:
            self._given_at_once(site.path, file, node)

    def _given_at_once(self, path: str, file: SourceFile, node: ast.AST) -> None:
        """`augment(x.numpy())`: the array has no name here, it has one in the function."""
        inner, above = node, file.parent.get(id(node))
        while isinstance(above, (ast.Attribute, ast.Subscript, ast.keyword)) or (
            isinstance(above, ast.Call) and above.func is inner  # a view of it: `x.numpy().ravel()`
        ):
            inner, above = above, file.parent.get(id(above))
        if isinstance(above, ast.Call):
            self._handed_on(path, above, ast.unparse(node))

    def _to_caller(self, caller: Site) -> None:
        file = self.trace.source_file(caller.path)
        call = file.at(caller)
        if call is not None:
            self._called(caller, call, file.variable(caller))

    def _from_caller(self, caller: Site, function: Function, name: str) -> None:
        """The array came in as an argument, or goes out as the result."""
        file = self.trace.source_file(caller.path)
        call = file.at(caller)
        given = _given(call, function, name) if isinstance(call, ast.Call) else None
        if call is not None and isinstance(given, (ast.Name, ast.Attribute)):
            self._called(caller, call, ast.unparse(given))
        if any(isinstance(n, ast.Return) and n.value and _views(n.value, name) for n in ast.walk(function)):
            self._to_caller(caller)

    def _follow(self, path: str, scope: Scope, name: str) -> None:
        if (path, id(scope), name) not in self.seen:
            self.seen.add((path, id(scope), name))
            self.todo.append((path, scope, name))

    def _look(self, path: str, scope: Scope, name: str) -> None:
        for node in _own(scope):
            if isinstance(node, (ast.stmt, ast.Call)) and _writes_to(node, name):
                self._add(self.found.plain, path, node, f"writes into `{name}`")
            elif isinstance(node, ast.Assign) and _views(node.value, name):
                for target in node.targets:
                    if isinstance(target, (ast.Name, ast.Attribute)) and ast.unparse(target) != name:
                        shown = ast.unparse(target)
                        file = self.trace.source_file(path)
                        self._follow(path, scope if "." not in shown else file.tree or scope, shown)
            elif isinstance(node, ast.Call):
                self._handed_on(path, node, name)

    def _handed_on(self, path: str, call: ast.Call, name: str) -> None:
        if not any(_views(value, name) for value in (*call.args, *(k.value for k in call.keywords))):
            return
        called = called_name(call)
        known = self.functions.get(called, [])
        for where, function in known if len(known) == 1 else ():
            for argument in arguments(function):
                given = _given(call, function, argument.arg)
                if given is not None and _views(given, name):
                    self._follow(where, function, argument.arg)
        root = ast.unparse(call.func).partition(".")[0]
        if not known and called not in READING and root != "self" and root not in self._libraries(path):
            self._add(self.found.calls, path, call, f"is given `{name}`")

    def _libraries(self, path: str) -> set[str]:
        """What the file calls the libraries whose functions were looked through, or only show."""
        found = set()
        for node in self.trace.source_file(path).nodes:
            if isinstance(node, ast.Import | ast.ImportFrom):
                of = getattr(node, "module", None)
                found |= {
                    a.asname or a.name for a in node.names if (of or a.name).partition(".")[0] in LIBRARIES
                }
        return found

    def _add(self, found: list[tuple[Site, str]], path: str, node: ast.stmt | ast.Call, label: str) -> None:
        line, column, last, end = self.trace.source_file(path).span(node)
        if all((site.path, site.line) != (path, line) for site, _ in found):
            found.append((Site(-1, path, line, column, last, end, "", "user"), label))


def _scope(file: SourceFile, site: Site, name: str) -> Scope:
    """The function that a plain name belongs to; the file for an attribute."""
    scope: Scope = file.tree or ast.Module([], [])
    for node in file.around(site):
        if isinstance(node, Function) and "." not in name and _binds(node, name):
            return node
    return scope


def _own(scope: Scope) -> Iterator[ast.AST]:
    """What stands in a scope, in the order of its lines."""
    nodes = (node for node in ast.walk(scope) if isinstance(node, (ast.stmt, ast.Call)))
    return iter(sorted(nodes, key=lambda node: (node.lineno, node.col_offset)))


def _given(call: ast.Call, function: Called, name: str) -> ast.expr | None:
    """What a call gives for the argument `name`."""
    names = [argument.arg for argument in (*function.args.posonlyargs, *function.args.args)]
    if isinstance(call.func, ast.Attribute) and names[:1] in (["self"], ["cls"]):
        names = names[1:]
    place = names.index(name) if name in names else len(call.args)
    by_name = (k.value for k in call.keywords if k.arg == name)
    return call.args[place] if place < len(call.args) else next(by_name, None)


def _is(node: ast.expr | None, name: str) -> bool:
    return isinstance(node, (ast.Name, ast.Attribute, ast.Call)) and ast.unparse(node) == name


def _views(node: ast.expr, name: str) -> bool:
    """Whether an expression is the array, or a view of it: `a`, `a[1:]`, `a.T`, `a.reshape(-1)`."""
    if _is(node, name):
        return True
    if isinstance(node, ast.Subscript):
        return _views(node.value, name)
    if isinstance(node, ast.Attribute):
        return node.attr in ("T", "flat", "real", "data") and _views(node.value, name)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if node.func.attr in VIEWING_METHODS and _views(node.func.value, name):
            return True
        return node.func.attr in VIEWING_FUNCTIONS and bool(node.args) and _views(node.args[0], name)
    return False


def _binds(function: ast.AST, name: str) -> bool:
    """Whether the name is the function's own."""
    return any(
        (isinstance(node, ast.arg) and node.arg == name)
        or (isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store))
        for node in ast.walk(function)
    )


def _writes_to(node: ast.stmt | ast.Call, name: str) -> bool:
    """Whether this is `a[…] = …`, `a += …`, `a.fill(…)`, `f(…, out=a)` or `np.copyto(a, …)`."""
    if isinstance(node, ast.AugAssign):
        return _views(node.target, name)
    if isinstance(node, ast.Assign):
        return any(isinstance(target, ast.Subscript) and _views(target, name) for target in node.targets)
    if not isinstance(node, ast.Call):
        return False
    if any(k.arg == "out" and _views(k.value, name) for k in node.keywords):
        return True
    if not isinstance(node.func, ast.Attribute):
        return False
    own = node.func.attr in WRITING_METHODS and _views(node.func.value, name)
    first = node.func.attr in WRITING_FUNCTIONS and bool(node.args) and _views(node.args[0], name)
    return own or first
