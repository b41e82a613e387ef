"""Numbers without a graph that the program's text gives a name where nothing is to be computed: an empty batch, say."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from gradscope.analysis.ops import MAKERS
from gradscope.analysis.reach import paths
from gradscope.analysis.text import own_nodes, site_of
from gradscope.model import Site
from gradscope.source import FUNCTIONS, called_name, names_in
from gradscope.store import Trace

BRANCHES = (ast.If, ast.For, ast.While, ast.Try)


class Constant(NamedTuple):
    """`name` is given a new number at `made`, and at `computed` what had a graph in earlier passes. `held` is an
    argument of the function that is used there, "" where there is none."""

    name: str
    made: Site
    computed: Site
    held: str


def constants(trace: Trace, line: Site) -> list[Constant]:
    """Those of names that the passes of this line came from, as far as these were looked at."""
    ran = _lines(trace, line)
    found = [
        one
        for path in trace.sources
        for scope in trace.source_file(path).nodes
        if isinstance(scope, (ast.Module, *FUNCTIONS))
        for one in _in_function(path, getattr(scope, "name", "<module>"), scope, ran)
    ]
    return sorted(found, key=lambda one: one.made.span())


def zero_with_graph(found: list[Constant]) -> str:
    """What may stand in place of these numbers, so that a pass goes back to the model, with zeros."""
    held = next((one.held for one in found if one.held), "")
    return f"{held or 'x'}.sum() * 0"


def _lines(trace: Trace, line: Site) -> set[tuple[str, int]]:
    """The program's own lines that the losses of a line were computed in, in the last of its passes."""
    known = paths(trace)
    found: set[tuple[str, int]] = set()
    alike = [e for e in known.backwards if e.site.user.location() == line.location() and e.roots]
    for event in alike[-1:]:
        for key in known.flow((event.graph, root) for root in event.roots).order:
            op = known.maker(key)
            frames = op.site.stack if op is not None and op.nodes else ()
            found |= {frame.location() for frame in frames if frame.kind == "user"}
    return found


def _in_function(path: str, function: str, scope: ast.AST, ran: set[tuple[str, int]]) -> Iterator[Constant]:
    branches = {id(part): branch for branch, part in _branches(scope)}
    given: dict[str, list[ast.Assign]] = {}
    for node in own_nodes(scope):
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            given.setdefault(node.targets[0].id, []).append(node)
    arguments = [a.arg for a in scope.args.args] if isinstance(scope, FUNCTIONS) else []
    for name, statements in given.items():
        plain = [s for s in statements if _is_number(s.value)]
        graph = [s for s in statements if s not in plain and (path, s.lineno) in ran and id(s) in branches]
        for one in plain:
            if graph and branches.get(id(one)) != branches[id(graph[0])]:
                used = names_in(branches[id(graph[0])][0], ast.Load)
                held = next((a for a in arguments if a in used and a != "self"), "")
                made, computed = (site_of(path, function, s.value) for s in (one, graph[0]))
                yield Constant(name, made, computed, held)


def _branches(scope: ast.AST) -> Iterator[tuple[tuple[ast.AST, str], ast.stmt]]:
    """Every statement that runs under a condition, with the innermost that holds it and which part of that."""
    for node in own_nodes(scope):
        if isinstance(node, BRANCHES):
            for part in ("body", "orelse"):
                for statement in getattr(node, part, ()):
                    yield (node, part), statement


def _is_number(value: ast.expr) -> bool:
    if isinstance(value, ast.Constant):
        return isinstance(value.value, int | float) and not isinstance(value.value, bool)
    return called_name(value) in MAKERS | {"zeros", "new_zeros"} and not any(
        isinstance(part, ast.Name) for a in getattr(value, "args", ()) for part in ast.walk(a)
    )
