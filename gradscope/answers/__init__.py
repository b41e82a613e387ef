"""Answers to "why (not)?": requires_grad, `.grad` is None, no graph.

`why(trace, name)` takes a parameter (`layer1.weight`), a variable or what it holds (`loss`, `out.loss`, `losses[2]`), a
place (`train.py:31`) or `op 3 of graph 0`, and gives the shortest honest explanation: what was measured, and the way
from the loss to it or the cut that severs it, as places in the user's source.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from dataclasses import replace

from gradscope.analysis.cuts import between
from gradscope.analysis.handed_back import HandedBack, handed_back
from gradscope.analysis.handed_over import handed_over
from gradscope.analysis.names import full_name, names_apart, names_of, parameter_name, short_path
from gradscope.analysis.reach import paths
from gradscope.analysis.words import counted
from gradscope.analysis.words import parameter_name as name_in_report
from gradscope.answers._answer import Answer, Step
from gradscope.answers._module import explain_buffer, explain_module
from gradscope.answers._parameter import explain_parameter
from gradscope.answers._value import explain_number, explain_value
from gradscope.answers._variables import element, newest, number_at, read_as, variable
from gradscope.collector import paused
from gradscope.graph import Flow, flow_of
from gradscope.model import GradscopeError, Op, Parameter, place_of
from gradscope.store import Trace

__all__ = ["Answer", "Step", "cuts_between", "of_parameter", "of_parameters", "place_in", "why"]

_INDEX = re.compile(r"""\[(['"]?)([^]['"]+)\1\]""")  # a shell may have taken the quotes
_PLACE = re.compile(r"^(.+?)(?::|, line )(\d+)$")
_OP = re.compile(r"^op (\d+) of graph (\d+)$")  # as the terminal UI calls it
_NUMBERED = re.compile(r"^(.+?) ?#\d+$")


@paused()
def why(trace: Trace, name: str) -> Answer:
    """Explains the gradient of what `name` names. Raises GradscopeError where nothing, or
    more than one thing, has that name."""
    name = name.strip()
    flow = flow_of(trace)
    if match := _OP.match(name):
        return _of_op(flow, int(match[2]), int(match[1]))
    if match := _PLACE.match(name):
        return _at_place(flow, match[1], int(match[2]))
    parameters = _parameters(trace, name, exact=True)
    if len(_full_names(trace, parameters)) == 1:
        return _first_without(flow, parameters)
    if not parameters:
        if match := _NUMBERED.match(name):
            return _by_number(flow, match[1], name)
        value = variable(flow, name)
        if value is not None:
            return _of_value(flow, value, name)
        if (number := number_at(flow, name)) is not None:
            return explain_number(flow, number, name)
        if (given := handed_back(flow, name)) is not None:
            return _of_result(flow, given, name)
        if (value := read_as(flow, name)) is not None:
            return _of_value(flow, value, name)
        if (found := element(flow, name)) is not None:
            return _told(_of_value(flow, found.value, found.name), found.told)
        parameters = _within(trace, name) or _of_self(trace, name) or _on_their_own(trace, name)
        if parameters:
            return _first_without(flow, parameters)
        answer = explain_buffer(trace, name) or explain_module(flow, _dotted(name))
        if answer is not None:
            return answer
        parameters = (
            _parameters(trace, name, exact=False) or _of_an_object(trace, name) or _handed_over(trace, name)
        )
    if len(_full_names(trace, parameters)) == 1:
        return _first_without(flow, parameters)
    if parameters:
        raise GradscopeError(f"`{name}` is not one parameter: {_either(_full_names(trace, parameters))}")
    raise GradscopeError(_unknown(flow, name))


def _of_value(flow: Flow, value: int, name: str) -> Answer:
    leaf = flow.parameter(value) if flow.values[value].requires_grad else None
    return explain_parameter(flow, leaf, name) if leaf is not None else explain_value(flow, value, name)


def _of_result(flow: Flow, given: HandedBack, name: str) -> Answer:
    answer = _of_value(flow, given.value, name)
    where = names_of(flow.trace).place(given.call)
    return _told(answer, f"`{name}` is what the call at {where} gives for `{given.written}`")


def _told(answer: Answer, fact: str) -> Answer:
    return replace(answer, seen=[fact, *answer.seen])


def of_parameter(trace: Trace, number: int) -> Answer | None:
    """The answer for the leaf with a number in the trace; None where it has no row."""
    parameter = next((p for p in trace.parameters if p.id == number), None)
    return None if parameter is None else explain_parameter(flow_of(trace), parameter)


def of_parameters(trace: Trace, numbers: Iterable[int]) -> dict[int, Answer]:
    """The answers for many leaves, by their numbers in the trace."""
    flow = flow_of(trace)
    return {number: explain_parameter(flow, trace.parameter(number)) for number in numbers}


def place_in(name: str, known: Iterable[tuple[str, int]]) -> tuple[str, int]:
    """The line of these that a place names. Raises GradscopeError where it names none."""
    match = _PLACE.match(name.strip())
    if match is None:
        raise GradscopeError(f"`{name}` is no place: write `train.py:31`")
    for path, line in known:
        if line == int(match[2]) and _same_file(path, match[1]):
            return path, line
    raise GradscopeError(f"no tensor operation was captured at `{name}`")


@paused()
def cuts_between(trace: Trace, loss: str, parameter: str) -> list[Op]:
    """The calls at which the gradient is lost between a loss (a variable, or the place of its `backward()`) and a
    parameter. Raises GradscopeError where nothing is called so, or no parameter or more than one is."""
    known, names = paths(trace), names_of(trace)
    place = _PLACE.match(loss.strip())
    roots = [
        key
        for key, events in known.roots.items()
        if (
            any(e.site.user.line == int(place[2]) and _same_file(e.site.user.path, place[1]) for e in events)
            if place
            else names.name(known.graph(key[0]), key[1]) == loss.strip()
        )
    ]
    roots = roots or newest(trace, loss.strip())
    if not roots:
        raise GradscopeError(
            f"no backward pass starts at `{loss}`, and no variable that was computed is called so"
        )
    found = _parameters(trace, parameter, exact=True) or _parameters(trace, parameter, exact=False)
    if len(_full_names(trace, found)) > 1:
        raise GradscopeError(f"`{parameter}` is not one parameter: {_either(_full_names(trace, found))}")
    if not found:
        raise GradscopeError(f"no parameter is called `{parameter}`")
    return between(known, roots, found[0].id)


def _first_without(flow: Flow, parameters: list[Parameter]) -> Answer:
    """The answer for the first of these that got no gradient, or the first: all go by one name (each run of
    a loop makes a `model`), or are a module's."""
    silent = [p for p in parameters if not p.passes]
    chosen = (silent or parameters)[0]
    answer = explain_parameter(flow, chosen)
    if len(parameters) > 1 and len(_full_names(flow.trace, parameters)) == 1:
        which = "the first of them without a gradient" if silent else "the first of them"
        other = names_apart(flow.trace)[next(p.id for p in parameters if p is not chosen)]
        answer = _among(answer, len(parameters), f"{which}, `{other}` asks of another one")
    return answer


def _by_number(flow: Flow, name: str, asked: str) -> Answer:
    """The answer for `model.weight #2`, as tables call the second of several that go by one name."""
    apart = names_apart(flow.trace)
    parameters = _parameters(flow.trace, name, exact=True)
    for parameter in parameters:
        if apart[parameter.id].replace(" ", "") == asked.replace(" ", ""):
            turn = asked.rpartition("#")[2]
            return _among(explain_parameter(flow, parameter), len(parameters), f"number {turn} of them")
    raise GradscopeError(
        f"no parameter is called `{asked}`: {counted(len(parameters), 'parameter')} of the name `{name}`"
    )


def _among(answer: Answer, count: int, which: str) -> Answer:
    return replace(answer, seen=[*answer.seen, f"{count} parameters go by this name; this is {which}"])


def _full_names(trace: Trace, parameters: list[Parameter]) -> list[str]:
    return list(dict.fromkeys(full_name(trace, p) for p in parameters))


def _parameters(trace: Trace, name: str, exact: bool) -> list[Parameter]:
    """Parameters of that name, with or without the model's variable; else by its end. The name that is
    printed of one comes first: a bare `weight` may stand beside that of `model`, and `model[1].scale` beside the
    one whose place it took."""
    written, name, found = name, _dotted(name), []
    for asked in (written, name) if exact else ():
        for called in (parameter_name, full_name):
            if printed := [p for p in trace.parameters if asked == called(trace, p)]:
                return printed
    for parameter in trace.parameters:
        full = _path(trace, parameter)
        if full and (name in (parameter.name, full) if exact else full.endswith(f".{name}")):
            found.append(parameter)
    return found


def _within(trace: Trace, name: str) -> list[Parameter]:
    """The parameters of the module of that name, as a report names it: `model.body[1]`."""
    prefix = f"{_dotted(name)}."
    named = [p for p in trace.parameters if p.name]
    return [p for p in named if _path(trace, p).startswith(prefix) or p.name.startswith(prefix)]


def _of_an_object(trace: Trace, name: str) -> list[Parameter]:
    """Those that the program reaches by way of an object: `self.memory.keys` in a module's own code,
    `trainer.model.fc.weight` where a report says `model.fc.weight`."""
    held = _dotted(name)
    if held.startswith("self."):
        return _parameters(trace, held.removeprefix("self."), exact=False)
    named = [p for p in trace.parameters if p.name and full_name(trace, p) != p.name]
    return [p for p in named if held.endswith(f".{_path(trace, p).removeprefix('self.')}")]


def _handed_over(trace: Trace, name: str) -> list[Parameter]:
    """Those of a model that a function of this name's gave another one, which calls it by its own: `s.head.weight`
    of `fit(s)`, where `def fit(model)` trains `model.head.weight`."""
    known, held, found = handed_over(trace), _dotted(name), []
    for p in trace.parameters:
        owner = trace.modules.get(p.module) if p.module is not None else None
        if owner is not None and any(held == f"{other}.{p.name}" for other in known.get(owner.root, ())):
            found.append(p)
    return found


def _of_self(trace: Trace, name: str) -> list[Parameter]:
    """The parameters of the module that another one calls `self.memory`: of the only one that is called so."""
    held = _dotted(name).removeprefix("self.")
    if held == name:
        return []
    found = {p.id: f".{_path(trace, p)}".partition(f".{held}.") for p in trace.parameters}
    if len({before for before, inside, _ in found.values() if inside}) != 1:
        return []
    return [p for p in trace.parameters if found[p.id][1]]


def _on_their_own(trace: Trace, name: str) -> list[Parameter]:
    """Those of no module that a report calls so, or a table, which knows them by their number; of a list or dict of
    this name, all that it holds."""
    nameless = [(p, name_in_report(trace, p.id)) for p in trace.parameters if not p.name]
    asked = name.replace('"', "'")
    found = [p for p, called in nameless if asked in (f"parameter {p.id}", called)]
    return found or [p for p, called in nameless if called.startswith(f"{asked}[")]


def _dotted(name: str) -> str:
    """`G[0].weight` or `models["G"].0.weight`, as the program would write it, in the form of `named_parameters()`."""
    return _INDEX.sub(r".\2", name)


def _path(trace: Trace, parameter: Parameter) -> str:
    """Its full name in that form."""
    return _dotted(full_name(trace, parameter))


def _of_op(flow: Flow, graph: int, index: int) -> Answer:
    """Explains what one operation made."""
    name = f"op {index} of graph {graph}"
    for number, op in enumerate(flow.ops):
        if (op.graph, op.index) == (graph, index):
            if not flow.outputs[number]:
                return explain_number(flow, number, name)
            return replace(
                explain_value(
                    flow, flow.outputs[number][-1], names_of(flow.trace).place(op.site.user), at=True
                ),
                subject=name,
            )
    raise GradscopeError(f"there is no {name}")


def _at_place(flow: Flow, path: str, line: int) -> Answer:
    """Explains what the last op of a line made, or the backward pass that starts there."""
    lines: dict[int, int] = {}
    for index, op in enumerate(flow.ops):
        for frame in op.site.stack:
            if frame.kind == "user" and _same_file(frame.path, path):
                lines[frame.line] = index
    if line in lines and flow.outputs[lines[line]]:
        return explain_value(flow, flow.outputs[lines[line]][-1], place_of(path, line), at=True)
    for value, event in flow.roots.items():
        if event.site.user.line == line and _same_file(event.site.user.path, path):
            return explain_value(flow, value, place_of(path, line), at=True)
    if not lines:
        known = sorted({short_path(op.site.user.path) for op in flow.ops if op.site.user.kind == "user"})
        raise GradscopeError(f"no tensor operation of `{path}` was captured{_hint(path, known)}")
    near = sorted(lines, key=lambda other: abs(other - line))[:3]
    listed = _either(str(number) for number in sorted(near))
    raise GradscopeError(f"no tensor came out of {place_of(path, line)}; the nearest lines are {listed}")


def _same_file(path: str, wanted: str) -> bool:
    path, wanted = path.replace("\\", "/"), wanted.replace("\\", "/").removeprefix("./")
    return path == wanted or path.endswith(f"/{wanted}")


def _unknown(flow: Flow, name: str) -> str:
    known = {parameter_name(flow.trace, p) for p in flow.trace.parameters if p.name}
    known |= {n for i in range(len(flow.values)) if (n := flow.name(i)) is not None}
    return f"no parameter, variable or place is called `{name}`{_hint(name, sorted(known))}"


def _hint(name: str, known: list[str]) -> str:
    close = difflib.get_close_matches(name, known, 3, 0.5)
    return f": did you mean {_either(f'`{c}`' for c in close)}?" if close else ""


def _either(names: Iterable[str]) -> str:
    listed = list(names)
    shown = listed[:6] + ([f"{len(listed) - 6} more"] if len(listed) > 6 else [])
    return " or ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)
