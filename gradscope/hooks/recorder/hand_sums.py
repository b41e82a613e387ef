"""What the program does to gradients by its own code: `p.grad.zero_()`, and `p.grad.add_(…)` after a
step has used them.

Only a gradient that the program reads is followed. What was added to a used one counts as a sum with
the old part where every write since then was an addition: the number of them is compared
with the gradient's version, so a write that nobody saw (`out=`, a foreach kernel) decides for
"cleared".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gradscope.hooks._torch import aside, version_of
from gradscope.hooks.recorder.values import measurable

if TYPE_CHECKING:
    from gradscope.hooks.recorder.leaf import LeafRecord
    from gradscope.hooks.recorder.state import State

ADDITIONS = frozenset({"add_", "sub_", "addcmul_", "addcdiv_"})
SUMS = frozenset({"add", "sub"})
MAX_COPIES = 4
MAX_ELEMENTS = 4_000_000


@dataclass(slots=True)
class _Followed:
    record: LeafRecord
    version: int  # of the gradient, when it was used
    additions: int = 0
    counted: int = 0  # of them, those that moved its version
    replaced: bool = False  # something else was written
    scaled: bool = False  # by a line of the user's
    site: int = 0  # of the first addition
    copied: bool = False  # its old values are kept, to measure the sum


class HandSums:
    """The used gradients that the program reads again, by the memory they are in."""

    def __init__(self, state: State, clear: Callable[..., None]):
        self.state = state
        self.clear = clear  # the ledger's
        self.followed: dict[int, _Followed] = {}
        self.roots: dict[int, int] = {}  # id of a record → the memory of its followed gradient
        self.usual: set[int] = set()  # ids of records whose last use was one of a sum
        self.kept: set[int] = set()  # ids of those whose used gradient was scaled before the next pass
        self.copies = 0

    def read(self, record: LeafRecord, grad: Any) -> None:
        """The program reads a gradient: one that waits for a step, or that a step has used."""
        if record.after is None or record.after[0] != id(grad):
            return
        live = self.state.live
        root = (live.find(grad) or live.make(grad)).root
        if root in self.followed and self.followed[root].record is record:
            return
        self.followed.pop(self.roots.get(record.id, -1), None)
        self.roots[record.id] = root
        self.followed[root] = _Followed(record, record.after[1])
        small = (
            record.state == "used"
            and record.stale_copy is None
            and measurable(grad)
            and grad.numel() <= MAX_ELEMENTS
        )
        if small and self.copies < MAX_COPIES:
            self.copies += 1
            self.followed[root].copied = True
            with aside():
                record.stale_copy = grad.detach().clone()

    def wrote(self, root: int, t: Any, name: str, hidden: bool, site: int) -> None:
        """An op of the program's wrote to this memory."""
        known = self.followed.get(root)
        if known is None:
            return
        if name == "zero_" and self._is_whole(known.record, t):
            self._cleared(known.record, site)
            return
        if name not in ADDITIONS:
            known.replaced = True
            known.scaled = known.scaled or self.state.sites.nodes[site].kind == "user"
            return
        known.additions += 1
        known.counted += not hidden
        known.site = known.site or site

    @staticmethod
    def _is_whole(record: LeafRecord, t: Any) -> bool:
        leaf = record.ref()
        return leaf is not None and t.shape == leaf.shape

    def _cleared(self, record: LeafRecord, site: int) -> None:
        """`p.grad.zero_()`: the same as a `zero_grad()` that covers one parameter."""
        self.clear([record], False, site, by="hand")

    def replaced_by(self, record: LeafRecord, old: Any, new: Any, site: int) -> bool:
        """Whether `p.grad = p.grad + …` puts a sum with the used gradient in its place."""
        live, segment = self.state.live, self.state.segment
        before, after = live.find(old), live.find(new)
        if before is None or after is None or not segment.ops or after.serial != segment.serial:
            return False
        maker = segment.makers[after.index]
        if maker < 0 or self.state.templates[segment.ops[maker].template].name not in SUMS:
            return False
        known = self.followed.get(before.root)
        if known is None or known.replaced or known.version + known.counted != version_of(old):
            return False
        if before.root not in {segment.roots[v] for v in segment.ops[maker].ins}:
            return False
        del self.followed[before.root]
        self.roots[record.id] = after.root
        self.followed[after.root] = _Followed(record, version_of(new), additions=1, site=known.site or site)
        return True

    def sum_of(self, record: LeafRecord, grad: Any) -> int | None:
        """The line that added to this used gradient, if nothing else was written to it since;
        0 where nobody looked and it was so before."""
        entry = self.state.live.find(grad)
        known = self.followed.get(entry.root) if entry is not None else None
        if known is None or known.record is not record:
            return 0 if record.id in self.usual and not self.state.segment.looked else None
        whole = version_of(grad) == known.version + known.counted
        if known.additions and whole and not known.replaced:
            self.usual.add(record.id)
            return known.site
        return None

    def is_kept(self, record: LeafRecord, grad: Any) -> bool:
        """Whether the program wrote to a used gradient before a pass adds to it: it is kept on
        purpose (scaled down, as a momentum)."""
        entry = self.state.live.find(grad)
        known = self.followed.get(entry.root) if entry is not None else None
        if known is None or known.record is not record:
            return record.id in self.kept and not self.state.segment.looked
        if known.scaled:
            self.kept.add(record.id)
        return known.scaled

    def over(self, record: LeafRecord) -> None:
        """The gradient was used or cleared: what was known of it is."""
        root = self.roots.pop(record.id, None)
        known = self.followed.pop(root, None) if root is not None else None
        if known is not None and known.copied and not known.additions:
            self.copies -= 1
