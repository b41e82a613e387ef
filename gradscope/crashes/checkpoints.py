"""Errors of `torch.utils.checkpoint`."""

from __future__ import annotations

from gradscope.crashes import Crash, Place, explain


def _checkpointed(crash: Crash) -> Place | None:
    """The user's last call of `checkpoint`."""
    found = None
    for site in crash.trace.sites:
        if site.kind == "torch" and site.function == "checkpoint" and site.path.endswith("checkpoint.py"):
            found = site.user
    return (found, "checkpointed here") if found is not None else None


explain(
    "checkpoint-recomputes-other-tensors",
    r"A different number of tensors was saved during the original forward and recomputation\.\s+Number of tensors"
    r" saved during forward: (\d+)\s+Number of tensors saved during recomputation: (\d+)",
    "a checkpoint saved {0} tensors in the forward, and {1} when backward ran it again",
    why="backward runs the function once more and needs the same operations: something outside changed in"
    " between (a counter, a flag, `train()`/`eval()`, autocast, a global), or it decides by chance",
    fix="make the function depend on its arguments alone; `checkpoint(…, debug=True)` lists both runs",
    cause=_checkpointed,
)
explain(
    "checkpoint-recomputes-other-values",
    r"Recomputed values for the following tensors have different metadata",
    "a checkpoint was run again by backward, and came to tensors of another shape, dtype or device",
    why="backward runs the function once more and needs the same tensors: something outside changed in between"
    " (autocast, a default dtype, an input that was resized)",
    fix="make the function depend on its arguments alone; `checkpoint(…, debug=True)` lists both runs",
    cause=_checkpointed,
)
explain(
    "checkpoint-with-grad",
    r"(?:When use_reentrant=True, torch.utils.checkpoint is incompatible|Checkpointing is not compatible)"
    r" with \.grad\(\)",
    "a reentrant checkpoint was met by `autograd.grad()` or `backward(inputs=…)`",
    why="its inner backward would fill `.grad` of every parameter, not only of those asked for",
    fix="pass `use_reentrant=False` to `checkpoint`",
    cause=_checkpointed,
)
explain(
    "checkpoint-without-gradient",
    r"none of output has requires_grad=True, this checkpoint\(\) is not necessary",
    "a checkpoint was run again by backward, and none of its results requires a gradient",
    why="inside, the graph is cut (`detach()`, `no_grad()`), so there is nothing to go back through",
    fix="take the cut out of the checkpointed function, or call it without `checkpoint`",
    cause=_checkpointed,
)
