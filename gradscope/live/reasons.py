"""Why a tensor has the gradient that it has, or none: from the tensor itself, and from a loss where one is known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from gradscope.analysis.words import counted
from gradscope.answers import Answer
from gradscope.hooks._torch import aside, grad_of, is_leaf, made_by
from gradscope.live.walk import Names, walk

SHOWN = 6  # names in a list, nodes of a way
TOLD = "`gradscope run` or `gradscope.watch()` tells, with the line"
CUT = (
    "cut off on its way (`detach()`, `.data`, `.item()`, numpy, `torch.no_grad()`, a new tensor made of the numbers) "
    f"or not used at all: which of them {TOLD}"
)


def reason(tensor: Tensor, loss: Tensor | None, names: Names) -> Answer:
    """The answer for one tensor. loss: the one it should get its gradient from; without it each variable of
    the caller that could be one."""
    name = names(tensor) or "the tensor"
    answer = Answer(name, "", _facts(tensor))
    if not is_leaf(tensor):
        _made(tensor, name, names, answer)
    elif not tensor.requires_grad:
        _does_not_require(tensor, name, answer)
    else:
        _leaf(tensor, name, loss, names, answer)
    return answer


def _facts(tensor: Tensor) -> list[str]:
    node = made_by(tensor)
    sizes = "×".join(map(str, tensor.shape)) or "a scalar"
    dtype = str(tensor.dtype).removeprefix("torch.")
    kind = "a leaf" if node is None else f"made by `{node.name()}`"
    return [f"{sizes}, {dtype}; it is {kind}, requires_grad is {bool(tensor.requires_grad)}"]


def _does_not_require(tensor: Tensor, name: str, answer: Answer) -> None:
    if not (tensor.is_floating_point() or tensor.is_complex()):
        answer.headline = f"`{name}` can have no gradient: torch computes none for {tensor.dtype}"
        answer.fix = "gradients need a floating-point or complex tensor"
        return
    answer.headline = f"`{name}` has no gradient and no graph: it does not require one"
    answer.seen.append(f"gradients are switched {'on' if torch.is_grad_enabled() else 'off'} here, now")
    if tensor.is_inference():
        answer.seen.append("it was made under `torch.inference_mode()`")
    answer.fix = (
        "a weight or an input that should have one: `requires_grad_(True)` before the forward. A computed value: "
        "nothing that went into it required a gradient, or the graph was cut (`detach()`, `torch.no_grad()`, "
        f"numbers in between), which {TOLD}"
    )


def _made(tensor: Tensor, name: str, names: Names, answer: Answer) -> None:
    """A tensor with a graph: what is behind it, and its own `.grad`."""
    found = walk([tensor])
    leaves = found.leaves()
    many = "1 leaf" if len(leaves) == 1 else f"{len(leaves):,} leaves"
    answer.headline = f"`{name}` has a graph: a backward pass from it fills {many}"
    answer.seen.append(
        f"{counted(len(found.nodes), 'grad_fn node')} behind it, {_listed([names(x) for x in leaves])}"
    )
    if not tensor.retains_grad:
        answer.seen.append(
            "its own `.grad` stays None: torch keeps that of leaves, of others after `retain_grad()`"
        )
    elif (grad := grad_of(tensor)) is not None:
        answer.seen.append(f"its own `.grad` is kept: {measured(grad)}")
    reached = {id(leaf) for leaf in leaves}
    missing = [n for n, p in names.parameters.items() if p.requires_grad and id(p) not in reached]
    if missing and len(missing) < len(names.parameters):
        answer.seen.append(f"not behind it: {_listed(missing)}")
        answer.fix = f"where those should be trained by `{name}`, they were {CUT}"


def _leaf(tensor: Tensor, name: str, loss: Tensor | None, names: Names, answer: Answer) -> None:
    grad = grad_of(tensor)
    if grad is not None:
        answer.headline = f"`{name}` has a gradient: {measured(grad)}"
    else:
        answer.headline = f"`{name}` has no gradient: no backward pass has filled it, or it was cleared since"
    losses = [(names(loss) or "the loss", loss)] if loss is not None else list(names.losses())
    for said, root in losses[:SHOWN]:
        way = walk([root])
        if made_by(root) is None:
            answer.seen.append(f"`{said}` has no graph: no gradient comes from it")
        elif way.reaches(tensor):
            nodes = [node.name for node in way.way_to(tensor)]
            shown = nodes if len(nodes) <= SHOWN else [*nodes[: SHOWN // 2], "…", *nodes[-SHOWN // 2 :]]
            answer.seen.append(f"`{said}` depends on it: {' → '.join(shown)}")
            if grad is None:
                answer.fix = f"`{said}.backward()` would fill it"
        else:
            answer.seen.append(
                f"`{said}` does not depend on it ({counted(len(way.nodes), 'grad_fn node')} searched)"
            )
            if grad is None and not answer.fix:
                answer.fix = f"between `{name}` and `{said}` it was {CUT}"


def gradient(tensor: Tensor) -> str:
    """A tensor's `.grad` in a few words: None, all zeros, its 2-norm, what is not finite."""
    grad = grad_of(tensor)
    return "None" if grad is None else measured(grad)


def measured(grad: Tensor) -> str:
    with torch.no_grad(), aside():
        if grad.is_sparse:
            grad = grad.coalesce().values()
        values = grad.detach()
        wide: Any = values.to(torch.complex64 if values.is_complex() else torch.float32)
        bad = int((~torch.isfinite(wide)).sum())
        norm = float(torch.linalg.vector_norm(wide))
    if bad:
        return f"{bad:,} of {values.numel():,} elements are not finite"
    return "all zeros" if norm == 0 else f"norm {norm:.4g}"


def _listed(names: Sequence[str | None]) -> str:
    shown = [f"`{name}`" if name else "one without a name" for name in names[:SHOWN]]
    more = [f"{len(names) - SHOWN} more"] if len(names) > SHOWN else []
    return ", ".join([*shown, *more]) or "nothing"
