"""Watches `autograd.Function.apply`: one op named after the user's class. A function
mode sees only the calls inside its forward."""

from __future__ import annotations

import sys
import threading
from time import perf_counter
from typing import Any

import torch

from gradscope.hooks import Hook
from gradscope.hooks import _torch as private
from gradscope.hooks.recorder.errors import note_error


class CustomFunctions(Hook):
    order = 70

    def install(self) -> None:
        cls = torch.autograd.Function
        self.patch(cls, "apply", classmethod(self._apply(private.apply_function)))

    def _apply(self, real: Any) -> Any:
        recorder = self.recorder

        def apply(cls: Any, *args: Any, **kwargs: Any) -> Any:
            if recorder.paused or not recorder.segment.looked or threading.get_ident() != recorder.thread:
                return real(cls, *args, **kwargs)
            first = private.sequence_number()
            frame = sys._getframe(1)
            recorder.paused += 1
            try:
                result = real(cls, *args, **kwargs)
            except Exception as error:
                recorder.paused -= 1
                note_error(recorder, "op", cls.__name__, error, args, kwargs, frame)
                raise
            except BaseException:
                recorder.paused -= 1
                raise
            began = perf_counter()
            try:
                with private.DisableTorchFunction():
                    recorder.op(cls.__name__, args, kwargs, result, first, frame, '{"custom":true}')
                    for follow in recorder.signals.function_applied:
                        follow(cls, args, result, frame)
            except BaseException as error:
                recorder.fault(f"recording {cls.__name__}", error)
            finally:
                recorder.paused -= 1
            recorder.own_time += perf_counter() - began
            return result

        return apply
