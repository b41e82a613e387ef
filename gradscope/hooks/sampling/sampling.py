"""The governor: once the same graph has repeated, look only now and then.

While it sleeps, backward passes, steps, zero_grad and train/eval flips are still
seen (tens of calls a step, not thousands). It wakes on a schedule, when those
events change, and when a module is called without gradients.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Container
from functools import partial
from time import perf_counter
from types import CodeType, FrameType
from typing import Any, NamedTuple

from gradscope.hooks import Hook
from gradscope.hooks._torch import aside
from gradscope.hooks.recorder.replay import Frozen, repeating

KNOWN_STEPS = 6  # equal steps before it first sleeps
UNDECIDED_STEPS = 5 * KNOWN_STEPS  # before it does so at the latest, where a state may be growing
LOOKS = 2  # steps looked at when it wakes
BUDGET = 0.01  # share of the run that looking may take
LONGEST = 2_000  # steps
PATIENCE = 100  # steps that are looked at, at most, up to the next pass of a line that was slept through
REPLAY_BUDGET = 0.005  # share of the run that working out what became of the gradients may take
LONGEST_REPLAY = 100  # cycles
LONGEST_CYCLE = 12  # segments


Line = tuple[CodeType, int] | None


class Seen(NamedTuple):
    """A step that sampling slept through."""

    events: tuple[Frozen, ...]
    time: float  # seconds
    own: float  # of them, gradscope's


class Sampling(Hook):
    order = 95

    def install(self) -> None:
        self.known = 0
        self.asleep = 0
        self.slept = 0
        self.needed = KNOWN_STEPS
        self.since = perf_counter()
        self.spent = self.recorder.cost()
        self.steps = 0
        self.lines: set[Line] = set()  # whose passes were looked at, or given up
        self.passed: set[int] = set()  # sites of their passes
        self.awaited: set[Line] = set()  # those that were only slept through: their next pass is looked at
        self.patience = 0  # steps that it waits for them
        self.seen: deque[Seen] = deque(maxlen=2 * LONGEST_CYCLE)
        self.ended = (0.0, 0.0)  # the last step: when, and what had been spent then
        self.recorder.signals.before_end.connect(self.recorder.replay.leave)
        self.recorder.store.sample = self.recorder.sample
        if (only := self.recorder.only) is not None:
            self.recorder.signals.segment_ended.connect(partial(self._chosen, only))
            self._choose(only)
        elif self.recorder.sample:
            self.recorder.signals.segment_ended.connect(self._segment)
            self.recorder.signals.before_pass.connect(self._pass)
            self.recorder.services.wake = self._wake
            self.recorder.services.rest = self._rest

    def _segment(self, is_step: bool, same: bool, count: int) -> None:
        if self.asleep:
            self._sleep_on(is_step, same, count)
            return
        if not is_step:
            return
        self.steps += 1
        self.known = self.known + 1 if same else 0
        if self.known >= self.needed and not self.recorder.closely and not self._holds_on():
            self._sleep()

    def _pass(self, roots: Any, args: Any, site: int, accumulate: bool, frame: Any) -> None:
        if site in self.passed or not accumulate:
            return
        line = self._line(frame)
        if line not in self.lines and self.asleep:
            self.awaited.add(line)
            self.patience = PATIENCE
            return
        self.passed.add(site)
        self.lines.add(line)
        self.awaited.discard(line)

    def _line(self, frame: FrameType | None) -> Line:
        """The program's own line that makes a pass: what stands between that and torch's engine changes with sleep."""
        frame = self.recorder.sites.of_user(frame)
        return (frame.f_code, frame.f_lasti) if frame is not None else None

    def _holds_on(self) -> bool:
        """Whether sleep has to wait: for a pass that was only slept through, or, the first one, as several optimizers
        may step in one round of a loop."""
        if self.awaited:
            self.patience -= 1
            if self.patience > 0:
                return True
            self.lines |= self.awaited
            self.awaited.clear()
        first = self.needed == KNOWN_STEPS and self.steps < UNDECIDED_STEPS
        return first and self.recorder.services.undecided()

    def _chosen(self, only: Container[int], is_step: bool, same: bool, count: int) -> None:
        """Where the steps to look at are given."""
        if self.asleep:
            self._sleep_on(is_step, same, count)
        if is_step and not self.asleep:
            self._choose(only)

    def _choose(self, only: Container[int]) -> None:
        """Sleeps until the next step of these, where the one that begins is none."""
        now = self.recorder.steps
        self._fall_asleep(next((n for n in range(LONGEST) if now + n in only), LONGEST))

    def _sleep(self) -> None:
        now = perf_counter()
        spent = self.recorder.cost() - self.spent
        share = spent / max(now - self.since - spent, 1e-9)
        if share > BUDGET:
            self._fall_asleep(min(LONGEST, max(8, int(max(self.steps, LOOKS) * (share / BUDGET - 1)))))
        self.known = 0
        self.needed = LOOKS

    def _rest(self) -> bool:
        """Sleeps through a stretch without gradients. Calls of modules are still seen: one of them ends it."""
        if self.asleep or self.recorder.closely:
            return False
        self._fall_asleep(LONGEST)
        for follow in self.recorder.signals.gradients_off:
            follow()
        return True

    def _fall_asleep(self, steps: int) -> None:
        if not steps:
            return
        self.asleep = steps
        self.slept = 0
        for follow in self.recorder.signals.asleep:
            follow()
        self.recorder.segment.looked = False

    def _sleep_on(self, is_step: bool, same: bool, count: int) -> None:
        self.recorder.segment.looked = False
        if not is_step:
            self.seen.clear()
            return
        self.slept += count
        if (
            self.slept >= self.asleep
            or self.awaited
            or (not same and self.slept > 2 and self.recorder.only is None)
        ):
            self._wake()
            return
        began, own = self.ended
        self.ended = now, spent = perf_counter(), self.recorder.cost()
        if not same:
            self.seen.clear()
        if count == 1 and not self.recorder.replay.leaving:
            events = tuple(self.recorder.history.recent[-1].events)
            self.seen.append(Seen(events, now - began, spent - own))
            if now > self.recorder.hurry_until:
                self._foresee()

    def _foresee(self) -> None:
        """Expects the next steps to be as the last ones, where they are alike and working out
        what each did to the gradients takes more than its share."""
        replay = self.recorder.replay
        cycle = repeating([row.events for row in self.seen])
        if cycle is None:
            return
        rows = list(self.seen)[-len(cycle) :]
        share = 1.3 * sum(row.own for row in rows) / max(sum(row.time for row in rows), 1e-9)
        left = (self.asleep - self.slept) // len(rows)
        times = min(LONGEST_REPLAY, int(share / REPLAY_BUDGET), left)
        sites = [event[1] for events in cycle for event in events if event[0] == "backward"]
        due = [at for site in sites if (at := self.recorder.measured_at.get(site))]
        if due:  # what is expected is not measured
            times = min(times, max(min(due) - self.recorder.passes, 0) // len(sites))
        if times > 1:
            self.seen.clear()
            self.seen.extend(rows)  # once more like these, and they are expected again
            replay.begin(cycle, times)

    def _wake(self, looks: int = LOOKS) -> None:
        """Looks again, from the next call on. looks: steps alike until it sleeps again."""
        if not self.asleep:
            return
        self.needed = max(self.needed, looks)
        recorder = self.recorder
        self.asleep = 0
        self.seen.clear()
        with aside():
            recorder.end_segment(False)
        recorder.segment.looked = True
        self.known = self.steps = 0
        self.since, self.spent = perf_counter(), recorder.cost()
        for follow in recorder.signals.awake:
            follow()
