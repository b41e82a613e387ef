"""Wakes sampling where a model is called from a line that was never looked at.

While sampling sleeps torch's own module call stands, so an evaluation that neither calls
`eval()` nor switches gradients off would go unseen. Only the classes of the modules that the
program itself calls get a door then; the layers inside them are called as ever. Where it calls `forward`, those are
the layers, whose line is torch's: that of the program around it counts.
"""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

from torch import nn

from gradscope.hooks import Hook
from gradscope.hooks.recorder.module import ModuleRecord
from gradscope.hooks.sampling.places import OURS, place_of

MOST = 8  # classes that get a door: a program that calls more has no one model


class StrangeCalls(Hook):
    order = 21  # after modules, whose call stands while sampling looks

    def install(self) -> None:
        self.known: set[int] = set()  # places that called a module while it was looked at
        self.sites: set[int] = set()  # of these calls
        self.classes: set[type] = set()
        self.off = False
        self.inside = False
        self.door = self._door()
        self.recorder.signals.before_call.connect(self._called)
        self.recorder.signals.asleep.connect(self._open)
        self.recorder.signals.awake.connect(self._close)
        self.recorder.signals.compiling.connect(self._leave)
        self._undo.append(self._close)

    def _called(self, module: Any, record: ModuleRecord, site: int) -> None:
        if site not in self.sites:
            self.sites.add(site)
            self.known.add(self._place(sys._getframe(2)))
        if len(self.classes) < MOST and "__call__" not in vars(type(module)):
            self.classes.add(type(module))

    def _place(self, frame: FrameType) -> int:
        kind, at = self.recorder.sites.kind, frame
        while kind(at.f_code) in ("torch", "own") and at.f_back is not None:
            at = at.f_back
        return place_of(at)

    def _open(self) -> None:
        if not self.off:
            for cls in self.classes:
                if cls.__call__ is self.recorder.plain_module_call:
                    setattr(cls, "__call__", self.door)  # noqa: B010

    def _close(self) -> None:
        for cls in self.classes:
            if vars(cls).get("__call__") is self.door:
                delattr(cls, "__call__")

    def _leave(self) -> None:
        """Compilers look at the code of classes: from now on they are left alone."""
        self.off = True
        self._close()

    def _door(self) -> Any:
        recorder, known = self.recorder, self.known

        def __call__(module: Any, /, *args: Any, **kwargs: Any) -> Any:
            # Torch's own, or the watched one, which stands again once gradients were off.
            standing = nn.Module.__call__
            if self.inside or recorder.paused or recorder.segment.looked or not recorder.mine():
                return standing(module, *args, **kwargs)
            if (place := self._place(sys._getframe(1))) not in known:
                known.add(place)
                recorder.services.wake()  # which closes this door: the watched call stands behind it
                return type(module).__call__(module, *args, **kwargs)
            self.inside = True
            try:
                return standing(module, *args, **kwargs)
            finally:
                self.inside = False

        OURS.add(__call__.__code__)
        return __call__
