"""The recorder: hooks tell it what happened, it tells the trace.

One per session, bound to one thread. Everything here runs between two calls of
the user's program, so it holds no tensor and no node, and an exception in it
must not reach the program: hooks call it in a try block.
"""

from __future__ import annotations

import threading
from time import perf_counter
from typing import Any

from gradscope.hooks import _torch as private
from gradscope.hooks.recorder.entering import Entering
from gradscope.hooks.recorder.handlers import belongs_to_program
from gradscope.hooks.recorder.history import History
from gradscope.hooks.recorder.ledger import Ledger
from gradscope.hooks.recorder.modules import ModuleTable
from gradscope.hooks.recorder.ops import Ops
from gradscope.hooks.recorder.replay import Frozen, Replay
from gradscope.hooks.recorder.segment_store import SegmentStore
from gradscope.hooks.recorder.segments import Segment
from gradscope.hooks.recorder.state import State
from gradscope.store import TraceWriter, pack


class Recorder(State):
    """The state of one run, with the parts that note what happens in it."""

    def __init__(self, writer: TraceWriter, main: str | None, prove: bool = False):
        super().__init__(writer, main, prove)
        self.store = SegmentStore(writer, self.metas, self.templates, self.sites, self.write_new)
        self.began = self.store.began
        self.ledger = Ledger(self)
        self.modules = ModuleTable(self, self.ledger)
        self.history = History(self)
        entering = Entering(self, self.ledger, self.modules)
        self.value, self.enter = entering.value, entering.enter
        self.op = Ops(self, entering, self.history, self.end_segment).note
        self.replay = self.expected = Replay(self, self.ledger, self.skipped)
        self.written: set[int] = set()  # optimizers
        self.functions: Any = None  # our function mode
        self.plain_module_call: Any = None  # torch's own nn.Module.__call__

    def end_segment(self, is_step: bool) -> None:
        self.replay.leave()
        self.arrivals.collect()
        segment = self.segment
        if not segment.ops and not segment.events and not is_step:
            return
        same = False
        try:
            same = self.store.store(segment, is_step)
        except BaseException as error:  # a full disk, say: the run goes on without a trace
            self.fault("writing the trace", error)
        self.history.recent.append(segment)
        self.segment = Segment(segment.serial + 1, perf_counter())
        self.live.sweep()
        for follow in self.signals.segment_ended:
            follow(is_step, same, 1)

    def write_new(self) -> None:
        """Writes the parameters and optimizers that the trace does not have yet: a run that is killed leaves no event
        of one that it does not know."""
        with private.aside():
            for number, data in self.ledger.new_rows():
                self.writer.add("parameter", number, pack(data))
        for number, data in self.optimizers.items():
            if number not in self.written:
                self.written.add(number)
                self.writer.add("optimizer", number, pack(data))

    def fault(self, where: str, error: BaseException) -> None:
        """Notes a fault of ours; what is none goes on to the program."""
        if isinstance(error, RecursionError) or private.is_of_device(error):
            return  # the program has filled its stack, or its device has failed: it will hear of that itself
        if belongs_to_program(error):
            if threading.get_ident() == self.thread:
                self.drop_segment()
            raise error
        super().fault(where, error)

    def drop_segment(self) -> None:
        """Forgets the stretch that has begun: the note of it was interrupted and cannot be trusted."""
        self.replay.leave()
        self.segment = Segment(self.segment.serial + 1, perf_counter())

    def skipped(self, cycle: tuple[tuple[Frozen, ...], ...], count: int, seconds: float) -> None:
        """So many segments, each closed by a step, went by with the events of this cycle."""
        if not count:
            return
        try:
            self.store.repeat(cycle, count, seconds)
        except BaseException as error:
            self.fault("writing the trace", error)
        self.segment.serial += count
        self.segment.started = perf_counter()
        for follow in self.signals.segment_ended:
            follow(True, True, count)
