"""The governor: once the same graph has repeated, look only now and then.

While it sleeps, backward passes, steps, zero_grad and train/eval flips are still
seen (tens of calls a step, not thousands). It wakes on a schedule, when those
events change, and when a module is called without gradients.
"""

from __future__ import annotations

from time import perf_counter

from gradscope.hooks import Hook

KNOWN_STEPS = 6  # equal steps before it first sleeps
LOOKS = 2  # steps looked at when it wakes
BUDGET = 0.03  # share of the run that looking may take
LONGEST = 2_000  # steps


class Sampling(Hook):
    order = 95

    def install(self) -> None:
        self.known = 0
        self.asleep = 0
        self.slept = 0
        self.needed = KNOWN_STEPS
        self.since = perf_counter()
        self.spent = self.recorder.own_time
        self.steps = 0
        if self.recorder.sample:
            self.recorder.on_segment.append(self._segment)
            self.recorder.wake = self._wake

    def _segment(self, is_step: bool, same: bool) -> None:
        if not is_step:
            if self.asleep:
                self.recorder.segment.looked = False
            return
        if self.asleep:
            self.slept += 1
            if self.slept >= self.asleep or (not same and self.slept > 2):
                self._wake()
            else:
                self.recorder.segment.looked = False
            return
        self.steps += 1
        self.known = self.known + 1 if same else 0
        if self.known >= self.needed:
            self._sleep()

    def _sleep(self) -> None:
        now = perf_counter()
        spent = 1.3 * (self.recorder.own_time - self.spent)  # and the detour through the mode
        share = spent / max(now - self.since - spent, 1e-9)
        if share > BUDGET:
            self.asleep = min(LONGEST, max(8, int(max(self.steps, LOOKS) * (share / BUDGET - 1))))
            self.slept = 0
            self.recorder.functions.pause()
            self.recorder.segment.looked = False
        self.known = 0
        self.needed = LOOKS

    def _wake(self) -> None:
        """Looks again, from the next call on."""
        if not self.asleep:
            return
        recorder = self.recorder
        self.asleep = 0
        recorder.end_segment(False)
        recorder.segment.looked = True
        self.known = self.steps = 0
        self.since, self.spent = perf_counter(), recorder.own_time
        recorder.functions.resume()
