"""Watches what the user's gradient hooks do with the gradient that they are given.

A hook that is put on a tensor while calls are seen is put there inside a function that reads
the gradient's version before and after it. What a hook returns goes through unchanged.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from types import FunctionType, MethodType
from typing import Any

from gradscope.hooks import Hook
from gradscope.hooks._torch import version_of

MAX_TOLD = 200
ONE_PLACE = "refers to a single memory location"  # torch refuses to write into a gradient that is expanded


class GradientHooks(Hook):
    order = 85

    def install(self) -> None:
        self.told: set[tuple[int, bool, bool]] = set()
        self.waiting: list[tuple[int, dict[str, Any]]] = []  # a hook may run in a thread of the engine's
        self.recorder.functions.on_register = self._watch
        self.recorder.after_pass.append(self._after_pass)

    def uninstall(self) -> None:
        self.recorder.functions.on_register = None
        super().uninstall()

    def _watch(self, hook: Any, frame: Any) -> Any:
        """The hook to register instead: itself, watched."""
        function = _function(hook)
        if function is None or threading.get_ident() != self.recorder.thread:
            return hook
        sites = self.recorder.sites
        while frame is not None and frame.f_code.co_name in ("handle_torch_function", "register_hook"):
            frame = frame.f_back
        site = sites.current(frame)
        if sites.nodes[site].kind == "torch":
            return hook
        watched = self._watched(hook, site, sites.below(site, function.__code__), function.__name__)
        return MethodType(watched, hook.__self__) if isinstance(hook, MethodType) else watched

    def _watched(self, hook: Callable[[Any], Any], site: int, defined: int, name: str) -> Any:
        @functools.wraps(hook)
        def watched(*args: Any) -> Any:
            grad = args[-1]
            version = None
            data: dict[str, Any] = {"hook": defined, "name": name, "edited": False, "returned": None}
            try:
                version = version_of(grad) if grad is not None else None
            except Exception as error:
                self.recorder.fault("looking at a gradient", error)
            try:
                result = hook(grad)
                data["returned"] = result is not None
                return result
            except RuntimeError as error:
                data["edited"] = ONE_PLACE in str(error)
                raise
            finally:
                try:
                    data["edited"] |= version is not None and version_of(grad) != version
                    self._note(site, data)
                except Exception as error:
                    self.recorder.fault("noting a gradient hook", error)

        return watched

    def _note(self, site: int, data: dict[str, Any]) -> None:
        key = (site, data["edited"], data["returned"])
        if key not in self.told and len(self.told) < MAX_TOLD:
            self.told.add(key)
            self.waiting.append((site, data))

    def _after_pass(self, site: int, failed: BaseException | None) -> None:
        for registered, data in self.waiting:
            self.recorder.emit("gradient_hook", registered, data)
        self.waiting.clear()


def _function(hook: Any) -> FunctionType | None:
    """The Python function that runs: also that of an object with `__call__`."""
    if isinstance(hook, MethodType):
        hook = hook.__func__
    elif not isinstance(hook, FunctionType):
        hook = next((vars(c)["__call__"] for c in type(hook).__mro__ if "__call__" in vars(c)), None)
    return hook if isinstance(hook, FunctionType) else None
