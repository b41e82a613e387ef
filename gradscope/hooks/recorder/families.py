"""Which segments are the same but for how often a part of them repeats: sentences of other lengths,
more or fewer micro-batches, an unrolled loop that ended early, trees of other shapes.

A graph is told by its kinds of calls (where, in which module, what on, which nodes) and by which kind
is fed by which, a list of events by which event follows which: neither knows how often. Where a function
calls itself, each place on the way counts once: how deep it went is no difference either.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from gradscope.hooks.recorder.learn import Template
    from gradscope.hooks.recorder.segments import Segment
    from gradscope.hooks.recorder.sites import SiteTree
    from gradscope.hooks.recorder.values import Metas

# What an event holds of values, by number, and what changes with sizes.
VALUES = frozenset({"roots", "inputs", "outputs", "value", "values", "alias"})
SIZES = frozenset({"bytes", "shape", "leaf"})
ORDER = frozenset({"backward", "step", "zero_grad", "clip", "schedule", "scaler"})


MANY = 8  # lists of leaves in one place, from which on any choice of those that were in one is no news


class Family(NamedTuple):
    """`looks`: hash of the kinds of calls and events; `course`: of the passes and steps, one by one."""

    looks: int
    course: int


class Sight(NamedTuple):
    """A segment as `Families.of` finds it. `known`: whether all of it was there before, as a whole or each of its
    calls (a tree may hold any choice of them) and all events that followed each other; `events`: hash of these,
    whatever leaves they chose."""

    family: Family
    known: bool
    events: int


class Families:
    """Tells the family of a segment, and whether there was anything in it that had not been there before."""

    def __init__(self, metas: Metas, templates: list[Template], sites: SiteTree):
        self.metas = metas
        self.templates = templates
        self.sites = sites
        self._nodes: list[Hashable] = []  # template → what it builds, however many inputs there are
        self._places: dict[int, int] = {}  # site → hash of the frame positions on the way to it
        self._seen: set[int] = set()  # hashes of families' looks
        self._calls: set[int] = set()  # hashes of the calls in all segments
        self._follows: set[int] = (
            set()
        )  # hashes of two events, one after the other, whatever leaves they chose
        self._choices = Choices()

    def of(self, segment: Segment) -> Sight:
        kinds = self._kinds(segment)
        structs, metas, makers = self.metas.structs, segment.metas, segment.makers
        sources = [
            kinds[maker] if maker >= 0 else self._external(segment, value)
            for value, maker in enumerate(makers)
        ]
        calls = {
            hash((kind, tuple(dict.fromkeys([(sources[v], structs[metas[v]]) for v in row.ins]))))
            for kind, row in zip(kinds, segment.ops, strict=True)
        }
        events = [
            (kind, self._place(site), kinds[at] if 0 <= at < len(kinds) else at)
            for kind, site, at, _ in segment.events
        ]
        exact, loose = [], []
        for place, (_, _, _, data) in zip(events, segment.events, strict=True):
            exact.append((place, _outline(data, sources)))
            loose.append((place, _outline(data, sources, self._choices, place[:2])))
        course = tuple([(kind, site) for kind, site, _, _ in segment.events if kind in ORDER])
        family = Family(hash((frozenset(calls), _follows(exact))), hash(course))
        follows = _follows(loose)
        known = family.looks in self._seen or (follows <= self._follows and calls <= self._calls)
        self._seen.add(family.looks)
        self._calls |= calls
        self._follows |= follows
        return Sight(family, known, hash(follows))

    def _place(self, site: int) -> int:
        place = self._places.get(site)
        if place is None:
            place = self._places[site] = hash(self.sites.nodes[site].frames)
        return place

    def _kinds(self, segment: Segment) -> list[int]:
        """Of each call: what and where it is."""
        for template in self.templates[len(self._nodes) :]:
            names = tuple([name for name, _ in groupby(name for name, _, _ in template.nodes)])
            self._nodes.append((template.name, template.cut, names, template.extra))
        nodes = self._nodes
        place = self._place
        return [hash((nodes[row.template], place(row.site), row.module, row.region)) for row in segment.ops]

    def _external(self, segment: Segment, value: int) -> int:
        external = segment.externals.get(value)
        if external is None:
            return 0
        name = segment.outside[external.outside][0] if external.outside is not None else None
        parameter = external.parameter if external.kind == "parameter" else None
        return hash((external.kind, parameter, external.module, name))


class Choices:
    """Lists of leaves that are others in each segment: of the experts that were asked, the layers that were kept."""

    def __init__(self) -> None:
        self._lists: dict[Hashable, set[int]] = {}  # place → hashes of the first lists there
        self._members: dict[Hashable, set[int]] = {}  # place → the leaves of all of them

    def of(self, place: Hashable, leaves: tuple[int, ...]) -> Hashable:
        """What stands for a list: itself, or where lists vary which leaves are new there."""
        lists = self._lists.setdefault(place, set())
        members = self._members.setdefault(place, set())
        new = frozenset(leaves).difference(members)
        members |= new
        if len(lists) < MANY:
            lists.add(hash(leaves))
        return leaves if len(lists) < MANY or not leaves else ("some", new)


def _follows(events: Sequence[Hashable]) -> frozenset[int]:
    """Hashes of each event with the next one; of the first and last, with none."""
    return frozenset(map(hash, pairwise([None, *events, None])))


def _outline(
    data: Any, sources: list[int], choices: Choices | None = None, place: tuple[Hashable, ...] = ()
) -> Hashable:
    """An event's frozen data with the kind of each value in place of its number; what was chosen in place
    of a list of leaves, where `choices` knows it."""
    if type(data) is not tuple:
        found: Hashable = data
        return found
    kind, items = data
    if kind == "d":
        return tuple(_outlines(items, sources, choices, place))
    if choices is not None and all(type(i) is int for i in items):
        return choices.of(place, items)
    return tuple([_outline(i, sources, choices, place) for i in items])


def _outlines(
    items: Any, sources: list[int], choices: Choices | None, place: tuple[Hashable, ...]
) -> Iterator[Hashable]:
    for key, value in items:
        if key in VALUES:
            numbers = value[1] if type(value) is tuple else (value,)
            # What is told by the program's own names may be called so too: then these are no numbers of values.
            known = [sources[n] if n < len(sources) else n for n in numbers if type(n) is int]
            yield key, tuple(dict.fromkeys(known))
        elif key not in SIZES:
            yield key, _outline(value, sources, choices, (*place, key))
