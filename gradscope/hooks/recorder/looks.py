"""Which calls of a place are looked at, and what holds in all of them."""

from __future__ import annotations

from typing import Any


class Looks:
    """The first calls of each place, then ever more rarely: those whose number is a power of two. With a limit, that
    many places, those that were called first."""

    def __init__(self, first: int, places: int | None = None):
        self.first = first
        self.places = places
        self.calls: dict[int, int] = {}  # site → how many

    def due(self, site: int) -> bool:
        """Counts a call; whether it is looked at."""
        if site not in self.calls and self.places is not None and len(self.calls) >= self.places:
            return False
        calls = self.calls[site] = self.calls.get(site, 0) + 1
        return calls <= self.first or not calls & (calls - 1)


class Unbroken:
    """What holds in all calls of a place that were looked at, and what is told of it. The first call that shows
    otherwise ends it: the place need not be looked at again. With a limit, that many places, those that held first."""

    def __init__(self, places: int | None = None) -> None:
        self.places = places
        self.broken: set[int] = set()  # sites
        self.told: dict[int, dict[str, Any]] = {}

    def is_open(self, site: int) -> bool:
        """Whether a call of this place may still tell something."""
        full = self.places is not None and len(self.told) >= self.places
        return site not in self.broken and (site in self.told or not full)

    def end(self, site: int) -> None:
        self.broken.add(site)
        self.told.pop(site, None)

    def hold(self, site: int, **first: Any) -> dict[str, Any]:
        """Counts a call in which it held, and returns what is told of the place: `calls`, and what is given with the
        first. Of a place where it has ended nothing of that is told."""
        told = {**first, "calls": 0}
        if site not in self.broken:
            told = self.told.setdefault(site, told)
        told["calls"] += 1
        return told
