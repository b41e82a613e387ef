"""The state of one watched run that the recorder's parts share.

It holds no tensor and no node: memory is freed when the program would free it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Container
from itertools import count
from pathlib import Path
from time import perf_counter
from typing import Any

from gradscope.hooks.recorder.arrivals import Arrivals
from gradscope.hooks.recorder.learn import Template
from gradscope.hooks.recorder.segments import Segment, freeze
from gradscope.hooks.recorder.signals import Services, Signals
from gradscope.hooks.recorder.sites import SiteTree
from gradscope.hooks.recorder.values import LiveTable, Metas
from gradscope.model import Mark
from gradscope.store import TraceWriter

# What watching has cost for each second in code of ours, whose way in and out no clock sees, which leaves things to be
# collected and the program less of the processor's caches: from 1.36 (a small network) to 1.49 (an LSTM cell), where
# the same steps were run plain and watched in turn (processor time; torch 2.13).
BESIDE = 1.43


class Expecting:
    """Stands where no events are expected: what comes is noted."""

    active = False

    def met(self, event: tuple[Any, ...]) -> bool:
        """Whether an event is the one that was expected next, and need not be noted."""
        return False


class State:
    """One watched run: where it stands, and who wants to know."""

    def __init__(self, writer: TraceWriter, main: str | None, prove: bool = False):
        self.writer = writer
        self.prove = prove
        self.sample = True
        self.only: Container[int] | None = None  # the steps to look at, where they are given
        self.children: Path | None = None  # where processes that the program starts keep their traces
        self.exits: dict[
            int, int
        ] = {}  # process that the program started → with which code it ended, but for 0
        self.left: int | None = None  # the site at which the program ends itself, with a code other than 0
        self.several = False  # this is one of several processes of a run
        self.launches = False  # the program does nothing but start others
        self.resting = False  # sampling sleeps through a stretch without gradients
        self.preparing = False  # data are made by so many ops without a graph that they are noted no more
        self.closely = 0  # watches inside this one that want every step looked at
        self.hurry_until = 0.0  # what has just begun is written at once until then: no step goes by unnoted
        self.signals = Signals()
        self.services = Services()
        self.thread = threading.get_ident()
        self.moved = False  # the thread is not the one that began
        self.ended = False
        self.unseen: dict[int, int] = {}  # another thread → its backward passes
        self.marks: list[Mark] = []  # what the program calls its steps
        self.looks: list[Callable[[], None]] = []  # called after each step, where torch does not call them
        self.sites = SiteTree(writer, main)
        self.arrivals = Arrivals(self.fault)
        self.signals.before_end.connect(self.arrivals.end)
        self.metas = Metas()
        self.live = LiveTable()
        self.templates: list[Template] = []
        self.segment = Segment(0, perf_counter())
        self.expected: Expecting = Expecting()
        self.region = -1
        self._region_numbers = count()
        self._region_ids: dict[tuple[str, int], int] = {}
        self.paused = 0  # > 0: what runs is not the user's own op
        self.depth = 0  # of backward passes
        self.passes = 0
        self.steps = 0
        self.own_time = 0.0  # seconds in code of ours, the detours' left out
        self.detours = 0  # calls that went through the function mode or our `nn.Module.__call__`
        self.detour = 0.0  # seconds that each of them is taken to cost
        self.faults: list[str] = []
        # Line of a backward → passes of the run, when its next one is to be measured whatever the time.
        self.measured_at: dict[int, int] = {}
        self.scaled_pass = 0  # the last one that began at the scaled loss of a gradient scaler
        self.unsound_pass = 0  # the last one that left a gradient whose norm is not finite
        self.optimizers: dict[int, dict[str, Any]] = {}
        self.in_eval: frozenset[int] = frozenset()  # modules that eval() was called of

    def cost(self) -> float:
        """Seconds that the run has taken longer for being watched, so far."""
        return BESIDE * self.own_time + self.detours * self.detour

    # -- faults ------------------------------------------------------------------

    def fault(self, where: str, error: BaseException) -> None:
        """Notes a fault of ours; the program goes on."""
        text = f"{where}: {type(error).__name__}: {error}"
        if len(self.faults) < 20 and text not in self.faults:
            self.faults.append(text)

    def mine(self) -> bool:
        """Whether this is the watched thread, doing the user's own work."""
        return not self.paused and threading.get_ident() == self.thread

    def here(self) -> bool:
        """Whether what trains now is in the watched thread, or takes its place."""
        return threading.get_ident() == self.thread or self.services.elsewhere(False)

    # -- events --------------------------------------------------------------------

    def emit(self, kind: str, site: int, data: dict[str, Any], **first_only: Any) -> dict[str, Any]:
        """Notes an event. `first_only` data is stored with the first of identical events; it is returned, and may be
        added to until the segment is stored."""
        event = (kind, site, len(self.segment.ops) - 1, freeze(data))
        if self.expected.active and self.expected.met(event):
            return first_only
        segment = self.segment  # that it was unexpected may have begun another one
        segment.events.append(event)
        segment.volatile.append(first_only)
        return first_only

    # -- regions -------------------------------------------------------------------

    def region_id(self, kind: str, site: int, parent: int) -> int:
        key = (kind, site)
        number = self._region_ids.get(key)
        if number is None:
            number = next(self._region_numbers)
            self.writer.add("region", number, kind, site, parent if parent >= 0 else None)
            self._region_ids[key] = number
        return number
