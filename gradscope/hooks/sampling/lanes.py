"""What threads beside the watched one train, a lane each: their passes by line, the losses of these, their steps.

Everything here runs in those threads, of which several may do so at once: each touches its own lane alone, and nothing
of the recorder. What it comes to is told at the end.
"""

from __future__ import annotations

import math
import threading
from dataclasses import dataclass, field
from time import perf_counter
from types import CodeType, FrameType
from typing import Any

from gradscope.hooks import Hook
from gradscope.hooks import _torch as private
from gradscope.hooks.recorder.values import readable

LANES = 64  # the passes of further threads are counted
LOSSES = 64  # kept of one line: when there are twice as many, every second goes
_Place = tuple[tuple[CodeType, int], ...]  # the frames of a stack, from the outermost on


@dataclass
class Passes:
    """Those of one line in one thread."""

    place: _Place
    passes: int = 0
    apart: int = 1  # passes, between two whose losses are kept
    losses: list[float] = field(default_factory=list)
    not_finite: int = 0  # the first pass whose loss was not; 0: none

    def add(self, loss: float | None) -> None:
        self.passes += 1
        if loss is None:
            return
        if not math.isfinite(loss):
            self.not_finite = self.not_finite or self.passes
        elif (self.passes - 1) % self.apart == 0:
            self.losses.append(loss)
            if len(self.losses) == 2 * LOSSES:
                del self.losses[1::2]
                self.apart *= 2


@dataclass
class Lane:
    """One thread, as long as it lives: numbers of threads that are over are given again."""

    thread: threading.Thread
    began: float
    ended: float = 0.0
    steps: int = 0
    lines: dict[tuple[CodeType, int], Passes] = field(default_factory=dict)


class Lanes(Hook):
    order = 13

    def install(self) -> None:
        self.started = perf_counter()
        self.lanes: list[Lane] = []
        self.local = threading.local()
        self.recorder.services.passed_beside = self._passed
        self.recorder.services.stepped_beside = self._stepped
        self.recorder.signals.before_end.connect(self._tell)

    def _passed(self, roots: Any, frame: FrameType | None) -> None:
        """A pass is about to begin in a thread that is not watched."""
        lane = self._lane()
        if lane is None:
            return
        lane.ended = perf_counter() - self.started
        frame = self.recorder.sites.of_user(frame)
        if frame is None:
            return
        key = (frame.f_code, frame.f_lasti)
        line = lane.lines.get(key)
        if line is None:
            line = lane.lines[key] = Passes(_stack(frame))
        line.add(_loss(roots))

    def _stepped(self) -> None:
        """A step was made in a thread that is not watched."""
        lane: Lane | None = getattr(self.local, "lane", None)
        if lane is not None:
            lane.steps += 1

    def _lane(self) -> Lane | None:
        try:
            lane: Lane | None = self.local.lane
        except AttributeError:
            number = threading.get_ident()
            # Not those of the engine's, which run passes within passes.
            thread = next((t for t in threading.enumerate() if t.ident == number), None)
            lane = None
            if thread is not None and len(self.lanes) < LANES:
                lane = Lane(thread, perf_counter() - self.started)
                self.lanes.append(lane)
            self.local.lane = lane
        return lane

    def _tell(self) -> None:
        recorder = self.recorder
        for number, lane in enumerate(self.lanes):
            for line in list(lane.lines.values()):
                site = 0
                for code, lasti in line.place:
                    site = recorder.sites.within(site, code, lasti)
                recorder.emit(
                    "lane", site,
                    {
                        "lane": number, "thread": lane.thread.name, "began": round(lane.began, 4),
                        "ended": round(lane.ended, 4), "passes": line.passes, "steps": lane.steps,
                        "losses": list(line.losses), "apart": line.apart, "not_finite": line.not_finite,
                    },
                )  # fmt: skip


def _stack(innermost: FrameType) -> _Place:
    found = []
    frame: FrameType | None = innermost
    while frame is not None:
        found.append((frame.f_code, frame.f_lasti))
        frame = frame.f_back
    return tuple(reversed(found))


def _loss(roots: Any) -> float | None:
    """The number that a pass begins at, where it is one and can be read without a wait."""
    t = roots[0] if isinstance(roots, (tuple, list)) and len(roots) == 1 else None
    with private.aside():
        return float(t.detach()) if t is not None and readable(t, 1) and t.is_floating_point() else None
