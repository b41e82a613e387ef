"""Notes calls between ranks that are given a tensor with a graph (`dist.all_gather(parts, x)`): what they write to
holds its numbers, and autograd knows nothing of that. Tells before those that its version check does not see."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from time import perf_counter
from types import FrameType
from typing import Any

import torch
from torch import distributed

from gradscope.hooks import Hook
from gradscope.hooks import _torch as private
from gradscope.hooks.recorder.signals import Signal
from gradscope.hooks.recorder.values import find_tensors, is_tensor_type

# Where a call's arguments say what it reads and what it writes to: (names, position) of each. `gather` and `scatter`
# are the names of other ops.
_Place = tuple[tuple[str, ...], int]
_CALLS: dict[str, tuple[_Place, _Place]] = {
    "all_reduce": ((("tensor",), 0), (("tensor",), 0)),
    "reduce": ((("tensor",), 0), (("tensor",), 0)),
    "all_gather": ((("tensor",), 1), (("tensor_list",), 0)),
    "all_gather_single": ((("input_tensor", "input"), 1), (("output_tensor", "output"), 0)),
    "all_gather_into_tensor": ((("input_tensor", "input"), 1), (("output_tensor", "output"), 0)),
    "reduce_scatter": ((("input_list",), 1), (("output",), 0)),
    "reduce_scatter_single": ((("input",), 1), (("output",), 0)),
    "reduce_scatter_tensor": ((("input",), 1), (("output",), 0)),
    "broadcast": ((("tensor",), 0), (("tensor",), 0)),
    "all_to_all": ((("input_tensor_list",), 1), (("output_tensor_list",), 0)),
    "all_to_all_single": ((("input",), 1), (("output",), 0)),
}
# These leave the version of what they write to as it is (torch 2.2 to 2.13).
UNCOUNTED = {"all_reduce", "reduce", "broadcast", "all_to_all_single"}


class Collectives(Hook):
    order = 72

    def install(self) -> None:
        if not distributed.is_available():
            return
        for name, places in _CALLS.items():
            if hasattr(distributed, name):
                self.patch(distributed, name, self._call(name, getattr(distributed, name), *places))
        # `dist.irecv` itself is compared by `P2POp`: both it and `dist.recv` call this one.
        self.patch(distributed.ProcessGroup, "recv", self._receive(distributed.ProcessGroup.recv))

    def _receive(self, real: Callable[..., Any]) -> Any:
        recorder = self.recorder

        def recv(*args: Any, **kwargs: Any) -> Any:
            if recorder.segment.looked and recorder.mine():
                name = _asked_for(sys._getframe(1))
                self._tell(recorder.signals.before_reduced, name, name, args[1:2])
            return real(*args, **kwargs)

        return recv

    def _call(self, name: str, real: Callable[..., Any], reads: _Place, writes: _Place) -> Any:
        recorder = self.recorder

        def collective(*args: Any, **kwargs: Any) -> Any:
            if torch.compiler.is_compiling():  # what is compiled has calls of its own for it
                return real(*args, **kwargs)
            if name in UNCOUNTED and recorder.segment.looked and recorder.mine():
                self._tell(recorder.signals.before_reduced, name, name, _at(writes, args, kwargs))
            if name == "all_reduce" and threading.get_ident() == recorder.thread:
                self._tell_summed(args, kwargs)  # also in a pass, by a hook on a gradient
            first = private.sequence_number()
            result = real(*args, **kwargs)
            if result is not None and recorder.mine():
                self._tell(recorder.signals.reduced_later, result, name, _at(writes, args, kwargs))
            if recorder.segment.looked and recorder.mine():
                began = perf_counter()
                recorder.paused += 1
                try:
                    with private.aside():
                        self._note(name, _at(reads, args, kwargs), _at(writes, args, kwargs), first)
                except BaseException as error:
                    recorder.fault(f"recording {name}", error)
                finally:
                    recorder.paused -= 1
                recorder.own_time += perf_counter() - began
            return result

        return collective

    def _tell(self, listeners: Signal[Any, list[Any], Any], what: Any, name: str, written: Any) -> None:
        try:
            filled: list[Any] = []
            find_tensors([written], filled)
            for follow in listeners:
                follow(what, filled, sys._getframe(2))
        except BaseException as error:
            self.recorder.fault(f"watching {name}", error)

    def _tell_summed(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        try:
            filled: list[Any] = []
            if _sums(args, kwargs):
                find_tensors([_at((("tensor",), 0), args, kwargs)], filled)
            for follow in self.recorder.signals.summed:
                follow(filled, sys._getframe(2))
        except BaseException as error:
            self.recorder.fault("watching all_reduce", error)

    def _note(self, name: str, read: Any, written: Any, first: int) -> None:
        given: list[Any] = []
        filled: list[Any] = []
        find_tensors([read], given)
        find_tensors([written], filled)
        if filled and any(_has_graph(t) for t in given) and not any(map(_is_trained, filled)):
            # No node is made: what is written to keeps the graph that it had, or has none.
            self.recorder.op(name, (given,), {"out": filled}, None, first, sys._getframe(2))


def _asked_for(frame: FrameType) -> str:
    """Which of torch's functions the program has called to receive."""
    name, home = "recv", frame.f_code.co_filename
    for _ in range(6):
        if frame.f_code.co_filename == home and frame.f_code.co_name in ("recv", "irecv"):
            name = frame.f_code.co_name
        if frame.f_back is None:
            break
        frame = frame.f_back
    return name


def _at(place: _Place, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    names, position = place
    if position < len(args):
        return args[position]
    return next((kwargs[name] for name in names if name in kwargs), None)


def _sums(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether `all_reduce` adds up, as it does where nothing else is asked for."""
    op = args[1] if len(args) > 1 else kwargs.get("op")
    return op is None or op == distributed.ReduceOp.SUM


def _has_graph(t: Any) -> bool:
    return t.requires_grad and not private.is_leaf(t)


def _is_trained(t: Any) -> bool:
    return not is_tensor_type(type(t)) or (t.requires_grad and private.is_leaf(t))
