"""Keeps the way that torch's transformer layers compute.

In evaluation `nn.MultiheadAttention`, `nn.TransformerEncoderLayer` and `nn.TransformerEncoder` take
a fused kernel, whose results differ in rounding and at padded places, unless
`torch.overrides.has_torch_function` finds someone who wants to see the single operations. A
function mode counts as such: during their calls ours does not.
"""

from __future__ import annotations

import os
import sys
from contextlib import AbstractContextManager
from typing import Any

import torch

from gradscope.hooks import Hook

_LAYERS = os.path.join(os.path.dirname(torch.__file__), "nn", "modules") + os.sep


class FastPaths(Hook):
    order = 92  # after the mode

    def install(self) -> None:
        self.recorder.services.out_of_sight = self._out_of_sight

    def _out_of_sight(self) -> AbstractContextManager[None]:
        return _Unseen(self.recorder.functions)


class _Unseen(AbstractContextManager[None]):
    """While it is entered, torch's layers are told that no function mode of ours is there."""

    def __init__(self, functions: Any):
        self.functions = functions

    def __enter__(self) -> None:
        self.before: Any = torch.overrides.has_torch_function
        setattr(torch.overrides, "has_torch_function", self._answer)  # noqa: B010

    def __exit__(self, *exception: object) -> None:
        setattr(torch.overrides, "has_torch_function", self.before)  # noqa: B010

    def _answer(self, arguments: Any) -> bool:
        if not sys._getframe(1).f_code.co_filename.startswith(_LAYERS) or not self.functions.pause():
            return bool(self.before(arguments))
        try:
            return bool(self.before(arguments))
        finally:
            self.functions.resume()
