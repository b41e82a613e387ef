"""Watches for steps that use gradients before they are reduced over the ranks: nobody has waited for the asynchronous
call that does it, or `fully_shard` was told to leave it for a later pass. Nothing is waited for."""

from __future__ import annotations

import sys
import threading
import weakref
from typing import Any

from torch import distributed
from torch.optim.optimizer import register_optimizer_step_pre_hook

from gradscope.hooks import Hook
from gradscope.hooks import _torch as private
from gradscope.hooks.recorder.module import ModuleRecord
from gradscope.hooks.recorder.parts import groups_of

MOST = 4096  # handles that are known at a time
CHECKED = 64  # steps at which a sharded model is looked at
# Whoever calls one of these knows when the call between ranks has ended.
ASKS = ("wait", "synchronize", "block_current_stream", "get_future", "is_completed", "is_success", "result")


class Unreduced(Hook):
    order = 74

    def install(self) -> None:
        self.running: dict[int, tuple[Any, int, int]] = {}  # handle → itself, address of the memory, site
        self.models: list[weakref.ref[Any]] = []  # in `fully_shard`
        self.checked = 0
        self.switched = 0  # where `set_requires_gradient_sync` was called last
        self.told: dict[tuple[str, int, int], dict[str, Any]] = {}
        self.following = False
        if distributed.is_available():
            self.recorder.signals.reduced_later.connect(self._later)
            self.recorder.signals.before_call.connect(self._called)
            self.recorder.signals.before_end.connect(self._tell)

    def _follow(self) -> None:
        """From the first such call or model on: others pay nothing."""
        if not self.following:
            self.following = True
            self._undo.append(register_optimizer_step_pre_hook(self._before_step).remove)
            for name in ASKS:
                if hasattr(distributed.Work, name):
                    self.patch(distributed.Work, name, self._asks(getattr(distributed.Work, name)))

    def _asks(self, real: Any) -> Any:
        running = self.running

        def asks(handle: Any, /, *args: Any, **kwargs: Any) -> Any:
            running.pop(id(handle), None)
            return real(handle, *args, **kwargs)

        return asks

    def _later(self, handle: Any, tensors: list[Any], frame: Any) -> None:
        # On a GPU whoever waits for a later call on the same stream has waited for this one.
        if type(handle) is not distributed.Work or not all(t.is_cpu for t in tensors):
            return
        self._follow()
        site = self.recorder.sites.current(frame)
        if tensors and len(self.running) < MOST and private.shard_of(tensors[0]) is None:
            self.running[id(handle)] = (handle, tensors[0].untyped_storage().data_ptr(), site)

    def _called(self, module: Any, record: ModuleRecord, site: int) -> None:
        # asked of the class, which `fully_shard` exchanges: to look up what a module has not costs more
        if hasattr(type(module), "_get_fsdp_state") and not any(ref() is module for ref in self.models):
            self.models.append(weakref.ref(module))
            self._follow()
            kind: Any = next(
                (k for k in type(module).__mro__ if "set_requires_gradient_sync" in vars(k)), None
            )
            if kind is not None and len(self.models) == 1:
                real = kind.set_requires_gradient_sync
                self.patch(kind, "set_requires_gradient_sync", self._switch(real))

    def _switch(self, real: Any) -> Any:
        def set_requires_gradient_sync(module: Any, *args: Any, **kwargs: Any) -> Any:
            if self.recorder.mine():
                try:
                    self.switched = self.recorder.sites.current(sys._getframe(1))
                except BaseException as error:
                    self.recorder.fault("watching set_requires_gradient_sync", error)
            return real(module, *args, **kwargs)

        return set_requires_gradient_sync

    # -- at a step ---------------------------------------------------------------------

    def _before_step(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        if threading.get_ident() != self.recorder.thread or not (self.running or self.models):
            return
        try:
            with private.aside():
                if self.running:
                    self._unwaited(optimizer, sys._getframe(1))
                if self.models and self.checked < CHECKED:
                    self.checked += 1
                    self._unsynced(optimizer, sys._getframe(1))
        except BaseException as error:
            self.recorder.fault("looking at what is reduced", error)

    def _unwaited(self, optimizer: Any, frame: Any) -> None:
        held: dict[int, list[Any]] = {}
        for p in (p for group in groups_of(optimizer) for p in group["params"]):
            grad = private.grad_of(p)
            if grad is not None and grad.is_cpu and private.shard_of(grad) is None:
                held.setdefault(grad.untyped_storage().data_ptr(), []).append(p)
        late: dict[int, list[Any]] = {}
        still = set()
        for handle, address, site in list(self.running.values()):
            if address in held:
                late.setdefault(site, []).extend(held[address])
                if not handle.is_completed():
                    still.add(site)
        self.running.clear()
        for site, parameters in late.items():
            self._keep("async", optimizer, site, parameters, site in still, frame)

    def _unsynced(self, optimizer: Any, frame: Any) -> None:
        own = {id(p) for group in groups_of(optimizer) for p in group["params"]}
        models = [model for ref in self.models if (model := ref()) is not None]
        waiting = [p for model in models for p in private.unreduced_of(model) if id(p) in own]
        if waiting:
            self._keep("sharded", optimizer, self.switched, waiting, False, frame)

    def _keep(
        self, how: str, optimizer: Any, call: int, parameters: list[Any], running: bool, frame: Any
    ) -> None:
        recorder = self.recorder
        site = recorder.sites.current(frame)
        found = self.told.get((how, call, site))
        if found is None:
            leaves = {recorder.ledger.of(p).id for p in parameters}
            found = self.told[how, call, site] = {
                "how": how, "call": call or None, "optimizer": recorder.services.optimizer_number(optimizer, site),
                "parameters": sorted(leaves), "times": 0, "running": 0,
            }  # fmt: skip
        found["times"] += 1
        found["running"] += running

    def _tell(self) -> None:
        for (_, _, site), found in self.told.items():
            self.recorder.emit("unreduced", site, found)
        self.running.clear()
