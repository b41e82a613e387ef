"""The recorder: hooks tell it what happened, it tells the trace.

One per session, bound to one thread. Everything here runs between two calls of
the user's program, so it holds no tensor and no node, and an exception in it
must not reach the program: hooks call it in a try block.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from time import perf_counter
from typing import Any

import torch

from gradscope.hooks._torch import grad_fn_of, name_of, sequence_of
from gradscope.hooks._torch import is_leaf as leafness
from gradscope.hooks.recorder.history import History
from gradscope.hooks.recorder.learn import Template
from gradscope.hooks.recorder.ledger import LeafRecord, Ledger
from gradscope.hooks.recorder.modules import ModuleRecord, ModuleTable
from gradscope.hooks.recorder.ops import Ops
from gradscope.hooks.recorder.replay import Frozen, Replay
from gradscope.hooks.recorder.segments import External, Row, Segment, SegmentStore, freeze
from gradscope.hooks.recorder.signals import raised_by_handler
from gradscope.hooks.recorder.sites import SiteTree
from gradscope.hooks.recorder.values import Live, LiveTable, Metas
from gradscope.store import TraceWriter


class Recorder:
    """State of one watched run."""

    def __init__(self, writer: TraceWriter, main: str | None, prove: bool = False):
        self.writer = writer
        self.prove = prove
        self.sample = True
        self.closely = 0  # watches inside this one that want every step looked at
        self.thread = threading.get_ident()
        self.moved = False  # the thread is not the one that began
        self.ended = False
        self.unseen: dict[int, int] = {}  # another thread → its backward passes
        self.on_thread: list[Callable[[], None]] = []  # another thread is watched from now on
        self.elsewhere: Callable[[bool], bool] = _not_here  # set by threads
        self.sites = SiteTree(writer, main)
        self.metas = Metas()
        self.live = LiveTable()
        self.templates: list[Template] = []
        self.store = SegmentStore(writer, self.metas, self.templates)
        self.began = self.store.began
        self.modules = ModuleTable(self)
        self.ledger = Ledger(self)
        self.segment = Segment(0, perf_counter())
        self.history = History(self)
        self.op = Ops(self).note
        self.replay = Replay(self)
        self.region = -1
        self.region_kinds: list[str] = []
        self._region_ids: dict[tuple[str, int], int] = {}
        self.paused = 0  # > 0: what runs is not the user's own op
        self.depth = 0  # of backward passes
        self.passes = 0
        self.steps = 0
        self.own_time = 0.0  # seconds in code of ours, the detours' left out
        self.detours = 0  # calls that went through the function mode or our `nn.Module.__call__`
        self.detour = 0.0  # seconds that each of them is taken to cost; set by functions
        self.faults: list[str] = []
        self.on_segment: list[Callable[[bool, bool, int], None]] = []  # (is_step, nothing new, how many)
        self.before_pass: list[Callable[..., None]] = []
        self.after_pass: list[Callable[..., None]] = []
        self.before_expected: list[Callable[..., None]] = []  # of these, what no pass can do without
        self.is_sound: Callable[[Any], bool] = _yes  # whether a pass's loss is finite; set by nonfinite
        self.before_call: list[Callable[[Any, ModuleRecord, int], None]] = []  # of an outermost module
        self.after_call: list[Callable[[Any, ModuleRecord, int], None]] = []
        self.before_step: list[Callable[[Any, int, list[LeafRecord]], None]] = []
        self.after_step: list[Callable[[Any, int, int], None]] = []
        self.optimizer_number: Callable[[Any, int], int] = _unknown  # set by optimizers
        self.consumed: Callable[[list[Live], int], None] | None = None  # set by aliases while it looks
        self.written: Callable[[Live, Any, int, str], None] | None = None
        self.on_op: Callable[[Row, list[Any], list[Any]], None] | None = None  # set by nonfinite
        self.unsound_pass = 0  # the last one that left a gradient whose norm is not finite
        self.optimizers: dict[int, dict[str, Any]] = {}
        self.functions: Any = None
        self.plain_module_call: Any = None  # torch's own nn.Module.__call__
        self.wake: Callable[[], None] = _nothing  # set by sampling
        self.on_sleep: list[Callable[[], object]] = []
        self.on_wake: list[Callable[[], None]] = []
        self.on_aside: list[Callable[[], None]] = []  # a compiler is about to look at Python code
        self.on_region: list[Callable[[], None]] = []  # gradients are switched off, and not by torch
        self.leave_failed: Callable[[], None] = _nothing  # set by optimizers: a step that raised is over
        self.on_input: Callable[[list[Any], ModuleRecord, int], None] | None = None  # set by settings
        self.in_eval: frozenset[int] = frozenset()  # modules that eval() was called of, set by modules
        self.on_carried: Callable[[Row, tuple[int, ...], list[Any]], None] | None = None  # set by growth
        self.after_apply: list[Callable[..., None]] = []  # (class, arguments, result, frame) of a Function
        self.before_end: list[Callable[[], None]] = []  # what is only known at the end
        self.out_of_sight: Callable[[], AbstractContextManager[None]] = nullcontext  # set by fast_paths
        self.on_exit: Callable[[int], None] | None = None  # before os._exit
        # Before a signal ends the process: its number, and whether the main thread hangs in C.
        self.on_killed: Callable[[int, bool], None] | None = None

    def cost(self) -> float:
        """Seconds that the run has taken longer for being watched, so far."""
        return self.own_time + self.detours * self.detour

    # -- faults ------------------------------------------------------------------

    def fault(self, where: str, error: BaseException) -> None:
        """Notes a fault of ours; the program goes on."""
        if isinstance(error, RecursionError):
            return  # the program has filled its stack: it will hear of that itself
        if raised_by_handler(error):
            raise error
        text = f"{where}: {type(error).__name__}: {error}"
        if len(self.faults) < 20 and text not in self.faults:
            self.faults.append(text)

    def mine(self) -> bool:
        """Whether this is the watched thread, doing the user's own work."""
        return not self.paused and threading.get_ident() == self.thread

    def here(self) -> bool:
        """Whether what trains now is in the watched thread, or takes its place."""
        return threading.get_ident() == self.thread or self.elsewhere(False)

    # -- values --------------------------------------------------------------------

    def value(self, t: Any, site: int, first: int | None = None) -> Live:
        """The entry of `t` with its index in the current segment. first: number of the first node
        that the call which was given it has made."""
        entry = self.live.get(id(t))
        if entry is not None and entry() is t:
            if entry.serial == self.segment.serial:
                return entry
        else:
            entry = self.live.make(t)
        return self.enter(entry, t, site, first)

    def _gained(self, entry: Live, t: Any, first: int) -> bool:
        """Whether it has its node from the call that wrote to it, and had none before."""
        if not t.requires_grad or self.metas.table[entry.meta].requires_grad:
            return False
        node = grad_fn_of(t)
        return node is not None and sequence_of(node) >= first

    def enter(self, entry: Live, t: Any, site: int, first: int | None = None) -> Live:
        """Makes a tensor from outside the segment one of its values."""
        segment = self.segment
        requires_grad = t.requires_grad
        is_leaf = leafness(t)
        origin = (entry.serial, entry.index) if entry.serial >= 0 else None
        entry.site = entry.site or site
        name: str | None = None  # of its node
        outside: int | None = None
        parameter: int | None = None
        module: int | None = None
        written = first is not None and entry.meta >= 0 and self._gained(entry, t, first)
        if written:
            kind = "input"
        elif requires_grad and not is_leaf:
            kind = "carried"
            grad_fn = grad_fn_of(t)
            number = sequence_of(grad_fn) if grad_fn is not None else -1
            name = name_of(grad_fn) if grad_fn is not None else "unknown"
            outside = segment.from_outside(number, name, entry.site)
        elif requires_grad or type(t) is torch.nn.Parameter:
            if entry.leaf is None:
                entry.leaf = self.modules.whole_of(t) or self.ledger.leaf(t, entry.site, entry.root)
            parameter = entry.leaf.id
            kind = "parameter" if entry.leaf.registered or entry.leaf.optimizers else "input"
        else:
            module = self.modules.buffer_owner(t)
            kind = "buffer" if module is not None else "input"
        entry.meta = entry.meta if written else self.metas.of(t, is_leaf)
        entry.serial = segment.serial
        entry.index = index = segment.new_value(entry.meta, -1, entry.root)
        # Where it came from is told, but two graphs that differ in nothing else are one, as long as
        # the same modules are in evaluation mode: what is carried may be made in another.
        if kind == "carried":
            segment.carried[index] = (entry.site,)
            segment.hash = hash((segment.hash, self.in_eval))
        segment.externals[index] = External(kind, parameter, module, origin, entry.site, outside)
        segment.hash = hash(
            (segment.hash, index, kind, parameter, module, name, outside, self.metas.structs[entry.meta])
        )
        return entry

    # -- segments ------------------------------------------------------------------

    def end_segment(self, is_step: bool) -> None:
        self.replay.leave()
        segment = self.segment
        if not segment.ops and not segment.events and not is_step:
            return
        same = False
        try:
            same = self.store.store(segment, is_step)
        except Exception as error:  # a full disk, say: the run goes on without a trace
            self.fault("writing the trace", error)
        self.history.recent.append(segment)
        self.segment = Segment(segment.serial + 1, perf_counter())
        self.live.sweep()
        for follow in self.on_segment:
            follow(is_step, same, 1)

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
        except Exception as error:
            self.fault("writing the trace", error)
        self.segment.serial += count
        self.segment.started = perf_counter()
        for follow in self.on_segment:
            follow(True, True, count)

    # -- events --------------------------------------------------------------------

    def emit(self, kind: str, site: int, data: dict[str, Any], **first_only: Any) -> None:
        """Notes an event. `first_only` data is stored with the first of identical events."""
        segment = self.segment
        event = (kind, site, len(segment.ops) - 1, freeze(data))
        if self.replay.active and self.replay.met(event):
            return
        segment.events.append(event)
        segment.volatile.append(first_only)

    # -- regions -------------------------------------------------------------------

    def region_id(self, kind: str, site: int, parent: int) -> int:
        key = (kind, site)
        number = self._region_ids.get(key)
        if number is None:
            number = self._region_ids[key] = len(self.region_kinds)
            self.region_kinds.append(kind)
            self.writer.add("region", number, kind, site, parent if parent >= 0 else None)
        return number


def _unknown(optimizer: Any, site: int) -> int:
    """Stands where no hook knows optimizers."""
    return -1


def _not_here(is_pass: bool) -> bool:
    """Stands where no other thread is considered."""
    return False


def _yes(roots: Any) -> bool:
    """Stands where no hook looks at the loss."""
    return True


def _nothing() -> None:
    """Stands where no hook wants to know."""
