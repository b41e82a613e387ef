"""Watches `x[…]` and `x[…] = y` where torch does not show them to function modes (2.2): a slice would
be missing between what it is of and what is made of it."""

from __future__ import annotations

import threading
from typing import Any

import torch

from gradscope.hooks import Hook
from gradscope.hooks._torch import shows_indexing


class Indexing(Hook):
    order = 89

    def install(self) -> None:
        if shows_indexing():
            return
        for name in ("__getitem__", "__setitem__"):
            self.patch(torch.Tensor, name, self._shown(getattr(torch._C.TensorBase, name)))

    def _shown(self, real: Any) -> Any:
        recorder = self.recorder
        functions = recorder.functions
        plain = (torch.Tensor, torch.nn.Parameter)  # subclasses are shown: they might do it themselves

        def call(t: Any, *args: Any) -> Any:
            watched = getattr(functions.local, "on", False) and not recorder.paused and type(t) in plain
            if not watched or threading.get_ident() != recorder.thread:
                return real(t, *args)
            functions.pause()  # some kinds of values are shown all the same
            try:
                return functions.mode.__torch_function__(real, (), (t, *args))
            finally:
                functions.resume()

        return call
