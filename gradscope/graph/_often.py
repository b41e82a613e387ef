"""How often boxes ran, and in which of their rounds each op did."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from functools import cached_property

from gradscope.graph._counts import Counts
from gradscope.graph._making import Making
from gradscope.graph._places import Key
from gradscope.model import Op


class Often:
    """The counts of one graph's boxes."""

    def __init__(self, making: Making):
        self._making, self.flow, self.boxes = making, making.flow, making.boxes
        # Box → how often it ran, and in how many of these it is drawn.
        self.more: dict[str, tuple[int, int]] = {}
        self._once = Counts(making.flow)

    @cached_property
    def round(self) -> Sequence[Hashable]:
        """Of each op: in which round of its box it ran."""
        if self.boxes.run:
            return self.boxes.run
        found: list[Hashable] = [0] * len(self.flow.ops)
        for key, ops in self._making.members.items():
            if self._count(key, ops, self._once) == 1:
                continue
            by_module: dict[int | None, list[int]] = {}  # of those that are folded
            for op in ops:
                by_module.setdefault(self._called(key, op), []).append(op)
            for module, own in by_module.items():
                calls = self._count(key, own, self._once)
                alike: dict[Hashable, list[int]] = {}
                for op in own:
                    at = self.flow.ops[op]
                    alike.setdefault((self._making.counts.below(at.site), at.name, at.module), []).append(op)
                for same in alike.values():
                    for number, op in enumerate(same):
                        found[op] = module, number * calls // len(same)
        return found

    def _called(self, key: Key, op: int) -> int | None:
        """The module that a box stands for at this op, or whose code it is."""
        own = self.flow.ops[op].module
        if key[0] != "module" or own is None:
            return own
        depth = len(self._making.counts.around(key[1])) if isinstance(key[1], int) else 0
        return self._making.counts.at_depth(own, depth)

    def times(self, key: Key, ops: list[int]) -> int:
        """How often a box ran, with the rounds that prepared data which is not drawn."""
        count = self._count(key, ops, self._making.counts)
        if any(self.flow.ops[op].nodes for op in ops) or self.flow.earlier.issuperset(ops):
            return count
        calls = {_call(self.flow.ops[op]) for op in ops}
        known = ((self._ran[call], self._drawn[call]) for call in calls)
        ran, drawn = min(
            known, key=lambda often: often[0] / often[1]
        )  # data for a round may be left out alone
        if ran <= drawn:
            return count
        self.more[self._making.id(key)] = ran, drawn
        return count * ran // drawn

    def _count(self, key: Key, ops: list[int], counts: Counts) -> int:
        """How often a box ran in what is shown."""
        if key[0] == "op":
            return counts.of_ops(ops)
        if key[0] == "module" and (module := self.flow.trace.modules.get(key[1])) is not None:  # type: ignore[call-overload]
            return counts.of_modules(ops, len(counts.around(module.id)))
        called = any(self.flow.ops[op].site.user.location() != key[1:3] for op in ops)
        if key[0] == "line" and (
            called or key in self.boxes.parts
        ):  # it called what they stand at, or others
            return counts.of_ops({self.boxes.run[op]: op for op in ops}.values())
        return counts.of_lines(ops)

    @cached_property
    def _ran(self) -> Counter[Hashable]:
        """Each call → how often it ran in all that was chosen to be shown, also where it is left out."""
        found: Counter[Hashable] = Counter()
        for id, times in self.flow.times.items():
            for op in self.flow.trace.graph(id).ops:
                found[_call(op)] += times
        return found

    @cached_property
    def _drawn(self) -> Counter[Hashable]:
        """The same of the ops that are shown."""
        found: Counter[Hashable] = Counter()
        for op in self.flow.ops:
            found[_call(op)] += self._making.counts.of_graph(op.graph)
        return found


def _call(op: Op) -> Hashable:
    return op.site.id, op.name, op.module, op.cut
