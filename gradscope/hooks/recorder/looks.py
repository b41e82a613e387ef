"""Which calls of a place are looked at."""

from __future__ import annotations


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
