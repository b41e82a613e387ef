"""What the user called things: names of values, texts of calls, from the source as it ran.

Everything is read from `trace.sources` (the text stored in the trace), never from the
disk. Where the source is missing or is no Python (exec'd code, a notebook magic), the
answer is None, or a short description instead of a name.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path

from gradscope.analysis.memo import once
from gradscope.analysis.ops import CASTS, PASSING
from gradscope.events import ModuleCall
from gradscope.model import GradscopeError, Graph, Module, Op, Parameter, Site, Span, Value, place_of
from gradscope.source import LOOPS, SourceFile, called_name, method_name
from gradscope.store import Trace

_REFLECTED = re.compile(r"^r(add|sub|mul|truediv|floordiv|pow|matmul|mod|and|or|xor|div)$")
_IN_PLACE = re.compile(r"^i(add|sub|mul|truediv|floordiv|pow|matmul|mod|and|or|xor|div)$")
_SPOKEN = {"truediv": "div", "floordiv": "floor_divide", "__array__": "numpy"}
# Methods of a tensor whose arguments are no tensors: `x.to(device)`.
_ALONE = {
    "to", "type", "view", "reshape", "permute", "transpose", "flatten", "expand", "repeat", "squeeze", "unsqueeze",
    "sum", "mean", "pow", "softmax", "log_softmax", "chunk", "split", "narrow", "select",
}  # fmt: skip
# What is called on a tensor, or given it, and gives the same one back as far as its name goes.
_SAME = PASSING | {
    "long", "int", "bool", "detach", "requires_grad_", "pin_memory", "as_tensor", "tensor", "asarray", "Tensor",
    "Parameter", "Variable", "Buffer",
}  # fmt: skip
# What gives the same numbers in another place or dtype.
_MOVING = CASTS | {
    "contiguous",
    "clone",
    "detach",
    "requires_grad_",
    "pin_memory",
    "from_numpy",
    "as_tensor",
    "tensor",
}
_PLAIN = (ast.Name, ast.Attribute, ast.Subscript)


def _without_comments(lines: list[str]) -> list[str]:
    """The lines of an expression without what is said at their ends; as they are where they are no Python."""
    kept = list(lines)
    try:
        for token in tokenize.generate_tokens(io.StringIO("\n".join(lines)).readline):
            if token.type == tokenize.COMMENT:
                kept[token.start[0] - 1] = kept[token.start[0] - 1][: token.start[1]]
    except (tokenize.TokenError, SyntaxError):
        return lines
    return kept


def op_name(name: str) -> str:
    """The name of an op as people say it: `__rmul__` → "mul", `__iadd__` → "add_"."""
    if not (name.startswith("__") and name.endswith("__")) or len(name) < 5:
        return name
    inner = name[2:-2]
    if match := _REFLECTED.match(inner):
        inner = match[1]
    elif match := _IN_PLACE.match(inner):
        return _SPOKEN.get(match[1], match[1]) + "_"
    return _SPOKEN.get(inner, inner)


def short_path(path: str) -> str:
    """The file's name alone, for labels."""
    return re.split(r"[/\\]", path)[-1]


def _told_apart(paths: Iterable[str]) -> dict[str, str]:
    """Path → as much of its end as no other one has."""
    rest = {path: [part for part in re.split(r"[/\\]", path) if part] for path in paths}
    found: dict[str, str] = {}
    length = 1
    while rest:
        alike = Counter(tuple(parts[-length:]) for parts in rest.values())
        for path, parts in list(rest.items()):
            if alike[tuple(parts[-length:])] == 1 or length >= len(parts):
                found[path] = "/".join(rest.pop(path)[-length:])
        length += 1
    return found


def relative(path: str, cwd: str) -> str:
    """`path` as seen from `cwd` where it lies below it, else unchanged."""
    if cwd:
        try:
            return Path(path).relative_to(cwd).as_posix()
        except ValueError:
            pass
    return path


def place(site: Site) -> str:
    """`train.py:31`, or `In [3], line 2`, for labels."""
    return place_of(short_path(site.path), site.line)


def parameter_name(trace: Trace, parameter: Parameter) -> str:
    """Its dotted name, below the variable that holds its model where that is needed to find it: there
    are several models, or it is the `weight` of a bare `head = nn.Linear(…)`."""
    return _as_needed(trace, parameter.module, parameter.name)


def module_title(trace: Trace, module: Module) -> str:
    """What a module is called: its path, below the variable that holds its root where there are several models; of a
    root that variable, else its class."""
    path = _below_root(trace, module.id, module.path) if _several(trace) else module.path
    return path or module.name or module.cls


def buffer_name(trace: Trace, module: int, name: str) -> str:
    """The same for a buffer that a module holds by this name."""
    path = trace.modules[module].path
    return _as_needed(trace, module, f"{path}.{name}" if path else name)


def shown_path(trace: Trace, module: Module) -> set[str]:
    """The names that a module goes by: its path, also below the variable that holds its root."""
    root = trace.modules.get(module.root)
    return {module.path, f"{root.name}.{module.path}" if root is not None and root.name else ""} - {""}


def full_name(trace: Trace, parameter: Parameter) -> str:
    """Its dotted name below the variable that holds its model, where that is known."""
    return _below_root(trace, parameter.module, parameter.name)


def _as_needed(trace: Trace, module: int | None, name: str) -> str:
    return _below_root(trace, module, name) if _several(trace) or "." not in name else name


def _below_root(trace: Trace, module: int | None, name: str) -> str:
    owner = trace.modules.get(module) if module is not None else None
    root = trace.modules.get(owner.root) if owner is not None else None
    return f"{root.name}.{name}" if root is not None and root.name and name else name


@once
def names_apart(trace: Trace) -> dict[int, str]:
    """What tables call parameters, no two alike, by number: "b.weight #2" for the second that goes by `b.weight`,
    "parameter 7" for one without a name."""
    alike: dict[str, list[int]] = {}
    for parameter in trace.parameters:
        alike.setdefault(parameter_name(trace, parameter), []).append(parameter.id)
    found = {id: f"parameter {id}" for id in alike.pop("", ())}
    for name, ids in alike.items():
        found |= {id: f"{name} #{turn}" if len(ids) > 1 else name for turn, id in enumerate(ids, 1)}
    return found


@once
def element_names(trace: Trace) -> dict[int, str]:
    """What tensors on their own are in the list or dict that they were made in: "meta[0]", "heads['a']"; by parameter,
    of those that were made in one."""
    made: dict[int, list[Parameter]] = {}  # by site
    for parameter in trace.parameters:
        if parameter.site is not None and parameter.site.kind == "user":
            made.setdefault(parameter.site.id, []).append(parameter)
    found: dict[int, str] = {}
    for alike in made.values():
        place = _place_in(trace, alike[0].site)
        if place is not None:
            name, at = place
            found |= {p.id: f"{name}[{turn if at is None else at}]" for turn, p in enumerate(alike)}
    return found


def _place_in(trace: Trace, site: Site | None) -> tuple[str, str | None] | None:
    """The list or dict that takes what is made at a site, and the place that it gives it; None for the place that each
    turn of a comprehension counts."""
    if site is None:
        return None
    file = trace.source_file(site.path)
    node = as_it_is(file, file.at(site))
    holder = file.parent.get(id(node))
    holding = file.parent.get(id(holder))
    if not isinstance(holding, ast.Assign) or not isinstance(holding.targets[0], (ast.Name, ast.Attribute)):
        return None
    name = ast.unparse(holding.targets[0])
    if isinstance(holder, ast.List) and not any(isinstance(held, ast.Starred) for held in holder.elts):
        return next(((name, str(at)) for at, held in enumerate(holder.elts) if held is node), None)
    if isinstance(holder, ast.Dict):
        keys = [key for key, held in zip(holder.keys, holder.values, strict=True) if held is node]
        return (name, ast.unparse(keys[0])) if keys and isinstance(keys[0], ast.Constant) else None
    counts = isinstance(holder, ast.ListComp) and len(holder.generators) == 1 and holder.elt is node
    return (name, None) if counts and _is_made_once(trace, site) else None


def _is_made_once(trace: Trace, site: Site) -> bool:
    """Whether no loop stands around a call, nor around those that led to it."""
    return not any(
        isinstance(trace.source_file(frame.path).outermost_loop(frame), LOOPS) for frame in site.stack
    )


def as_it_is(file: SourceFile, node: ast.AST | None) -> ast.AST | None:
    """What stands around an expression, as far as all calls between leave a tensor what it is."""
    while isinstance(above := file.parent.get(id(node)), (ast.Attribute, ast.Call)):
        if isinstance(above, ast.Call) and called_name(above) not in _SAME:
            break
        node = above
    return node


@once
def _several(trace: Trace) -> bool:
    return sum(module.id == module.root for module in trace.modules.values()) > 1


class Names:
    """The names of one trace; get it with `names_of(trace)`, which keeps it."""

    def __init__(self, trace: Trace):
        self._source_file = trace.source_file
        self._parameters = {
            p.id: parameter_name(trace, p) or element_names(trace).get(p.id, "") for p in trace.parameters
        }
        self._graph = trace.graph
        self._calls: dict[int, list[ModuleCall]] = {}
        for event in trace.of(ModuleCall):
            self._calls.setdefault(event.graph, []).append(event)
        self._known: dict[int, dict[int, str | None]] = {}
        self._last: dict[int, dict[int, set[int]]] = {}
        self._inputs: dict[int, dict[int, str]] = {}
        self._targets: dict[Span, tuple[list[str], bool]] = {}
        self._short = _told_apart({site.path for site in trace.sites if site.kind == "user"})

    def short_path(self, path: str) -> str:
        """The file's name alone, with the folders that tell it from another of the program's of that name."""
        return self._short.get(path) or short_path(path)

    def place(self, site: Site) -> str:
        """`train.py:31`, or `models/train.py:31` where there are several of that name."""
        return place_of(self.short_path(site.path), site.line)

    def file(self, path: str) -> SourceFile:
        return self._source_file(path)

    # -- text ------------------------------------------------------------------

    def text(self, site: Site) -> str | None:
        """The source text of the site's span, blanks folded, without comments; None without source."""
        site = self.file(site.path).head(site)
        lines = self.file(site.path).lines[site.line - 1 : site.end_line]
        if not lines:
            return None
        lines = [*lines[:-1], lines[-1][: site.end_column - 1]]
        lines[0] = lines[0][site.column - 1 :]
        if len(lines) > 1 and any("#" in line for line in lines):
            lines = _without_comments(lines)
        return " ".join(" ".join(lines).split()) or None

    def line(self, site: Site) -> str | None:
        """The whole source line a site starts on, stripped."""
        lines = self.file(site.path).lines
        return lines[site.line - 1].strip() if 0 < site.line <= len(lines) else None

    def receiver(self, site: Site) -> str | None:
        """What a method or attribute is taken of at this site: "b" for `b.data`, `b.zero_()`."""
        node = self.file(site.path).at(site)
        if isinstance(node, ast.Call):
            node = node.func
        if isinstance(node, ast.Attribute) and not self.file(site.path).is_imported(node.value):
            return ast.unparse(node.value)
        return ast.unparse(node.value) if isinstance(node, ast.Subscript) else None

    def first_argument(self, site: Site) -> str | None:
        """How the first argument of the call at this site is written."""
        node = self.file(site.path).at(site)
        return ast.unparse(node.args[0]) if isinstance(node, ast.Call) and node.args else None

    # -- names of values ---------------------------------------------------------

    def name(self, graph: Graph, index: int) -> str | None:
        """The user's name of a value, or None where it has none."""
        known = self._known.setdefault(graph.id, {})
        if index not in known:
            known[index] = self._find(graph, graph.values[index])
        return known[index]

    def _find(self, graph: Graph, value: Value) -> str | None:
        if value.parameter is not None and self._parameters.get(value.parameter):
            return self._parameters[value.parameter]
        if value.op is None or value.op >= len(graph.ops):
            entered = self._entered(value) if value.origin is None else None
            return entered or self._input_names(graph).get(value.index) or self.made_as(graph, value)
        op = graph.ops[value.op]
        for before, after in zip(op.writes, op.written, strict=False):
            if after == value.index and before != after:
                return self._written(graph, op, before)
        return self._assigned(graph, op, value)

    def made_as(self, graph: Graph, value: Value) -> str | None:
        """The name that a value had where it was made, in another graph: what it is called here may be the argument
        of a function."""
        source, made = graph, value
        passed: set[int] = set()
        while made.op is None and made.origin is not None and source.id not in passed:
            passed.add(source.id)
            try:
                source = self._graph(made.origin[0])
                made = source.values[made.origin[1]]
            except (IndexError, GradscopeError):
                return None
        if source is graph or (made.op is not None and made.op >= len(source.ops)):
            return None
        return self._entered(made) if made.op is None else self._assigned(source, source.ops[made.op], made)

    def _entered(self, value: Value) -> str | None:
        """The variable of an array that came in as a tensor: those who read it may have another name for it."""
        site = value.site.user if value.site is not None else None
        if site is None or called_name(self.file(site.path).at(site)) != "from_numpy":
            return None
        names = self.targets(site)
        return names[0] if len(names) == 1 else None

    def _written(self, graph: Graph, op: Op, before: int) -> str | None:
        """An in-place write keeps the name of what it writes to."""
        seen = {before}
        known = self._known[graph.id]
        while True:
            if before in known:
                return known[before]
            source = graph.maker(before)
            older = (
                [a for a, b in zip(source.writes, source.written, strict=False) if b == before]
                if source
                else []
            )
            if not older or older[0] in seen:
                break
            before = older[0]
            seen.add(before)
        return self._find(graph, graph.values[before]) or self.receiver(op.site.user)

    def _assigned(self, graph: Graph, op: Op, value: Value) -> str | None:
        found = self.assignment(graph, op, value)
        return found[0] if found is not None else None

    def assignment(self, graph: Graph, op: Op, value: Value) -> tuple[str, Site] | None:
        """The name that a result of `op` is assigned to, and the place of what is assigned."""
        handed: tuple[int, int] | None = None  # place in a tuple that is returned, and how many it has
        for depth, site in enumerate(op.site.stack[::-1]):
            if handed is None and depth and op.index not in self._results(graph).get(site.id, ()):
                return None  # made on the way to the result of that call
            if site.kind != "user":
                if handed is not None and not site.function.startswith("Module."):
                    return None
                continue
            names, returned = self._target(site)
            tuples = len(op.outputs) > 1 or op.name == "grad"  # of others `[0]` is an op, which has the name
            if tuples and site.id == op.site.user.id and (one := self._picked(site)) is not None:
                taken, names, returned = one
                if value.position != taken:
                    return None
            if handed is not None and not returned:
                return (names[handed[0]], site) if len(names) == handed[1] else None
            if handed is None and len(names) > 1 and len(op.outputs) == 1 and self._taken_apart(site):
                at = self._turn(graph, op, site, bool(depth), len(names))
                return (names[at], site) if at is not None else None
            if names:
                return names[min(value.position, len(names) - 1)], site
            if not returned and (len(op.outputs) > 1 or (handed := self._handed(site)) is None):
                return None
        return None

    def _picked(self, site: Site) -> tuple[int, list[str], bool] | None:
        """Which of the results of the call at `site` is taken, as in `f(x)[0]`, and its targets as of `_target`."""
        file = self.file(site.path)
        node = file.at(site)
        above = file.parent.get(id(node))
        if not isinstance(above, ast.Subscript) or above.value is not node:
            return None
        at = above.slice.value if isinstance(above.slice, ast.Constant) else None
        return (at, *self._targets_of(file, above)) if isinstance(at, int) else None

    def _handed(self, site: Site) -> tuple[int, int] | None:
        """Where in a tuple that its function returns the expression at `site` stands, and how many it has."""
        file = self.file(site.path)
        node = file.at(site)
        above = file.parent.get(id(node))
        if not isinstance(above, ast.Tuple) or not isinstance(file.parent.get(id(above)), ast.Return):
            return None
        return next(i for i, one in enumerate(above.elts) if one is node), len(above.elts)

    def _taken_apart(self, site: Site) -> bool:
        """Whether it is the targets of `a, b = map(f, x)`, at which each of them is made in turn."""
        return isinstance(self.file(site.path).at(site), (ast.Tuple, ast.List))

    def _turn(self, graph: Graph, op: Op, site: Site, within: bool, targets: int) -> int | None:
        """Which of the targets an op makes; None where some of them were made otherwise. within: calls made there."""
        if within:
            made = sorted(self._results(graph)[site.id])
        else:
            made = [other.index for other in graph.ops if other.site.id == site.id]
        return made.index(op.index) % targets if len(made) % targets == 0 else None

    def assigned(self, site: Site) -> str | None:
        """The name that the result of the call at this site is assigned to."""
        names, _ = self._target(site)
        return ", ".join(names) or None

    def targets(self, site: Site) -> list[str]:
        """The names that the results of the call at this site are assigned to."""
        return self._target(site)[0]

    def _target(self, site: Site) -> tuple[list[str], bool]:
        """(targets assigned from the expression at `site`, whether it is returned)."""
        span = site.span()
        if span not in self._targets:
            self._targets[span] = self._find_target(site)
        return self._targets[span]

    def _find_target(self, site: Site) -> tuple[list[str], bool]:
        file = self.file(site.path)
        node = file.at(site)
        return ([], False) if node is None else self._targets_of(file, node)

    def _targets_of(self, file: SourceFile, node: ast.AST) -> tuple[list[str], bool]:
        if isinstance(node, ast.AugAssign):
            return [ast.unparse(node.target)], False
        if isinstance(node, (ast.Tuple, ast.List)) and isinstance(node.ctx, ast.Store):
            return _elements(node), False  # `a, b = x` takes x apart there
        above = file.parent.get(id(node))
        if isinstance(above, ast.Assign) and above.value is node:
            return _elements(above.targets[0]), False
        if isinstance(above, ast.Tuple) and isinstance(node, ast.expr):  # a, b = f(), g()
            outer = file.parent.get(id(above))
            if isinstance(outer, ast.Assign) and outer.value is above:
                targets = _elements(outer.targets[0])
                return ([targets[above.elts.index(node)]] if len(targets) == len(above.elts) else []), False
        if isinstance(above, (ast.AnnAssign, ast.NamedExpr)) and above.value is node:
            return [ast.unparse(above.target)], False
        if isinstance(above, (ast.For, ast.comprehension)) and above.iter is node:
            return ([] if isinstance(above.target, ast.Tuple) else [ast.unparse(above.target)]), False
        if isinstance(above, ast.Return) or (isinstance(above, ast.Lambda) and above.body is node):
            return [], True
        return [], False

    def _results(self, graph: Graph) -> dict[int, set[int]]:
        """Site → the ops that came last in one call made there."""
        if graph.id not in self._last:
            self._last[graph.id] = _last_ops(graph)
        return self._last[graph.id]

    def _input_names(self, graph: Graph) -> dict[int, str]:
        """Names of values from outside the graph, by the text they are passed as."""
        if graph.id not in self._inputs:
            found: dict[int, str] = {}
            for event in self._calls.get(graph.id, ()):
                self._learn(found, graph, event.inputs, event.site.user)
            for op in graph.ops:
                if (taken := self._taken(graph, op)) is not None:
                    self._learn(found, graph, *taken)
            self._inputs[graph.id] = found
        return self._inputs[graph.id]

    def given(self, graph: Graph, op: Op) -> Iterator[tuple[int, str]]:
        """(value, text) of what the program's line hands to an op, as far as that is certain."""
        if (taken := self._taken(graph, op)) is not None:
            for index, text in self._arguments(taken[1], len(taken[0])):
                yield taken[0][index], text

    def _taken(self, graph: Graph, op: Op) -> tuple[tuple[int, ...], Site] | None:
        """What an op takes from the program's line, and the line; None where that may be something else."""
        if op.site.kind == "user":
            return op.inputs, op.site
        if op.site.kind == "torch" and not _of_an_object(op.site):  # `self.linear(x)`, `F.relu(x)`
            return tuple(v for v in op.inputs if not _held_by_module(graph, v)), op.site.user
        return None

    def _learn(self, found: dict[int, str], graph: Graph, values: tuple[int, ...], site: Site) -> None:
        missing = [
            v for v in values if v < len(graph.values) and graph.values[v].op is None and v not in found
        ]
        if not missing:
            return
        for index, text in self._arguments(site, len(values)):
            if values[index] in missing:
                found.setdefault(values[index], text)

    def _arguments(self, site: Site, count: int) -> Iterator[tuple[int, str]]:
        """(position, text) of the tensors passed at `site`, as far as that is certain."""
        file = self.file(site.path)
        node = file.at(site)
        exprs: list[ast.expr] = []
        receiver = False
        if isinstance(node, ast.BinOp):
            exprs = [node.left, node.right]
        elif isinstance(node, ast.Compare):
            exprs = [node.left, *node.comparators]
        elif isinstance(node, (ast.Attribute, ast.UnaryOp)):
            exprs = [node.operand if isinstance(node, ast.UnaryOp) else node.value]
        elif isinstance(node, ast.Subscript):
            exprs = [node.value]
            if count > 1:  # `h[chosen]`, `x[:, chosen]`
                held = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
                exprs += [e for e in held if not isinstance(e, ast.Slice)]
        elif isinstance(node, ast.Call):
            if isinstance(node.func, ast.Attribute) and not file.is_imported(node.func):
                receiver = True
                exprs = [node.func.value]
            exprs += _flat([*node.args, *(k.value for k in node.keywords)])
        exprs = [e for e in exprs if not isinstance(e, (ast.Constant, ast.Starred))]
        if receiver and count == 1 and isinstance(node, ast.Call) and method_name(node) in _ALONE:
            exprs = exprs[:1]
        if receiver and len(exprs) == count + 1:  # `self.net(x)`: the receiver is no tensor
            exprs = exprs[1:]
        if len(exprs) != count:
            return
        for index, expr in enumerate(exprs):
            named = self._unchanged(file, expr)
            if isinstance(named, _PLAIN):
                yield index, ast.unparse(named)

    def _unchanged(self, file: SourceFile, expr: ast.expr) -> ast.expr:
        """`x` of `x.to(device)` and of `torch.as_tensor(x)`: what is given, as far as calls only move or cast it."""
        while isinstance(expr, ast.Call) and called_name(expr) in _MOVING:
            if isinstance(expr.func, ast.Attribute) and not file.is_imported(expr.func):
                expr = expr.func.value
            elif expr.args:
                expr = expr.args[0]
            else:
                break
        return expr


def _of_an_object(site: Site) -> bool:
    """Whether torch works here for a method of an object of its own that is neither tensor nor module, such as a
    distribution's `log_prob`: what goes into its operations may be the object's own tensors."""
    below = next((called for line, called in pairwise(site.stack) if line is site.user), None)
    if below is None or "<locals>" in below.function:
        return False
    owner = below.function.rpartition(".")[0]
    return bool(owner) and owner not in ("Module", "Tensor") and Path(below.path).name != "_tensor.py"


def _held_by_module(graph: Graph, value: int) -> bool:
    """Whether a value is a parameter or a buffer, which a module gives to its own operations."""
    held = graph.values[value]
    return held.parameter is not None or held.module is not None


def _flat(exprs: list[ast.expr]) -> list[ast.expr]:
    return [e for x in exprs for e in (x.elts if isinstance(x, (ast.List, ast.Tuple)) else [x])]


def _elements(target: ast.expr) -> list[str]:
    if isinstance(target, (ast.Tuple, ast.List)) and not any(isinstance(e, ast.Starred) for e in target.elts):
        return [name for e in target.elts for name in _elements(e)]
    return [ast.unparse(target)]


def _last_ops(graph: Graph) -> dict[int, set[int]]:
    """Site → ops that ended a call from there. One call is a run of ops below the same
    site; it ends when another site follows, or the same op of the same module again."""
    found: dict[int, set[int]] = {}
    around = {site.id: [outer.id for outer in site.stack[:-1]] for site in graph.sites}
    runs: dict[int, set[tuple[int, int | None]]] = {}  # open ones: site → (site, module) of their ops
    before: int | None = None
    for op in graph.ops:
        here = op.site.id
        if here != before:
            for site in runs.keys() - around[here]:
                found.setdefault(site, set()).add(op.index - 1)
                del runs[site]
            before = here
        key = here, op.module
        for site in around[here]:
            if site not in runs:
                runs[site] = {key}
            elif key in (seen := runs[site]):
                found.setdefault(site, set()).add(op.index - 1)
                seen.clear()
                seen.add(key)
            else:
                seen.add(key)
    for site in runs:
        found.setdefault(site, set()).add(len(graph.ops) - 1)
    return found


@once
def names_of(trace: Trace) -> Names:
    """The names of a trace, worked out once."""
    return Names(trace)


def name_of(trace: Trace, graph: Graph, value: int) -> str:
    """The name of a parameter or variable, else the shortest description of the value."""
    name = names_of(trace).name(graph, value)
    return name if name is not None else describe(graph, value)


def shape_words(shape: Iterable[int]) -> str:
    """`32×10`, or "scalar"."""
    return "×".join(map(str, shape)) or "scalar"


def kind_words(dtype: str, shape: Iterable[int]) -> str:
    """As a sentence has it: "float32, shape 32×10", "float32, a scalar"."""
    words = shape_words(shape)
    return f"{dtype}, {'a scalar' if words == 'scalar' else f'shape {words}'}"


def describe(graph: Graph, index: int) -> str:
    """A value without a name: "output of `linear` at train.py:31"."""
    value = graph.values[index]
    if value.op is not None and value.op < len(graph.ops):
        op = graph.ops[value.op]
        return f"output of `{op_name(op.name)}` at {place(op.site.user)}"
    kind = "value from an earlier step" if value.kind == "carried" else value.kind
    used = f" first seen at {place(value.site.user)}" if value.site is not None else ""
    return f"{kind} ({shape_words(value.shape)}){used}"
