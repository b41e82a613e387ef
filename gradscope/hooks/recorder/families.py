"""Which segments are the same but for how often a part of them repeats: sentences of other lengths,
more or fewer micro-batches, an unrolled loop that ended early.

A graph is told by its kinds of calls (where, in which module, what on, which nodes) and by which kind
is fed by which, a list of events by which event follows which: neither knows how often.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from gradscope.hooks.recorder.learn import Template
    from gradscope.hooks.recorder.segments import Segment
    from gradscope.hooks.recorder.values import Metas

# What an event holds of values, by number, and what changes with sizes.
VALUES = frozenset({"roots", "inputs", "outputs", "value", "values", "alias"})
SIZES = frozenset({"bytes", "shape", "leaf"})
ORDER = frozenset({"backward", "step", "zero_grad", "clip", "schedule", "scaler"})


class Family(NamedTuple):
    """`looks`: hash of the kinds of calls and events; `course`: of the passes and steps, one by one."""

    looks: int
    course: int


class Families:
    """Tells the family of a segment."""

    def __init__(self, metas: Metas, templates: list[Template]):
        self.metas = metas
        self.templates = templates
        self._nodes: list[Hashable] = []  # template → what it builds, however many inputs there are

    def of(self, segment: Segment) -> Family:
        kinds = self._kinds(segment)
        structs, metas, makers = self.metas.structs, segment.metas, segment.makers
        sources = [
            kinds[maker] if maker >= 0 else self._external(segment, value)
            for value, maker in enumerate(makers)
        ]
        calls = {
            (kind, tuple(dict.fromkeys([(sources[v], structs[metas[v]]) for v in row.ins])))
            for kind, row in zip(kinds, segment.ops, strict=True)
        }
        events = [
            (kind, site, kinds[at] if 0 <= at < len(kinds) else at, _outline(data, sources))
            for kind, site, at, data in segment.events
        ]
        follows = set(pairwise([None, *events, None]))
        course = tuple([(kind, site) for kind, site, _, _ in segment.events if kind in ORDER])
        return Family(hash((frozenset(calls), frozenset(follows))), hash(course))

    def _kinds(self, segment: Segment) -> list[int]:
        """Of each call: what and where it is."""
        for template in self.templates[len(self._nodes) :]:
            names = tuple([name for name, _ in groupby(name for name, _, _ in template.nodes)])
            self._nodes.append((template.name, template.cut, names, template.extra))
        nodes = self._nodes
        return [hash((nodes[row.template], row.site, row.module, row.region)) for row in segment.ops]

    def _external(self, segment: Segment, value: int) -> int:
        external = segment.externals.get(value)
        if external is None:
            return 0
        name = segment.outside[external.outside][0] if external.outside is not None else None
        parameter = external.parameter if external.kind == "parameter" else None
        return hash((external.kind, parameter, external.module, name))


def _outline(data: Any, sources: list[int]) -> Hashable:
    """An event's frozen data with the kind of each value in place of its number."""
    if type(data) is not tuple:
        found: Hashable = data
        return found
    kind, items = data
    return tuple(_outlines(items, sources)) if kind == "d" else tuple([_outline(i, sources) for i in items])


def _outlines(items: Any, sources: list[int]) -> Iterator[Hashable]:
    for key, value in items:
        if key in VALUES:
            numbers = value[1] if type(value) is tuple else (value,)
            yield key, tuple(dict.fromkeys([sources[n] for n in numbers if type(n) is int]))
        elif key not in SIZES:
            yield key, _outline(value, sources)
