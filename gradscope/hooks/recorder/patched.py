"""Torch's own function behind one that the program has put in its place.

Under a function mode torch looks the called function up by name, and finds the program's: the
program's wrapper, which has run already and has called torch's, would run again.
"""

from __future__ import annotations

import gc
import os
import weakref
from types import BuiltinFunctionType, CodeType, FrameType, FunctionType
from typing import Any

import torch

from gradscope.tracebacks import is_detour

_TORCH = os.path.dirname(torch.__file__) + os.sep
_PLACES = ((torch.Tensor, torch._C.TensorBase), (torch, torch._C._VariableFunctions))


class Patched:
    """Remembers what was found."""

    def __init__(self) -> None:
        self._by_code: dict[CodeType, Any] = {
            value.__code__: value
            for place in (torch, torch.functional, torch.nn.functional, torch.Tensor, torch.autograd)
            for value in vars(place).values()
            if type(value) is FunctionType
        }
        self._by_wrapper: dict[int, tuple[Any, Any]] = {}

    def real(self, func: Any, frame: FrameType) -> Any:
        """What to call for `func`, which torch gave to a mode; `frame` is the call's."""
        cls = type(func)
        if cls is BuiltinFunctionType or (cls is not FunctionType and cls.__module__ == "builtins"):
            return func
        if cls is FunctionType and func.__code__.co_filename.startswith(_TORCH):
            return func
        caller = frame.f_back
        if caller is not None and is_detour(frame.f_code.co_filename):
            if caller.f_code.co_filename.startswith(_TORCH) and not _is_call_of(cls, caller.f_code):
                return self._function_of(caller.f_code) or func
            return func  # a function of the program's that takes part in torch's protocol
        return self._replaced(func) or func

    def _function_of(self, code: CodeType) -> Any:
        if code not in self._by_code:  # it was replaced before the watch began
            found = [f for f in gc.get_referrers(code) if type(f) is FunctionType]
            self._by_code[code] = found[0] if len(found) == 1 else None
        return self._by_code[code]

    def _replaced(self, func: Any) -> Any:
        """Of the functions in C, the one whose name is now bound to `func`."""
        known = self._by_wrapper.get(id(func))
        if known is not None and known[0]() is func:
            return known[1]
        real = None
        for place, own in _PLACES:
            names = [name for name, value in vars(place).items() if value is func]
            real = real or next((getattr(own, name) for name in names if hasattr(own, name)), None)
        self._by_wrapper[id(func)] = (weakref.ref(func), real)
        return real


def _is_call_of(cls: type, code: CodeType) -> bool:
    """Whether this is how instances of the class are called: an operator of the program's own that
    inherits torch's `__call__`, which has a function of its own within before torch 2.9."""
    calls = (getattr(vars(c).get("__call__"), "__code__", None) for c in cls.__mro__)
    return any(call is not None and (call is code or code in call.co_consts) for call in calls)
