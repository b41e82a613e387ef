"""Where gradients are cut off, and which parameters only reach the loss behind a cut."""

from __future__ import annotations

from dataclasses import dataclass

from gradscope.analysis.flow import Flow
from gradscope.model import Site


@dataclass(frozen=True)
class Cut:
    """One place where no gradient passes. `severs` names the trainable leaves that feed a
    backward pass only through cuts, this one first, and that got no gradient in the whole
    run; empty where the cut does no harm, as far as is known."""

    op: int  # index in the flow
    reason: str
    site: Site
    severs: tuple[str, ...]
    values: frozenset[int]  # the severed leaves
    used: bool  # a backward pass started from what was computed of its result
    mask: int  # bits (Flow.leaf_bit) of all trainable leaves whose way ends here

    def stops(self, flow: Flow, leaf: int) -> bool:
        """Whether a way from this leaf ends here."""
        return leaf in flow.leaf_bit and bool(self.mask >> flow.leaf_bit[leaf] & 1)


def find_cuts(flow: Flow) -> list[Cut]:
    """Every cut, in program order. One pass over the ops: sets of leaves are bits of an int."""
    bit = flow.leaf_bit
    leaves = list(bit)
    attached = [1 << bit[v] if v in bit else 0 for v in range(len(flow.values))]
    reached = 0
    for leaf in flow.reached_leaves:
        if leaf in bit:
            reached |= 1 << bit[leaf]
    cuts = []
    for index, op in enumerate(flow.ops):
        mask = 0
        for value in flow.inputs[index]:
            mask |= attached[value]
        if op.cut is None:
            for value in flow.outputs[index]:
                attached[value] |= mask
            continue
        used = any(value in flow.feeds_root for value in flow.outputs[index])
        lost = [v for v in _members(mask & ~reached, leaves) if _is_loss(flow, v)] if used else []
        names = tuple(dict.fromkeys(flow.name(v) or "a leaf without a name" for v in lost))
        cuts.append(Cut(index, op.cut, op.site, names, frozenset(lost), used, mask))
    return cuts


def _is_loss(flow: Flow, leaf: int) -> bool:
    """Whether this leaf was meant to be trained: not one that another pass gave its gradient,
    nor one that no optimizer holds while there are optimizers (a target network)."""
    parameter = flow.parameter(leaf)
    if parameter is None:
        return not flow.trace.optimizers
    return not parameter.passes and (bool(parameter.optimizers) or not flow.trace.optimizers)


def _members(mask: int, leaves: list[int]) -> list[int]:
    found = []
    while mask:
        low = mask & -mask
        found.append(leaves[low.bit_length() - 1])
        mask ^= low
    return found
