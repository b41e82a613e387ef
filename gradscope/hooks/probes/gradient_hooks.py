"""Watches what the user's gradient hooks do with the gradient that they are given.

A hook that is put on a tensor while calls are seen is put there inside a function that reads the
versions of its gradients before and after it; that of a module is given so to each of its calls.
What a hook returns goes through unchanged. Of a module's hook that never ran it is told at the end, where
its module was called and gave nothing that requires a gradient.
"""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable
from types import FunctionType, MethodType
from typing import Any

from torch import Tensor, is_grad_enabled, nn
from torch.utils.hooks import BackwardHook

from gradscope.hooks import Hook
from gradscope.hooks._torch import version_of
from gradscope.hooks.recorder.parts import function_of

MAX_TOLD = 200
ONE_PLACE = "refers to a single memory location"  # torch refuses to write into a gradient that is expanded


class GradientHooks(Hook):
    order = 85

    def install(self) -> None:
        self.told: set[tuple[int, bool, bool]] = set()
        self.waiting: list[tuple[int, dict[str, Any]]] = []  # a hook may run in a thread of the engine's
        self.recorder.functions.on_register = self._watch
        self.recorder.signals.after_pass.connect(self._after_pass)
        # code of a module's hook → where it was put
        self.of_modules: dict[Any, tuple[int, dict[str, Any]]] = {}
        for name in ("register_full_backward_hook", "register_full_backward_pre_hook"):
            self.patch(nn.Module, name, self._of_module(getattr(nn.Module, name)))
        self.patch(BackwardHook, "__init__", self._called_with(BackwardHook.__init__))
        self.patch(BackwardHook, "setup_output_hook", self._gave(BackwardHook.setup_output_hook))
        self.heard: set[int] = (
            set()
        )  # where hooks were put that ran, or may yet: an output required a gradient
        self.unheard: dict[int, tuple[dict[str, Any], int]] = {}  # the others, with the passes until then
        self.recorder.signals.before_end.connect(self._tell_unheard)

    def uninstall(self) -> None:
        self.recorder.functions.on_register = None
        super().uninstall()

    def _of_module(self, real: Any) -> Any:
        """Notes where a module's hook is put. The module keeps the hook itself, so that it pickles as ever."""

        @functools.wraps(real)
        def register(module: Any, hook: Any, *args: Any, **kwargs: Any) -> Any:
            try:
                found = self._about(hook, sys._getframe(1), module=True)
                if found is not None and len(self.of_modules) < MAX_TOLD:
                    self.of_modules.setdefault(found[2].__code__, found[:2])
            except BaseException as error:
                self.recorder.fault("watching a module's hook", error)
            return real(module, hook, *args, **kwargs)

        return register

    def _called_with(self, real: Any) -> Any:
        """A call of a module is given its hooks: here they are watched."""

        @functools.wraps(real)
        def __init__(backward: Any, module: Any, hooks: Any, *pre_hooks: Any, **kwargs: Any) -> None:
            if self.of_modules:
                try:
                    hooks = [self._known(hook, 3) for hook in hooks]
                    pre_hooks = tuple([[self._known(hook, 2) for hook in some or ()] for some in pre_hooks])
                except BaseException as error:
                    self.recorder.fault("watching a module's hook", error)
            real(backward, module, hooks, *pre_hooks, **kwargs)

        return __init__

    def _gave(self, real: Any) -> Any:
        """What a module gives goes through its hooks: here it is looked at."""

        @functools.wraps(real)
        def setup_output_hook(backward: Any, args: Any) -> Any:
            if self.of_modules:
                try:
                    self._look(backward, args, sys._getframe(1))
                except BaseException as error:
                    self.recorder.fault("watching a module's hook", error)
            return real(backward, args)

        return setup_output_hook

    def _look(self, backward: Any, args: Any, frame: Any) -> None:
        grad = is_grad_enabled()
        hears = grad and any(t.requires_grad for t in _gradients((args,)))
        for hook in (*backward.user_hooks, *backward.user_pre_hooks):
            function = function_of(getattr(hook, "__wrapped__", hook))
            site, about = self.of_modules.get(function.__code__ if function is not None else None, (0, {}))
            if site in self.heard or not site:
                continue
            if hears:
                self.heard.add(site)
            elif site not in self.unheard and (record := self.recorder.modules.find(backward.module)):
                called = self.recorder.sites.current(frame)
                data = {"hook": about["hook"], "name": about["name"], "grad": grad, "called": called}
                self.unheard[site] = {**data, "module": record.id}, self.recorder.passes

    def _tell_unheard(self) -> None:
        for site, (data, passes) in self.unheard.items():
            if site not in self.heard and self.recorder.passes > passes:
                self.recorder.emit("unheard_hook", site, {**data, "passes": self.recorder.passes - passes})

    def _known(self, hook: Any, count: int) -> Any:
        function = function_of(hook)
        found = self.of_modules.get(function.__code__) if function is not None else None
        return self._watched(hook, *found, count) if found is not None else hook

    def _watch(self, tensor: Any, hook: Any, frame: Any) -> Any:
        """The hook to register instead: itself, watched."""
        found = self._about(hook, frame)
        if found is None:
            return hook
        watched = self._watched(hook, *found[:2], 1, id(tensor))
        return MethodType(watched, hook.__self__) if isinstance(hook, MethodType) else watched

    def _about(
        self, hook: Any, frame: Any, module: bool = False
    ) -> tuple[int, dict[str, Any], FunctionType] | None:
        """Where the hook is put, what an event tells of it, and what runs."""
        function = function_of(hook)
        if function is None or threading.get_ident() != self.recorder.thread:
            return None
        sites = self.recorder.sites
        site = sites.current(frame)
        if sites.nodes[site].kind == "torch":
            return None
        defined = sites.below(site, function.__code__)
        return site, {"hook": defined, "name": function.__name__, "module": module}, function

    def _watched(
        self, hook: Callable[..., Any], site: int, about: dict[str, Any], count: int, of: int | None = None
    ) -> Any:
        @functools.wraps(hook)
        def watched(*args: Any) -> Any:
            given = args[-count:]
            before: list[tuple[Any, int]] = []
            data: dict[str, Any] = {**about, "edited": False, "returned": None}
            try:
                before = [(grad, version_of(grad)) for grad in _gradients(given)]
                if of is not None and before:
                    for told in self.recorder.signals.gradient_given:
                        told(of, before[0][0], site)
            except BaseException as error:
                self.recorder.fault("looking at a gradient", error)
            try:
                result = hook(*given)
                data["returned"] = result is not None
                return result
            except RuntimeError as error:
                data["edited"] = ONE_PLACE in str(error)
                raise
            finally:
                try:
                    data["edited"] |= any(version_of(grad) != version for grad, version in before)
                    self._note(site, data)
                except BaseException as error:
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


def _gradients(given: tuple[Any, ...]) -> list[Any]:
    """The tensors among a hook's arguments, and in the tuples that a module's hook gets."""
    flat = [t for one in given for t in (one if isinstance(one, tuple) else (one,))]
    return [t for t in flat if isinstance(t, Tensor)]
