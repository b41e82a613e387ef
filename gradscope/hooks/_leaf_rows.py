"""What the trace's parameter table says of a leaf."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gradscope.hooks._torch import grad_of
from gradscope.hooks.recorder.values import measurable, norm_of, sizes

if TYPE_CHECKING:
    from gradscope.hooks.recorder.ledger import LeafRecord

KEPT = 200  # leaves of the beginning are told also where nothing was done with them


def is_told(record: LeafRecord) -> bool:
    """Whether it has a row at all."""
    return bool(record.registered or record.optimizers or record.passes or record.id <= KEPT)


def row(record: LeafRecord, norms: bool, look: bool) -> dict[str, Any]:
    """norms: with that of its gradient; look: its gradient may be read."""
    t = record.ref()
    grad = grad_of(t) if t is not None and look else None
    norm = None
    if norms and grad is not None and measurable(grad) and not grad.is_sparse:
        try:
            norm = norm_of(grad.detach())
        except RuntimeError:
            norm = None
    if t is not None and not t.is_inference():
        record.was_grad = bool(t.requires_grad)
        record.shape = (sizes(t), *record.shape[1:])
    shape, dtype, device = record.shape
    return {
        "name": record.name, "shape": shape, "dtype": dtype, "device": device,
        "requires_grad": record.was_grad, "module": record.module, "registered": record.registered,
        "declared": record.declared,
        "optimizers": record.optimizers, "passes": record.passes, "steps": record.steps,
        "updates": record.updates, "changed": record.changed, "reads": record.reads,
        "read_at": sorted(record.read_at),
        "taken": record.taken, "taken_at": sorted(record.taken_at), "handed": record.handed,
        "grad": "none" if t is not None and look and grad is None else record.state, "grad_norm": norm,
        "site": record.site or None,
    }  # fmt: skip
