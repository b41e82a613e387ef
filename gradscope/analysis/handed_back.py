"""Variables that a call of the program's own functions fills: `mean` of `out, mean = model(x)`, where `forward` ends in
`return self.decoder(z), mu`. Inside they go by another name, or by none."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from gradscope.analysis.flow import Flow
from gradscope.analysis.names import names_of
from gradscope.analysis.text import own_nodes
from gradscope.model import Site
from gradscope.source import FUNCTIONS, SourceFile

MAX_DEPTH = 8  # calls that hand a result back to each other


class HandedBack(NamedTuple):
    """A value of a flow, the user's call that gave it, and what is written in the function's `return` for it."""

    value: int
    call: Site
    written: str


class _Call(NamedTuple):
    """A call of one of the program's functions: its line, the function, and the ops that ran in it."""

    site: Site
    path: str
    function: ast.AST
    ops: tuple[int, ...]


def handed_back(flow: Flow, name: str) -> HandedBack | None:
    """What a call assigned to a variable last; None where no call of a function of the program's did."""
    names = names_of(flow.trace)
    found = None
    for call in _calls(flow):
        targets = names.targets(call.site)
        for place, target in enumerate(targets):
            if target == name and (given := _result(flow, call, place, len(targets), 0)) is not None:
                found = given
    return found


def _calls(flow: Flow, within: tuple[int, ...] | None = None) -> list[_Call]:
    """The calls of the program's own functions. within: ops that ran in them."""
    held: dict[tuple[int, str, int], tuple[Site, str, ast.AST, list[int]]] = {}
    at: dict[int, list[list[int]]] = {}  # site → the ops of the calls that it lies in
    for op in range(len(flow.ops)) if within is None else within:
        site = flow.ops[op].site
        if site.id not in at:
            at[site.id] = []
            for caller, callee in _steps(site):
                function = flow.trace.source_file(callee.path).scope(callee)
                if isinstance(function, FUNCTIONS):
                    key = caller.id, callee.path, id(function)
                    at[site.id].append(held.setdefault(key, (caller, callee.path, function, []))[3])
        for ops in at[site.id]:
            ops.append(op)
    return [_Call(*known[:3], tuple(known[3])) for known in held.values()]


def _steps(site: Site) -> Iterator[tuple[Site, Site]]:
    """The user's lines on a stack with those that they called, by a module of torch's at most."""
    caller = None
    for frame in site.stack:
        if frame.kind == "user":
            if caller is not None:
                yield caller, frame
            caller = frame
        elif not frame.function.startswith("Module."):
            caller = None


def _result(flow: Flow, call: _Call, place: int, targets: int, depth: int) -> HandedBack | None:
    """The value at this place of the results of a call that are assigned to so many targets."""
    file = flow.trace.source_file(call.path)
    for given in _returned(call.function):
        if targets == 1:
            element: ast.expr = given
        elif isinstance(given, ast.Tuple) and len(given.elts) == targets:
            element = given.elts[place]
        else:
            continue
        value = _value(flow, file, call, element, depth)
        if value is not None:
            return HandedBack(value, call.site, file.text(element))
    return None


def _returned(function: ast.AST) -> Iterator[ast.expr]:
    """What the `return` statements of a function give, the last one first, without those of functions inside it."""
    found = [n.value for n in own_nodes(function) if isinstance(n, ast.Return) and n.value is not None]
    yield from sorted(found, key=lambda value: -value.lineno)


def _value(flow: Flow, file: SourceFile, call: _Call, written: ast.expr, depth: int) -> int | None:
    """The value that an expression of the called function had last."""
    if depth > MAX_DEPTH:
        return None
    inner = _calls(flow, call.ops)
    own = [one for one in inner if one.site.path == call.path and file.scope(one.site) is call.function]
    if isinstance(written, (ast.Name, ast.Attribute)):
        name, names = ast.unparse(written), names_of(flow.trace)
        made = [v for op in call.ops for v in flow.outputs[op] if flow.name(v) == name]
        if made:
            return made[-1]
        for one in reversed(own):
            targets = names.targets(one.site)
            if name in targets:
                given = _result(flow, one, targets.index(name), len(targets), depth + 1)
                return given.value if given is not None else None
        return None
    for one in reversed(own):
        if file.at(one.site) is written and (given := _result(flow, one, 0, 1, depth + 1)) is not None:
            return given.value
    for op in reversed(call.ops):
        if flow.outputs[op] and any(
            frame.path == call.path and file.at(frame) is written for frame in flow.ops[op].site.stack
        ):
            return flow.outputs[op][-1]
    return None
