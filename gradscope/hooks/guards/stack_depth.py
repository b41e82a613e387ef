"""Leaves the program as many frames as it has alone: ours come on top of Python's limit."""

from __future__ import annotations

import sys
from typing import Any

from gradscope.hooks import Hook


class StackDepth(Hook):
    order = 10

    def install(self) -> None:
        self.real = sys.setrecursionlimit
        self.shown = sys.getrecursionlimit()
        self.patch(sys, "getrecursionlimit", lambda: self.shown)
        self.patch(sys, "setrecursionlimit", lambda limit, /: self._set(limit))
        self.real(_with_ours(self.shown))

    def uninstall(self) -> None:
        super().uninstall()
        try:
            self.real(self.shown)
        except RecursionError:  # the watch ends deeper than the limit was
            pass

    def _set(self, limit: Any) -> None:
        self.real(limit)  # refuses what Python refuses
        self.shown = limit
        self.real(_with_ours(limit))


def _with_ours(limit: int) -> int:
    """A watched module call is four frames where it was three; a command and a probe add a few."""
    return min(limit + limit // 2 + 100, 2**31 - 1)
