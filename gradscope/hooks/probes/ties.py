"""Watches where parameters are made (also by `copy.deepcopy` and `torch.load`), and those that are made to
share another parameter's memory: through `.data`, or by wrapping a tensor that lies in it.

While sampling sleeps it is woken where one is made in a place that made none before: another model, or another part of
one, is put together there, and what is set on it then (`requires_grad`) is seen.
"""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

import torch
from torch import nn

from gradscope.hooks import Hook
from gradscope.hooks._torch import DisableTorchFunction
from gradscope.hooks.sampling.places import place_of

LAYERS = "torch.nn.modules."  # as in `nn.Embedding(…, _weight=other.weight)`
LOADS = "_load_from_state_dict"  # of torch's modules


class Ties(Hook):
    order = 86

    def install(self) -> None:
        self.last: dict[int, tuple[int, int, int]] = {}  # record → (the other's, both memories) of its tie
        self.places: set[int] = set()  # of the program's that made parameters
        self.recorder.signals.data_set.connect(self._set_data)
        self.patch(nn.Parameter, "__new__", staticmethod(self._new(nn.Parameter.__new__)))

    def uninstall(self) -> None:
        self.recorder.signals.data_set.disconnect(self._set_data)
        super().uninstall()

    def _new(self, real: Any) -> Any:
        recorder = self.recorder

        def __new__(cls: Any, data: Any = None, *args: Any, **kwargs: Any) -> Any:
            made = real(cls, data, *args, **kwargs)
            if data is not None and cls is nn.Parameter and recorder.mine():
                try:
                    self._seen(sys._getframe(1))
                    with DisableTorchFunction():
                        if recorder.live.find(made) is None:
                            site = recorder.live.make(made).site = recorder.sites.current(sys._getframe(1))
                            if recorder.sites.nodes[site].kind == "user":
                                for follow in recorder.signals.parameter_made:
                                    follow(made, data, site)
                        shared = recorder.live.find(data) is not None or type(data) is nn.Parameter
                        if recorder.segment.looked and shared:
                            frame = sys._getframe(1)
                            if frame.f_code.co_name == LOADS:  # `load_state_dict(…, assign=True)`
                                frame = recorder.sites.of_user(frame) or frame
                                self._tie(made, data, frame, "load")
                            elif str(frame.f_globals.get("__name__")).startswith(LAYERS):
                                frame = recorder.sites.of_user(frame) or frame
                                self._tie(made, data, frame, "layer")
                            else:
                                self._tie(made, data, frame, "parameter")
                except BaseException as error:
                    recorder.fault("recording a parameter", error)
            return made

        return __new__

    def _seen(self, frame: FrameType) -> None:
        at = self.recorder.sites.of_user(frame)
        if at is not None and (place := place_of(at)) not in self.places:
            self.places.add(place)
            self.recorder.services.wake()

    def _set_data(self, t: Any, data: Any, site: int) -> None:
        if type(t) is nn.Parameter and isinstance(data, torch.Tensor):
            with DisableTorchFunction():
                if not self._tie(t, data, site, "data"):
                    self.last.pop(self.recorder.ledger.of(t).id, None)

    def _tie(self, t: Any, data: Any, place: Any, how: str) -> bool:
        """Whether `t` shares another parameter's memory now."""
        recorder = self.recorder
        entry = recorder.live.find(data)
        source = recorder.ledger.of(data) if entry is None else recorder.ledger.by_root.get(entry.root)
        holder = source.ref() if source is not None else None
        if source is None or holder is None or holder is t or not _same_memory(t, holder):
            return False
        site = place if isinstance(place, int) else recorder.sites.current(place)
        if recorder.sites.nodes[site].kind == "user":
            own = recorder.ledger.of(t).id
            now = (source.id, holder.data_ptr(), t.data_ptr())
            again, self.last[own] = self.last.get(own) == now, now
            recorder.emit("tied", site, {"parameters": [source.id, own], "how": how, "again": again})
        return True


def _same_memory(one: Any, other: Any) -> bool:
    return bool(one.numel() and one.device.type != "meta" and one.data_ptr() == other.data_ptr())
