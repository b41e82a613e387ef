"""Whether a model is evaluated with the very numbers that its parameters had before the first step, after they have
been trained: written back over them, or in a copy that is made anew each time. A few elements of each parameter are
compared when a model is called without gradients, ever more seldom; on the CPU only."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn
from torch.optim.swa_utils import AveragedModel

from gradscope.hooks import Hook
from gradscope.hooks import _torch as private
from gradscope.hooks.recorder.leaf import LeafRecord
from gradscope.hooks.recorder.module import ModuleRecord
from gradscope.hooks.recorder.parts import parameters
from gradscope.hooks.recorder.values import are_same, few_of

MOST = 200  # parameters of an optimizer
LEAST = 8  # elements that differ from one another: zeros and ones are the same in many models
LOOKS = 4
CALLS = 100  # evaluations that are looked at, then every sixteenth


@dataclass
class _Start:
    """What an optimizer's parameters were before its first step."""

    numbers: list[tuple[LeafRecord, tuple[int, ...], Any]]  # with their sizes
    steps: int = 0  # since
    moved: set[int] = field(
        default_factory=set
    )  # ids of those that a step has changed where they are looked at


@dataclass
class _Evaluated:
    """The evaluations at one line since the first step."""

    parameters: list[int]
    calls: int = 0
    back: int = 0  # with the numbers of the start
    steps: list[int] = field(default_factory=list)  # of the optimizer, at each different one of these
    average: bool = False  # a torch `AveragedModel` that no weights were given to
    copies: set[int] = field(default_factory=set)  # modules that are no model of the optimizer's


class Starts(Hook):
    order = 38

    def install(self) -> None:
        self.starts: dict[int, _Start] = {}  # by optimizer
        self.evaluated: dict[tuple[int, int], _Evaluated] = {}  # (site, optimizer)
        self.calls = 0
        self.looks = 0  # at what is done without gradients, once a model was found to be back at the start
        self.recorder.signals.gradients_off.connect(self._look)
        self.recorder.signals.before_step.connect(self._before_step)
        self.recorder.signals.before_call.connect(self._before_call)
        self.recorder.signals.before_end.connect(self._tell)

    def _before_step(self, optimizer: Any, number: int, records: list[LeafRecord]) -> None:
        start = self.starts.get(number)
        if start is None:
            with private.aside():
                taken = [(r, t, few_of(t)) for r in records[:MOST] if (t := r.ref()) is not None]
            self.starts[number] = _Start([(r, tuple(t.shape), n) for r, t, n in taken if n is not None])
            return
        start.steps += 1
        if not start.steps & (start.steps - 1):  # at powers of two
            with private.aside():
                still = [(r, n) for r, _, n in start.numbers if r.id not in start.moved]
                start.moved |= {r.id for r, n in still if not are_same(few_of(r.ref()), n)}

    def _before_call(self, module: Any, record: ModuleRecord, site: int) -> None:
        if torch.is_grad_enabled() or not any(start.moved for start in self.starts.values()):
            return
        self.calls += 1
        if self.calls > CALLS and self.calls % 16:
            return
        held = [p for p in parameters(module) if isinstance(p, nn.Parameter)]
        for number, start in self.starts.items():
            if start.moved:
                self._compare(number, start, held, module, record, site)

    def _look(self) -> None:
        """Wakes sampling, so that the trace has the line that writes the old numbers."""
        if self.looks:
            self.looks -= 1
            self.recorder.services.wake()

    def _compare(
        self, number: int, start: _Start, held: list[Any], module: Any, record: ModuleRecord, site: int
    ) -> None:
        """Compares a model that is, or is like, what the optimizer steps."""
        own = {id(t): (r.id, n) for r, _, n in start.numbers if (t := r.ref()) is not None}
        mine = [(p, *own[id(p)]) for p in held if id(p) in own]
        if not mine:
            if [tuple(p.shape) for p in held] != [sizes for _, sizes, _ in start.numbers]:
                return
            mine = [(p, r.id, n) for p, (r, _, n) in zip(held, start.numbers, strict=True)]
        mine = [one for one in mine if one[1] in start.moved]  # what never moved is as at the start anyway
        if not mine or len(torch.cat([n.flatten().double() for _, _, n in mine]).unique()) < LEAST:
            return
        known = self.evaluated.setdefault((site, number), _Evaluated([id for _, id, _ in mine]))
        known.calls += 1
        if not all(are_same(few_of(p), n) for p, _, n in mine):
            return
        known.back += 1
        if known.back == 1:
            self.looks = LOOKS
        steps = int(self.recorder.optimizers[number]["steps"])
        if steps not in known.steps:
            known.steps.append(steps)
        if not any(id(p) in own for p in held):
            known.copies.add(record.id)
            known.average = known.average or _is_average(module)

    def _tell(self) -> None:
        for (site, number), known in self.evaluated.items():
            may_stay = len(known.copies) == 1 and not known.average  # a reference
            if known.back == known.calls and len(known.steps) > 1 and not may_stay:
                data = {
                    "optimizer": number, "parameters": known.parameters, "evaluations": known.calls,
                    "steps": known.steps, "copies": len(known.copies), "average": known.average,
                }  # fmt: skip
                self.recorder.emit("back_at_start", site, data)


def _is_average(module: Any) -> bool:
    """torch's own average is a copy of the model until `update_parameters` was called for the first time."""
    return issubclass(type(module), AveragedModel)
