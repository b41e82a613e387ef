"""Watches what normalisation layers keep beside their parameters: running statistics of batch
norm, the vectors of spectral norm. Looked at now and then, only where something could be wrong."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import nn
from torch.nn.utils.spectral_norm import SpectralNorm

from gradscope.hooks import Hook
from gradscope.hooks._torch import version_of
from gradscope.hooks.recorder.module import ModuleRecord
from gradscope.hooks.recorder.parts import in_training, own, parts
from gradscope.hooks.recorder.values import change, first_of, measurable, rounded

MOST_LAYERS = 3  # looked at in one model
MOST_ELEMENTS = 1 << 20  # of a weight whose largest singular value is measured


@dataclass
class Statistics:
    """Running statistics of one layer of a model that is evaluated, first and last time."""

    site: int
    layer: int
    root: int
    first: dict[str, Any]
    last: dict[str, Any]


class Norms(Hook):
    order = 60

    def install(self) -> None:
        self.calls: dict[tuple[int, bool], int] = {}  # (module, training) → outermost calls
        self.before: list[tuple[ModuleRecord, Any, torch.Tensor]] = []
        self.drifts: dict[int, dict[str, Any]] = {}
        self.frozen: dict[int, set[int]] = {}  # module called → its frozen layers in training mode
        self.evaluated: dict[int, Statistics] = {}
        self.measured: set[int] = set()
        self.trained: set[int] = set()  # called in training mode
        recorder = self.recorder
        recorder.signals.awake.connect(self.calls.clear)  # the program may be in another phase by now
        recorder.functions.on_set_requires_grad = self.calls.clear
        recorder.signals.before_call.connect(self._before)
        recorder.signals.after_call.connect(self._after)
        recorder.signals.before_end.connect(self._tell)

    def _before(self, module: Any, record: ModuleRecord, site: int) -> None:
        self.before = []
        training = in_training(module)
        key = (record.id, training)
        count = self.calls[key] = self.calls.get(key, 0) + 1
        if training:
            self.trained.add(record.id)
        if count & (count - 1):
            return  # not a power of two
        layers = self._layers(module)
        if training:
            frozen = [r for r in layers if _frozen(r.ref())]
            self.frozen.setdefault(record.id, set()).update(r.id for r in frozen)
            for one in [r for r in frozen if r.id not in self.drifts][:MOST_LAYERS]:
                self.before.append((one, site, first_of(one.ref().running_mean)))
        else:
            for one in [r for r in layers if not in_training(r.ref())][:MOST_LAYERS]:
                self._evaluated(one, site)

    def _layers(self, module: Any) -> list[Any]:
        """Records of the model's layers with running statistics that can be read."""
        found = [(m, self.recorder.modules.find(m)) for m in parts(module)]
        return [r for m, r in found if r is not None and r.mode == "norm" and measurable(m.running_mean)]

    def _evaluated(self, record: ModuleRecord, site: int) -> None:
        layer: Any = record.ref()
        version = version_of(layer.weight) if layer.weight is not None else 0
        written = version_of(layer.running_mean)
        counted = [layer.num_batches_tracked] if layer.num_batches_tracked is not None else []

        def keep(mean: torch.Tensor, var: torch.Tensor, *batches: torch.Tensor) -> None:
            now = {
                "mean": rounded(mean), "var": rounded(var),
                "batches": int(batches[0]) if batches else None, "version": version,
                "written": written,
            }  # fmt: skip
            known = self.evaluated.get(record.id)
            if known is None:
                self.evaluated[record.id] = Statistics(site, record.id, record.root, now, now)
            else:
                known.last, known.site = now, site

        of_it = first_of(layer.running_mean), first_of(layer.running_var), *counted
        self.recorder.arrivals.when_here(of_it, keep)

    def _after(self, module: Any, record: ModuleRecord, site: int) -> None:
        for layer, where, before in self.before:
            if (kept := layer.ref()) is not None:
                both = before, first_of(kept.running_mean)
                self.recorder.arrivals.when_here(both, partial(self._compare, record, layer, where))
        self.before = []
        if record.id not in self.trained and record.id not in self.measured and not in_training(module):
            self.measured.add(record.id)
            self._spectral(module, record, site)

    def _compare(
        self, called: ModuleRecord, layer: ModuleRecord, where: int, before: torch.Tensor, after: torch.Tensor
    ) -> None:
        if numbers := change(before, after):
            about = {"called": called.id, "module": layer.id, "name": "running_mean"}
            self.drifts[layer.id] = {"site": where, **about, **numbers}

    def _spectral(self, module: Any, record: ModuleRecord, site: int) -> None:
        """Measures weights that spectral norm should have brought to a largest singular value of 1."""
        for m in parts(module):
            for _, hook in own(m, "_forward_pre_hooks"):
                if not isinstance(hook, SpectralNorm):
                    continue
                known = self.recorder.modules.find(m)
                weight = getattr(m, hook.name, None)
                if known is None or weight is None or not measurable(weight.detach()):
                    continue
                if not 0 < weight.numel() <= MOST_ELEMENTS:
                    continue
                with torch.no_grad():
                    matrix = hook.reshape_weight_to_matrix(weight.detach()).float()
                    vector = getattr(m, f"{hook.name}_u").detach().float()
                data = {"module": known.id, "name": hook.name, "called": record.id}
                self.recorder.arrivals.when_here((matrix, vector), partial(self._tell_norm, site, data))

    def _tell_norm(self, site: int, data: dict[str, Any], matrix: torch.Tensor, vector: torch.Tensor) -> None:
        norm, length = float(torch.linalg.matrix_norm(matrix, 2)), float(torch.linalg.vector_norm(vector))
        self.recorder.emit("spectral", site, {**data, "norm": round(norm, 6), "vector": round(length, 6)})

    def _tell(self) -> None:
        """At the end of the run, when it is known which parameters stayed frozen."""
        for drift in self.drifts.values():
            data = {k: v for k, v in drift.items() if k != "site"}
            alike = sorted(self.frozen.pop(drift["called"], ()))
            self.recorder.emit("drift", drift["site"], {**data, "alike": alike} if alike else data)
        for known in self.evaluated.values():
            self.recorder.emit(
                "running_stats", known.site,
                {"module": known.layer, "root": known.root, "first": known.first, "last": known.last},
            )  # fmt: skip


def _frozen(m: nn.Module) -> bool:
    held = [p for _, p in own(m, "_parameters")]
    return bool(in_training(m) and held) and not any(p.requires_grad for p in held)
