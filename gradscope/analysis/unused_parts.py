"""Parts of a model that a run may rightly leave unused: those of a library's model that other tasks need, those of a
branch that is off, and layers of which another one has its turn."""

from __future__ import annotations

import ast
from functools import lru_cache

from gradscope.analysis.calls import is_part_of
from gradscope.analysis.memo import once
from gradscope.analysis.reach import Paths
from gradscope.analysis.text import classes_of_program, has_run, methods_named
from gradscope.model import Module, Parameter
from gradscope.source import FUNCTIONS
from gradscope.store import Trace

CONTAINERS = ("Sequential", "ModuleList", "ModuleDict", "ParameterList", "ParameterDict")


def in_library(trace: Trace, parameter: Parameter) -> bool:
    """Whether its layer is part of a model whose forward stands in a library: those have
    parts that only some of their tasks need."""
    module = trace.modules.get(parameter.module) if parameter.module is not None else None
    kinds = forwards(trace)
    while module is not None and module.id not in kinds:
        if _used_for_parts(trace, module):
            return True
        module = trace.modules.get(module.parent) if module.parent is not None else None
    return module is not None and kinds[module.id] == "library"


def taken_apart(trace: Trace, parameter: Parameter) -> Module | None:
    """The program's own model around a layer that is never called as a whole, while the program calls others of its
    parts from outside: a backbone without its head."""
    module = trace.modules.get(parameter.module) if parameter.module is not None else None
    while module is not None and module.id not in forwards(trace):
        if module.cls in classes_of_program(trace) and _others_called(trace, module):
            return module
        module = trace.modules.get(module.parent) if module.parent is not None else None
    return None


def _used_for_parts(trace: Trace, module: Module) -> bool:
    """Whether a class that is not the program's own made this module of layers, and the program
    calls others of them itself."""
    if module.cls in CONTAINERS or module.cls in classes_of_program(trace):
        return False
    return _others_called(trace, module)


def _others_called(trace: Trace, module: Module) -> bool:
    """Whether parts of this module compute while its own `forward`, where the program's text has one, never runs."""
    own = methods_named(trace, module.cls, "forward")
    return any(is_part_of(trace, id, module.id) for id in forwards(trace)) and not any(
        has_run(trace, path, forward) for path, forward in own
    )


@once
def forwards(trace: Trace) -> dict[int, str]:
    """Module → the kind of code, outside torch, that computes in it."""
    found: dict[int, str] = {}
    for graph in trace.graphs:
        for op in graph.ops:
            if op.module is not None and op.module not in found:
                kinds = (frame.kind for frame in reversed(op.site.stack) if frame.kind != "torch")
                found[op.module] = next(kinds, "torch")
    return found


def not_yet(trace: Trace, parameter: Parameter) -> bool:
    """Whether it or its layer was not used, and the user's class uses it only under a condition."""
    called = set(forwards(trace))
    module = trace.modules.get(parameter.module) if parameter.module is not None else None
    if module is not None and module.id in called:  # a parameter of the class's own
        seen = any(
            graph.values[i].parameter == parameter.id
            for graph in trace.graphs
            for op in graph.ops
            if op.module is not None  # the program may print it
            for i in op.inputs
        )
        attribute = parameter.name.rpartition(".")[2]
        return not seen and _conditional(trace, module.cls, attribute)
    while module is not None and module.parent is not None and module.id not in called:
        holder, attribute = trace.modules[module.parent], module.path.rpartition(".")[2]
        if _conditional(trace, holder.cls, attribute):
            return not any(is_part_of(trace, id, module.id) for id in called)
        module = holder
    return False


def alternative(trace: Trace, known: Paths, parameter: Parameter) -> Module | None:
    """The container in which its layer is one of several alike, of which another one trains."""
    module = trace.modules.get(parameter.module) if parameter.module is not None else None
    while module is not None and module.parent is not None:
        holder = trace.modules[module.parent]
        if holder.cls in ("ModuleList", "ModuleDict"):
            alike = [m for m in trace.modules.values() if m.parent == holder.id and m.cls == module.cls]
            prefixes = tuple(f"{m.path}." for m in alike if m.id != module.id)
            for other in known.parameters.values():
                owner = trace.modules.get(other.module) if other.module is not None else None
                if owner and owner.root == module.root and f"{owner.path}.".startswith(prefixes or ("\0",)):
                    if known.has_gradient(other):
                        return holder
        module = holder
    return None


def _conditional(trace: Trace, cls: str, attribute: str) -> bool:
    """Whether class `cls` uses `self.attribute` under conditions only, as far as methods that ran use it."""
    for path, text in trace.sources.items():
        functions = [
            node
            for above in trace.source_file(path).nodes
            if isinstance(above, ast.ClassDef) and above.name == cls
            for node in above.body
            if isinstance(node, FUNCTIONS)
        ]
        ran = frozenset(one.name for one in functions if has_run(trace, path, one))
        if functions and _is_conditional(text, cls, attribute, ran):
            return True
    return False


@lru_cache(maxsize=256)
def _is_conditional(
    text: str, cls: str, attribute: str, ran: frozenset[str], known: frozenset[str] = frozenset()
) -> bool:
    """Whether class `cls` uses `self.attribute` outside its `__init__`, each time under a condition
    or in a method that it calls under conditions only. `ran`: the methods that did; where none of them uses it, all
    count. `known`: the methods asked for already."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return False
    found: dict[bool, list[bool]] = {True: [], False: []}  # of methods that ran, and of others
    todo: list[tuple[ast.AST, bool, str]] = [
        (function, False, function.name)
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef) and node.name == cls
        for function in node.body
        if isinstance(function, ast.FunctionDef) and function.name != "__init__"
    ]
    while todo:
        node, under, method = todo.pop()
        if (
            isinstance(node, ast.Attribute)
            and node.attr == attribute
            and getattr(node.value, "id", "") == "self"
        ):
            later = method not in known and _is_conditional(text, cls, method, ran, known | {method})
            found[method in ran].append(under or later)
        under = under or isinstance(node, (ast.If, ast.IfExp, ast.While, ast.match_case))
        todo += ((child, under, method) for child in ast.iter_child_nodes(node))
    uses = found[True] or found[False]
    return bool(uses) and all(uses)
