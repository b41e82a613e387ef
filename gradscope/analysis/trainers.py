"""Passes and steps that a library makes for the program, and the functions of the program's that it calls for them:
`training_step` below `trainer.fit(…)`. Known by the stacks alone: whose code called whose."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from gradscope.analysis.reach import Key, Paths
from gradscope.analysis.text import own_nodes, site_of
from gradscope.analysis.words import variable
from gradscope.model import Optimizer, Site
from gradscope.source import called_name
from gradscope.store import Trace


class Hook(NamedTuple):
    """A function of the program's that a library called."""

    line: Site  # where it stood
    trace: Trace

    @property
    def name(self) -> str:
        """`training_step` of `Model.training_step`."""
        return self.line.function.rpartition(".")[2]

    @property
    def returns(self) -> list[Site]:
        """Its statements that return a value."""
        return [
            site_of(self.line.path, self.line.function, node.value)
            for node in own_nodes(self._function or ast.Module([], []))
            if isinstance(node, ast.Return) and node.value is not None
        ]

    @property
    def empty_returns(self) -> list[Site]:
        """Its statements behind that line that return None, or may do so."""
        found = [
            site_of(self.line.path, self.line.function, node)
            for node in own_nodes(self._function or ast.Module([], []))
            if isinstance(node, ast.Return) and node.lineno > self.line.line and _may_be_none(node.value)
        ]
        return sorted(found, key=Site.location)

    @property
    def known(self) -> bool:
        """Whether its text is known."""
        return self._function is not None

    @property
    def returns_nothing(self) -> bool:
        """Whether its text is known and no statement of it gives a value back."""
        return self.known and not self.returns

    @property
    def _function(self) -> ast.AST | None:
        found = self.trace.source_file(self.line.path).scope(self.line)
        return found if isinstance(found, ast.FunctionDef) and found.name == self.name else None


def _may_be_none(value: ast.expr | None) -> bool:
    """Whether an expression is None as it stands, or in one of its branches."""
    if isinstance(value, ast.IfExp):
        return _may_be_none(value.body) or _may_be_none(value.orelse)
    return value is None or (isinstance(value, ast.Constant) and value.value is None)


def runs_it(site: Site) -> Site | None:
    """The program's call of a library that came to this by the library's own code: `trainer.fit(…)`."""
    call = site.user
    if call.kind != "user":
        return None
    inside = site.stack[site.stack.index(call) + 1 :]
    return call if any(frame.kind == "library" for frame in inside) else None


def is_configured(site: Site) -> bool:
    """Whether a library made it by calling `configure_optimizers`, as Lightning does, which steps what that returns."""
    calls = pairwise(site.stack)
    return any(a.kind == "library" and b.function.endswith("configure_optimizers") for a, b in calls)


def made_inside(trace: Trace, optimizer: Optimizer) -> Site | None:
    """The program's call of a library that made this optimizer by itself, for itself: `trainer.train()`. None where the
    program makes it, or has a name for it."""
    call = runs_it(optimizer.site) if optimizer.site is not None else None
    if call is None or variable(trace, call):
        return None
    return call if called_name(trace.source_file(call.path).at(call)) != optimizer.cls else None


def hook_below(trace: Trace, call: Site, site: Site) -> Hook | None:
    """The program's function that the library, called there, called on the way to this."""
    frames = site.stack
    at = next((i for i, frame in enumerate(frames) if frame.id == call.id), None)
    if at is None or at + 1 >= len(frames) or frames[at + 1].kind != "library":
        return None
    own = next((frame for frame in frames[at + 1 :] if frame.kind == "user"), None)
    return Hook(own, trace) if own is not None else None


def given_by(trace: Trace, known: Paths, site: Site, root: Key) -> Hook | None:
    """The program's function that gave a library the value from which the library's own pass, at this site, goes
    back: the one nearest to the value that was computed below the same call."""
    call = runs_it(site)
    if call is None:
        return None
    return next((hook for made in _made(known, root) if (hook := hook_below(trace, call, made))), None)


def _made(known: Paths, root: Key) -> Iterator[Site]:
    for key in known.flow([root]).order:
        graph = known.graph(key[0])
        value = graph.values[key[1]]
        if value.op is not None:
            yield graph.ops[value.op].site
        elif value.site is not None:
            yield value.site


def last_with_graph(trace: Trace, call: Site) -> Hook | None:
    """The function below this call that computed the last value with a graph: a loss, it may be, that no pass goes
    back from."""
    graphs = map(trace.graph, reversed(trace.graphs_with_nodes))
    made = [op.site for graph in graphs for op in reversed(graph.ops) if op.nodes]
    # What `self.log(loss)` makes of it is the library's, and comes last.
    own = [site for site in made if runs_it(site) is None]
    return next((hook for site in (*own, *made) if (hook := hook_below(trace, call, site))), None)
