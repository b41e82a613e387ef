"""The life of every gradient: filled, added to, used by a step or an update, zeroed.

Gradients are reported when they are used, not when they are written: so gradient
accumulation, GANs and LBFGS are silent by themselves (docs/design.md).
"""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Iterable, Iterator, Set
from typing import TYPE_CHECKING, Any

from torch import Tensor

from gradscope.hooks._torch import aside, grad_fn_of, grad_of, is_leaf, version_of
from gradscope.hooks.behind import nodes_behind
from gradscope.hooks.recorder.gradient_uses import GradientUses
from gradscope.hooks.recorder.hand_sums import HandSums
from gradscope.hooks.recorder.leaf import KEPT, LeafRecord, described, is_told, row
from gradscope.hooks.recorder.values import measurable, norm_of, norm_on_device
from gradscope.store import pack
from gradscope.tracebacks import is_of_torch

if TYPE_CHECKING:
    from gradscope.hooks.recorder.state import State

INITIALISERS = os.path.join("nn", "init.py")
MODULES = os.path.join("nn", "modules", "module.py")  # which loads states
MAX_PROOFS = 8  # stale gradients copied for measuring, per run
MAX_PROOF_ELEMENTS = 4_000_000
MAX_DROPS = 8  # cleared gradients measured, per run
FEW_LEAVES = 256


class Ledger:
    """Knows every leaf and the state of its gradient."""

    def __init__(self, state: State):
        self.state = state
        self.records: dict[int, LeafRecord] = {}  # id(tensor) → record
        self.all: list[LeafRecord] = []
        self.given: set[int] = set()  # ids of those that have a row in the trace
        self.by_root: dict[int, LeafRecord] = {}
        self.count = 0
        self.limit = FEW_LEAVES  # of `records`, before those of dead leaves go
        self.proofs = 0
        self.filled: list[LeafRecord] = []  # by the last pass
        self.others: dict[
            int, list[LeafRecord]
        ] = {}  # no parameters of a module or optimizer: by its last pass
        self.drops = 0
        self.by_hand = HandSums(state, self.cleared)
        self.uses = GradientUses(state, self.by_root)

    def leaf(self, t: Any, site: int, root: int) -> LeafRecord:
        record = self.records.get(id(t))
        if record is None or record.ref() is not t:
            record = LeafRecord(self.count, t, site, root)
            record.born = self.state.passes
            self.count += 1
            self.records.pop(id(t), None)  # of a dead one: the newest stand last
            self.records[id(t)] = record
            self.all.append(record)
            self.by_root[root] = record
            if len(self.all) > self.limit:  # not `records`: dead leaves may have had the same ids
                self._sweep()
        return record

    def of(self, t: Any) -> LeafRecord:
        """The record of a tensor that may not have been an op's input yet."""
        entry = self.state.live.find(t) or self.state.live.make(t)
        if entry.leaf is None:
            entry.leaf = self.leaf(t, entry.site, entry.root)
        record: LeafRecord = entry.leaf
        return record

    def _sweep(self) -> None:
        """Forgets leaves that died, once their rows are in the trace: a program may make new ones
        (or whole models) every step."""
        kept = []
        for record in self.all:
            if record.id <= KEPT or record.ref() is not None:
                kept.append(record)
            elif record.registered or record.optimizers:
                self.state.writer.add("parameter", record.id, pack(self._row(record, False, True)))
        self.all = kept
        for key in [k for k, r in self.records.items() if r.ref() is None]:
            self.by_root.pop(self.records.pop(key).root, None)
        self.limit = max(FEW_LEAVES, 2 * len(self.all))

    # -- backward ----------------------------------------------------------------

    def before_pass(self, roots: Iterable[Any]) -> list[tuple[LeafRecord, Any, tuple[int, int] | None]]:
        """Notes each gradient as it stands; finds those that were used already."""
        found: list[tuple[LeafRecord, Any, tuple[int, int] | None]] = []
        for record in self._readable(list(self.records.values()), roots):
            t = record.ref()
            if t is None:
                continue
            self._compare(record, t)
            grad = grad_of(t)
            if grad is None:
                record.state = "none"
                found.append((record, t, None))
                continue
            if record.state == "used" and self._is_zero(record, grad):
                record.state = "zero"
            elif record.state == "none" or (record.state == "used" and self.by_hand.is_kept(record, grad)):
                record.state = "fresh"
            if record.state == "used":
                self._keep(record, grad)
            found.append((record, t, (id(grad), version_of(grad))))
        return found

    def _alone(self) -> bool:
        """Whether no pass of another thread can be writing a gradient: torch reads and writes `.grad`
        without a lock, so that to read one then can end the process."""
        return not self.state.unseen or threading.active_count() == 1

    def _readable(self, records: list[LeafRecord], roots: Iterable[Any]) -> Iterator[LeafRecord]:
        """Those whose gradients may be read: with other threads' passes under way, those that the
        pass from `roots` fills."""
        own: set[int] | None = None
        for record in records:
            if own is None and not self._alone():
                own = self._behind(roots)
            if own is None or record.id in own:
                yield record

    def _behind(self, roots: Iterable[Any]) -> set[int]:
        """The leaves that a pass from `roots` fills."""
        tensors = [t for t in roots if isinstance(t, Tensor)]
        leaves = [t for t in tensors if is_leaf(t)]
        for node in nodes_behind(map(grad_fn_of, tensors)):
            if (variable := getattr(node, "variable", None)) is not None:
                leaves.append(variable)
        return {record.id for t in leaves if (record := self.records.get(id(t))) is not None}

    @staticmethod
    def _compare(record: LeafRecord, t: Any) -> None:
        if record.changed:
            return
        version = version_of(t)
        if version < 0:
            return
        if record.based:
            record.changed = version != record.first_version
        else:
            Ledger._begin(record, t, version)

    @staticmethod
    def _begin(record: LeafRecord, t: Any, version: int) -> None:
        """What was written to it until now has initialised it."""
        record.based, record.first_version = True, version
        record.changed, record.updates = False, 0
        record.shape = described(t)  # a model is moved and converted before it trains

    def _is_zero(self, record: LeafRecord, grad: Any) -> bool:
        """Whether it was zeroed by hand: measured, since there are many ways to do it. A GPU is waited for only where
        torch knows of a write."""
        untouched = record.after == (id(grad), version_of(grad)) and not (record.read_since and grad.is_cpu)
        return not untouched and self._all_zero(grad)

    @staticmethod
    def _all_zero(grad: Any) -> bool:
        if not measurable(grad):
            return True
        try:
            with aside():
                return not bool(grad.detach().any())
        except (RuntimeError, NotImplementedError):
            return True

    def _keep(self, record: LeafRecord, grad: Any) -> None:
        if not measurable(grad):
            return
        if self.proofs < MAX_PROOFS and grad.numel() <= MAX_PROOF_ELEMENTS and record.stale_copy is None:
            self.proofs += 1
            with aside():
                record.stale_copy = grad.detach().clone()

    def after_pass(
        self, before: list[tuple[LeafRecord, Any, tuple[int, int] | None]], roots: Iterable[Any], site: int
    ) -> tuple[list[int], list[int], list[LeafRecord]]:
        """Returns (parameters whose gradient changed, those whose used gradient was added
        to, records of other leaves that changed)."""
        accumulated, stale, others = [], [], []
        self.filled = []
        known = {record.id: (t, was) for record, t, was in before}
        for record in self._readable([record for record, _, _ in before], roots):
            t, was = known[record.id]
            grad = grad_of(t)
            if grad is None:
                continue
            now = (id(grad), version_of(grad))
            if now == was:
                continue
            if not record.passes and (version := version_of(t)) >= 0:
                self._begin(record, t, version)
            record.passes += 1
            self.filled.append(record)
            record.read_since = record.taken_since = record.handed_since = False
            if record.registered or record.optimizers:
                accumulated.append(record.id)
            else:
                others.append(record)
            if record.state in ("used", "stale"):
                if record.state == "used":
                    record.stale_site = site
                record.state = "stale"
                stale.append(record.id)
            elif record.state != "unknown":
                record.state = "fresh"
            record.after = now
        self.others[site] = others
        return accumulated, stale, others

    def resume(self, known: bool, filled: Set[int]) -> None:
        """After steps that were not followed. known: each gradient is where it would be, had
        they been; otherwise its state is "unknown" until it is cleared or used, but for those of the parameters
        `filled`, which are fresh."""
        for record in list(self.records.values()):
            alone = self._alone()
            t = record.ref() if alone else None
            grad = grad_of(t) if t is not None else None
            if known and alone:
                if record.after is not None and grad is not None:
                    record.after = (id(grad), version_of(grad))
            elif alone and grad is not None and record.id in filled:
                record.state, record.after = "fresh", (id(grad), version_of(grad))
            else:
                record.state = "none" if grad is None and alone else "unknown"
                record.after = None
            record.read_since = record.taken_since = record.handed_since = False

    # -- steps -------------------------------------------------------------------

    def states(self, records: list[LeafRecord]) -> tuple[dict[str, list[int]], list[int]]:
        """State → ids of these parameters, as their gradients stand now; and the ids of those whose fresh gradient is
        not the tensor that the last pass left: the program put it there."""
        found: dict[str, list[int]] = {}
        placed: list[int] = []
        for record in records:
            t = record.ref()
            if t is None:
                continue
            grad = grad_of(t)
            if grad is None:
                record.state = "none"
            elif record.state == "none":
                record.state = "fresh"
            elif record.state == "zero":
                if (grad.is_cpu or record.read_since) and not self._all_zero(grad):
                    record.state = "fresh"  # written by hand since it was cleared
            elif record.state in ("stale", "used") and (
                record.read_since or record.after != (id(grad), version_of(grad))
            ):
                added = self.by_hand.sum_of(record, grad)
                if self._is_zero(record, grad):
                    record.state = "zero"
                elif added is not None:
                    record.stale_site = added or record.stale_site
                    record.state = "stale"
                elif record.after is not None and record.after[0] != id(grad):
                    record.state = "fresh"  # the user put another tensor there
            found.setdefault(record.state, []).append(record.id)
            if record.state == "fresh" and record.after is not None and record.after[0] != id(grad):
                placed.append(record.id)
        return found, placed

    def stale_use(self, records: list[LeafRecord]) -> dict[str, Any] | None:
        """Measures a sum of old and new gradients that is about to be used."""
        bad = [r for r in records if r.state == "stale"]
        if not bad:
            return None
        shown = self._shown(bad)
        data: dict[str, Any] = {
            "parameters": [r.id for r in bad], "backward": shown.stale_site, "used_by": shown.used_site,
        }  # fmt: skip
        measured: dict[str, Any] = {"parameter": shown.id}
        t = shown.ref()
        if shown.stale_copy is not None and t is not None and grad_of(t) is not None:
            with aside():
                grad = grad_of(t).detach()
                measured["norm"] = norm_of(grad)
                measured["norm_without"] = norm_of(grad - shown.stale_copy)
        return {"data": data, "measured": measured}

    @staticmethod
    def _shown(bad: list[LeafRecord]) -> LeafRecord:
        """The one to be measured: one whose old gradient was not all zeros, as that of what is multiplied by a weight
        that begins at zero is in the first step."""
        kept = [r for r in bad if r.stale_copy is not None]
        with aside():
            full = (r for r in kept if bool(r.stale_copy.any()))
            return next(full, kept[0] if kept else bad[0])

    def lent(self, records: list[LeafRecord]) -> list[LeafRecord]:
        """Leaves of no optimizer whose whole gradients the program has put in the place of these ones'."""
        found: dict[int, LeafRecord] = {}
        for record in records if self.uses.held else ():
            t = record.ref()
            grad = grad_of(t) if t is not None else None
            for part in self.uses.of(
                [entry] if grad is not None and (entry := self.state.live.find(grad)) else []
            ):
                other = part.record
                now = part.whole and part.passes == other.passes and other.state in ("fresh", "stale")
                if now and not other.optimizers:
                    found[other.id] = other
        return list(found.values())

    def used(self, records: list[LeafRecord], site: int, *, lent: bool = False) -> None:
        """lent: by the step of others, that the program has given these gradients."""
        for record in records:
            if record.state != "none":
                t = record.ref()
                grad = grad_of(t) if t is not None else None
                if grad is None:
                    continue
                if record.state != "zero":
                    record.state = "used"
                    record.used_site = site
                record.steps += not lent
                record.read_since = record.taken_since = record.handed_since = False
                if self.by_hand.followed:
                    self.by_hand.over(record)
                record.stale_copy = None
                record.after = (id(grad), version_of(grad))

    def written(self, record: LeafRecord, how: str, site: int) -> None:
        """The user's own code wrote to a leaf. how: "data", "no_grad" or "assigned". What is written before
        its first pass is its initialisation; after its last one nothing is trained any more."""
        state, path = self.state, self.state.sites.places[site][0]
        if record.born == state.passes or (not record.passes and is_of_torch(path, INITIALISERS)):
            return
        used = record.taken_since and not is_of_torch(path, MODULES)
        self._count_writes(record)
        if used:
            record.updates += 1
        else:
            record.waiting, record.written_at = record.waiting + 1, state.passes
        state.emit("update", site, {"parameter": record.id, "how": how, "used": used})
        if not used or record.state not in ("fresh", "stale"):
            return
        stale = self.stale_use([record])
        if stale is not None:
            state.emit("stale_used", site, {"optimizer": None, **stale["data"]}, **stale["measured"])
        self.used([record], site)
        record.steps -= 1

    def _count_writes(self, record: LeafRecord) -> None:
        """Those that a pass has followed are updates."""
        if record.written_at != self.state.passes:
            record.updates, record.waiting = record.updates + record.waiting, 0

    def cleared(self, records: list[LeafRecord], to_none: bool, site: int, **by: Any) -> None:
        """Call before the gradients go, to None or to zeros: notes which of them were fresh, which of these had been
        read, and (the first times) the norm of the first one."""
        dropped, read = list[int](), list[int]()
        first = None
        for record in records:
            if record.state == "fresh":
                t = record.ref()
                if t is not None and grad_of(t) is not None:
                    dropped.append(record.id)
                    first = grad_of(t) if first is None else first
                    if record.read_since:
                        read.append(record.id)
            record.state = "none" if to_none or not self._has_gradient(record) else "zero"
            if self.by_hand.followed:
                self.by_hand.over(record)
            record.stale_copy = None
        data = {**by, "parameters": [record.id for record in records], "dropped": dropped, "read": read}
        told = self.state.emit("zero_grad", site, data)
        if first is not None:
            self._measure_dropped(first, told)

    @staticmethod
    def _has_gradient(record: LeafRecord) -> bool:
        """Whether there is one now; what was never filled has none that could be zeros."""
        if record.state not in ("none", "unknown"):
            return True
        t = record.ref()
        return t is not None and grad_of(t) is not None

    def _measure_dropped(self, grad: Any, told: dict[str, Any]) -> None:
        if self.drops >= MAX_DROPS or grad.is_sparse or not measurable(grad):
            return
        self.drops += 1

        def put(norm: Tensor) -> None:
            if math.isfinite(norm):
                told["norm"] = float(norm)

        with aside():
            self.state.arrivals.when_here((norm_on_device(grad.detach()),), put)

    def rows(self, norms: bool = True) -> list[tuple[int, dict[str, Any]]]:
        """(id, data) for the trace's parameter table; norms: with those of the gradients."""
        told = [record for record in self.all if is_told(record)]
        self.given.update(record.id for record in told)
        return [(record.id, self._row(record, norms, self._alone())) for record in told]

    def new_rows(self) -> list[tuple[int, dict[str, Any]]]:
        """The same of those that were not given yet, without norms."""
        new = [record for record in self.all if record.id not in self.given and is_told(record)]
        self.given.update(record.id for record in new)
        return [(record.id, self._row(record, False, False)) for record in new]

    def _row(self, record: LeafRecord, norms: bool, look: bool) -> dict[str, Any]:
        self._count_writes(record)
        return row(record, norms, look, self.state.passes, self.state.optimizers)
