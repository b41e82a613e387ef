"""Counts the classes that a classification loss is given as its targets, on the CPU: how many samples of each, which
calls had samples of a single one, and the weights of the classes.

Where all calls that are looked at had a single one, the passes that are not are asked too: of each class there may be
as many batches as sampling sleeps."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import torch

from gradscope.hooks import Hook
from gradscope.hooks import _torch as private
from gradscope.hooks.recorder.values import measurable

LOSSES = ("cross_entropy", "nll_loss")
ARGUMENTS = ("input", "target", "weight")
SEVERAL = 4  # samples: of fewer it says nothing that they are of one class
MAX_CLASSES = 64
MAX_CALLS = 256  # of each place


@dataclass
class Counted:
    """What one place was given. `alone`: the class of each call, -1 where there were several."""

    name: str
    classes: int
    trained: bool
    samples: Counter[int] = field(default_factory=Counter)
    alone: list[int] = field(default_factory=list)
    weights: list[float] = field(default_factory=list)


class Labels(Hook):
    order = 92  # after the mode that calls it

    def install(self) -> None:
        self.counted: dict[tuple[int, bool], Counted] = {}
        self.recorder.functions.follow(LOSSES, self._loss)
        self.recorder.signals.before_pass.connect(self._before)
        self.recorder.signals.before_end.connect(self._tell)

    def _loss(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        scores, target, weight = (
            args[place] if len(args) > place else (kwargs or {}).get(key)
            for place, key in enumerate(ARGUMENTS)
        )
        if (
            scores is None
            or target is None
            or not measurable(target)
            or not measurable(scores)
            or scores.dim() != 2
            or target.dim() != 1
        ):
            return
        classes = scores.shape[1]
        if not target.is_cpu or target.dtype != torch.int64 or len(target) < SEVERAL or classes > MAX_CLASSES:
            return
        recorder = self.recorder
        key = (recorder.sites.current(frame), torch.is_grad_enabled())
        counted = self.counted.setdefault(key, Counted(name, classes, key[1]))
        if len(counted.alone) >= MAX_CALLS or classes != counted.classes:
            return
        with torch.no_grad(), private.aside():
            found, counts = target.detach().unique(return_counts=True)
            samples = dict(zip(found.tolist(), counts.tolist(), strict=True))
            if weight is not None and measurable(weight) and weight.is_cpu and weight.numel() == classes:
                counted.weights = weight.detach().double().tolist()
        counted.samples.update({label: count for label, count in samples.items() if 0 <= label < classes})
        counted.alone.append(next(iter(samples)) if len(samples) == 1 else -1)

    def _before(self, t_outputs: Any, args: Any, site: int, accumulate: bool, frame: Any) -> None:
        trained = [counted for counted in self.counted.values() if counted.trained]
        if self.recorder.segment.looked or len(trained) != 1 or len(t_outputs) != 1:
            return
        (counted,) = trained
        if len(counted.alone) >= MAX_CALLS or -1 in counted.alone:
            return
        node = private.grad_fn_of(t_outputs[0])
        if node is None or private.name_of(node) != "NllLossBackward0":
            return
        try:
            target = private.saved_by(node, "_saved_target")
        except RuntimeError:  # an earlier pass has freed it
            return
        if not measurable(target) or not target.is_cpu or target.dim() != 1 or len(target) < SEVERAL:
            return
        with torch.no_grad(), private.aside():
            low, high = (int(bound) for bound in torch.aminmax(target.detach()))
        counted.alone.append(low if low == high else -1)
        if low == high:
            counted.samples[low] += len(target)

    def _tell(self) -> None:
        for (site, _), counted in self.counted.items():
            data = {
                "name": counted.name,
                "classes": counted.classes,
                "trained": counted.trained,
                "samples": {str(label): count for label, count in sorted(counted.samples.items())},
                "alone": counted.alone,
                "weights": counted.weights,
            }
            self.recorder.emit("labels", site, data)
