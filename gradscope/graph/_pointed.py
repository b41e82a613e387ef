"""Where findings point in a flow: at what is to blame (their cause), and at what suffers from it (their effect and
the parameters and values that they are about)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from gradscope.analysis.flow import Flow
from gradscope.graph._places import Key
from gradscope.model import Finding, Site, Span

MAX_PLACES = 12  # lines of findings that nothing in the picture stands at


@dataclass
class Codes:
    """Codes of findings whose cause something is, and of those that it suffers from."""

    causes: dict[str, None] = field(default_factory=dict)
    effects: dict[str, None] = field(default_factory=dict)

    def add(self, code: str, cause: bool) -> None:
        (self.causes if cause else self.effects)[code] = None


def told_of(*known: Codes | None) -> dict[str, Any]:
    """The attributes of a node that findings point at."""
    causes = list(dict.fromkeys(code for codes in known if codes for code in codes.causes))
    effects = list(dict.fromkeys(code for codes in known if codes for code in codes.effects))
    return {"findings": list(dict.fromkeys([*causes, *effects])), "causes": causes, "effects": effects}


class Group(NamedTuple):
    """The boxes around all that one call did, and the call."""

    cluster: int
    site: Site


class Place(NamedTuple):
    """A line that a finding names and that no box of the picture stands for."""

    site: Site
    id: str


@dataclass
class Pointed:
    """What the findings point at: boxes, groups of boxes, lines that backward passes start at, parameters, values,
    other places."""

    flow: Flow
    keys: Sequence[Key]  # the box of each op
    findings: Sequence[Finding]
    clusters: Mapping[Key, tuple[int, ...]] = field(default_factory=dict)  # box → the groups that it lies in
    callers: Mapping[int, tuple[str, int]] = field(
        default_factory=dict
    )  # group → its line, where it is one's
    boxes: dict[Key, Codes] = field(default_factory=dict)
    passes: dict[tuple[str, int], Codes] = field(default_factory=dict)
    parameters: dict[int, Codes] = field(default_factory=dict)
    values: dict[int, Codes] = field(default_factory=dict)
    groups: dict[Group, Codes] = field(default_factory=dict)
    places: dict[Place, Codes] = field(default_factory=dict)
    called: dict[str, list[Key]] = field(default_factory=dict)  # place → the boxes of what it called
    ends: list[tuple[Finding, list[str | Key], list[str | Key]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._by_span: dict[Span, dict[Key, None]] = {}
        self._by_line: dict[tuple[str, int], dict[Key, None]] = {}
        self._called: dict[Span, dict[Key, None]] = {}  # from an expression, however deep
        at = {(key, op.site.id): op.site for key, op in zip(self.keys, self.flow.ops, strict=True)}
        for (key, _), own in at.items():
            for site in (own, own.user):
                self._by_span.setdefault(site.span(), {})[key] = None
                self._by_line.setdefault(site.location(), {})[key] = None
            for frame in own.stack:
                self._called.setdefault(frame.span(), {})[key] = None
        self._differentiated = {op.site.user.span() for op in self.flow.ops if op.name == "grad"}
        self._passes = {event.site.user.location() for event in self.flow.backwards}
        self._starts = {event.site.user.span() for event in self.flow.backwards}
        for finding in self.findings:
            causes, effects = self._at(finding, finding.cause, True), self._at(finding, finding.effect, False)
            self.ends.append((finding, causes, effects))
            for subject in finding.subjects:
                if subject[0] == "parameter":
                    self.parameters.setdefault(subject[1], Codes()).add(finding.code, cause=False)
                elif subject[0] == "value" and (value := self.flow.joined.get(subject[1:])) is not None:
                    self.values.setdefault(value, Codes()).add(finding.code, cause=False)
                elif subject[0] == "layer":
                    for key, op in zip(self.keys, self.flow.ops, strict=True):
                        if op.module == subject[1]:
                            self.boxes.setdefault(key, Codes()).add(finding.code, cause=False)

    def _at(self, finding: Finding, site: Site | None, cause: bool) -> list[str | Key]:
        if site is None:
            return []
        boxes = self._boxes([site, site.user])
        calls = not boxes and site.span() in self._called
        differentiated = boxes and site.span() in self._differentiated
        if (site.span() in self._starts and not differentiated) or (
            not (boxes or calls) and site.location() in self._passes
        ):
            self.passes.setdefault(site.location(), Codes()).add(finding.code, cause)
            return [backward_id(site.location())]
        own = [] if boxes else self._rounds_about(finding, site) if calls else self._cut_under(site)
        if not boxes:
            boxes = own or ([] if calls else self._neighbours([site, site.user]))
        cluster = self._around(site, boxes) if (len(boxes) > 1 or calls) and not own else None
        for key in boxes if cluster is None else ():
            self.boxes.setdefault(key, Codes()).add(finding.code, cause)
        if boxes and cluster is None:
            return list(boxes)
        if cluster is not None:
            self.groups.setdefault(Group(cluster, site), Codes()).add(finding.code, cause)
            return list[str | Key](boxes or self._called[site.span()])[:1]
        place = next((p for p in self.places if p.site.location() == site.location()), None)
        if place is None and len(self.places) >= MAX_PLACES:
            return []
        place = place or Place(site, f"place:{site.path}:{site.line}")
        self.places.setdefault(place, Codes()).add(finding.code, cause)
        if calls:
            self.called.setdefault(place.id, list(self._called[site.span()]))
        return [place.id]

    def _around(self, site: Site, boxes: Sequence[Key]) -> int | None:
        """The innermost group that holds all the boxes of what a call did: of groups that stand for lines, its own.
        boxes: those that are the call's own code, as library code is; then the group has to hold no other."""
        keys = boxes or list(self._called[site.span()])
        chains = [self.clusters.get(key, ()) for key in keys]
        shared = [ids[0] for ids in zip(*chains, strict=False) if len(set(ids)) == 1]
        own = [id for id in shared if self.callers.get(id, site.location()) == site.location()]
        if boxes:
            own = [
                id
                for id in own
                if not any(id in held for key, held in self.clusters.items() if key not in keys)
            ]
        return (own[0] if boxes else own[-1]) if own else None

    def _boxes(self, sites: Sequence[Site]) -> list[Key]:
        """The boxes of the very expression, or the one of all that it calls."""
        for site in sites:
            if found := self._by_span.get(site.span()):
                return list(found)
        called = self._called.get(sites[0].span(), {})
        return list(called) if len(called) == 1 else []

    def _rounds_about(self, finding: Finding, site: Site) -> list[Key]:
        """Of a line with a box for each of several rounds those that use the parameters of a finding."""
        called = self._called[site.span()]
        ids = {subject[1] for subject in finding.subjects if subject[0] == "parameter"}
        if not ids or any(key[0] != "line" or key[1:3] != site.location() for key in called):
            return []
        read = [value for value, id in self.flow.parameter_of.items() if id in ids]
        users = {self.keys[op] for value in read for op in self.flow.consumers.get(value, ())}
        return [key for key in called if key in users]

    def _cut_under(self, site: Site) -> list[Key]:
        """The boxes at which the gradient ends because of a grad mode that is switched at a line."""
        regions = self.flow.trace.regions
        opened = {id for id, region in regions.items() if region.site.user.location() == site.location()}
        found: dict[Key, None] = {}
        for key, op in zip(self.keys, self.flow.ops, strict=True) if opened else ():
            id = op.region if op.cut in ("no_grad", "inference_mode") else None
            while id is not None and id not in opened:
                id = regions[id].parent if id in regions else None
            if id is not None:
                found[key] = None
        return list(found)

    def _neighbours(self, sites: Sequence[Site]) -> list[Key]:
        """The boxes of its line where one alone stands for it: its neighbours on the line have done nothing."""
        for site in sites:
            found = self._by_line.get(site.location(), {})
            if len(found) == 1 or all(key[0] == "line" for key in found):
                return list(found)
        return []


def backward_id(location: tuple[str, int]) -> str:
    """The node of the passes that start at a line."""
    return f"backward:{location[0]}:{location[1]}"
