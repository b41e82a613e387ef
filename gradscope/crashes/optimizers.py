"""Errors of optimizers, their state, and GradScaler."""

from __future__ import annotations

from gradscope.crashes import Crash, Place, explain


def _made(crash: Crash) -> Place | None:
    """Where the one optimizer was made that took a step or failed."""
    found = [o for o in crash.trace.optimizers.values() if o.site is not None]
    return (found[0].site.user, "made here") if len(found) == 1 and found[0].site is not None else None


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
