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
from torch import distributed
from torch.nn.parallel.distributed import DistributedDataParallel
from torch.optim.optimizer import (
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)
from torch.utils.data import DistributedSampler

from gradscope.hooks import Hook
from gradscope.hooks import _torch as private
from gradscope.hooks.measures.prints import (
    Printed,
    print_of_buffers,
    print_of_gradients,
    print_of_inputs,
    print_of_parameters,
    print_of_shards,
)
from gradscope.hooks.recorder.leaf import LeafRecord
from gradscope.hooks.recorder.module import ModuleRecord
from gradscope.hooks.recorder.parts import groups_of
from gradscope.store import pack, pack_norms

CALLS = 8  # of a wrapper, whose inputs are printed
PASSES = 256  # up to here what is wrapped is printed after the 1st, 2nd, 4th, 8th …
EVALUATIONS = 4  # in which buffers are printed
FIRST = 3  # steps, before which the gradients are printed
OTHERS = (4, 16)  # steps, before which parameters are printed that no wrapper and no optimizer knows
FEW = 512  # of them
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
    parameters: list[LeafRecord]
    calls: int = 0
    drifts: bool = False  # it has buffers, and does not send them to other ranks
    evaluations: int = 0  # before which its buffers were printed
    trained: bool = False  # since the last of them


@dataclass
class Sampled:
    """What became of one sampler."""

    ref: Callable[[], Any]
    site: int
    loop: int = 0
    times: int = 0
    shuffles: bool = False
    parts: int = 0
    part: int = 0
    seed: int | None = None
    epochs: set[int] = field(default_factory=set)


class Distributed(Hook):
    order = 27

    def install(self) -> None:
        self.wrappers: list[Wrapper] = []
        self.samplers: dict[int, Sampled] = {}
        self.steps: dict[int, int] = {}  # optimizer → its steps so far
        self.waiting: list[Printed] = []
        self.sharded: dict[
            int, weakref.ref[Any]
        ] = {}  # optimizers of sharded parameters, at their first steps
        self.following = self.out_of_step = False
        recorder = self.recorder
        if not distributed.is_available():
            return
        self.patch(DistributedDataParallel, "__init__", self._wrap(DistributedDataParallel.__init__))
        self.patch(DistributedSampler, "__init__", self._sampler(DistributedSampler.__init__))
        self.patch(DistributedSampler, "__iter__", self._draw(DistributedSampler.__iter__))
        recorder.signals.optimizer_made.connect(self._optimizer_made)
        recorder.signals.before_end.connect(self._end)
        recorder.services.keep_print = self._keep

    def _optimizer_made(self, optimizer: Any, *_: Any) -> None:
        """Ranks may average gradients by themselves, without a wrapper."""
        if not self.following and distributed.is_initialized() and distributed.get_world_size() > 1:
            self._follow_steps()
        if self.following and any(
            private.shard_of(p) is not None for group in groups_of(optimizer) for p in group["params"]
        ):
            self.sharded[id(optimizer)] = weakref.ref(optimizer)
            self.recorder.signals.after_pass.connect(self._after_sharded_pass)

    def _after_sharded_pass(self, site: int, failed: BaseException | None) -> None:
        for number, ref in list(self.sharded.items()):
            optimizer, step = ref(), self.steps.get(number, 0)
            if optimizer is None or step >= FIRST:
                del self.sharded[number]
            elif failed is None:
                self._print("shards_filled", optimizer, step + 1, sys._getframe(1))

    def _follow_steps(self) -> None:
        if self.following:
            return
        self.following = True
        for handle in (
            register_optimizer_step_pre_hook(self._before_step),
            register_optimizer_step_post_hook(self._after_step),
        ):
            self._undo.append(handle.remove)

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
        leaves = [recorder.ledger.of(p) for p in known]
        sends = bool(getattr(ddp, "broadcast_buffers", True))
        drifts = not sends and any(b.is_floating_point() for b in ddp.module.buffers())
        wrapper = Wrapper(len(self.wrappers), weakref.ref(ddp), record.id, leaves, drifts=drifts)
        recorder.emit(
            "ddp", site,
            {
                "wrapper": wrapper.number, "module": record.id, "inner": inner.id if inner is not None else -1,
                "parameters": [leaf.id for leaf in leaves],
                "finds_unused": bool(getattr(ddp, "find_unused_parameters", False)),
                "static": bool(getattr(ddp, "static_graph", False)),
                "ranks": distributed.get_process_group_ranks(group) if group is not None else [],
            },
        )  # fmt: skip
        if not self.wrappers:  # a program without one pays nothing
            recorder.signals.before_call.connect(self._called)
            recorder.signals.module_input.connect(self._given)
            recorder.signals.after_pass.connect(self._after_pass)
            recorder.signals.after_load.connect(self._loaded)
            self._follow_steps()
        self.wrappers.append(wrapper)

    def _called(self, module: Any, record: ModuleRecord, site: int) -> None:
        """Notes a call whose gradients stay on this rank, by `no_sync`, and what the buffers are in an evaluation."""
        training = torch.is_grad_enabled()
        for wrapper in self.wrappers:
            if not training and not wrapper.drifts:
                continue
            ddp = wrapper.ref()
            if training:
                wrapper.trained = wrapper.trained or ddp is module
                if ddp is module and not module.require_backward_grad_sync:
                    self.recorder.emit("unsynced", site, {"wrapper": wrapper.number})
            elif wrapper.trained and ddp is not None and not module.training:
                if module is ddp or module is ddp.module:
                    self._evaluated(wrapper, ddp, site)

    def _evaluated(self, wrapper: Wrapper, ddp: Any, site: int) -> None:
        wrapper.trained = False
        if wrapper.evaluations < EVALUATIONS:
            wrapper.evaluations += 1
            with private.aside():
                printed = print_of_buffers(ddp.module.named_buffers())
                if printed is not None:
                    self._keep(printed.told("buffers", wrapper.number, wrapper.evaluations, site))

    def _loaded(self, module: Any, site: int) -> None:
        """Notes a load into what is wrapped already: nothing sends it to the other ranks."""
        for wrapper in self.wrappers:
            ddp = wrapper.ref()
            if ddp is not None and (module is ddp or any(part is module for part in ddp.module.modules())):
                self.recorder.emit("wrapped_load", site, {"wrapper": wrapper.number})

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
        if threading.get_ident() != self.recorder.thread:
            return
        step = self.steps.get(id(optimizer), 0)
        if not step:
            self._print("parameters", optimizer, 0, sys._getframe(2))
        if step < FIRST and id(optimizer) in self.sharded:
            self._print("shards", optimizer, step + 1, sys._getframe(2))
        if step < FIRST:  # what is done to them shows in each step, or in none
            self._print("gradients", optimizer, step + 1, sys._getframe(2))
        if step + 1 in OTHERS and self.wrappers:
            self._print("others", optimizer, step + 1, sys._getframe(2))

    def _after_step(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        step = self.steps[id(optimizer)] = self.steps.get(id(optimizer), 0) + 1
        if threading.get_ident() == self.recorder.thread and is_due(step, _held(optimizer)):
            self._print("parameters", optimizer, step, sys._getframe(2))

    def _print(self, kind: str, optimizer: Any, step: int, frame: Any) -> None:
        recorder = self.recorder
        began = perf_counter()
        recorder.paused += 1
        try:
            with private.aside():
                self.steps.setdefault(id(optimizer), 0)
                wrappers = [w.ref() for w in self.wrappers]
                self.out_of_step = self.out_of_step or any(map(_joins, wrappers))
                if self.out_of_step or any(map(_goes_its_own_way, wrappers)) or private.profiling():
                    return
                site = recorder.sites.current(frame)
                number = recorder.services.optimizer_number(optimizer, site)
                records = [recorder.ledger.of(p) for group in groups_of(optimizer) for p in group["params"]]
                if kind == "others":
                    records = self._others()
                printed = _PRINTS.get(kind, print_of_parameters)(records)
                if printed is not None:
                    self._keep(printed.told(kind, number, step, site))
        except BaseException as error:
            recorder.fault("printing parameters", error)
        finally:
            recorder.paused -= 1
            recorder.own_time += perf_counter() - began

    def _others(self) -> list[LeafRecord]:
        """Parameters that stay with this rank: of an averaged teacher, a target network."""
        known = {leaf.id for wrapper in self.wrappers for leaf in wrapper.parameters}
        return [
            record
            for record in self.recorder.ledger.all
            if record.registered and not record.optimizers and record.id not in known
        ][:FEW]

    def _after_pass(self, site: int, failed: BaseException | None) -> None:
        """Prints what is wrapped where perhaps only other ranks make steps."""
        passes = self.recorder.passes
        if failed is not None or passes > PASSES or passes & (passes - 1) or self.out_of_step:
            return
        with private.aside():
            for wrapper in self.wrappers:
                ddp = wrapper.ref()
                if ddp is None or _joins(ddp) or _goes_its_own_way(ddp) or private.profiling():
                    continue
                printed = print_of_parameters(wrapper.parameters)
                if printed is not None:
                    self._keep(printed.told("weights", wrapper.number, passes, site))

    def _keep(self, printed: Printed) -> None:
        self.waiting.append(printed)
        while self.waiting and self.waiting[0].here():
            self._store(self.waiting.pop(0))

    def _store(self, printed: Printed) -> None:
        numbers = printed.read()
        by_name = printed.kind in ("input", "buffers", "replicated")
        data = pack(numbers) if by_name else pack_norms({int(k): v for k, v in numbers.items()})
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
                    known.parts, known.part = int(sampler.num_replicas), int(sampler.rank)
                    known.seed = sampler.seed if type(sampler.seed) is int else None
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
                        "shuffles": known.shuffles, "parts": known.parts, "part": known.part,
                        "seed": known.seed,
                    },
                )  # fmt: skip


_PRINTS = {"gradients": print_of_gradients, "shards": print_of_shards, "shards_filled": print_of_shards}


def _joins(ddp: Any) -> bool:
    """Whether it is in `with model.join()`, where ranks make different numbers of steps."""
    return bool(getattr(getattr(ddp, "_join_config", None), "enable", False))


def _held(optimizer: Any) -> int:
    return sum(len(group["params"]) for group in groups_of(optimizer))


def _goes_its_own_way(ddp: Any) -> bool:
    """Whether a hook of another kind than torch's averaging ones takes care of the gradients: local SGD lets
    ranks part on purpose."""
    hooks = getattr(ddp, "_comm_hooks", None) or ()
    kept = ("default_hooks", "powerSGD_hook", "quantization_hooks")
    return any(not str(getattr(hook, "__module__", "")).endswith(kept) for hook, *_ in hooks)
