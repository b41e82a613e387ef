"""Watches where gradients are switched off and on: no_grad, enable_grad,
set_grad_enabled, inference_mode, as regions with the lines they span.

The context managers are watched, not what they call: so a region is known also
while sampling sleeps, when its ops are not seen.
"""

from __future__ import annotations

import os
import sys
from functools import wraps
from types import CodeType, FrameType, FunctionType
from typing import Any

from torch.autograd import grad_mode

from gradscope.hooks import Hook
from gradscope.hooks import _torch as private
from gradscope.hooks.variables import variables
from gradscope.tracebacks import is_of_torch

_WRAPPERS = os.path.join("utils", "_contextlib.py")  # of decorated functions


class GradModes(Hook):
    order = 60

    def install(self) -> None:
        self.stack: list[int] = []
        self.recorder.signals.thread_changed.connect(self.stack.clear)
        self.own: set[CodeType] = set()  # no_grad uses set_grad_enabled itself
        for cls in (grad_mode.no_grad, grad_mode.enable_grad, grad_mode.inference_mode):
            self.patch(cls, "__enter__", self._enter(cls.__enter__, cls.__name__))
            self.patch(cls, "__exit__", self._exit(cls.__exit__))
        switch = grad_mode.set_grad_enabled
        self.patch(switch, "__init__", self._switch(switch.__init__))
        self.patch(switch, "__call__", self._exit(switch.__call__))  # as a decorator: undone at once
        self.patch(switch, "__exit__", self._exit(switch.__exit__))

    def _open(self, kind: str, frame: Any) -> None:
        recorder = self.recorder
        try:
            site = recorder.sites.current(frame)
            decorated = _decorated(frame)
            if decorated is not None:
                site = recorder.sites.below(site, decorated.__code__)
            self.stack.append(recorder.region)
            recorder.region = recorder.region_id(kind, site, recorder.region)
            generator = decorated is None and is_of_torch(frame.f_code.co_filename, _WRAPPERS)
            if kind != "enable_grad" and (generator or recorder.sites.nodes[site].kind != "torch"):
                for follow in recorder.signals.gradients_off:
                    follow()
                for follow_block in recorder.signals.block_without_gradients:
                    follow_block(site)
        except BaseException as error:
            recorder.fault("recording a grad mode", error)

    def _close(self) -> None:
        try:
            self.recorder.region = self.stack.pop() if self.stack else -1
        except BaseException as error:
            self.recorder.fault("recording a grad mode", error)

    def _enter(self, real: Any, name: str) -> Any:
        self.own.add(real.__code__)

        @wraps(real)  # TorchScript compiles the source of the modes: it has to find torch's own
        def __enter__(mode: Any) -> None:
            # Noted first: between the switch and the block a signal would leave the mode behind.
            if self.recorder.mine():
                kind = name if getattr(mode, "mode", True) else "enable_grad"  # inference_mode(False)
                self._open(kind, sys._getframe(1))
            real(mode)

        return __enter__

    def _exit(self, real: Any) -> Any:
        self.own.add(real.__code__)

        @wraps(real)
        def __exit__(mode: Any, *args: Any) -> Any:
            try:
                return real(mode, *args)
            finally:
                if self.recorder.mine():
                    self._close()

        return __exit__

    def _switch(self, real: Any) -> Any:
        @wraps(real)
        def __init__(switch: Any, mode: bool) -> None:
            real(switch, mode)
            if self.recorder.paused:  # twice in every step of an optimizer
                return
            frame = sys._getframe(1)
            if frame.f_code not in self.own and self.recorder.mine():
                self._switched(switch, mode, frame)
            del frame  # it holds this one

        return __init__

    def _switched(self, switch: Any, mode: bool, frame: FrameType) -> None:
        if mode and self.stack and not getattr(switch, "prev", True):
            self._close()  # switched on again, as a statement
        else:
            self._open("enable_grad" if mode else "set_grad_enabled", frame)


def _decorated(frame: FrameType) -> FunctionType | None:
    """The user's function whose decorator `frame` enters the mode, if that is what it does."""
    if not private.is_decorator(frame.f_code):
        return None
    function = variables(frame).get("func")
    return function if isinstance(function, FunctionType) else None
