"""Notes under which nodes saved-tensor hooks (checkpoints, `save_on_cpu`) were on, where torch does not
tell it of what was saved: to look at that would run the program's hooks."""

from __future__ import annotations

import threading
from functools import wraps
from typing import Any

from torch.autograd.graph import saved_tensors_hooks

from gradscope.hooks import Hook
from gradscope.hooks._torch import has, under_hooks


class Saving(Hook):
    order = 15

    def install(self) -> None:
        if has("torch._C._autograd.SavedTensor.unpack_hook"):
            return
        under_hooks.begin()
        self.recorder.signals.thread_changed.connect(under_hooks.begin)
        cls = saved_tensors_hooks
        self.patch(cls, "__enter__", self._followed(cls.__enter__, under_hooks.enter))
        self.patch(cls, "__exit__", self._followed(cls.__exit__, under_hooks.leave))

    def _followed(self, real: Any, follow: Any) -> Any:
        recorder = self.recorder

        @wraps(real)
        def call(hooks: Any, *args: Any) -> Any:
            result = real(hooks, *args)
            if threading.get_ident() == recorder.thread:
                follow()
            return result

        return call
