"""Things that are drawn as one, by pairs that are."""

from __future__ import annotations

from collections.abc import Iterable


class Joined:
    """Sets of numbers that do not overlap; each goes by its lowest one."""

    def __init__(self, numbers: Iterable[int]):
        self._above = {number: number for number in numbers}

    def __contains__(self, number: object) -> bool:
        return number in self._above

    def first(self, number: int) -> int:
        """The lowest of those that this one was joined with."""
        above = self._above
        while above[number] != number:
            above[number] = above[above[number]]
            number = above[number]
        return number

    def join(self, one: int, other: int) -> bool:
        """Whether they were apart until now."""
        low, high = sorted((self.first(one), self.first(other)))
        self._above[high] = low
        return low != high
