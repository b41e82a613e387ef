"""What is watched: hooks by role (probes, recorder, measures, guards, sampling), found by being in a file here.

A file holds a subclass of `Hook`. The session makes one of each, installs them
all, and uninstalls them in reverse order. Only here and in session.py is
torch imported; private torch names stand in `_torch.py`.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Callable
from types import FunctionType
from typing import TYPE_CHECKING, Any

from gradscope.hooks._version import check_version

if TYPE_CHECKING:
    from gradscope.hooks.recorder.recorder import Recorder


check_version()


class Hook:
    """One watched thing. `order` sorts installation: lower first. `needs` is a name of
    `_torch.FEATURES` that this torch may lack: then there is nothing to watch."""

    order = 50
    needs: str | None = None

    def __init__(self, recorder: Recorder):
        self.recorder = recorder
        self._undo: list[Callable[[], None]] = []

    def install(self) -> None:
        raise NotImplementedError

    def uninstall(self) -> None:
        while self._undo:
            self._undo.pop()()

    def patch(self, owner: Any, name: str, value: Any) -> None:
        """Replaces `owner.name` until uninstall; what stood there comes back as it was,
        unless someone else has replaced ours meanwhile. A function looks like the one that it
        stands for: programs ask for names and parameters (accelerate, of `zero_grad`)."""
        missing = object()
        old = vars(owner).get(name, missing)
        ours = value.__func__ if isinstance(value, (classmethod, staticmethod)) else value
        real = getattr(owner, name)
        if isinstance(ours, FunctionType) and not hasattr(ours, "__wrapped__"):
            functools.update_wrapper(ours, getattr(real, "__func__", real))
        setattr(owner, name, value)
        current = vars(owner)[name]

        def undo() -> None:
            if vars(owner).get(name) is current:
                if old is missing:
                    delattr(owner, name)
                else:
                    setattr(owner, name, old)

        self._undo.append(undo)


@functools.cache
def _import_all() -> None:
    for info in pkgutil.walk_packages(__path__, f"{__name__}."):
        importlib.import_module(info.name)


def all_hooks() -> list[type[Hook]]:
    """Every Hook class in this package that this torch has something for, in order of installation."""
    _import_all()
    from gradscope.hooks._torch import has

    found = [hook for hook in Hook.__subclasses__() if hook.needs is None or has(hook.needs)]
    return sorted(found, key=lambda hook: (hook.order, hook.__module__.rpartition(".")[2]))
