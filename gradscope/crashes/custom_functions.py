"""Errors of the user's own `torch.autograd.Function`."""

from __future__ import annotations

import ast

from gradscope.analysis.text import own_nodes, site_of
from gradscope.analysis.words import counted, quoted
from gradscope.crashes import Crash, Place, explain, nowhere
from gradscope.events import GradientHook
from gradscope.source import called_name


def _class(crash: Crash) -> str:
    return crash.match[1] or ""


def _backward(crash: Crash) -> Place | None:
    """The `backward` of the class that torch's text names; else the call of its `apply`."""
    name = _class(crash)
    place = crash.definition(name, "backward") or crash.definition(name, "vjp")
    return (place, "this backward") if place is not None else _applied(crash)


def _returned(crash: Crash) -> dict[str, str]:
    """What a backward gave: None counts as one gradient, also where nothing is returned."""
    place = crash.definition(_class(crash), "backward")
    node = crash.trace.source_file(place.path).statement(place) if place is not None else None
    given = [n.value for n in own_nodes(node) if isinstance(n, ast.Return)] if node is not None else [None]
    silent = isinstance(node, ast.FunctionDef) and not any(value is not None for value in given)
    gave = counted(int(crash.match[3]), "gradient")
    return {
        "returned": "has no `return`, and so gives None," if silent else f"returned {gave}",
        "taken": counted(int(crash.match[2]), "argument"),
        "end": "end it with `return` and" if silent else "return",
    }


def _joined(crash: Crash) -> tuple[str, ast.Call, int] | None:
    """The `torch.cat(…)` of a backward that lays the parts of its gradient one behind the other where each is one place
    of an axis, with the file and that axis."""
    place = crash.definition(_class(crash), "backward")
    here = crash.trace.source_file(place.path) if place is not None else None
    node = here.statement(place) if here is not None and place is not None else None
    got, expected = ([int(n) for n in crash.match[i].split(",") if n.strip()] for i in (3, 4))
    if place is None or node is None or len(got) != 1 or len(expected) != 2 or expected[0] == expected[1]:
        return None
    for call in own_nodes(node):
        parts = call.args[0] if isinstance(call, ast.Call) and call.args else None
        if isinstance(call, ast.Call) and called_name(call) in ("cat", "concat", "concatenate"):
            if isinstance(parts, (ast.Tuple, ast.List)) and got[0] == expected[0] * expected[1]:
                if (count := len(parts.elts)) in expected:
                    return place.path, call, expected.index(count)
    return None


def _hint(crash: Crash) -> dict[str, str]:
    """How the gradient comes by its shape."""
    found = _joined(crash)
    if found is None:
        return {"hint": "(sum over broadcast dimensions, transpose matrices)"}
    path, call, axis = found
    file = crash.trace.source_file(path)
    text, parts = quoted(" ".join(file.text(call).split())), " ".join(file.text(call.args[0]).split())
    return {
        "hint": f"with `torch.stack({parts}, {axis})` in place of {text} (line {call.lineno}), which lays its parts one"
        f" behind the other: each of them is one place of axis {axis}. A `view` of what it gives has the shape, but"
        " its numbers stand in the wrong places"
        if axis
        else f"with `torch.stack({parts})` in place of {text} (line {call.lineno}), which lays its parts one behind the"
        " other"
    }


def _joined_at(crash: Crash) -> tuple[Place, ...]:
    found = _joined(crash)
    if found is None:
        return ()
    return ((site_of(found[0], "backward", found[1]), "lays the parts one behind the other"),)


def _applied(crash: Crash) -> Place | None:
    op = crash.last_op(_class(crash))
    return (op.site.user, "applied here") if op is not None else None


def _custom(crash: Crash) -> Place | None:
    """The last call of any Function of the user's: the text names none."""
    found = [op for graph in crash.trace.graphs for op in graph.ops if op.extra.get("custom")]
    if not found:
        return None
    place = crash.definition(found[-1].name, "backward")
    return (place, f"backward of `{found[-1].name}`") if place else (found[-1].site.user, "applied here")


def _registered(crash: Crash) -> Place | None:
    """Where the hook that torch's text names was put on its tensor."""
    events = [e for e in crash.trace.of(GradientHook) if e.name == crash.match[1]]
    return (events[-1].site.user, "the hook is put here") if events else None


explain(
    "backward-returns-too-few",
    r"function (\w+?)(?:Backward)? returned an incorrect number of gradients \(expected (\d+), got (\d+)\)",
    "the backward of `{0}` {returned} where forward takes {taken}",
    why="backward returns one gradient for each argument of forward behind `ctx`, in their order",
    fix="{end} {1} values; `None` for arguments that need no gradient",
    cause=_backward,
    words=_returned,
)
explain(
    "backward-returns-one-too-many",
    r"function (\w+?)(?:Backward)? returned a gradient different than None at position (\d+), but the corresponding"
    " forward input was not a Variable",
    "the backward of `{0}` returned a gradient for argument {1} of forward, which is no tensor",
    why="backward returns one value for each argument of forward behind `ctx`, in their order; a number or a"
    " setting takes no gradient",
    fix="return `None` at position {1}, and each gradient at the position of its own argument",
    cause=_backward,
)
explain(
    "backward-returns-other-shape",
    r"Function (\w+?)(?:Backward)? returned an invalid gradient at index (\d+) - got \[(.*?)\] but expected"
    r" shape compatible with \[(.*?)\]",
    "the backward of `{0}` returned a gradient of shape [{2}] for argument {1}, which has shape [{3}]",
    why="a gradient has the shape of what it belongs to; where forward broadcast an argument, backward sums over"
    " the dimensions that were added",
    fix="return a gradient of shape [{3}] for argument {1} {hint}",
    cause=_backward,
    words=_hint,
    related=_joined_at,
)
explain(
    "backward-returns-other-place",
    r"Function (\w+?)(?:Backward)? returned an invalid gradient at index (\d+) - (expected .*)",
    "the backward of `{0}` returned a gradient for argument {1} of another kind: {2}",
    why="a gradient lives on the device and has the layout of what it belongs to",
    fix="make it with `torch.zeros_like(argument)`, `grad_output.new_zeros(…)` or `.to(argument.device)`",
    cause=_backward,
)
explain(
    "backward-returns-no-tensor",
    r"expected Variable or None \(got (\w+)\)",
    "a custom backward returned a {0}, where a tensor or None is expected",
    why="backward returns a gradient for each argument of forward: a tensor of its shape, or None",
    fix="return a tensor: `grad_output * value`",
    cause=_custom,
)
explain(
    "hook-returns-no-tensor",
    r"expected Variable, but hook returned '(\w+)'",
    "a gradient hook returned a {0}, where a tensor or None is expected",
    why="what a hook returns takes the gradient's place",
    fix="return a tensor, or nothing to leave the gradient as it is",
    cause=nowhere,
)
explain(
    "hook-changes-shape",
    "hook '(.*?)' has changed the size of value",
    "the gradient hook `{0}` returned a gradient of another shape",
    why="what a hook returns takes the gradient's place, so it has its shape",
    fix="return a tensor of the shape that the hook is given",
    cause=_registered,
)
explain(
    "function-without-backward",
    "You must implement either the backward or vjp method for your custom autograd.Function",
    "a custom Function has no `backward`, and a gradient has to go through it",
    why="torch cannot derive a custom forward",
    fix="add `@staticmethod def backward(ctx, grad_output)` to the class",
    cause=_custom,
)
explain(
    "function-not-static",
    "Legacy autograd function with non-static forward method",
    "a custom Function was called as an object: `forward` and `backward` are static methods now",
    why="the old way kept its state in `self`; it went away in torch 1.5",
    fix="make both `@staticmethod` with `ctx` as first argument, and call `MyFunction.apply(x)`",
    cause=nowhere,
)
explain(
    "function-saves-no-tensor",
    r"save_for_backward can only save variables, but argument (\d+) is of type (\w+)",
    "`save_for_backward` was given a {1} (argument {0})",
    why="it keeps tensors only, and checks them",
    fix="keep other values as attributes: `ctx.shape = …`",
    cause=nowhere,
)
explain(
    "function-dirty-not-returned",
    "Some elements marked as dirty during the forward method were not returned as output",
    "a custom Function marked an input as written in place, and did not return it",
    why="the result of an in-place forward is that input itself",
    fix="return the tensor that `mark_dirty` was called with, or leave `mark_dirty` out if nothing is written",
    cause=nowhere,
)
explain(
    "function-differentiated-twice",
    "trying to differentiate twice a function that was marked with @once_differentiable",
    "a second derivative is asked for through a custom Function that has only a first",
    why="`@once_differentiable` says that its backward is no differentiable code",
    fix="write the backward with torch operations and take the decorator away, or leave `create_graph=True` out",
    cause=_custom,
)
explain(
    "function-without-setup-context",
    "In order to use an autograd.Function with functorch transforms",
    "a custom Function whose `forward` takes `ctx` was used inside `torch.func`",
    why="transforms run forward without a context, and fill it afterwards",
    fix="take `ctx` out of `forward`, and keep what backward needs in"
    " `@staticmethod def setup_context(ctx, inputs, output)`",
    cause=_custom,
)
explain(
    "function-without-vmap",
    r"You tried to vmap over (\w+), but it does not have vmap support",
    "`{0}` was used under `vmap`, and does not say how it is batched",
    why="torch cannot see into a custom Function",
    fix="set `generate_vmap_rule = True` in the class, or write `@staticmethod def vmap(info, in_dims, *args)`",
    cause=_applied,
)
