"""Watches data parallel training: what `DistributedDataParallel` was made of, samplers, and prints of parameters and
inputs, by which ranks are compared afterwards. Nothing is sent to other ranks, and no device is waited for."""

from __future__ import annotations

import sys
import threading
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import torch
from torch import distributed, nn
from torch.optim.optimizer import (
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)
from torch.utils.data import DistributedSampler

from gradscope.hooks import Hook
from gradscope.hooks import _torch as private
from gradscope.hooks.measures.prints import Printed, print_of_inputs, print_of_parameters
from gradscope.hooks.recorder.module import ModuleRecord
from gradscope.hooks.recorder.parts import groups_of
from gradscope.store import pack, pack_norms

CALLS = 8  # of a wrapper, whose inputs are printed
STEPS_APART = 1024  # at most, between two steps whose parameters are printed

MANY = 250  # parameters; of more the steps are farther apart


def is_due(step: int, parameters: int) -> bool:
    """0, 1, 2, 3, 4, 6, 8, 12, 16, …, then every 1,024th, of a large model every 2,048th and so on: the same on all
    ranks."""
    if step < 4:
        return True
    half = 1 << (step.bit_length() - 1)
    apart = STEPS_APART << ((parameters - 1) // MANY).bit_length()
    if half >= apart:
        return step % apart == 0
    return step in (half, half + half // 2)


@dataclass
class Wrapper:
    """One `DistributedDataParallel`."""

    number: int
    ref: Callable[[], Any]
    module: int  # its record
    calls: int = 0


@dataclass
class Sampled:
    """What became of one sampler."""

    ref: Callable[[], Any]
    site: int
    loop: int = 0
    times: int = 0
    shuffles: bool = False
    epochs: set[int] = field(default_factory=set)


class Distributed(Hook):
    order = 27

    def install(self) -> None:
        self.wrappers: list[Wrapper] = []
        self.samplers: dict[int, Sampled] = {}
        self.steps: dict[int, int] = {}  # optimizer → its steps so far
        self.waiting: list[Printed] = []
        recorder = self.recorder
        if not distributed.is_available():
            return
        wrapper = nn.parallel.DistributedDataParallel
        self.patch(wrapper, "__init__", self._wrap(wrapper.__init__))
        self.patch(DistributedSampler, "__init__", self._sampler(DistributedSampler.__init__))
        self.patch(DistributedSampler, "__iter__", self._draw(DistributedSampler.__iter__))
        recorder.signals.before_end.connect(self._end)

    # -- the wrapper -------------------------------------------------------------------

    def _wrap(self, real: Any) -> Any:
        recorder = self.recorder

        def __init__(ddp: Any, /, *args: Any, **kwargs: Any) -> None:
            real(ddp, *args, **kwargs)
            if recorder.here() and not recorder.paused:
                try:
                    with private.aside():
                        self._note(ddp, sys._getframe(1))
                except BaseException as error:
                    recorder.fault("recording DistributedDataParallel", error)

        return __init__

    def _note(self, ddp: Any, frame: Any) -> None:
        recorder = self.recorder
        site = recorder.sites.current(frame)
        record = recorder.modules.find(ddp) or recorder.modules.register_root(ddp, frame, site)
        inner = recorder.modules.find(ddp.module)
        ignored = set(getattr(ddp, "parameters_to_ignore", ()))
        known = [p for name, p in ddp.module.named_parameters() if p.requires_grad and name not in ignored]
        group = getattr(ddp, "process_group", None)
        wrapper = Wrapper(len(self.wrappers), weakref.ref(ddp), record.id)
        recorder.emit(
            "ddp", site,
            {
                "wrapper": wrapper.number, "module": record.id, "inner": inner.id if inner is not None else -1,
                "parameters": [recorder.ledger.of(p).id for p in known],
                "finds_unused": bool(getattr(ddp, "find_unused_parameters", False)),
                "static": bool(getattr(ddp, "static_graph", False)),
                "ranks": distributed.get_process_group_ranks(group) if group is not None else [],
            },
        )  # fmt: skip
        if not self.wrappers:  # a program without one pays nothing
            recorder.signals.before_call.connect(self._called)
            recorder.signals.module_input.connect(self._given)
            for handle in (
                register_optimizer_step_pre_hook(self._before_step),
                register_optimizer_step_post_hook(self._after_step),
            ):
                self._undo.append(handle.remove)
        self.wrappers.append(wrapper)

    def _called(self, module: Any, record: ModuleRecord, site: int) -> None:
        """Notes a call whose gradients stay on this rank, by `no_sync`."""
        if not torch.is_grad_enabled():
            return
        for wrapper in self.wrappers:
            if wrapper.ref() is module and not module.require_backward_grad_sync:
                self.recorder.emit("unsynced", site, {"wrapper": wrapper.number})

    # -- prints ------------------------------------------------------------------------

    def _given(self, given: list[Any], record: ModuleRecord, site: int) -> None:
        """Prints what a wrapper is given in its first calls, while they are looked at."""
        if not torch.is_grad_enabled():
            return
        wrapper = next((w for w in self.wrappers if w.module == record.id), None)
        if wrapper is None or wrapper.calls >= CALLS:
            return
        wrapper.calls += 1
        printed = print_of_inputs(given)
        if printed is not None:
            self._keep(printed.told("input", wrapper.number, wrapper.calls, site))

    def _before_step(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        if id(optimizer) not in self.steps and threading.get_ident() == self.recorder.thread:
            self._print(optimizer, 0, sys._getframe(2))

    def _after_step(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        step = self.steps[id(optimizer)] = self.steps.get(id(optimizer), 0) + 1
        if is_due(step, _held(optimizer)) and threading.get_ident() == self.recorder.thread:
            self._print(optimizer, step, sys._getframe(2))

    def _print(self, optimizer: Any, step: int, frame: Any) -> None:
        recorder = self.recorder
        began = perf_counter()
        recorder.paused += 1
        try:
            with private.aside():
                self.steps.setdefault(id(optimizer), 0)
                if any(_goes_its_own_way(w.ref()) for w in self.wrappers) or private.profiling():
                    return
                site = recorder.sites.current(frame)
                number = recorder.services.optimizer_number(optimizer, site)
                records = [recorder.ledger.of(p) for group in groups_of(optimizer) for p in group["params"]]
                printed = print_of_parameters(records)
                if printed is not None:
                    self._keep(printed.told("parameters", number, step, site))
        except BaseException as error:
            recorder.fault("printing parameters", error)
        finally:
            recorder.paused -= 1
            recorder.own_time += perf_counter() - began

    def _keep(self, printed: Printed) -> None:
        self.waiting.append(printed)
        while self.waiting and self.waiting[0].here():
            self._store(self.waiting.pop(0))

    def _store(self, printed: Printed) -> None:
        numbers = printed.read()
        data = (
            pack_norms({int(k): v for k, v in numbers.items()})
            if printed.kind == "parameters"
            else pack(numbers)
        )
        self.recorder.writer.add(
            "print", printed.kind, printed.of, printed.number, printed.site or None, data
        )

    # -- samplers ----------------------------------------------------------------------

    def _sampler(self, real: Any) -> Any:
        recorder = self.recorder

        def __init__(sampler: Any, /, *args: Any, **kwargs: Any) -> None:
            real(sampler, *args, **kwargs)
            if recorder.mine():
                try:
                    site = recorder.sites.current(sys._getframe(1))
                    self.samplers[id(sampler)] = Sampled(weakref.ref(sampler), site)
                except BaseException as error:
                    recorder.fault("recording a sampler", error)

        return __init__

    def _draw(self, real: Any) -> Any:
        recorder = self.recorder

        def __iter__(sampler: Any) -> Any:
            known = self.samplers.get(id(sampler))
            if known is not None and known.ref() is sampler and recorder.mine():
                try:
                    known.loop = recorder.sites.current(sys._getframe(1))
                    known.times += 1
                    known.shuffles = bool(sampler.shuffle)
                    if len(known.epochs) < 2:
                        known.epochs.add(int(sampler.epoch))
                except BaseException as error:
                    recorder.fault("recording a sampler", error)
            return real(sampler)

        return __iter__

    def _end(self) -> None:
        for printed in self.waiting:
            self._store(printed)
        self.waiting.clear()
        for known in self.samplers.values():
            if known.times:
                self.recorder.emit(
                    "sampler", known.site,
                    {
                        "loop": known.loop, "times": known.times, "epochs": len(known.epochs),
                        "shuffles": known.shuffles,
                    },
                )  # fmt: skip


def _held(optimizer: Any) -> int:
    return sum(len(group["params"]) for group in groups_of(optimizer))


def _goes_its_own_way(ddp: Any) -> bool:
    """Whether a hook of another kind than torch's averaging ones takes care of the gradients: local SGD lets
    ranks part on purpose."""
    hooks = getattr(ddp, "_comm_hooks", None) or ()
    kept = ("default_hooks", "powerSGD_hook", "quantization_hooks")
    return any(not str(getattr(hook, "__module__", "")).endswith(kept) for hook, *_ in hooks)
