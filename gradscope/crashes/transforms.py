"""Errors of `torch.func`, `vmap` and forward-mode differentiation."""

from __future__ import annotations

import ast

from gradscope.analysis.text import nodes_of_functions, site_of
from gradscope.crashes import Crash, Place, Subject, explain, in_function, nowhere
from gradscope.model import Site
from gradscope.source import called_name, own_name


def _called(crash: Crash) -> Site | None:
    """The user's line that called the transform which the failing line runs in."""
    for frame in crash.event.site.stack:
        if frame.kind == "user" and frame.location() != crash.site.location():
            inner = [s for s in crash.event.site.stack if s.parent is frame]
            if any(s.kind == "torch" and "functorch" in s.path for s in inner):
                return frame
    return None


def _here(crash: Crash) -> Place | None:
    """Where the user called it."""
    frame = _called(crash)
    return (frame, "transformed here") if frame is not None else None


def _made(crash: Crash) -> Place | None:
    """Where the user made what `vmap` gives, if it was called by a name of its own; else where it was called."""
    frame = _called(crash) or crash.site
    call = crash.trace.source_file(frame.path).at(frame)
    name = own_name(call.func) if isinstance(call, ast.Call) else None
    made = [
        site_of(path, function, node.value)
        for path, function, node in nodes_of_functions(crash.trace, ast.Assign)
        if name is not None and own_name(node.targets[0]) == name and called_name(node.value) == "vmap"
    ]
    return (made[0], "made here") if len(made) == 1 else _here(crash)


def _called_too(crash: Crash) -> list[Place]:
    made, frame = _made(crash), _called(crash)
    return [(frame, "called here")] if frame is not None and made is not None and made[0] is not frame else []


def _transformed(crash: Crash) -> list[Place]:
    place = _here(crash)
    return [place] if place is not None else []


def _batch_is_taken(crash: Crash) -> bool:
    """Whether the failing line runs under `vmap`."""
    return any(s.kind == "torch" and s.path.endswith("_functorch/vmap.py") for s in crash.event.site.stack)


explain(
    "vmap-takes-number",
    r"vmap: It looks like you're calling \.item\(\) on a Tensor",
    "a number was taken of {it} under `vmap`, where it stands for many",
    why="under `vmap` one tensor stands for the whole batch, so it has no single value",
    fix="keep it a tensor, and use tensor operations in place of Python's",
    cause=_here,
)
explain(
    "vmap-branches-on-tensor",
    "vmap: It looks like you're attempting to use a Tensor in some data-dependent control flow",
    "`if` or `while` depends on a tensor under `vmap`, where it stands for many",
    why="each sample could need another branch",
    fix="compute both sides and choose with `torch.where`",
    cause=_here,
)
explain(
    "vmap-random",
    "vmap: called random operation while in randomness error mode",
    "random numbers are drawn under `vmap`, which does not say whether samples share them",
    why="dropout or `torch.rand` could draw once for all samples or anew for each: both are sensible",
    fix='pass `randomness="different"` (or `"same"`) to `vmap`',
    cause=_made,
    related=_called_too,
)
explain(
    "vmap-has-no-batch",
    r"Dimension out of range \(expected to be in range of \[(-?\d+), (-?\d+)\], but got (-?\d+)\)",
    "dimension {2} was asked for under `vmap`, where the tensor has dimensions {0} to {1}",
    why="`vmap` takes the batch's dimension away: the function is given one sample, and all its dimensions are one less"
    " than in a plain call",
    fix="name the dimension from the end (`dim=-1`), which is the same with a batch and without, or count it without"
    " the batch",
    cause=nowhere,
    when=_batch_is_taken,
    related=_transformed,
)
explain(
    "vmap-sizes-differ",
    r"vmap: Expected all tensors to have the same size in the mapped dimension, got sizes (\[.*?\])",
    "`vmap` was given batches of different sizes: {0}",
    why="it goes through the mapped dimension of all arguments together",
    fix="pass `in_dims` with None for arguments that all samples share, as in `in_dims=(0, None)`",
)
explain(
    "vmap-returns-no-tensor",
    r"vmap\(.*\): `(.*?)` must only return Tensors, got type <class '(\w+)'>",
    "the function under `vmap` returned a {1}, not a tensor",
    why="results are stacked along the batch",
    fix="return tensors",
)
explain(
    "vmap-dynamic-shape",
    r"vmap: We do not support batching operators that can output dynamic shape.* over aten::(\w+)",
    "`{0}` was called under `vmap`: how large its result is depends on the values",
    why="the samples' results could not be stacked",
    fix="use an operation of fixed size (a mask and `torch.where` in place of `nonzero` and boolean indexing)",
    cause=_here,
)
explain(
    "vmap-batch-norm",
    "Batch norm got a batched tensor as input while the running_mean or running_var",
    "batch norm in training mode was called under `vmap`: all samples would write the same running statistics",
    why="the running statistics are one buffer, and each sample would update it",
    fix="call `model.eval()`, set `track_running_stats=False`, or use another norm"
    " (`torch.func.replace_all_batch_norm_modules_`)",
    cause=_here,
)
explain(
    "transform-of-non-scalar",
    r"Expected f\(\*args\) to return a scalar Tensor, got tensor with (\d+) dims",
    "the function given to `torch.func.grad` returned a tensor with {0} dimensions, not one number",
    why="a gradient starts from one number",
    fix="return `.sum()` or `.mean()` of it, or use `jacrev` or `vjp`",
)
explain(
    "transform-of-no-tensor",
    r"Expected f\(\*args\) to return a Tensor, got <class '(\w+)'>",
    "the function given to `torch.func.grad` returned a {0}, not a tensor",
    why="`.item()` or `float()` inside the function loses the graph",
    fix="return the tensor itself",
)
explain(
    "transform-writes-captured",
    r"attempted to call in-place operation \(aten::(\w+?)_?(?:\.\w+)?\) that would mutate a captured Tensor",
    "a function under a transform writes in place to a tensor from outside (`{0}_`)",
    why="the write could not be undone or differentiated",
    fix="pass the tensor as an argument and return its new value, or write to a copy made inside the function",
    cause=_here,
    when=lambda crash: not in_function(crash, "nn/modules/batchnorm.py"),
)
explain(
    "transform-updates-statistics",
    r"attempted to call in-place operation \(aten::(\w+?)_?(?:\.\w+)?\) that would mutate a captured Tensor",
    "batch norm in training mode was called under a transform: it writes its running statistics",
    why="the running statistics are buffers from outside of the transformed function",
    fix="call `model.eval()`, make it with `track_running_stats=False`"
    " (`torch.func.replace_all_batch_norm_modules_`), or pass the buffers as an argument of the function",
    cause=_here,
)
explain(
    "vmap-writes-to-shared",
    r"vmap: inplace arithmetic\(self, \*extra_args\) is not possible because there exists a Tensor `(\w+)`",
    "{it} is one tensor for all samples, and what is written to it in place is one for each",
    why="under `vmap` a tensor made inside the function (`torch.zeros(…)`) or taken from outside has no batch"
    " of its"
    " own: there is no room in it for the samples' values",
    fix="make the result of the samples' own values: `torch.stack([…])` or `torch.where` in place of writes to"
    " elements, `y = y + x` in place of `y += x`, `x.new_zeros(…)` or `torch.zeros_like(x)` for the tensor that is"
    " written",
    of=Subject(of_receiver=True),
    cause=_here,
)
explain(
    "vmap-adds-to-shared",
    r"output with shape \[(.*?)\] doesn't match the broadcast shape \[(.*?)\]",
    "{it} is one tensor of shape [{0}] for all samples, and what is written to it in place is one for each",
    why="under `vmap` a tensor made inside the function or taken from outside has no batch of its own",
    fix="make a new tensor (`y = y + x` in place of `y += x`, `y.add_(x)`), or begin with one of the samples"
    " (`torch.zeros_like(x)`, `x.new_zeros(…)`)",
    of=Subject(of_receiver=True),
    cause=_here,
    when=lambda crash: in_function(crash, "_functorch/vmap.py"),
)
explain(
    "vmap-batch-of-nothing",
    r"Got in_dim=(-?\d+) for some input, but that input is a Tensor of dimensionality (\d+)",
    "`vmap` was told to go through dimension {0} of a tensor with {1} dimensions",
    why="each argument is mapped over its dimension 0, unless `in_dims` says otherwise",
    fix="pass `in_dims` with None for arguments that all samples share, as in `in_dims=(0, None)`",
)
explain(
    "vmap-arguments-miscounted",
    r"in_dims is not compatible with the structure of `inputs`",
    "`in_dims` has not one entry for each argument of the function under `vmap`",
    why="it has to be built as the arguments are: one number or None for each, dicts and tuples as they are passed",
    fix="give one entry for each argument; one number or None may stand for a whole dict or tuple",
)
explain(
    "transform-leaves-torch",
    "Cannot access data pointer of Tensor that doesn't have storage",
    "the numbers of {it} were asked for inside a function under a transform",
    why="under `torch.func` a tensor stands for many, or for a value with its derivative: it has no memory that"
    " numpy"
    " or C code could read",
    fix="compute with torch inside the function, and convert its result",
    cause=_here,
)
explain(
    "backward-inside-transform",
    r"backward\(\) called inside a functorch transform",
    "`backward()` was called inside a function that is being transformed",
    why="transforms keep their own graph: `.grad` of leaves is not part of it",
    fix="use `torch.func.grad` or `vjp` inside",
    cause=_here,
)
explain(
    "requires-grad-inside-transform",
    r"You are attempting to call Tensor\.requires_grad_\(\)",
    "`requires_grad_()` was called inside a function that is being transformed",
    why="transforms track their arguments by themselves",
    fix="leave it out: `torch.func.grad(f, argnums=…)` says what to differentiate by",
    cause=_here,
)
explain(
    "dual-without-level",
    "Trying to create a dual Tensor for forward AD but no level exists",
    "`make_dual` was called outside of a dual level",
    why="forward-mode tangents belong to a level, and go with it",
    fix="put it inside `with torch.autograd.forward_ad.dual_level():`",
)
explain(
    "tangent-of-other-shape",
    r"Tensor is of size \[(.*?)\] while the given forward gradient is of size \[(.*?)\]",
    "the tangent has shape [{1}], its tensor [{0}]",
    why="a tangent has one number for each element of its tensor",
    fix="pass a tangent of shape [{0}]",
)
