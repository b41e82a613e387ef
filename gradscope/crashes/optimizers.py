"""Errors of optimizers, their state, and GradScaler."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.analysis.text import classes_named, own_nodes, site_of
from gradscope.analysis.used_up import used_up
from gradscope.analysis.words import listed, quoted
from gradscope.crashes import Crash, Place, explain
from gradscope.source import SourceFile, called_name, names_in


def _made(crash: Crash) -> Place | None:
    """Where the one optimizer was made that took a step or failed."""
    found = [o for o in crash.trace.optimizers.values() if o.site is not None]
    return (found[0].site.user, "made here") if len(found) == 1 and found[0].site is not None else None


def _lost_layers(crash: Crash) -> list[tuple[str, ast.Assign]]:
    """The lines of the model's `__init__`, each with its file, that give a layer to a name of that function alone,
    which nothing reads there: where it returns the layer is gone."""
    call = crash.trace.source_file(crash.site.path).at(crash.site)
    models = [
        node.func.value
        for node in (ast.walk(call) if call is not None else ())
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "parameters"
    ]
    made = [
        value
        for model in models
        for path in crash.trace.sources
        for value in crash.trace.source_file(path).assigned.get(ast.unparse(model), ())
    ]
    found = list(classes_named(crash.trace, *{called_name(one) for one in (*models, *made)}))
    if len(found) != 1:
        return []
    path, cls = found[0]
    file = crash.trace.source_file(path)
    lines = [
        line
        for method in cls.body
        if isinstance(method, ast.FunctionDef) and method.name == "__init__"
        for line in _unread(file, method)
    ]
    return [(path, line) for line in sorted(lines, key=lambda line: line.lineno)]


def _unread(file: SourceFile, method: ast.FunctionDef) -> Iterator[ast.Assign]:
    read = names_in(method, ast.Load)
    for node in own_nodes(method):
        target = node.targets[0] if isinstance(node, ast.Assign) else None
        if isinstance(node, ast.Assign) and isinstance(target, ast.Name) and isinstance(node.value, ast.Call):
            layer = (
                file.imported_name(node.value.func).startswith("torch.nn.")
                and called_name(node.value)[:1].isupper()
            )
            if layer and target.id not in read:
                yield node


def _places(crash: Crash) -> list[Place]:
    return [
        (site_of(path, "__init__", line), "a name of `__init__` alone") for path, line in _lost_layers(crash)
    ]


def _lost_words(crash: Crash) -> dict[str, str]:
    lost = _lost_layers(crash)
    names = [ast.unparse(line.targets[0]) for _, line in lost]
    path, first = lost[0]
    holder = crash.trace.source_file(path).class_of(first)
    used = sorted({
        node.lineno for node in (ast.walk(holder) if holder is not None else ())
        if isinstance(node, ast.Name) and node.id in names and isinstance(node.ctx, ast.Load)
    })  # fmt: skip
    also = (
        f", also where they are used (line{'s' * (len(used) > 1)} {listed([str(n) for n in used], 8)})"
        if used
        else ""
    )
    new = [f"`self.{name.removeprefix('self_')}` in place of `{name}`" for name in names]
    return {
        "cls": holder.name if holder is not None else "the model",
        "names": listed([quoted(name) for name in names], 6),
        "new": listed(new, 8) + also,
        "layers": "layer" if len(names) == 1 else "layers",
    }


def _first_reader(crash: Crash) -> Place | None:
    gone = used_up(crash.trace, crash.site)
    return (gone.read, "goes through it") if gone is not None else None


def _used_up_words(crash: Crash) -> dict[str, str]:
    gone = used_up(crash.trace, crash.site)
    assert gone is not None  # `when`
    return {"name": gone.name, "value": " ".join(ast.unparse(gone.value).split())}


explain(
    "layers-in-names-of-init",
    "optimizer got an empty parameter list",
    "an optimizer was given no parameters: `{cls}.__init__` gives its {layers} to {names}, which no attribute keeps",
    why="a name without `self.` belongs to the function: where `__init__` returns what it held is gone, and the model"
    " has no parameters",
    fix="write {new}",
    when=lambda crash: bool(_lost_layers(crash)),
    cause=lambda crash: _places(crash)[0],
    words=_lost_words,
    related=lambda crash: _places(crash)[1:],
)
explain(
    "parameters-used-up",
    "optimizer got an empty parameter list",
    "an optimizer was given no parameters: `{name}` has been gone through before",
    why="what `filter`, `map`, a generator or `parameters()` gives can be gone through once: whoever asks it again gets"
    " nothing",
    fix="make a list of it: `{name} = list({value})`",
    when=lambda crash: used_up(crash.trace, crash.site) is not None,
    cause=_first_reader,
    words=_used_up_words,
)
explain(
    "optimizer-without-parameters",
    "optimizer got an empty parameter list",
    "an optimizer was given no parameters",
    why="the model has none (layers in a plain list or dict are not registered), all were filtered out, or"
    " the generator `parameters()` was used up by an earlier loop",
    fix="keep layers in `nn.ModuleList` or `nn.ModuleDict`; call `model.parameters()` anew for each use",
)
explain(
    "parameter-in-two-groups",
    "some parameters appear in more than one parameter group",
    "a parameter is in two groups of the optimizer",
    why="it would be updated twice in each step",
    fix="leave the parameters that have a group of their own out of the other:"
    " `[p for p in model.parameters() if not any(p is q for q in special)]`",
)
explain(
    "optimizer-of-one-tensor",
    "params argument given to the optimizer should be an iterable of Tensors or dicts",
    "an optimizer was given a tensor where a list of tensors is expected",
    why="it goes through its argument: of one tensor that would be its rows",
    fix="put it into a list: `SGD([w], …)`",
)
explain(
    "optimizer-of-other-things",
    r"optimizer can only optimize Tensors, but one of the params is (\S+)",
    "an optimizer was given a {0} among its parameters",
    why="`state_dict()`, `named_parameters()` and `children()` hold names or modules, not parameters alone",
    fix="pass `model.parameters()`",
)
explain(
    "optimizer-state-of-other-model",
    "loaded state dict (?:contains a parameter group that doesn't match|has a different number of parameter"
    " groups)",
    "the optimizer's state comes from an optimizer with other parameters or groups",
    why="state is matched by position: groups and parameters have to be as many and in the same order",
    fix="build model and optimizer as they were saved, then load; after a change of the model start the"
    " optimizer's state afresh",
    cause=_made,
)
explain(
    "adam-with-sparse",
    r"(\w+) does not support sparse gradients",
    "`{0}` was given a sparse gradient",
    why="`nn.Embedding(sparse=True)` makes sparse gradients, which few optimizers take",
    fix="use `SparseAdam` or SGD for these parameters, or `sparse=False`",
    cause=_made,
)
explain(
    "step-without-closure",
    r"step\(\) missing 1 required positional argument: 'closure'",
    "this optimizer evaluates the loss several times in a step, and was given no closure",
    why="line searches need the loss at other points, so they call back",
    fix="define `def closure(): opt.zero_grad(); loss = …; loss.backward(); return loss`, and call"
    " `step(closure)`",
    cause=_made,
)
explain(
    "scaler-without-scale",
    "Attempted (?:step|unscale_|update) but _scale is None",
    "the `GradScaler` was used before it has scaled a loss",
    why="`scale(loss)` sets its factor; without it the gradients are not scaled either",
    fix="call `scaler.scale(loss).backward()` before",
)
explain(
    "scaler-not-updated",
    r"step\(\) has already been called since the last update",
    "`scaler.step(…)` was called twice without `scaler.update()`",
    why="`update` closes the step: it sets the factor for the next one",
    fix="call `scaler.update()` once after the optimizers of a step",
)
explain(
    "scaler-found-no-gradients",
    "No inf checks were recorded for this optimizer",
    "`scaler.step(…)` found no gradient in the optimizer's parameters",
    why="its parameters are not part of the loss, or `backward()` was left out or came after",
    fix="call `scaler.scale(loss).backward()` before, with a loss computed from this optimizer's parameters",
    cause=_made,
)
explain(
    "scaler-unscales-half",
    "Attempting to unscale FP16 gradients",
    "`GradScaler` met gradients in half precision: the parameters themselves are float16",
    why="mixed precision keeps parameters in float32 and lets autocast choose; scaling float16 gradients back"
    " would lose them",
    fix="do not call `model.half()`: keep it in float32 and run the forward under `torch.autocast`",
)
explain(
    "parameter-replaced-by-tensor",
    r"cannot assign '(\S+?)' (?:as parameter|object to parameter) '(\w+)'",
    "a plain tensor was assigned to the parameter `{1}`",
    why="parameters are leaves of type `nn.Parameter`; a computed tensor would not be trained",
    fix="write into it (`with torch.no_grad(): module.{1}.copy_(value)`), wrap it (`nn.Parameter(value)`), or"
    " use `torch.func.functional_call` to compute with other values",
)
explain(
    "module-not-initialised",
    r"cannot assign (\w+) before Module.__init__\(\) call",
    "a {0} was assigned to a module before `super().__init__()`",
    why="`nn.Module.__init__` makes the tables that parameters and layers are registered in",
    fix="call `super().__init__()` first in `__init__`",
)
