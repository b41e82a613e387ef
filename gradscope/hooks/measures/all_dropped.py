"""Dropout whose rate is 1 in every call in training: nothing of what it is given gets through."""

from __future__ import annotations

from typing import Any

import torch

from gradscope.hooks import Hook
from gradscope.hooks.recorder.arguments import by_name

FUNCTIONS = ("dropout", "dropout1d", "dropout2d", "dropout3d", "feature_dropout")
NAMES = ("input", "p", "training")
MAX_PLACES = 1024
Place = tuple[str, str, Any, int]  # the module's class, its path, code and instruction of the call


class AllDropped(Hook):
    order = 92  # after the mode that calls it

    def install(self) -> None:
        self.whole: dict[Place, dict[str, Any]] = {}
        self.sites: dict[Place, int] = {}
        self.others: set[Place] = set()  # that had another rate, too
        self.recorder.functions.follow(FUNCTIONS, self._dropped)
        self.recorder.signals.before_end.connect(self._tell)

    def _dropped(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        given = by_name(NAMES, args, kwargs)
        rate, active = given.get("p", 0.5), given.get("training", (kwargs or {}).get("train", True))
        record = self.recorder.modules.inner
        if type(rate) not in (int, float) or record is None:
            return
        place = (record.cls, record.path, frame.f_code, frame.f_lasti)
        if rate != 1:
            if len(self.others) < MAX_PLACES:
                self.others.add(place)
            return
        data = self.whole.get(place)
        if data is None:
            if len(self.whole) >= MAX_PLACES:
                return
            self.sites[place] = self.recorder.sites.current(frame)
            data = self.whole[place] = {
                "module": record.id,
                "op": name,
                "calls": 0,
                "with_graph": 0,
                "through": 0,
            }
        if not active:
            data["through"] += 1
        elif torch.is_grad_enabled():
            data["calls"] += 1
            data["with_graph"] += bool(getattr(given.get("input"), "requires_grad", False))

    def _tell(self) -> None:
        for place, data in self.whole.items():
            if data["calls"] and place not in self.others and len(self.others) < MAX_PLACES:
                self.recorder.emit("all_dropped", self.sites[place], data)
