"""What a detour costs: each call that goes through a function mode takes longer than without one, where
no clock of ours runs. It is measured once, on this machine, with a mode that does nothing."""

from __future__ import annotations

from time import perf_counter
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from gradscope.hooks._torch import aside, mode_count, profiling

CALLS = 200
ROUNDS = 3
USUAL = 0.7e-6  # seconds, where it cannot be measured


class Empty(TorchFunctionMode):
    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **kwargs) if kwargs else func(*args)


def of_a_detour() -> float:
    """Seconds that a call takes longer because it goes through a mode of ours."""
    if mode_count() or profiling():  # a mode or a profile of the user's would show the calls
        return USUAL
    with aside():
        tensor = torch.empty(0)
    plain = min(_seconds(tensor) for _ in range(ROUNDS))
    with Empty():
        detour = min(_seconds(tensor) for _ in range(ROUNDS))
    return max(detour - plain, 0.0) / CALLS


def _seconds(tensor: torch.Tensor) -> float:
    began = perf_counter()
    for _ in range(CALLS):
        tensor.dim()
    return perf_counter() - began
