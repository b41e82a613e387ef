"""What functions of the program that hand a model on call it: `s` where it is `model` in `def fit(model)`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.analysis.memo import once
from gradscope.events import ModuleCall
from gradscope.model import Site
from gradscope.source import FUNCTIONS
from gradscope.store import Trace


@once
def handed_over(trace: Trace) -> dict[int, set[str]]:
    """Outermost module → its names where it is called, and in the functions that those calls came through."""
    found: dict[int, set[str]] = {}
    for event in trace.of(ModuleCall):
        module = trace.modules.get(event.module)
        if module is not None and module.id == module.root and event.site.kind == "user":
            found.setdefault(module.id, set()).update(_names(trace, event.site))
    return found


def _names(trace: Trace, site: Site) -> Iterator[str]:
    call = trace.source_file(site.path).at(site)
    if not isinstance(call, ast.Call) or not isinstance(call.func, (ast.Name, ast.Attribute)):
        return
    name = ast.unparse(call.func)
    yield name
    frames = [frame for frame in site.stack if frame.kind == "user"]
    for caller, frame in zip(reversed(frames[:-1]), reversed(frames), strict=False):
        given = _given(trace, caller, frame, name.partition(".")[0])
        if given is None:
            return
        name = ".".join([given, *name.split(".")[1:]])
        yield name


def _given(trace: Trace, caller: Site, frame: Site, name: str) -> str | None:
    """What the call there gives for the argument of this name."""
    function = trace.source_file(frame.path).scope(frame)
    call = trace.source_file(caller.path).at(caller)
    if not isinstance(function, FUNCTIONS) or not isinstance(call, ast.Call):
        return None
    arguments = [a.arg for a in (*function.args.posonlyargs, *function.args.args)]
    positions = list(call.args)
    if isinstance(call.func, ast.Attribute) and arguments[:1] == ["self"]:
        positions.insert(0, call.func.value)
    by_word = {word.arg: word.value for word in call.keywords}
    by_place = dict(zip(arguments, positions, strict=False))
    value = by_word.get(name) or by_place.get(name)
    if not isinstance(value, (ast.Name, ast.Attribute)) or any(isinstance(a, ast.Starred) for a in positions):
        return None
    return ast.unparse(value)
