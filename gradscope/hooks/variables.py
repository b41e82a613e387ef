"""The variables of the program's functions, read without a trace of it.

Up to Python 3.12 `f_locals` of a function is one dict, which each `locals()` of that function gives out: to read it
brings it up to date and keeps alive what is in it, and the program may hold it (`config = locals()`). So what stood in
it before is put back. Since 3.13 it is a view (PEP 667).
"""

from __future__ import annotations

import ctypes
import inspect
import sys
from functools import cache
from types import FrameType
from typing import Any

_POINTER = ctypes.sizeof(ctypes.c_void_p)
_FRAME = object.__basicsize__ + _POINTER  # where `PyFrameObject` has its `f_frame`, behind `f_back`
# Where `_PyInterpreterFrame` has the dict, in pointers (CPython's Include/internal/pycore_frame.h).
_DICT = {(3, 11): 3, (3, 12): 5}


def variables(frame: FrameType) -> dict[str, Any]:
    """Name → value of a frame's variables, in a dict of its own. Empty where they can't be read unseen: on a Python
    whose frames are built otherwise than is known here."""
    if sys.version_info >= (3, 13) or not frame.f_code.co_flags & inspect.CO_OPTIMIZED:
        return dict(frame.f_locals)
    if not _is_known():
        return {}
    given_out = _given_out(frame)
    before = dict(given_out) if given_out is not None else {}
    local = frame.f_locals
    found = dict(local)
    local.clear()
    local.update(before)
    return found


def first_argument(frame: FrameType) -> Any:
    """What a frame's function has as its first argument now; None where it has none, or that can't be read unseen."""
    code = frame.f_code
    return variables(frame).get(code.co_varnames[0]) if code.co_argcount else None


def _given_out(frame: FrameType) -> dict[str, Any] | None:
    """The dict that a function's frame has already, as it stands; None where nobody has asked for one."""
    inner = ctypes.c_void_p.from_address(id(frame) + _FRAME).value
    if not inner:
        return None
    address = ctypes.c_void_p.from_address(inner + _DICT[sys.version_info[:2]] * _POINTER).value
    return ctypes.cast(address, ctypes.py_object).value if address else None


@cache
def _is_known() -> bool:
    """Whether frames are built as they are expected to be, as far as one of our own shows."""
    # Where objects are traced (`sys.getobjects`) all of them begin with two more pointers.
    if (
        sys.implementation.name != "cpython"
        or hasattr(sys, "getobjects")
        or sys.version_info[:2] not in _DICT
    ):
        return False
    frame = sys._getframe()
    untouched = _given_out(frame) is None
    return untouched and frame.f_locals is _given_out(frame)
