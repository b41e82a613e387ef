"""Which parameters a module's own call in training overwrites right after they were loaded, before anything has read
them, and leaves alone in its next calls: an initialisation by the first batch that does not know of the load. A few
elements of each parameter are compared from the load to the first calls; on the CPU only."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from gradscope.hooks import Hook
from gradscope.hooks import _torch as private
from gradscope.hooks.recorder.leaf import LeafRecord
from gradscope.hooks.recorder.module import ModuleRecord
from gradscope.hooks.recorder.parts import parameters
from gradscope.hooks.recorder.segments import Row
from gradscope.hooks.recorder.values import are_same, few_of

MOST = 200  # parameters of a load
CALLS = 3  # after that which overwrote one
ALIASES = {"data", "detach", "view", "reshape", "flatten", "t"}
WHOLE = {"copy_", "fill_", "zero_", "normal_", "uniform_", "__setitem__"}


@dataclass(eq=False)
class _Loaded:
    """A parameter that a load has changed."""

    ref: Callable[[], Any]
    numbers: Any  # some of its elements now
    load: int  # site
    parameter: int = -1
    root: int = 0  # names its memory
    read: bool = False
    written: int | None = None  # site of the write that nothing had read it before
    calls: int = 0  # after the one with that write
    again: bool = False  # one of them has written to it, too


class LoadedValues(Hook):
    order = 88

    def install(self) -> None:
        self.before: dict[int, Any] = {}  # some elements, while a state is loaded
        self.loaded: dict[int, _Loaded] = {}  # by id of the parameter
        self.watched: dict[int, _Loaded] = {}  # those of them that the running call of a module holds
        self.gone: list[_Loaded] = []
        signals = self.recorder.signals
        signals.before_load.connect(self._before_load)
        signals.after_load.connect(self._after_load)
        signals.before_call.connect(self._before_call)
        signals.after_call.connect(self._after_call)
        signals.before_step.connect(self._before_step)
        signals.before_swap.connect(self._forget)
        signals.before_end.connect(self._tell)

    def _forget(self, t: Any) -> None:
        for known in (self.loaded.pop(id(t), None), self.watched.pop(id(t), None)):
            if known is not None:
                known.ref = private.gone

    def _before_load(self, module: Any) -> None:
        held = parameters(module)[:MOST] if isinstance(module, nn.Module) else ()
        self.before = {id(p): some for p in held if (some := few_of(p)) is not None}

    def _after_load(self, module: Any, site: int) -> None:
        before, self.before = self.before, {}
        for p in parameters(module)[:MOST] if before else ():
            old, now = before.get(id(p)), few_of(p)
            if old is not None and now is not None and not are_same(old, now):
                self.loaded[id(p)] = _Loaded(private.TensorRef(p), now, site)

    def _before_step(self, optimizer: Any, number: int, records: list[LeafRecord]) -> None:
        for record in records if self.loaded else ():
            known = self.loaded.get(id(record.ref()))
            if known is not None and known.written is None:
                del self.loaded[id(record.ref())]

    def _before_call(self, module: Any, record: ModuleRecord, site: int) -> None:
        if not self.loaded or not torch.is_grad_enabled():
            return
        self._stop()  # a call before has ended with an exception
        for p in parameters(module):
            known = self.loaded.get(id(p))
            if known is None or known.ref() is not p:
                continue
            if known.written is None and not are_same(known.numbers, few_of(p)):
                del self.loaded[id(p)]  # something else has written to it
                continue
            known.numbers, known.read = few_of(p), False
            entry = self.recorder.live.find(p) or self.recorder.live.make(p)
            known.root = entry.root
            self.watched[id(p)] = known
        if self.watched:
            self.recorder.signals.op.connect(self._op)
            self.recorder.signals.data_set.connect(self._set)

    def _op(self, row: Row, tensors: list[Any], outs: list[Any]) -> None:
        name = self.recorder.templates[row.template].name
        if name in ALIASES:
            return
        roots = {entry.root for t in tensors if (entry := self.recorder.live.find(t)) is not None}
        target = self.recorder.live.find(tensors[0]) if tensors else None
        for known in self.watched.values():
            if known.root not in roots:
                continue
            if name in WHOLE and target is not None and target.root == known.root and not known.read:
                known.written = known.written if known.written is not None else row.site
            known.read = True

    def _set(self, t: Any, data: Any, site: int) -> None:
        known = self.watched.get(id(t))
        if known is not None and not known.read:
            known.written = known.written if known.written is not None else site
            known.read = True

    def _after_call(self, module: Any, record: ModuleRecord, site: int) -> None:
        if not self.watched:
            return
        for number, known in self.watched.items():
            t = known.ref()
            now = few_of(t)
            changed = now is None or not are_same(known.numbers, now)
            first = known not in self.gone
            if known.written is None or now is None or (first and not changed):
                self.loaded.pop(number, None)  # it was used as it was loaded
            elif first:
                known.parameter = self.recorder.ledger.of(t).id
                self.gone.append(known)
            else:
                known.calls += 1
                known.again = known.again or changed
                if known.calls >= CALLS:
                    self.loaded.pop(number, None)
        self._stop()

    def _stop(self) -> None:
        if self.watched:
            self.watched = {}
            self.recorder.signals.op.disconnect(self._op)
            self.recorder.signals.data_set.disconnect(self._set)

    def _tell(self) -> None:
        lines: dict[tuple[int, int], list[int]] = {}
        for known in self.gone:
            if known.calls and not known.again and known.written is not None:
                lines.setdefault((known.load, known.written), []).append(known.parameter)
        for (load, written), ids in lines.items():
            self.recorder.emit("load_overwritten", written, {"parameters": ids, "load": load})
