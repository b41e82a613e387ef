"""The variables of the program's functions, read without a trace of it."""

from __future__ import annotations

import dis
import inspect
import sys
from functools import lru_cache
from types import CodeType, FrameType
from typing import Any

# Builtins that give out, or go on with, the one dict that a function has for its variables.
_ASKING = frozenset({"locals", "vars", "dir", "eval", "exec"})
_ATTRIBUTE = "f_locals"  # of a frame: the same dict
_NAMES = _ASKING | {_ATTRIBUTE}
_OURS = 3  # references to that dict where nobody else holds it: the frame's, a variable's, an argument's


def variables(frame: FrameType) -> dict[str, Any]:
    """Name → value of a frame's variables, in a dict of its own. Empty where they can't be read unseen.

    Up to Python 3.12 `f_locals` of a function is one dict: each `locals()` of that function gives out the same one,
    brought up to date, and it keeps alive what is in it. So it is emptied again, and that of a function that asks for
    it itself, and may have kept it (`config = locals()`), is left alone. Since 3.13 it is a view (PEP 667).
    """
    code = frame.f_code
    if not code.co_flags & inspect.CO_OPTIMIZED:
        return dict(frame.f_locals)
    if sys.version_info < (3, 13) and not _NAMES.isdisjoint(code.co_names) and _asks(code):
        return {}
    local = frame.f_locals
    found = dict(local)
    if type(local) is dict and sys.getrefcount(local) <= _OURS:
        local.clear()
    return found


@lru_cache(maxsize=1_000)
def _asks(code: CodeType) -> bool:
    """Whether it calls such a builtin (`model.eval()` is none), or reads the variables of a frame."""
    return _ATTRIBUTE in code.co_names or any(
        instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME") and instruction.argval in _ASKING
        for instruction in dis.get_instructions(code)
    )
