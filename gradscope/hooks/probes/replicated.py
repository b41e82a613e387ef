"""Prints of what a layer that is split over ranks takes for the same on all of them (`DTensor.from_local` with
`Replicate()`, as torch's `ColwiseParallel` asks for): torch believes it without looking. Nothing is sent."""

from __future__ import annotations

import sys
from time import perf_counter
from typing import Any

import torch
from torch import distributed

from gradscope.hooks import Hook
from gradscope.hooks import _torch as private
from gradscope.hooks.measures.prints import print_of_inputs
from gradscope.hooks.recorder.arguments import by_name
from gradscope.hooks.recorder.parts import groups_of

PLACES = 16  # calls of the program that are followed
TAKEN = ("local_tensor", "device_mesh", "placements")  # what `from_local` is given first
CALLS = 8  # of each, with gradients on


class Replicated(Hook):
    order = 77

    def install(self) -> None:
        self.calls: dict[tuple[int, tuple[int, ...]], list[int]] = {}  # site and ranks → number, calls so far
        self.following = False
        if distributed.is_available():
            self.recorder.signals.optimizer_made.connect(self._optimizer_made)

    def _optimizer_made(self, optimizer: Any, *_: Any) -> None:
        """From the first optimizer of distributed tensors on: other programs pay nothing."""
        parameters = (p for group in groups_of(optimizer) for p in group["params"])
        if self.following or not any(private.shard_of(p) is not None for p in parameters):
            return
        self.following = True
        kind = private.distributed_tensor()
        self.patch(kind, "from_local", staticmethod(self._from_local(kind.from_local)))

    def _from_local(self, real: Any) -> Any:
        recorder = self.recorder

        def from_local(*args: Any, **kwargs: Any) -> Any:
            if not torch.compiler.is_compiling() and recorder.segment.looked and recorder.mine():
                began = perf_counter()
                recorder.paused += 1
                try:
                    with private.aside():
                        self._note(sys._getframe(1), by_name(TAKEN, args, kwargs))
                except BaseException as error:
                    recorder.fault("looking at a distributed tensor", error)
                finally:
                    recorder.paused -= 1
                recorder.own_time += perf_counter() - began
            return real(*args, **kwargs)

        return from_local

    def _note(self, frame: Any, given: dict[str, Any]) -> None:
        local, mesh, placements = (given.get(name) for name in TAKEN)
        if mesh is None or not isinstance(placements, (list, tuple)) or not torch.is_grad_enabled():
            return
        for dim, placement in enumerate(placements):
            if not placement.is_replicate() or mesh.size(dim) < 2:
                continue
            site = self.recorder.sites.current(frame)
            ranks = tuple(distributed.get_process_group_ranks(mesh.get_group(dim)))
            known = self.calls.get((site, ranks))
            if known is None:
                if len(self.calls) == PLACES:
                    continue
                known = self.calls[site, ranks] = [len(self.calls), 0]
                self.recorder.emit("replicated", site, {"number": known[0], "ranks": list(ranks)})
            known[1] += 1
            if known[1] <= CALLS and (printed := print_of_inputs([local])) is not None:
                self.recorder.services.keep_print(printed.told("replicated", known[0], known[1], site))
