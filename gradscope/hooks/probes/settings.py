"""Watches what a program sets for all of torch: cuDNN's switches, seeds, and models wrapped in
`nn.DataParallel`."""

from __future__ import annotations

import sys
from typing import Any

import torch
from torch.nn.parallel.data_parallel import DataParallel

from gradscope.hooks import Hook
from gradscope.hooks import _torch as private
from gradscope.hooks.recorder.module import ModuleRecord

CUDNN = ("benchmark", "deterministic")
MOST_SHAPES = 32  # of one call, counted
SEEDS = 1 << 48  # the machine's own seeds have 64 bits, people's are smaller


class Settings(Hook):
    order = 25

    def install(self) -> None:
        recorder = self.recorder
        self.shapes: dict[int, tuple[int, set[tuple[int, ...]]]] = {}  # site → (module, shapes of its input)
        self.benchmark = bool(torch.backends.cudnn.benchmark)
        for name in CUDNN:
            setting = private.cudnn_setting(name)
            self.patch(setting, "setter", self._setter(name, setting.setter))
        # not `nn.DataParallel`: the program may have put a class of its own there
        self.patch(DataParallel, "__init__", self._data_parallel(DataParallel.__init__))
        self.random = torch.default_generator.get_state()
        recorder.signals.module_input.connect(self._input)
        recorder.signals.before_end.connect(self._tell)

    def _setter(self, name: str, real: Any) -> Any:
        recorder = self.recorder

        def setter(value: Any) -> None:
            real(value)
            if recorder.mine():
                try:
                    frame = sys._getframe(1)
                    self.benchmark = self.benchmark or (name == "benchmark" and bool(value))
                    recorder.emit(
                        "setting", recorder.sites.current(frame), {"name": f"cudnn.{name}", "to": bool(value)}
                    )
                except BaseException as error:
                    recorder.fault("recording a setting", error)

        return setter

    def _data_parallel(self, real: Any) -> Any:
        recorder = self.recorder

        def __init__(module: Any, /, *args: Any, **kwargs: Any) -> None:
            real(module, *args, **kwargs)
            devices = vars(module).get("device_ids")  # none where it is made otherwise
            if devices and recorder.mine():
                try:
                    site = recorder.sites.current(sys._getframe(1))
                    recorder.emit("data_parallel", site, {"devices": len(devices)})
                except BaseException as error:
                    recorder.fault("recording DataParallel", error)

        return __init__

    def _input(self, given: list[Any], record: ModuleRecord, site: int) -> None:
        """Counts the shapes that a model is called with, where cuDNN tries its kernels for each."""
        if not self.benchmark:
            return
        _, seen = self.shapes.setdefault(site, (record.id, set()))
        if given and len(seen) < MOST_SHAPES:
            seen.add(tuple(given[0].shape))

    def _tell(self) -> None:
        recorder = self.recorder
        for site, (module, shapes) in self.shapes.items():
            data = {"module": module, "shapes": [list(s) for s in sorted(shapes)]}
            recorder.emit("input_shapes", site, data)
        drawn = not torch.equal(self.random, torch.default_generator.get_state())
        if drawn and torch.initial_seed() >= SEEDS and len(recorder.sites.nodes) > 1:
            recorder.emit("unseeded", 1, {"seed": torch.initial_seed()})
