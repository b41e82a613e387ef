"""What is known of one leaf, and what the trace's parameter table says of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch.nn import Parameter

from gradscope.hooks._torch import TensorRef, dtype_of, grad_of, shard_of, version_of
from gradscope.hooks.recorder.values import measurable, norm_of, sizes


class LeafRecord:
    """One leaf that requires grad (or did)."""

    __slots__ = (
        "after", "based", "born", "changed", "declared", "first_version", "frozen_at", "frozen_steps", "handed",
        "handed_since", "id", "module", "name", "optimizers", "passes", "read_at", "read_since", "reads", "ref",
        "registered", "root", "shape", "sharded", "site",
        "stale_copy", "stale_site", "state", "steps", "taken", "taken_at", "taken_since", "updates", "used_site",
        "waiting", "was_grad", "written_at",
    )  # fmt: skip

    def __init__(self, id: int, t: Any, site: int, root: int):
        self.id = id
        self.ref: Callable[[], Any] = TensorRef(t)
        self.site = site
        self.root = root
        self.name = ""
        self.module: int | None = None
        self.registered = False
        self.declared = isinstance(t, Parameter)
        self.sharded = shard_of(t) is not None
        self.optimizers: list[int] = []
        self.state = "none" if grad_of(t) is None else "fresh"
        self.passes = self.steps = self.updates = self.reads = 0
        self.born = 0  # passes of the run when it was first seen
        self.waiting = 0  # writes that are updates if a pass follows
        self.written_at = 0  # passes of the run at the last of them
        self.read_since = False
        self.read_at: set[int] = set()  # sites
        self.taken = self.handed = 0  # gradients of which more came than a look (_gradient_uses)
        self.taken_since = self.handed_since = False
        self.taken_at: set[int] = set()  # sites
        self.changed = False
        self.based = False  # `first_version` is that of its first pass: initialisation is no change
        self.was_grad = bool(t.requires_grad)
        self.frozen_at = -1  # passes of the run when it was last made to require no gradient any more
        self.frozen_steps: dict[int, int] = {}  # optimizer → its steps until then
        self.first_version = version_of(t)
        self.shape = described(t)
        self.used_site = 0  # where its gradient was used last
        self.stale_site = 0  # the pass that added to a used gradient
        self.stale_copy: Any = None
        self.after: tuple[int, int] | None = None  # (id, version) of .grad after the last event

    def freeze(self, passes: int, optimizers: dict[int, dict[str, Any]]) -> None:
        """It requires no gradient any more; passes and optimizers: of the run, so far."""
        self.frozen_at = passes
        self.frozen_steps = {number: int(known["steps"]) for number, known in optimizers.items()}

    def frozen_afterwards(self, passes: int, optimizers: dict[int, dict[str, Any]]) -> bool:
        """Whether it was frozen once its training was over: no pass came any more, or no step of its optimizers (where
        it has none, of all that there were), as when what was trained is used by what is trained next."""
        if self.frozen_at <= 0:
            return False
        mine = {
            n: steps for n, steps in self.frozen_steps.items() if not self.optimizers or n in self.optimizers
        }
        over = all(int(optimizers[number]["steps"]) == steps for number, steps in mine.items())
        return passes == self.frozen_at or (over and any(mine.values()))


def described(t: Any) -> tuple[tuple[int, ...], str, str]:
    """Its sizes, dtype and device."""
    return sizes(t), dtype_of(t), str(t.device)


KEPT = 200  # leaves of the beginning are told also where nothing was done with them


def is_told(record: LeafRecord) -> bool:
    """Whether it has a row at all."""
    return bool(record.registered or record.optimizers or record.passes or record.id <= KEPT)


def row(
    record: LeafRecord, norms: bool, look: bool, passes: int, optimizers: dict[int, dict[str, Any]]
) -> dict[str, Any]:
    """norms: with that of its gradient; look: its gradient may be read; passes and optimizers: of the run, so far.
    What was frozen after its training has been trained all the time."""
    t = record.ref()
    grad = grad_of(t) if t is not None and look else None
    norm = None
    if norms and grad is not None and measurable(grad) and not grad.is_sparse:
        try:
            norm = norm_of(grad.detach())
        except RuntimeError:
            norm = None
    if t is not None and not t.is_inference():
        # Frozen where nobody looked, while sampling slept: in the passes before it was not.
        record.was_grad = bool(t.requires_grad) or (record.was_grad and passes > 0)
        record.shape = (sizes(t), *record.shape[1:])
    shape, dtype, device = record.shape
    return {
        "name": record.name, "shape": shape, "dtype": dtype, "device": device,
        "requires_grad": record.was_grad or record.frozen_afterwards(passes, optimizers),
        "module": record.module, "registered": record.registered, "declared": record.declared,
        "sharded": record.sharded,
        "optimizers": record.optimizers, "passes": record.passes, "steps": record.steps,
        "updates": record.updates, "changed": record.changed, "reads": record.reads,
        "read_at": sorted(record.read_at),
        "taken": record.taken, "taken_at": sorted(record.taken_at), "handed": record.handed,
        "grad": "none" if t is not None and look and grad is None else record.state, "grad_norm": norm,
        "site": record.site or None,
    }  # fmt: skip
