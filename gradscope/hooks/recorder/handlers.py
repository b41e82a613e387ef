"""Tells an exception that the program has sent to itself from a fault of ours.

A signal may arrive while a probe runs, or an exception from another thread: it then comes out of
the probe, and belongs to the program.
"""

from __future__ import annotations

import os
import signal
import sys
from types import CodeType, FrameType, FunctionType, MethodType
from typing import Any

from gradscope.hooks.recorder.sites import kind_of
from gradscope.interrupts import handler_of
from gradscope.tracebacks import traceback_of

_OURS = frozenset(sys.stdlib_module_names) | {"gradscope", "torch"}  # whose exceptions a probe may raise
_STDLIB = os.path.dirname(os.__file__) + os.sep


def belongs_to_program(error: BaseException) -> bool:
    """Whether it is no fault of ours but has come while a probe ran: Ctrl-C and the like, or what a handler has
    raised."""
    return not isinstance(error, Exception) or _raised_by_handler(error)


def _raised_by_handler(error: BaseException) -> bool:
    """Whether a Python signal handler stands in the error's traceback, or it was sent to this
    thread from another (`PyThreadState_SetAsyncExc`): a class of the program's is raised there
    where none of its code is."""
    handlers = _handlers()
    sent = type(error).__module__.partition(".")[0] not in _OURS
    step = traceback_of(error)
    while step is not None and (handlers or sent):
        code = step.tb_frame.f_code
        if code in handlers:
            return True
        sent = sent and is_between(step.tb_frame)
        step = step.tb_next
    return sent


def is_between(frame: FrameType) -> bool:
    """Whether it is code of ours, of torch or of Python: neither the program's nor a library's."""
    path = frame.f_code.co_filename
    if path == "<string>":  # what Python writes for a named tuple or a data class
        return str(frame.f_globals.get("__name__")).startswith(("gradscope.", "namedtuple_"))
    kind = kind_of(path)
    return kind in ("own", "torch") or (
        kind == "library" and path.startswith((_STDLIB, "<frozen")) and "-packages" not in path
    )


def handler_set(number: int) -> Any:
    """What answers a signal, as the program has it: the system where ours does."""
    found = handler_of(number)
    code = _code(found)
    return signal.SIG_DFL if code is not None and kind_of(code.co_filename) == "own" else found


def _handlers() -> set[CodeType]:
    codes = (_code(handler_set(number)) for number in signal.valid_signals())
    return {code for code in codes if code is not None}


def _code(handler: Any) -> CodeType | None:
    function = handler.__func__ if type(handler) is MethodType else handler
    return function.__code__ if type(function) is FunctionType else None
