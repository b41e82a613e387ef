"""New networks are trained and thrown away, and another one, which no optimizer holds, is loaded and evaluated.

Why: a function that trains may make a network of its own, where the one that it was given was meant. All that is
learned is gone when it returns; what is sent on, averaged and evaluated is what was there at the start.

Fix: train the network that is loaded and evaluated, or read the weights of the trained one.

Measured: optimizers from one line, one after the other, with parameters of their own, that nothing read after their
last step and no call without gradients used; a network of the same class that no optimizer held was written to again
and again, evaluated all the while, and most of its parameters had the numbers of the beginning at the end.
Silent on: runs that save something, networks that a loss is computed from, as a teacher.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from gradscope.analysis.loop import parameters_of
from gradscope.analysis.networks import thrown_away
from gradscope.analysis.reach import paths
from gradscope.analysis.text import own_nodes, site_of
from gradscope.analysis.words import counted, located, parameter_subjects, plural, root_of, where
from gradscope.analysis.writes import loads_state
from gradscope.events import ModuleCall, Step, Still
from gradscope.fixes.source import Edits, Source, receiver
from gradscope.model import Finding, Optimizer, Parameter, Site
from gradscope.rules import rule
from gradscope.source import FUNCTIONS, arguments, called_name
from gradscope.store import Trace

OFTEN = 2  # times that the other one is loaded, and evaluated


def bad() -> None:
    import torch
    from torch import nn

    class Client:
        def __init__(self) -> None:
            self.model = nn.Linear(8, 2)

        def fit(self, state: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
            self.model.load_state_dict(state)
            model = nn.Linear(8, 2)  # cause: GS248
            opt = torch.optim.SGD(model.parameters(), lr=0.1)
            for _ in range(4):
                x = torch.randn(16, 8)
                opt.zero_grad()
                (model(x) - x[:, :2]).pow(2).mean().backward()
                opt.step()
            return {name: value.clone() for name, value in self.model.state_dict().items()}

    torch.manual_seed(0)
    client, held = Client(), torch.randn(50, 8)
    state = client.model.state_dict()
    for _ in range(6):
        state = client.fit(state)
        with torch.no_grad():
            print((client.model(held) - held[:, :2]).pow(2).mean().item())  # effect: GS248


def good() -> None:
    import torch
    from torch import nn

    class Client:
        def __init__(self) -> None:
            self.model = nn.Linear(8, 2)

        def fit(self, state: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
            self.model.load_state_dict(state)
            opt = torch.optim.SGD(self.model.parameters(), lr=0.1)
            for _ in range(4):
                x = torch.randn(16, 8)
                opt.zero_grad()
                (self.model(x) - x[:, :2]).pow(2).mean().backward()
                opt.step()
            return {name: value.clone() for name, value in self.model.state_dict().items()}

    torch.manual_seed(0)
    client, held = Client(), torch.randn(50, 8)
    state = client.model.state_dict()
    for _ in range(6):
        state = client.fit(state)
        with torch.no_grad():
            print((client.model(held) - held[:, :2]).pow(2).mean().item())


class _Served(NamedTuple):
    """The network that is loaded and evaluated."""

    parameters: list[Parameter]
    kept: int  # of these
    evaluated: list[ModuleCall]


class _Anew(NamedTuple):
    """The statement that makes the network that is trained, or what holds it."""

    path: str
    function: str
    statement: ast.Assign
    name: str


@rule("GS248", name="trained-and-dropped", severity="warning", over=("GS786",))
def trained_and_dropped(trace: Trace) -> Iterator[Finding]:
    for made in thrown_away(trace):
        dropped = {root_of(trace, p) for o in made for p in parameters_of(trace, o.parameters)}
        calls = [call for call in trace.of(ModuleCall) if not (call.grad and call.training)]
        if dropped & {call.module for call in calls}:
            continue
        served = _served(trace, made, [call for call in calls if not call.grad])
        if served is not None:
            yield _finding(trace, made, served)


def _served(trace: Trace, made: list[Optimizer], calls: list[ModuleCall]) -> _Served | None:
    first = next((step.segment for step in trace.of(Step) if step.optimizer == made[0].id), None)
    trained = parameters_of(trace, made[0].parameters)
    roots = {root_of(trace, p) for p in trained}
    root = roots.pop() if len(roots) == 1 else None
    if root is None or first is None:
        return None
    kept = {id for event in trace.of(Still) for id in event.parameters}
    form, known = {p.name: p.shape for p in trained}, paths(trace)
    for module in {call.module: None for call in calls if call.segment > first}:
        held = [p for p in trace.parameters if p.registered and root_of(trace, p) == module]
        written = all(p.updates >= OFTEN and not p.steps and not p.optimizers for p in held)
        alike = {p.name: p.shape for p in held} == form and module in trace.modules
        own = [call for call in calls if call.module == module and call.segment > first]
        if not alike or not written or trace.modules[module].cls != trace.modules[root].cls:
            continue
        still = sum(p.id in kept for p in held)
        if len(own) >= OFTEN and still * 2 > len(held) and not any(p.id in known.feeding for p in held):
            return _Served(held, still, own)
    return None


def _finding(trace: Trace, made: list[Optimizer], served: _Served) -> Finding:
    found, call = _made_anew(trace, made[0]), served.evaluated[0]
    load = _load(trace, served)
    place = site_of(found.path, found.function, found.statement) if found is not None else made[0].site
    instead, edits = _instead(trace, found, made[0], load)
    given = _given(trace, found) if found is not None else ""
    if found is not None and given:
        edits = Source(trace, found.path).remove(found.statement)
    copied = _given_back(trace, found) if found is not None and not given else None
    if copied is not None:
        edits = copied.edits
    steps = sum(optimizer.steps for optimizer in made)
    here = f", in {located(trace, load)}," if load is not None else ""
    return Finding(
        message=f"{counted(len(made), 'network')} are trained and dropped; the one that is evaluated is another, and"
        " nothing that was learned comes to it",
        cause=place.user if place is not None else None,
        cause_label="made anew, trained, and gone",
        effect=call.site.user,
        effect_label="evaluates one that no optimizer holds",
        related=((load, "the one that is evaluated gets its weights here"),) if load is not None else (),
        seen=(
            f"{counted(steps, 'step')} of {plural(len(made), 'optimizer')} from one line, each with parameters of its"
            " own: no operation read one after its last step",
            f"{served.kept} of {plural(len(served.parameters), 'parameter')} of the network that is evaluated, which is"
            f" written to {served.parameters[0].updates} times or more, had the numbers of the beginning at the end",
        ),
        fix=f"leave {located(trace, place)} out: `{found.name}` is what `{given}()` is given, and is to be trained"
        if found is not None and given
        else copied.fix
        if copied is not None
        else f"train the network that is loaded{here} and evaluated, in place of a new one{instead}",
        edits=edits,
        count=len(made),
        subjects=parameter_subjects(id for optimizer in made for id in optimizer.parameters)
        | ({("made", *place.user.location())} if place is not None else set()),
    )


def _load(trace: Trace, served: _Served) -> Site | None:
    ids = {p.id for p in served.parameters}
    for graph in trace.graphs:
        for op in graph.writing:
            if loads_state(op) and any(graph.values[w].parameter in ids for w in op.writes):
                return op.site.user
    return None


def _made_anew(trace: Trace, optimizer: Optimizer) -> _Anew | None:
    """Where the trained network, or what holds it, is made: the statement that binds the name on which, from the
    inside to the outside, the optimizer's line or a function that leads to it is called."""
    assert optimizer.site is not None
    for frame in reversed(optimizer.site.stack):
        file = trace.source_file(frame.path)
        node = file.at(frame)
        names = (
            {n.id for n in ast.walk(node) if isinstance(n, ast.Name)} if isinstance(node, ast.Call) else set()
        )
        scope = next((n for n in file.around(frame) if isinstance(n, FUNCTIONS)), file.tree)
        for one in ast.walk(scope) if scope is not None else ():
            if isinstance(one, ast.Assign) and isinstance(one.value, ast.Call) and one.lineno < frame.line:
                target = one.targets[0]
                if isinstance(target, ast.Name) and target.id in names - {"self"}:
                    return _Anew(frame.path, frame.function, one, target.id)
    return None


def _given(trace: Trace, anew: _Anew) -> str:
    """The function that is given a network, and puts a new one in its place."""
    function = trace.source_file(anew.path).function_of(anew.statement)
    if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return ""
    return function.name if anew.name in {one.arg for one in arguments(function)} else ""


class _Back(NamedTuple):
    """What a function gives back of the network that it has copied, where the trained copy was meant."""

    fix: str
    edits: Edits


def _given_back(trace: Trace, anew: _Anew) -> _Back | None:
    """`server.state_dict()`, read behind `local = copy.deepcopy(server)` and the training of `local`."""
    here = Source(trace, anew.path)
    call = anew.statement.value
    if called_name(call) != "deepcopy" or not isinstance(call, ast.Call) or len(call.args) != 1:
        return None
    original = ast.unparse(call.args[0])
    scope = here.file.scope_of(anew.statement) or anew.statement
    read = [
        node.func
        for node in own_nodes(scope)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in ("state_dict", "parameters", "named_parameters")
        and ast.unparse(node.func.value) == original
        and node.lineno > anew.statement.lineno
    ]
    if len(read) != 1:
        return None
    place = site_of(anew.path, anew.function, read[0])
    return _Back(
        f"give back the weights of the copy that was trained: `{anew.name}.{read[0].attr}()` in place of"
        f" `{original}.{read[0].attr}()` ({where(place)})",
        here.replace(read[0].value, anew.name),
    )


def _instead(trace: Trace, anew: _Anew | None, optimizer: Optimizer, load: Site | None) -> tuple[str, Edits]:
    """`exp = self.exp`, where `self.exp.model` is loaded in a method of the same class, and the optimizer is given the
    parameters of `exp.model`: as `self.model`, in a method of `exp`."""
    loaded = receiver(trace, load, "load_state_dict")
    assert optimizer.site is not None
    call = trace.source_file(optimizer.site.user.path).at(optimizer.site.user)
    given = ast.unparse(call.args[0]) if isinstance(call, ast.Call) and call.args else ""
    if anew is None or load is None or not given.endswith(".parameters()"):
        return "", ()
    first, dot, rest = given.removesuffix(".parameters()").partition(".")
    part = f"{dot}{rest}"
    held = loaded.removesuffix(part)
    beside = load.path == anew.path and load.function.rpartition(".")[0] == anew.function.rpartition(".")[0]
    same = beside and held.startswith("self.") and "." in anew.function
    if first not in ("self", anew.name) or not loaded.endswith(part) or not same:
        return "", ()
    return f": `{anew.name} = {held}`", Source(trace, anew.path).replace(anew.statement.value, held)
