"""`model.train()` undoes the `eval()` that single layers were given, before they ran once like that.

Why: `train()` sets the mode of every layer below the model, whatever each was given before. Batch norm layers that a
`freeze_bn()` had put into evaluation mode go by the statistics of each batch again, and move their own.

Fix: put the layers back into evaluation mode after each `train()`, or override `train` in the model.

Measured: an `eval()` of the layer itself, a `train()` of a model around it, no call in between, and the training calls
in which the layer then ran in training mode. Silent on: layers that any training call had in evaluation mode, whole
parts of a model, modes that a library set, frozen parameters (GS405).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.analysis.calls import Calls, calls, is_part_of
from gradscope.analysis.counted import at_least
from gradscope.analysis.loop import in_order
from gradscope.analysis.words import code, located, numbers
from gradscope.events import Drift, Mode, ModuleCall, RunningStats
from gradscope.fixes.source import Edits, receiver
from gradscope.fixes.statements import line_after
from gradscope.model import Finding, Site
from gradscope.rules import rule
from gradscope.source import Function
from gradscope.store import Trace

ENOUGH = 2  # training calls


def bad() -> None:
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 1))
            self.freeze_bn()

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            out: torch.Tensor = self.body(x)
            return out

        def freeze_bn(self) -> None:
            for m in self.modules():
                if isinstance(m, nn.BatchNorm1d):
                    m.eval()  # effect: GS275

    torch.manual_seed(0)
    net = Net()
    opt = torch.optim.SGD(net.parameters(), lr=0.01)
    for _ in range(2):
        net.train()  # cause: GS275
        for _ in range(3):
            opt.zero_grad()
            (net(torch.randn(8, 4)) - 1).pow(2).mean().backward()
            opt.step()


def good() -> None:
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 1))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            out: torch.Tensor = self.body(x)
            return out

        def freeze_bn(self) -> None:
            for m in self.modules():
                if isinstance(m, nn.BatchNorm1d):
                    m.eval()

    torch.manual_seed(0)
    net = Net()
    opt = torch.optim.SGD(net.parameters(), lr=0.01)
    for _ in range(2):
        net.train()
        net.freeze_bn()
        for _ in range(3):
            opt.zero_grad()
            (net(torch.randn(8, 4)) - 1).pow(2).mean().backward()
            opt.step()


@rule("GS275", name="own-eval-undone", severity="warning", needs=Mode)
def own_eval_undone(trace: Trace) -> Iterator[Finding]:
    if any(_of_the_program(event) and not event.training for event in trace.of(Mode)):
        known = calls(trace)
        for (put, back), layers in _undone(known).items():
            yield _finding(known, put, back, layers)


def _of_the_program(event: Mode) -> bool:
    return event.site.kind == "user"


def _undone(known: Calls) -> dict[tuple[Site, Site], dict[int, int]]:
    """`eval()` of layers and the `train()` that undid it → each such layer, and the training calls that it had since
    then."""
    trains = {id(call.event) for call in known.all if call.trains}
    put: dict[int, Mode] = {}
    undone: dict[int, tuple[Site, Site]] = {}
    ran: dict[int, int] = {}
    had_effect = {layer for event in known.trace.of(Drift) for layer in (event.module, *event.alike)}
    for repeat, event in in_order(known.trace):
        if isinstance(event, Mode):
            _switch(known, event, put, undone)
        elif isinstance(event, ModuleCall):
            part = (
                event.called in known.trace.modules and known.trace.modules[event.called].parent is not None
            )
            had_effect.update(event.eval_layers if event.training or part else ())
            for layer in event.train_layers if id(event) in trains else ():
                if layer in undone:
                    ran[layer] = ran.get(layer, 0) + repeat * event.count
    found: dict[tuple[Site, Site], dict[int, int]] = {}
    for layer, times in ran.items():
        if times >= ENOUGH and layer not in had_effect:
            found.setdefault(undone[layer], {})[layer] = times
    return found


def _switch(known: Calls, event: Mode, put: dict[int, Mode], undone: dict[int, tuple[Site, Site]]) -> None:
    if not event.training:
        if _of_the_program(event) and known.members(event.module) == {event.module}:
            put[event.module] = event
        return
    for layer in [one for one in put if is_part_of(known.trace, one, event.module)]:
        before = put.pop(layer)
        if layer != event.module:
            undone.setdefault(layer, (before.site, event.site))


def _finding(known: Calls, put: Site, back: Site, layers: dict[int, int]) -> Finding:
    trace, times = known.trace, max(layers.values())
    those = known.layers(layers)
    fix, edits = _again(trace, put, back, layers)
    return Finding(
        message=f"{code(trace, back.user, '`train()`')} undoes the evaluation mode of {those}, before they ran in it"
        " once",
        cause=back.user,
        cause_label="puts every layer of the model into training mode",
        effect=put.user,
        effect_label="has no effect on any call",
        seen=(
            f"{located(trace, put.user)} put {those} into evaluation mode, each by itself, and no call came before"
            f" {located(trace, back.user)}",
            f"{at_least(trace, times, 'training call')} had them in training mode, none in evaluation mode",
            *_moved(trace, layers),
        ),
        fix=fix,
        edits=edits,
        count=times,
        subjects=frozenset({("layer", layer) for layer in layers}),
    )


def _moved(trace: Trace, layers: dict[int, int]) -> Iterator[str]:
    """How the statistics of one of them went, where the model was evaluated meanwhile."""
    for event in trace.of(RunningStats):
        module = trace.modules.get(event.module)
        before, after = event.first.get("mean"), event.last.get("mean")
        if event.module in layers and module is not None and before != after:
            yield f"`{module.path}.running_mean` moved from {numbers(before)} to {numbers(after)} between evaluations"
            return


def _again(trace: Trace, put: Site, back: Site, layers: dict[int, int]) -> tuple[str, Edits]:
    """What puts them into evaluation mode, once more after the `train()`."""
    model, where = receiver(trace, back.user, "train"), located(trace, back.user)
    call = _method(trace, put, layers)
    if call and model:
        call = f"{model}.{call}()"
    elif model:
        call = _statement(trace, put, back, model)
    if call:
        return f"call `{call}` after {where}, each time", line_after(trace, back.user, call)
    return (
        f"put these layers into evaluation mode after {where}, each time, as {located(trace, put.user)} does, or in an"
        " overridden `train` of the model",
        (),
    )


def _method(trace: Trace, put: Site, layers: dict[int, int]) -> str:
    """The method of their model that does it, and is given nothing."""
    file = trace.source_file(put.user.path)
    node = file.at(put.user)
    function = file.function_of(node) if node is not None else None
    if node is None or function is None or not _is_given_nothing(function):
        return ""
    holder, roots = file.class_of(function), {trace.modules[layer].root for layer in layers}
    named = holder is not None and {trace.modules[root].cls for root in roots} == {holder.name}
    return function.name if named and function.name not in ("__init__", "forward", "train") else ""


def _is_given_nothing(function: Function) -> bool:
    given = function.args
    return (
        len(given.args) == 1 and not (given.posonlyargs or given.kwonlyargs) and given.args[0].arg == "self"
    )


def _statement(trace: Trace, put: Site, back: Site, model: str) -> str:
    """The call of a function that does it to the same model, as `model.apply(fix_bn)`."""
    frames = [frame for frame in put.stack if frame.kind == "user"][:-1]
    if not frames or frames[-1].path != back.user.path:
        return ""
    file = trace.source_file(frames[-1].path)
    statement = file.statement(frames[-1])
    if not isinstance(statement, ast.Expr) or not isinstance(statement.value, ast.Call):
        return ""
    held = {ast.unparse(node) for node in ast.walk(statement) if isinstance(node, ast.Name | ast.Attribute)}
    return ast.unparse(statement) if model in held else ""
