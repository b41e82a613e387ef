"""Numbers that are copied from a device without waiting for it, and read when they have arrived."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch


class Arriving(NamedTuple):
    """Numbers on their way: `host` is filled once `event` has passed (None: it is filled)."""

    host: torch.Tensor
    event: Any

    def here(self) -> bool:
        return self.event is None or bool(self.event.query())

    def read(self) -> list[float]:
        if self.event is not None:
            self.event.synchronize()
        numbers: list[float] = self.host.tolist()
        return numbers


def send(numbers: torch.Tensor) -> Arriving:
    """Copies towards the host without waiting for the device."""
    if numbers.device.type != "cuda":
        return Arriving(numbers.cpu(), None)
    host = torch.empty(numbers.shape, dtype=numbers.dtype, pin_memory=True)
    host.copy_(numbers, non_blocking=True)
    event = torch.cuda.Event()
    event.record()
    return Arriving(host, event)
