"""Keeps our function mode out of what torch tells of the stack of modes."""

from __future__ import annotations

import sys
from typing import Any

import torch
import torch.utils._device  # takes the real functions: it puts modes below ours

from gradscope.hooks import Hook
from gradscope.hooks._torch import mode_at, mode_count

# The compiler keeps what it finds under these names when it is loaded.
_COMPILER = ("torch._dynamo.utils", "torch._dynamo.trace_rules", "torch._dynamo.variables.torch")


class ModeStack(Hook):
    order = 91  # after the mode

    def install(self) -> None:
        overrides: Any = torch.overrides
        modes = self._modes()
        self.patch(overrides, "_len_torch_function_stack", lambda: len(modes()))
        self.patch(overrides, "_get_function_stack_at", lambda index: modes()[index])
        if all(name in sys.modules for name in _COMPILER):
            length = self._length(torch._C._len_torch_function_stack)
            self.patch(torch._C, "_len_torch_function_stack", length)

    def _modes(self) -> Any:
        ours = self.recorder.functions.mode
        return lambda: [mode for mode in map(mode_at, range(mode_count())) if mode is not ours]

    def _length(self, real: Any) -> Any:
        local = self.recorder.functions.local

        def _len_torch_function_stack() -> int:
            return int(real()) - getattr(local, "on", False)

        return _len_torch_function_stack
