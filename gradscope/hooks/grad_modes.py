"""Watches where gradients are switched off and on: no_grad, enable_grad,
set_grad_enabled, inference_mode, as regions with the lines they span."""

from __future__ import annotations

import sys
from typing import Any

from torch.autograd import grad_mode

from gradscope.hooks import Hook
from gradscope.hooks import _torch as private


class GradModes(Hook):
    order = 60

    def install(self) -> None:
        self.stack: list[int] = []
        functions = self.recorder.functions
        functions.special[private.set_grad_enabled] = self._set
        self._undo.append(lambda: functions.special.pop(private.set_grad_enabled, None))
        cls = grad_mode.inference_mode
        self.patch(cls, "__enter__", self._enter_inference(cls.__enter__))
        self.patch(cls, "__exit__", self._exit_inference(cls.__exit__))

    def _open(self, kind: str, frame: Any) -> None:
        recorder = self.recorder
        site = recorder.sites.current(frame)
        self.stack.append(recorder.region)
        recorder.region = recorder.region_id(kind, site, recorder.region)

    def _close(self) -> None:
        self.recorder.region = self.stack.pop() if self.stack else -1

    def _set(self, func: Any, types: Any, args: Any, kwargs: Any, frame: Any) -> Any:
        result = func(*args, **kwargs)
        recorder = self.recorder
        try:
            self._note(bool(args[0]), frame)
        except Exception as error:
            recorder.fault("recording a grad mode", error)
        return result

    def _note(self, enabled: bool, frame: Any) -> None:
        outer = frame
        if outer.f_code.co_name == "__init__" and outer.f_back is not None:  # set_grad_enabled(...)
            outer = outer.f_back
        name = outer.f_code.co_name
        owner = type(outer.f_locals.get("self")).__name__ if name in ("__enter__", "__exit__") else ""
        if name == "__exit__" and owner in ("no_grad", "enable_grad", "set_grad_enabled"):
            self._close()
        elif name == "__enter__" and owner in ("no_grad", "enable_grad"):
            self._open(owner, outer.f_back)
        elif name == "__enter__" and owner == "set_grad_enabled":
            return  # set when it was made
        elif enabled:  # set_grad_enabled(True) as a statement
            self._close()
        else:
            self._open("set_grad_enabled", outer)

    def _enter_inference(self, real: Any) -> Any:
        def __enter__(mode: Any) -> None:
            real(mode)
            if self.recorder.mine():
                try:
                    self._open("inference_mode" if mode.mode else "enable_grad", sys._getframe(1))
                except Exception as error:
                    self.recorder.fault("recording inference_mode", error)

        return __enter__

    def _exit_inference(self, real: Any) -> Any:
        def __exit__(mode: Any, *args: Any) -> None:
            if self.recorder.mine():
                self._close()
            real(mode, *args)

        return __exit__
