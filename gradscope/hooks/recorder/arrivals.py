"""Numbers of tensors, without waiting for a device: what lies on the CPU is read at once, what lies on a GPU is copied
beside the program and read once it has arrived."""

from __future__ import annotations

import ctypes
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from gradscope.hooks._torch import aside, capturing, without_names

MOST_WAITING = 256  # questions
NOT_HERE = -(1 << 62)  # stands in place of integers that have not arrived
FEW = 64  # integers that it is put in place of
MOST_BYTES = 8 << 20  # of the tensors of one question that are copied


@dataclass
class Arriving:
    """Numbers on their way: `host` is filled once `event` has passed (None: it is filled)."""

    host: torch.Tensor
    event: Any

    def here(self) -> bool:
        """Not asked while a CUDA graph is being captured: that would end the capture."""
        return self.event is None or (not capturing() and bool(self.event.query()))

    def was_sent(self) -> bool:
        """Whether it had arrived when the device failed, as far as that can be told."""
        if self.event is None:
            return True
        return (
            self.host.dtype == torch.int64 and self.host.numel() <= FEW and NOT_HERE not in self.host.tolist()
        )

    def wait(self) -> torch.Tensor:
        if self.event is not None:
            if not self.here():
                self.event.synchronize()
            let_go(self.event)
            let_go(self.host)
            self.event = None
        return self.host

    def read(self) -> list[float]:
        numbers: list[float] = self.wait().tolist()
        return numbers


# Freeing pinned memory asks the device, and ends the process where that has failed: what has not arrived is kept.
_counting = ctypes.PYFUNCTYPE(None, ctypes.py_object)
hold: Any = _counting(("Py_IncRef", ctypes.pythonapi))
let_go: Any = _counting(("Py_DecRef", ctypes.pythonapi))


def send(numbers: torch.Tensor) -> Arriving:
    """Copies towards the host without waiting for the device."""
    if numbers.device.type != "cuda":
        return Arriving(numbers.cpu(), None)
    host = torch.empty(numbers.shape, dtype=numbers.dtype, device="cpu", pin_memory=True)
    if numbers.dtype == torch.int64 and numbers.numel() <= FEW:
        host.fill_(NOT_HERE)
    event = torch.cuda.Event()
    hold(host)
    hold(event)
    host.copy_(numbers, non_blocking=True)
    event.record(torch.cuda.current_stream(numbers.device))
    return Arriving(host, event)


class Arrivals:
    """The questions of one run that wait for their numbers. fault: whom a fault of ours is told."""

    def __init__(self, fault: Callable[[str, BaseException], None]):
        self.fault = fault
        self.waiting: deque[tuple[list[Arriving], Callable[..., object]]] = deque()

    def when_here(self, tensors: Sequence[torch.Tensor], then: Callable[..., object]) -> None:
        """Calls `then` with these tensors as they are now, detached, without names of axes, and on the CPU: at once
        where they are there, else when their copies have arrived, or never (too many bytes, or questions). `then`
        works outside of the graph and may emit events."""
        if all(t.is_cpu for t in tensors):
            with torch.no_grad(), aside():
                then(*[without_names(t.detach()) for t in tensors])
            return
        bytes = sum(t.numel() * t.element_size() for t in tensors)
        if len(self.waiting) >= MOST_WAITING or bytes > MOST_BYTES:
            return
        with torch.no_grad(), aside():
            self.waiting.append(([send(without_names(t.detach())) for t in tensors], then))

    def collect(self, wait: bool = False) -> None:
        """Answers the questions whose numbers are here, in their order; all of them where `wait`."""
        if not self.waiting or capturing():
            return
        while self.waiting and (wait or all(part.here() for part in self.waiting[0][0])):
            self._answer(*self.waiting.popleft())

    def end(self) -> None:
        """Answers all; where the device has failed those whose numbers had arrived."""
        self.collect(wait=True)
        for parts, then in self.waiting:
            if all(part.was_sent() for part in parts):
                for part in parts:
                    part.event = None  # what is on the host is kept with it, for ever
                self._answer(parts, then)
        self.waiting.clear()

    def _answer(self, parts: list[Arriving], then: Callable[..., object]) -> None:
        try:
            with torch.no_grad(), aside():
                then(*[part.wait() for part in parts])
        except BaseException as error:
            self.fault("reading what a GPU has sent", error)
