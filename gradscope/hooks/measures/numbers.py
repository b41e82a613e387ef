"""Measures each backward pass: its loss and the norm of every gradient it filled.

Always in the passes that are looked at, otherwise as far as `SHARE` of the run's time allows,
and ever more rarely as the run goes on; some of each line whatever the time, so that short runs have their late
passes, and a few in a row once gradients are exactly zero that were not seen to be. Of the last pass of each line the
loss is read at the end. What lies on a GPU is copied without waiting for it and read when it has arrived.
"""

from __future__ import annotations

import math
from time import perf_counter
from typing import Any, NamedTuple

import torch

from gradscope.hooks import Hook
from gradscope.hooks._torch import float_norms, grad_of, profiling, version_of
from gradscope.hooks.recorder.arrivals import Arriving, send
from gradscope.hooks.recorder.leaf import LeafRecord
from gradscope.hooks.recorder.values import measurable, norm_on_device
from gradscope.store import pack, pack_norms

SHARE = 0.005  # of the run's time, while sampling sleeps
DENSE = 128  # passes measured one by one; later every 128th part of the run
MAX_PARAMETERS = 2_000
NORMS = 16_000  # of gradients, measured in every pass; then as of DENSE. Of many parameters so few passes
FEWEST = 8  # of these, however many parameters there are
SURE = 4  # this part of the passes so far later one of each line is measured, whatever the time
MOST_LINES = 64  # whose last loss is kept
CLOSER = 12  # passes in a row, once other gradients than before are exactly zero
MAX_CLOSER = 4  # times


class Measured(NamedTuple):
    """One pass, its numbers perhaps still under way."""

    number: int
    step: int
    site: int
    parameters: list[int]  # of the norms, in the order of `parts` after the loss
    parts: list[Arriving]
    has_loss: bool


class Last(NamedTuple):
    """The latest pass of a line that was not measured, its loss not read."""

    number: int
    step: int
    loss: torch.Tensor
    version: int  # of the loss then


class Numbers(Hook):
    order = 45

    def install(self) -> None:
        self.due = 0
        self.wanted = False
        self.norms_due: dict[int, int] = {}  # site → the pass that is to have norms again
        self.spent = 0.0
        self.since = perf_counter()
        self.loss: torch.Tensor | None = None
        self.waiting: list[Measured] = []
        self.last: dict[int, Last] = {}  # site → its latest pass
        self.zero: set[frozenset[int]] = set()  # gradients that were exactly zero together
        self.closer = 0  # passes that are still to be measured for them
        self.recorder.signals.before_pass.connect(self._before)
        self.recorder.signals.after_pass.connect(self._after)
        self.recorder.signals.before_end.connect(self._end)

    def _affordable(self, site: int) -> bool:
        """Whether the pass that begins is to be measured."""
        passes = self.recorder.passes
        if passes >= self.due and (
            self.recorder.segment.looked or self.spent < SHARE * (perf_counter() - self.since)
        ):
            return True
        if self.closer:
            self.closer -= 1
            return True
        return passes >= self.recorder.measured_at.get(site, 0)

    def _before(self, t_outputs: Any, args: Any, site: int, accumulate: bool, frame: Any) -> None:
        self.loss = None
        self.wanted = accumulate and self._affordable(site) and not profiling()
        if not accumulate or len(t_outputs) != 1 or profiling():
            return
        loss = t_outputs[0]
        if measurable(loss) and loss.numel() == 1 and loss.is_floating_point():
            self.loss = loss.detach().clone().reshape(1) if self.wanted else loss.detach()

    def _after(self, site: int, failed: BaseException | None) -> None:
        loss, self.loss = self.loss, None
        filled = self.recorder.ledger.filled
        if failed is not None or not filled:
            return
        if self.waiting:
            self._store_arrived()
        passes = self.recorder.passes
        if not self.wanted:
            if loss is not None and (site in self.last or len(self.last) < MOST_LINES):
                self.last[site] = Last(passes, self.recorder.steps + 1, loss, version_of(loss))
            return
        began = perf_counter()
        self.last.pop(site, None)
        self.due = passes - 1 + max(1, passes // DENSE)
        self.recorder.measured_at[site] = passes + (1 if self.closer else passes // SURE)
        self._measure(filled if self._with_norms(len(filled), site) else [], loss, site)
        self._store_arrived()
        self.spent += perf_counter() - began

    def _with_norms(self, parameters: int, site: int) -> bool:
        """Whether the norms of this pass are kept, beside its loss: those of a large model would fill the trace."""
        passes = self.recorder.passes
        if not self.closer and passes < self.norms_due.get(site, 0):
            return False
        dense = max(FEWEST, min(DENSE, NORMS // min(parameters, MAX_PARAMETERS)))
        self.norms_due[site] = passes + max(1, passes // dense)
        return True

    def _measure(self, filled: list[LeafRecord], loss: torch.Tensor | None, site: int) -> None:
        by_device: dict[torch.device, tuple[list[int], list[torch.Tensor]]] = {}
        for record in filled[:MAX_PARAMETERS]:
            t = record.ref()
            grad = grad_of(t) if t is not None else None
            if grad is None or not measurable(grad):
                continue
            ids, grads = by_device.setdefault(grad.device, ([], []))
            ids.append(record.id)
            grads.append(_elements(grad.detach() if grad.requires_grad else grad))
        parameters: list[int] = []
        parts = [] if loss is None else [send(loss.double())]
        for ids, grads in by_device.values():
            parameters += ids
            parts.append(send(_norms(grads)))
        self.waiting.append(
            Measured(self.recorder.passes, self.recorder.steps + 1, site, parameters, parts, loss is not None)
        )

    def _store_arrived(self) -> None:
        while self.waiting and all(part.here() for part in self.waiting[0].parts):
            self._store(self.waiting.pop(0))

    def _store(self, measured: Measured) -> None:
        numbers = [number for part in measured.parts for number in part.read()]
        loss = numbers.pop(0) if measured.has_loss else None
        if not all(map(math.isfinite, numbers)):
            self.recorder.unsound_pass = measured.number
        norms = {id: float(f"{norm:.6g}") for id, norm in zip(measured.parameters, numbers, strict=True)}
        zero = frozenset(id for id, norm in norms.items() if norm == 0)
        if zero and zero not in self.zero and len(self.zero) < MAX_CLOSER:
            self.zero.add(zero)
            self.closer = CLOSER
            self.recorder.measured_at = dict.fromkeys(self.recorder.measured_at, self.recorder.passes + 1)
            for told in self.recorder.signals.zero_gradients:
                told()
        self.recorder.writer.add(
            "number",
            measured.number,
            measured.step,
            measured.site or None,
            pack(loss),
            pack_norms(norms, exact=False),
        )

    def _end(self) -> None:
        for measured in self.waiting:
            self._store(measured)
        self.waiting.clear()
        for site, last in sorted(self.last.items(), key=lambda item: item[1].number):
            if version_of(last.loss) == last.version:
                self._store(
                    Measured(last.number, last.step, site, [], [send(last.loss.double().reshape(1))], True)
                )


def _elements(grad: torch.Tensor) -> torch.Tensor:
    """What a gradient holds, as a dense tensor."""
    if grad.layout is torch.strided:
        return grad
    return grad.coalesce().values() if grad.is_sparse else grad.values()


def _norms(grads: list[torch.Tensor]) -> torch.Tensor:
    """The 2-norms, also where a half or a float cannot hold the squares."""
    kinds = {grad.dtype for grad in grads}
    if len(kinds) == 1 and next(iter(kinds)).is_floating_point and next(iter(kinds)).itemsize <= 4:
        norms = torch.stack(float_norms(grads))
        if norms.device.type != "cpu" or bool(norms.isfinite().all()):
            return norms
    return torch.stack([norm_on_device(grad) for grad in grads])
