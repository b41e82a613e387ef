"""Watches module calls (for paths and for what ran in train or eval mode) and
train/eval flips. `nn.Module.__call__` is replaced, not hooked: a global forward hook
would move every module to torch's slow path."""

from __future__ import annotations

import inspect
import sys
import threading
from collections import Counter
from time import perf_counter
from typing import Any

import torch
from torch import nn

from gradscope.hooks import Hook
from gradscope.hooks import _torch as private
from gradscope.hooks.measures.growth import held
from gradscope.hooks.recorder.module import ModuleRecord
from gradscope.hooks.recorder.parts import in_training, parameters, parts
from gradscope.hooks.recorder.values import change, find_tensors, first_of, is_tensor_type, measurable

ENOUGH_CALLS = 8  # of a module by one line in one segment: an unrolled cell says the same 500 times


class Modules(Hook):
    order = 20

    def install(self) -> None:
        self.measured: set[tuple[int, int]] = set()
        self.weighed: set[tuple[int, int]] = set()
        self.times: dict[int, list[float]] = {}  # site → [calls that built a graph, seconds]
        self.plain_call = self.recorder.plain_module_call = nn.Module.__call__
        self.watched_call = self._call(self.plain_call)
        self.patch(nn.Module, "__call__", self.watched_call)
        self.recorder.signals.asleep.connect(self._rest)
        self.recorder.signals.awake.connect(self._return)
        self.recorder.signals.gradients_off.connect(self._return)
        self.patch(nn.Module, "train", self._train(nn.Module.train))
        self.flipping = False
        self.flipped: dict[
            tuple[int, int, bool], int
        ] = {}  # (site, module, mode) → steps at the last such call
        self.quiet = False  # inside a call that sampling sleeps through though gradients are off
        self.recorder.signals.thread_changed.connect(self._moved)
        self.recorder.signals.before_end.connect(self._tell_times)

    def _rest(self) -> None:
        """While sampling sleeps, torch's own `__call__` stands, until gradients are switched off."""
        if vars(nn.Module)["__call__"] is self.watched_call:
            setattr(nn.Module, "__call__", self.plain_call)  # noqa: B010

    def _return(self) -> None:
        if vars(nn.Module)["__call__"] is self.plain_call:
            setattr(nn.Module, "__call__", self.watched_call)  # noqa: B010

    def _tell_times(self) -> None:
        """At the end: how long the calls of each line took that built graphs (on a GPU, to be queued)."""
        for site, (calls, seconds) in self.times.items():
            self.recorder.emit("call_time", site, {"calls": int(calls), "seconds": round(seconds, 6)})

    def _moved(self) -> None:
        self.recorder.modules.layers = None

    def _call(self, real: Any) -> Any:
        hook, recorder = self, self.recorder
        table = recorder.modules
        records = table.records
        sites = recorder.sites
        anchors = sites.anchors
        get_ident = threading.get_ident
        is_grad_enabled = torch.is_grad_enabled

        def __call__(self: Any, *args: Any, **kwargs: Any) -> Any:  # so named: torch's profiler reads it
            looked = recorder.segment.looked
            if not looked and (hook.quiet or (is_grad_enabled() and not recorder.resting)):
                return real(self, *args, **kwargs)
            if recorder.paused or get_ident() != recorder.thread:
                recorder.services.leave_failed()
                return real(self, *args, **kwargs)
            if not looked and recorder.services.at_every_step(sys._getframe(1)):
                hook.quiet = True
                try:
                    return real(self, *args, **kwargs)
                finally:
                    hook.quiet = False
            if not looked:
                recorder.services.wake()
            recorder.detours += 1
            began = perf_counter()
            # Only the id: a frame that holds itself would keep the user's tensors alive.
            own = id(sys._getframe())
            outer, holder = table.current, table.inner
            record = records.get(id(self))
            root = outer < 0
            recorder.paused += 1
            try:
                site = sites.current(sys._getframe(1))
                if record is None or record.ref() is not self:
                    with private.aside():
                        record = table.register_root(self, sys._getframe(1), site)
                if root:
                    hook._begin(record, site)
                elif record.mode is not None and table.layers is not None:
                    table.layers[record.id] = in_training(self)
                anchors[own] = sites.nodes[site]
                if root and recorder.signals.before_call:
                    with private.aside():
                        for follow in recorder.signals.before_call:
                            follow(self, record, site)
                table.current, table.inner = record.id, record
            except BaseException as error:
                table.current, table.inner = outer, holder
                anchors.pop(own, None)
                recorder.fault("recording a module call", error)
                return real(self, *args, **kwargs)
            finally:
                recorder.paused -= 1
                recorder.own_time += perf_counter() - began
            foreign = not root and holder is not None and holder.root != record.root
            stats = hook._stats(self, record, site) if root else None
            started, own_time = perf_counter(), recorder.own_time
            try:
                if record.fast_path:
                    with recorder.services.out_of_sight():
                        result = real(self, *args, **kwargs)
                else:
                    result = real(self, *args, **kwargs)
            finally:
                table.current, table.inner = outer, holder
                anchors.pop(own, None)
            if root:
                began = perf_counter()
                took = began - started - (recorder.own_time - own_time)
                recorder.paused += 1
                try:
                    with private.aside():
                        hook._end(self, record, site, args, kwargs, result, stats, took)
                        for follow in recorder.signals.after_call:
                            follow(self, record, site)
                except BaseException as error:
                    recorder.fault("recording a module call", error)
                finally:
                    recorder.paused -= 1
                recorder.own_time += perf_counter() - began
            elif foreign:
                hook._end_inner(record, site, args, kwargs, result)
            return result

        return __call__

    def _begin(self, record: ModuleRecord, site: int) -> None:
        recorder = self.recorder
        recorder.modules.layers = {}
        if record.mode is not None:
            recorder.modules.layers[record.id] = in_training(record.ref())
        segment = recorder.segment
        if site in segment.calls and not (torch.is_grad_enabled() and segment.nodes):
            recorder.end_segment(False)
            segment = recorder.segment
        segment.calls.setdefault(site, Counter())[record.id] += 1

    def _stats(
        self, module: Any, record: ModuleRecord, site: int
    ) -> list[tuple[int, str, Any, torch.Tensor]] | None:
        """Running statistics before a call in training mode, once per line."""
        found: list[tuple[int, str, Any, torch.Tensor]] = []
        try:
            if (record.id, site) in self.measured or not in_training(module):
                return None
            self.measured.add((record.id, site))
            with private.aside():
                for m in parts(module):
                    known = self.recorder.modules.find(m)
                    if (
                        known is not None
                        and known.mode == "norm"
                        and in_training(m)
                        and len(found) < 3
                        and measurable(m.running_mean)
                    ):
                        found.append((known.id, "running_mean", m, first_of(m.running_mean)))
        except BaseException as error:
            self.recorder.fault("measuring statistics", error)
        return found

    def _end(
        self,
        module: Any,
        record: ModuleRecord,
        site: int,
        args: Any,
        kwargs: Any,
        result: Any,
        stats: Any,
        took: float,
    ) -> None:
        recorder = self.recorder
        layers, recorder.modules.layers = recorder.modules.layers or {}, None
        made = recorder.segment.calls.get(site)
        if made is not None and made[record.id] > ENOUGH_CALLS:
            if site in self.times and torch.is_grad_enabled():
                self._took(site, took)
            return
        tensors: list[Any] = []
        find_tensors([result], tensors)
        given: list[Any] = []
        find_tensors([args, kwargs], given)
        for follow in recorder.signals.module_input:
            follow(given, record, site)
        by_id = {r.id: r for r in recorder.modules.records.values()} if layers else {}
        eval_layers = [k for k, training in layers.items() if not training]
        frozen = []
        for k in eval_layers:
            m = by_id[k].ref()
            if m is not None and not any(p.requires_grad for p in parameters(m)) and by_id[k].mode == "norm":
                frozen.append(k)
        first: dict[str, Any] = {}
        if stats:
            first["stats"] = self._drifted(stats)
        grad = torch.is_grad_enabled() and not torch.is_inference_mode_enabled()
        if not grad and in_training(module) and (losses := losses_of_its_mode(module, result)):
            first["losses"] = losses
        builds = any(t.requires_grad for t in tensors)
        if builds:
            self._took(site, took)
            if not in_training(module) and (record.id, site) not in self.weighed:
                self.weighed.add((record.id, site))
                first["graph_nodes"], first["graph_bytes"] = held(tensors)
        recorder.emit(
            "call", site,
            {
                "module": record.root, "called": record.id, "training": in_training(module), "grad": grad,
                "builds_graph": builds, "train_layers": [k for k, training in layers.items() if training],
                "eval_layers": eval_layers, "frozen_eval": frozen,
                "outputs": [recorder.value(t, site).index for t in tensors],
                "inputs": [recorder.value(t, site).index for t in given],
            },
            **first,
        )  # fmt: skip

    def _took(self, site: int, seconds: float) -> None:
        spent = self.times.setdefault(site, [0, 0.0])
        spent[0] += 1
        spent[1] += seconds

    def _end_inner(self, record: ModuleRecord, site: int, args: Any, kwargs: Any, result: Any) -> None:
        """Of a call within that of a module which it is no part of: a loss that is given networks, say."""
        recorder = self.recorder
        began = perf_counter()
        recorder.paused += 1
        try:
            with private.aside():
                tensors: list[Any] = []
                find_tensors([result], tensors)
                given: list[Any] = []
                find_tensors([args, kwargs], given)
                if any(t.requires_grad for t in tensors):
                    recorder.emit(
                        "inner_call", site,
                        {
                            "module": record.root, "called": record.id,
                            "outputs": [recorder.value(t, site).index for t in tensors],
                            "inputs": [recorder.value(t, site).index for t in given],
                        },
                    )  # fmt: skip
        except BaseException as error:
            recorder.fault("recording a module call", error)
        finally:
            recorder.paused -= 1
        recorder.own_time += perf_counter() - began

    def _drifted(self, stats: list[tuple[int, str, Any, torch.Tensor]]) -> list[dict[str, Any]]:
        """Those statistics that have changed; from a GPU they come before the segment is stored, or never."""
        moved: list[dict[str, Any]] = []
        for owner, name, m, old in stats:

            def compare(
                before: torch.Tensor, after: torch.Tensor, owner: int = owner, name: str = name
            ) -> None:
                if numbers := change(before, after):
                    moved.append({"module": owner, "name": name, **numbers})

            self.recorder.arrivals.when_here((old, first_of(getattr(m, name))), compare)
        return moved

    # -- train and eval ----------------------------------------------------------------

    def _train(self, real: Any) -> Any:
        recorder = self.recorder

        def train(module: Any, mode: bool = True) -> Any:
            if self.flipping or not recorder.mine():
                return real(module, mode)
            self.flipping = True
            try:
                return real(module, mode)
            finally:
                self.flipping = False
                try:
                    self._note_mode(module, bool(mode), sys._getframe(1))
                except BaseException as error:
                    recorder.fault("recording train/eval", error)

        return train

    def _note_mode(self, module: Any, mode: bool, frame: Any) -> None:
        recorder = self.recorder
        if frame.f_code.co_name == "eval" and frame.f_back is not None:
            frame = frame.f_back
        site = recorder.sites.current(frame)
        with private.aside():
            record = recorder.modules.find(module) or recorder.modules.register_root(module, frame, site)
        recorder.in_eval = recorder.in_eval - {record.id} if mode else recorder.in_eval | {record.id}
        call = site, record.id, mode
        if recorder.steps - self.flipped.get(call, -2) > 1:  # not one that is made at each step
            recorder.services.wake()
        self.flipped[call] = recorder.steps
        recorder.emit(
            "mode", site, {"module": record.id, "training": mode, "call": "train" if mode else "eval"}
        )


def losses_of_its_mode(module: Any, result: Any) -> list[str]:
    """The keys of a dict of single numbers, where the `forward` that gave it asks which mode it is in."""
    if not isinstance(result, dict):
        return []  # most results: asked before anything is looked up
    forward = getattr(module.forward, "__func__", module.forward)
    code = getattr(inspect.unwrap(forward), "__code__", None)
    if "training" not in getattr(code, "co_names", ()):
        return []
    single = all(
        type(key) is str and is_tensor_type(type(one)) and one.numel() == 1 for key, one in result.items()
    )
    return list(result) if single else []
