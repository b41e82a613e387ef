"""Watches every torch call of the user's thread through a TorchFunctionMode.

It sees the call as the user wrote it, above autograd, so an output already has its
grad_fn. Attributes (`.data`, `.grad`, `requires_grad`) come as the descriptor's
`__get__` and `__set__`.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable
from time import perf_counter
from typing import Any, NoReturn

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from gradscope.hooks import Hook
from gradscope.hooks import _torch as private
from gradscope.hooks.recorder.arguments import AXES
from gradscope.hooks.recorder.errors import note_error
from gradscope.hooks.recorder.patched import Patched
from gradscope.hooks.sampling.cost import of_a_detour
from gradscope.hooks.second_names import FIRST

sequence_number = private.sequence_number
is_leaf = private.is_leaf
thread_number = private.thread_number

SKIPPED_NAMES = {
    "size", "dim", "numel", "stride", "is_contiguous", "element_size", "get_device", "storage_offset", "ndimension",
    "nelement", "is_floating_point", "is_complex", "is_inference", "is_nonzero", "data_ptr", "untyped_storage",
    "storage", "__len__", "__hash__", "__repr__", "__format__", "__dir__", "__reduce_ex__", "__deepcopy__",
    "backward", "register_hook", "retain_grad", "is_shared", "share_memory_", "is_pinned", "has_names",
    "is_same_size", "is_set_to", "_is_view", "is_signed", "is_conj", "is_neg", "get_default_dtype",
    "set_grad_enabled", "_record_function_enter_new", "allclose", "equal", "is_tensor", "__contains__",
    "is_storage", "result_type", "can_cast", "set_default_dtype", "manual_seed", "_set_grad_enabled",
    "register_post_accumulate_grad_hook", "typename", "_make_subclass", "_register_hook_dict", "is_coalesced",
}  # fmt: skip


MOVES = torch.nn.Module._apply.__code__  # of `module.to()`, `cpu()`, `half()`: the same values elsewhere
HANDLES_GRAD = ("zero_grad", "_apply", "__deepcopy__", "__repr__")  # of torch's own
MAX_READERS = 32  # places noted that read a leaf's gradient
VIEW_ATTRIBUTES = {"T", "mT", "H", "mH", "real", "imag"}


class FunctionMode(TorchFunctionMode):
    """The eye. `special` maps a torch function to its own handler, the rest are ops."""

    def __init__(self, hook: Functions):
        super().__init__()
        self.hook = hook
        self.recorder = hook.recorder
        self.special = hook.special

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        recorder = self.recorder
        if recorder.paused or (recorder.moved and thread_number() != recorder.thread):
            result = func(*args, **kwargs) if kwargs else func(*args)
            return refused() if result is NotImplemented else result
        recorder.detours += 1
        handler: Any = self.special.get(func)
        if handler is None:
            try:
                func = self.hook.patched.real(func, sys._getframe(1))
                handler = self.special.get(func)
                if handler is None:
                    handler = self.hook.classify(func)
            except BaseException as error:  # a callable of the user's whose name raises
                recorder.fault("naming a call", error)
                handler = False
        if handler is False:
            result = func(*args, **kwargs) if kwargs else func(*args)
            return refused() if result is NotImplemented else result
        if type(handler) is not str:
            return handler(func, types, args, kwargs or {}, sys._getframe(1))
        first = sequence_number()
        watch = self.hook.before_write
        if watch is not None and handler.endswith("_"):
            watch(handler, args, kwargs, sys._getframe(1))
        if handler in self.hook.before:
            self._announce(handler, args, kwargs, sys._getframe(1))
        try:
            result = func(*args, **kwargs) if kwargs else func(*args)
        except Exception as error:
            note_error(recorder, "op", handler, error, args, kwargs, sys._getframe(1))
            raise
        if result is NotImplemented:
            refused()
        began = perf_counter()
        recorder.paused += 1  # what a signal handler does meanwhile is not noted in the middle of this
        try:
            told = AXES.get(handler)
            extra = told(args, kwargs) if told is not None else ""
            if (len(types) > 0 and self.hook.foreign(types)) or private.mode_count():
                with private.DisableTorchFunction():
                    self._note(handler, args, kwargs, result, first, sys._getframe(1), extra)
            else:
                self._note(handler, args, kwargs, result, first, sys._getframe(1), extra)
        except BaseException as error:
            recorder.fault(f"recording {handler}", error)
        finally:
            recorder.paused -= 1
        recorder.own_time += perf_counter() - began
        return result

    def _note(
        self, name: str, args: Any, kwargs: Any, result: Any, first: int, frame: Any, extra: str
    ) -> None:
        recorder = self.recorder
        row = recorder.op(name, args, kwargs, result, first, frame, extra)
        followers = self.hook.after.get(name)
        if not followers:
            return
        sites = recorder.sites
        if row is not None:
            sites.held, sites.held_at = frame, row.site
        try:
            for follow in followers:
                follow(name, args, kwargs, result, frame)
        finally:
            sites.held = None

    def _announce(self, name: str, args: Any, kwargs: Any, frame: Any) -> None:
        recorder = self.recorder
        began = perf_counter()
        recorder.paused += 1
        try:
            with private.DisableTorchFunction():  # a mode of the program's would see what is asked
                for told in self.hook.before[name]:
                    told(name, args, kwargs, frame)
        except BaseException as error:
            recorder.fault(f"before {name}", error)
        finally:
            recorder.paused -= 1
        recorder.own_time += perf_counter() - began


def refused() -> NoReturn:
    """Torch takes a mode that gives NotImplemented for one that could not say, and calls the function
    once more; a TypeError ends the call as it would end without a mode."""
    raise TypeError("not implemented for these operands")


class Functions(Hook):
    """Installs the mode; it goes below modes the user pushes later, above those before."""

    order = 90  # last in, first out: everything else stands when ops begin to be seen

    def __init__(self, recorder: Any):
        super().__init__(recorder)
        self.special: dict[Any, Any] = {}
        self.before_write: Callable[..., None] | None = None
        self.before: dict[str, list[Callable[..., None]]] = {}  # op → told before each call, while looking
        self.after: dict[str, list[Callable[..., None]]] = {}  # op → told of each call, while looking
        self.on_register: Callable[[Any, Any, Any], Any] | None = None  # gives what is registered for a hook
        # told of each hook on a tensor: (tensor, hook, handle, frame)
        self.registered: Callable[[Any, Any, Any, Any], None] | None = None
        self.on_set_requires_grad: Callable[[], None] | None = None
        self.hooks_seen = False  # the user registered a hook on a tensor
        self.patched = Patched()
        self.mode = FunctionMode(self)
        self._foreign: dict[type, bool] = {Tensor: False, torch.nn.Parameter: False}
        self._known: dict[Any, str] = {}
        self.local = threading.local()  # `on`: each thread has a stack of modes
        recorder.functions = self
        for name in dir(torch._C.TensorBase):
            descriptor: Any = getattr(torch._C.TensorBase, name, None)
            if type(descriptor).__name__ == "getset_descriptor":
                # `x.T` and the like make tensors; the others tell nothing about the graph.
                self.special[descriptor.__get__] = name if name in VIEW_ATTRIBUTES else False
                self.special[descriptor.__set__] = False
        base: Any = torch._C.TensorBase
        self.special[base.data.__get__] = self._read_data
        self.special[base.grad.__get__] = self._read_grad
        self.special[base.requires_grad.__set__] = self._set_requires_grad
        self.special[base.requires_grad_] = self._set_requires_grad
        self.special[Tensor.register_hook] = self._register_hook
        self.special[base.data.__set__] = self._set_data
        self.special[base.grad.__set__] = self._set_grad
        self.special[base._grad.__set__] = self._set_grad

    def classify(self, func: Any) -> Any:
        """The op's name, or False for calls that are not recorded; remembered."""
        name = getattr(func, "__name__", None) or str(func)
        silent = name in SKIPPED_NAMES or name in ("__get__", "__set__", "__delete__")
        silent = (
            silent
            or name.startswith("_record_function")
            or "profiler" in str(getattr(func, "__module__", ""))
        )
        handler: Any = False if silent else FIRST.get(name, name)
        try:
            self.special[func] = handler
        except TypeError:
            pass
        return handler

    def foreign(self, types: Any) -> bool:
        """Whether a tensor subclass is among the types: its attributes run the user's code."""
        known = self._foreign
        for cls in types:
            found = known.get(cls)
            if found is None:
                found = known[cls] = cls.__torch_function__ is not Tensor.__torch_function__
            if found:
                return True
        return False

    def follow(self, names: Iterable[str], told: Callable[..., None]) -> None:
        """Has `told(name, args, kwargs, result, frame)` called after each call of these ops that is looked at."""
        for name in names:
            self.after.setdefault(name, []).append(told)

    def precede(self, names: Iterable[str], told: Callable[..., None]) -> None:
        """Has `told(name, args, kwargs, frame)` called before each call of these ops that is looked at."""
        for name in names:
            self.before.setdefault(name, []).append(told)

    # -- the mode on and off --------------------------------------------------------

    def install(self) -> None:
        self.recorder.signals.asleep.connect(self.pause)
        self.recorder.signals.awake.connect(self.resume)
        self.recorder.detour = of_a_detour()
        self.resume()

    def uninstall(self) -> None:
        self.pause()
        super().uninstall()

    def resume(self) -> None:
        """Puts the mode where it stood: a mode of the user's that was pushed later leaves the
        stack from its top."""
        if getattr(self.local, "on", False):
            return
        count = private.mode_count()
        below = getattr(self.local, "below", count)
        above = [private.pop_mode() for _ in range(count - below)]
        for mode in (self.mode, *reversed(above)):
            private.push_mode(mode)
        self.local.on = True

    def pause(self) -> bool:
        """Takes the mode off the stack, wherever it stands. False if it was off."""
        if not getattr(self.local, "on", False):
            return False
        above = []
        while private.mode_count():
            top = private.pop_mode()
            if top is self.mode:
                self.local.on = False
                self.local.below = private.mode_count()
                break
            above.append(top)
        for mode in reversed(above):
            private.push_mode(mode)
        return True

    def _register_hook(self, func: Any, types: Any, args: Any, kwargs: Any, frame: Any) -> Any:
        self.hooks_seen = True
        while frame is not None and frame.f_code.co_name in ("handle_torch_function", "register_hook"):
            frame = frame.f_back
        given = (args, kwargs)
        try:
            if self.on_register is not None:
                given = self._exchanged(args, kwargs, frame)
        except BaseException as error:
            self.recorder.fault("watching a gradient hook", error)
        handle = func(*given[0], **given[1])
        try:
            if self.registered is not None:
                self.registered(args[0], args[1] if len(args) > 1 else kwargs["hook"], handle, frame)
        except BaseException as error:
            self.recorder.fault("watching a gradient hook", error)
        return handle

    def _exchanged(self, args: Any, kwargs: Any, frame: Any) -> tuple[Any, Any]:
        """The arguments of `register_hook` with the hook that is registered instead."""
        if self.on_register is None:
            return args, kwargs
        if len(args) > 1:
            return (args[0], self.on_register(args[0], args[1], frame), *args[2:]), kwargs
        return args, {**kwargs, "hook": self.on_register(args[0], kwargs["hook"], frame)}

    # -- attributes -------------------------------------------------------------------

    def _read_data(self, func: Any, types: Any, args: Any, kwargs: Any, frame: Any) -> Any:
        first = sequence_number()
        result = func(*args)
        recorder = self.recorder
        began = perf_counter()
        try:
            with private.DisableTorchFunction():
                self._note_data_read(args, result, first, frame)
        except BaseException as error:
            recorder.fault("recording data", error)
        recorder.own_time += perf_counter() - began
        return result

    def _note_data_read(self, args: Any, result: Any, first: int, frame: Any) -> None:
        recorder = self.recorder
        source = args[0]
        row = recorder.op("data", args, None, result, first, frame)
        site = recorder.sites.current(frame)
        entry = recorder.live.find(source)
        if row is not None and entry is not None and recorder.sites.nodes[site].kind == "user":
            recorder.emit(
                "data_read", site,
                {
                    "value": row.ins[0], "alias": row.outs[0], "parameter": entry.leaf.id if entry.leaf else None,
                    "requires_grad": bool(source.requires_grad), "live": recorder.segment.nodes,
                },
            )  # fmt: skip
        for told in self.after.get("data", ()):
            told("data", args, {}, result, frame)

    def _read_grad(self, func: Any, types: Any, args: Any, kwargs: Any, frame: Any) -> Any:
        result = func(*args)
        recorder = self.recorder
        began = perf_counter()
        try:
            self._note_grad_read(args[0], result, frame)
        except BaseException as error:
            recorder.fault("recording grad", error)
        recorder.own_time += perf_counter() - began
        return result

    def _note_grad_read(self, t: Any, result: Any, frame: Any) -> None:
        recorder = self.recorder
        site = recorder.sites.current(frame)
        if recorder.sites.nodes[site].kind == "torch" and (
            frame.f_code.co_name in HANDLES_GRAD
            or frame.f_code.co_filename.endswith(("clip_grad.py", "grad_scaler.py"))
        ):
            return  # prepares or moves, uses nothing
        with private.DisableTorchFunction():
            if not t.requires_grad and result is None:
                return
            entry = recorder.live.find(t)
            if is_leaf(t):
                record = recorder.ledger.of(t)
                if result is not None:
                    record.reads += 1
                    record.read_since = True
                    if len(record.read_at) < MAX_READERS:
                        record.read_at.add(site)
                    recorder.ledger.uses.read(record, result, site)
                    if record.state in ("fresh", "used"):
                        recorder.ledger.by_hand.read(record, result)
                if record.registered or record.optimizers:
                    return
            if recorder.sites.nodes[site].kind != "torch":
                entry = entry or recorder.value(t, site)
                if entry.serial != recorder.segment.serial:
                    entry = recorder.value(t, site)
                recorder.emit(
                    "grad_read", site,
                    {
                        "value": entry.index, "is_leaf": is_leaf(t), "retains_grad": bool(t.retains_grad),
                        "was_none": result is None,
                    },
                )  # fmt: skip

    def _set_grad(self, func: Any, types: Any, args: Any, kwargs: Any, frame: Any) -> Any:
        recorder = self.recorder
        began = perf_counter()
        try:
            with private.aside():
                self._note_grad_set(args[0], args[1], frame)
        except BaseException as error:
            recorder.fault("recording grad", error)
        recorder.own_time += perf_counter() - began
        return func(*args)

    def _note_grad_set(self, t: Any, grad: Any, frame: Any) -> None:
        recorder = self.recorder
        if type(t) not in (Tensor, torch.nn.Parameter) or not is_leaf(t):
            return
        record = recorder.ledger.records.get(id(t))
        old = private.grad_of(t)
        if record is not None and grad is not None:
            if old is grad:
                return  # the second half of `p.grad += …`
            site = recorder.sites.current(frame)
            recorder.ledger.uses.put(record, grad, site)
            if record.state != "used" or not recorder.ledger.by_hand.replaced_by(record, old, grad, site):
                record.state = "fresh"
        elif record is not None:
            recorder.ledger.cleared([record], True, recorder.sites.current(frame), by="hand")

    def _set_data(self, func: Any, types: Any, args: Any, kwargs: Any, frame: Any) -> Any:
        result = func(*args)
        recorder = self.recorder
        try:
            record = recorder.ledger.records.get(id(args[0]))
            moved = frame.f_code is MOVES
            if record is not None and record.ref() is args[0] and not moved:
                with private.DisableTorchFunction():
                    recorder.ledger.uses.given(args[1:], recorder.sites.current(frame))
                    recorder.ledger.written(record, "assigned", recorder.sites.current(frame))
            entry = recorder.live.find(args[0])
            if entry is not None and entry.serial == recorder.segment.serial:
                # `model.half()` and `model.to(device)` give a parameter other memory.
                before = recorder.metas.table[entry.meta]
                entry.meta = recorder.metas.of(args[0], is_leaf(args[0]))
                now = recorder.metas.table[entry.meta]
                if recorder.segment.nodes and (before.dtype, before.device) != (now.dtype, now.device):
                    entry.serial = -1  # torch gives it another AccumulateGrad: from here on it is a new value
                else:
                    recorder.segment.metas[entry.index] = entry.meta
            for follow in recorder.signals.data_set:
                follow(args[0], args[1], recorder.sites.current(frame))
        except BaseException as error:
            recorder.fault("recording data", error)
        return result

    def _set_requires_grad(self, func: Any, types: Any, args: Any, kwargs: Any, frame: Any) -> Any:
        result = func(*args, **kwargs)
        recorder = self.recorder
        try:
            with private.DisableTorchFunction():
                t = args[0]
                site = recorder.sites.current(frame)
                entry = recorder.value(t, site)
                recorder.ledger.uses.given((t,), site)
                if t.requires_grad and is_leaf(t) and entry.leaf is None:
                    entry.leaf = recorder.ledger.leaf(t, entry.site, entry.root)
                if entry.leaf is not None:
                    if entry.leaf.was_grad and not t.requires_grad:
                        entry.leaf.freeze(recorder.passes, recorder.optimizers)
                    entry.leaf.was_grad = bool(t.requires_grad)
                entry.meta = recorder.metas.of(t, is_leaf(t))
                segment = recorder.segment
                segment.metas[entry.index] = entry.meta
                recorder.emit(
                    "requires_grad", site,
                    {
                        "value": entry.index,
                        "parameter": entry.leaf.id if entry.leaf and entry.leaf.registered else None,
                        "leaf": entry.leaf.id if entry.leaf else None, "to": bool(t.requires_grad),
                    },
                )  # fmt: skip
                if self.on_set_requires_grad is not None:
                    self.on_set_requires_grad()
        except BaseException as error:
            recorder.fault("recording requires_grad", error)
        return result
