"""Wakes sampling where gradients are switched off at a line that was never looked at.

What a program does now and then with gradients off (it drops weights, renews a codebook, averages) calls no model,
and begins when sampling sleeps already: it would never be seen.
"""

from __future__ import annotations

from gradscope.hooks import Hook

MOST = 16  # times that it wakes: a program that has more such lines does so at each step


class StrangeBlocks(Hook):
    order = 61  # after grad_modes, which tells of them

    def install(self) -> None:
        self.known: set[int] = set()  # sites
        self.woken = 0
        self.recorder.signals.block_without_gradients.connect(self._opened)

    def _opened(self, site: int) -> None:
        if site in self.known or self.recorder.paused:
            return
        self.known.add(site)
        if not self.recorder.segment.looked and self.woken < MOST:
            self.woken += 1
            self.recorder.services.wake()
