"""Notices where the user's code calls a module's `forward` itself, so that its hooks do not run.

Asked once for each new call site whose frame is a `forward` that another frame of the user's
called: so it costs nothing in the steady state.
"""

from __future__ import annotations

from types import CodeType, FrameType
from typing import Any

from torch import nn

from gradscope.hooks import Hook
from gradscope.hooks._torch import DisableTorchFunction
from gradscope.hooks.variables import first_argument

_CALLS = ("_call_impl", "_wrapped_call_impl")  # torch's own frames of a module's call
_TABLES = ("_forward_pre_hooks", "_forward_hooks", "_backward_pre_hooks", "_backward_hooks")


class DirectForward(Hook):
    order = 22

    def install(self) -> None:
        self.recorder.sites.on_forward = self._seen

    def uninstall(self) -> None:
        self.recorder.sites.on_forward = None
        super().uninstall()

    def _seen(self, frame: FrameType | None, code: CodeType, site: int) -> None:
        try:
            while frame is not None and frame.f_code is not code:
                frame = frame.f_back
            caller = frame.f_back if frame is not None else None
            if frame is None or caller is None:
                return
            module = first_argument(frame)
            if not isinstance(module, nn.Module) or _passed_on(caller, module):
                return
            hooks = [_named(hook) for table in _TABLES for hook in vars(module).get(table, {}).values()]
            if hooks:
                with DisableTorchFunction():
                    self._tell(module, hooks, caller, site)
        except BaseException as error:
            self.recorder.fault("looking at a call of forward", error)

    def _tell(self, module: nn.Module, hooks: list[str], caller: FrameType, site: int) -> None:
        modules = self.recorder.modules
        record = modules.find(module) or modules.register_root(module, caller, site)
        self.recorder.emit("direct_forward", site, {"module": record.id, "hooks": hooks})


def _passed_on(caller: FrameType, module: nn.Module) -> bool:
    """`super().forward(x)`, or what a decorator of `forward` calls: the module was called, and its hooks ran."""
    frame: FrameType | None = caller
    while frame is not None:
        name = frame.f_code.co_name
        if name in ("forward", *_CALLS) and first_argument(frame) is module:
            return True
        if name in _CALLS:
            return False  # within another module's call
        frame = frame.f_back
    return False


def _named(hook: Any) -> str:
    return str(getattr(hook, "__name__", None) or type(hook).__name__)
