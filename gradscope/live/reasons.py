"""Why a tensor has the gradient that it has, or none: from the tensor itself, and from a loss where one is known."""

from __future__ import annotations

from gradscope.analysis.names import kind_words
from gradscope.analysis.words import counted, listed
from gradscope.answers import Answer
from gradscope.hooks._torch import (
    Tensor,
    aside,
    dtype_of,
    grad_fn_of,
    grad_of,
    is_grad_enabled,
    is_leaf,
    isfinite,
    name_of,
    no_grad,
)
from gradscope.hooks.recorder.values import norm_of
from gradscope.live.walk import Names, Walk, walk

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
    node = grad_fn_of(tensor)
    kind = "a leaf" if node is None else f"made by `{name_of(node)}`"
    facts = kind_words(dtype_of(tensor), tensor.shape)
    return [f"{facts}; it is {kind}, requires_grad is {bool(tensor.requires_grad)}"]


def _does_not_require(tensor: Tensor, name: str, answer: Answer) -> None:
    if not (tensor.is_floating_point() or tensor.is_complex()):
        answer.headline = f"`{name}` can have no gradient: torch computes none for {tensor.dtype}"
        answer.fix = "gradients need a floating-point or complex tensor"
        return
    answer.headline = f"`{name}` has no gradient and no graph: it does not require one"
    answer.seen.append(f"gradients are switched {'on' if is_grad_enabled() else 'off'} here, now")
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
    if not found.whole:
        many = (
            f"at least {many}"
            if leaves
            else f"what lies behind the nearest {len(found.nodes):,} grad_fn nodes"
        )
    answer.headline = f"`{name}` has a graph: a backward pass from it fills {many}"
    shown = [_named(names(x)) for x in leaves]
    answer.seen.append(f"{_searched(found)} behind it, {listed(shown, SHOWN) or 'no leaf'}")
    if not tensor.retains_grad:
        answer.seen.append(
            "its own `.grad` stays None: torch keeps that of leaves, of others after `retain_grad()`"
        )
    elif (grad := grad_of(tensor)) is not None:
        answer.seen.append(f"its own `.grad` is kept: {measured(grad)}")
    reached = {id(leaf) for leaf in leaves}
    missing = [n for n, p in names.parameters.items() if p.requires_grad and id(p) not in reached]
    if found.whole and missing and len(missing) < len(names.parameters):
        answer.seen.append(f"not behind it: {listed([f'`{n}`' for n in missing], SHOWN)}")
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
        reached = way.reaches(tensor)
        if grad_fn_of(root) is None:
            answer.seen.append(f"`{said}` has no graph: no gradient comes from it")
        elif reached is None:
            answer.seen.append(
                f"whether `{said}` depends on it is not known: {_searched(way)} searched, no more"
            )
        elif reached:
            nodes = [node.name for node in way.way_to(tensor)]
            shown = nodes if len(nodes) <= SHOWN else [*nodes[: SHOWN // 2], "…", *nodes[-SHOWN // 2 :]]
            answer.seen.append(f"`{said}` depends on it: {' → '.join(shown)}")
            if grad is None:
                answer.fix = f"`{said}.backward()` would fill it"
        else:
            answer.seen.append(f"`{said}` does not depend on it ({_searched(way)} searched)")
            if grad is None and not answer.fix:
                answer.fix = f"between `{name}` and `{said}` it was {CUT}"


def gradient(tensor: Tensor) -> str:
    """A tensor's `.grad` in a few words: None, all zeros, its 2-norm, what is not finite."""
    grad = grad_of(tensor)
    return "None" if grad is None else measured(grad)


def measured(grad: Tensor) -> str:
    with no_grad(), aside():
        if grad.is_sparse:
            grad = grad.coalesce().values()
        values = grad.detach()
        bad = int((~isfinite(values)).sum())
        norm = norm_of(values)
    if bad:
        return f"{bad:,} of {values.numel():,} elements are not finite"
    return "all zeros" if norm == 0 else f"norm {norm:.4g}"


def _named(name: str | None) -> str:
    return f"`{name}`" if name else "one without a name"


def _searched(found: Walk) -> str:
    """How many nodes were looked at."""
    return f"{'' if found.whole else 'the nearest '}{counted(len(found.nodes), 'grad_fn node')}"
