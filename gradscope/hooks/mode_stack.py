"""Keeps our function mode out of what torch tells of the stack of modes."""

from __future__ import annotations

import sys
from typing import Any

import torch
import torch.utils._device  # takes the real functions: it puts modes below ours

from gradscope.hooks import Hook

# The compiler keeps what it finds under these names when it is loaded.
_COMPILER = ("torch._dynamo.utils", "torch._dynamo.trace_rules", "torch._dynamo.variables.torch")


class ModeStack(Hook):
    order = 91  # after the mode

    def install(self) -> None:
        overrides: Any = torch.overrides
        modes = self._modes(overrides._get_current_function_mode_stack)
        self.patch(overrides, "_get_current_function_mode_stack", modes)
        self.patch(overrides, "_get_current_function_mode", lambda: (modes() or [None])[-1])
        if all(name in sys.modules for name in _COMPILER):
            length = self._length(torch._C._len_torch_function_stack)
            self.patch(torch._C, "_len_torch_function_stack", length)

    def _modes(self, real: Any) -> Any:
        ours = self.recorder.functions.mode

        def _get_current_function_mode_stack() -> list[Any]:
            return [mode for mode in real() if mode is not ours]

        return _get_current_function_mode_stack

    def _length(self, real: Any) -> Any:
        local = self.recorder.functions.local

        def _len_torch_function_stack() -> int:
            return int(real()) - getattr(local, "on", False)

        return _len_torch_function_stack
