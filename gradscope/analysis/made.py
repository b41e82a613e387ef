"""Where a tensor, a module or a value was made."""

from __future__ import annotations

import ast
from functools import lru_cache

from gradscope.analysis.memo import once
from gradscope.analysis.words import dotted
from gradscope.model import Module, Op, Parameter, Site
from gradscope.source import FUNCTIONS
from gradscope.store import Trace


def within_a_call(site: Site) -> bool:
    """Whether a call stands inside a module's, in its `forward`."""
    return any(frame.kind == "torch" and frame.function.endswith("_call_impl") for frame in site.user.stack)


def made_at(trace: Trace, parameter: Parameter, whole: bool = False) -> Site | None:
    """The line `self.layer = …` in the user's class that made the parameter's layer. whole: of a block of which no
    layer was ever called, the line that made the block."""
    module = trace.modules.get(parameter.module) if parameter.module is not None else None
    attribute = parameter.name.rpartition(".")[2]
    called = _called_in(trace) if whole else ()
    while whole and module is not None and module.id not in called and module.parent in trace.modules:
        attribute = module.path.rpartition(".")[2]
        module = trace.modules[module.parent]
    while module is not None:
        for path, text in trace.sources.items():
            known = assignments(text)
            found = known.get((module.cls, attribute)) or known.get((_called(trace, module), attribute))
            if found is not None:
                line, column, end_line, end_column = found
                return Site(-1, path, line, column, end_line, end_column, "__init__", "user")
        attribute = module.path.rpartition(".")[2]
        module = trace.modules.get(module.parent) if module.parent is not None else None
    return None


@once
def _called_in(trace: Trace) -> set[int]:
    """The modules in which something was computed, and those around them."""
    found: set[int] = set()
    for id in {op.module for graph in trace.graphs for op in graph.ops}:
        around = id
        while around in trace.modules and around not in found:
            found.add(around)
            around = trace.modules[around].parent
    return found


def layer_made(trace: Trace, module: Module) -> tuple[str, ast.Call] | None:
    """The file and the call that made a layer: `nn.ReLU()` of `self.act = nn.ReLU()`, or the second one given to the
    `nn.Sequential(…)` there. None where the text does not say so plainly."""
    parent = trace.modules.get(module.parent) if module.parent is not None else None
    name = module.path.rpartition(".")[2]
    if parent is None or not name:
        return None
    if parent.cls == "Sequential" and name.isdigit():
        found = layer_made(trace, parent) or root_made(trace, parent)
        given = found[1].args[: int(name) + 1] if found is not None else []
        inner = given[int(name)] if len(given) > int(name) else None
        starred = any(isinstance(argument, ast.Starred) for argument in given)
        return (
            (found[0], inner) if found is not None and isinstance(inner, ast.Call) and not starred else None
        )
    for path, text in trace.sources.items():
        known = assignments(text)
        span = known.get((parent.cls, name)) or known.get((_called(trace, parent), name))
        if span is not None:
            return _call_given(trace, path, span)
    return None


def layer_site(trace: Trace, op: Op, *, alone: bool = False) -> Site | None:
    """Where the text makes the layer of torch's that computes `op`, unless that is its own line: one of several
    in a module, or also one that stands `alone` (`criterion = nn.BCELoss()`)."""
    module = trace.modules.get(op.module) if op.module is not None else None
    made = layer_made(trace, module) if module is not None else None
    if made is None and alone and module is not None:
        made = root_made(trace, module)
    if made is None or op.site.user.location() == (made[0], made[1].lineno):
        return None
    path, call = made
    return Site(-1, path, *trace.source_file(path).span(call), "", "user")


def softmax_site(trace: Trace, op: Op) -> Site:
    """The line of a softmax or sigmoid, or where the `nn.Softmax` was made that it is the call of."""
    module = trace.modules.get(op.module) if op.module is not None else None
    own = module is not None and module.cls in ("Softmax", "LogSoftmax", "Sigmoid")
    return (layer_site(trace, op) if own else None) or op.site.user


def root_made(trace: Trace, module: Module) -> tuple[str, ast.Call] | None:
    """The call that made a module that stands alone: `nn.Sequential(…)` of `model = nn.Sequential(…)`."""
    found = [
        (path, node.value)
        for path in trace.sources
        for node in trace.source_file(path).nodes
        if isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Call)
        and module.parent is None
        and [ast.unparse(target) for target in node.targets] == [module.variable]
    ]
    if len(found) > 1 and module.site is not None:  # where it is called, it was most likely made
        place = module.site.user
        found = [one for one in found if one[0] == place.path]
        scope = trace.source_file(place.path).scope(place)
        near = [one for one in found if trace.source_file(place.path).scope_of(one[1]) is scope]
        found = near or found
    return found[0] if len(found) == 1 else None


def _call_given(trace: Trace, path: str, span: tuple[int, int, int, int]) -> tuple[str, ast.Call] | None:
    """The call on the right of the assignment that stands there."""
    for node in trace.source_file(path).nodes:
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and (node.lineno, node.col_offset + 1) == span[:2]:
            return (path, node.value) if isinstance(node.value, ast.Call) else None
    return None


def _called(trace: Trace, module: Module) -> str:
    """The module as the program writes it outside of its class; "" where that is not known."""
    root = trace.modules.get(module.root)
    return dotted(root.name, module.path) if root is not None and root.name else ""


@lru_cache(maxsize=32)
def assignments(text: str) -> dict[tuple[str, str], tuple[int, int, int, int]]:
    """(class, attribute) → span of the first `self.attribute = …` in a file's text, and (holder,
    attribute) → that of `holder.attribute = …`."""
    found: dict[tuple[str, str], tuple[int, int, int, int]] = {}
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return found
    classes: dict[int, tuple[str, str]] = {}  # node → its class, and what its method calls the object
    for cls in ast.walk(tree):
        for method in cls.body if isinstance(cls, ast.ClassDef) else ():
            if isinstance(cls, ast.ClassDef) and isinstance(method, FUNCTIONS) and method.args.args:
                classes |= {id(node): (cls.name, method.args.args[0].arg) for node in ast.walk(method)}
    for node in ast.walk(tree):
        if not isinstance(node, (ast.Assign, ast.AnnAssign)):
            continue
        end = node.end_lineno or node.lineno, (node.end_col_offset or 0) + 1
        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
            if isinstance(target, ast.Attribute):
                holder = ast.unparse(target.value)
                owner, own = classes.get(id(node), ("", "self"))
                holder = owner if holder == own else holder
                found.setdefault((holder, target.attr), (node.lineno, node.col_offset + 1, *end))
    return found
