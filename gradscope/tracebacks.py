"""Takes gradscope's frames out of tracebacks, so that the user reads only their own."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from functools import cache
from itertools import takewhile
from pathlib import Path
from types import CodeType, FrameType, TracebackType
from typing import Any

_PACKAGE = str(Path(__file__).resolve().parent) + os.sep
_EXAMPLES = os.path.join(_PACKAGE, "rules") + os.sep  # run under watch as programs
_RUN = os.path.join(_PACKAGE, "runner.py")
_DEEPEST = 50  # exceptions behind one
_TRACEBACK: Any = BaseException.__traceback__


@cache
def real_path(path: str) -> str:
    """Where a code's file lies, whatever name it was imported under; `<string>` and the like stay."""
    try:
        return path if path.startswith("<") else os.path.realpath(path)
    except (OSError, ValueError):  # what was compiled under a name that no file can have
        return path


def is_own(path: str) -> bool:
    """Whether a code's file is gradscope's, and not one of the programs among its rules."""
    real = real_path(path)
    return real.startswith(_PACKAGE) and not real.startswith(_EXAMPLES)


@cache
def is_of_torch(path: str, name: str) -> bool:
    """Whether a code's file is the one of torch's package with this name."""
    torch = sys.modules.get("torch")
    if not path.endswith(name) or getattr(torch, "__file__", None) is None:
        return False
    return real_path(path) == real_path(os.path.join(os.path.dirname(str(torch.__file__)), name))  # type: ignore[union-attr]


def is_detour(path: str) -> bool:
    """Whether it is the file with the function through which torch asks a function mode."""
    return is_of_torch(path, "overrides.py")


def traceback_of(error: BaseException) -> TracebackType | None:
    """Its traceback, also where a property of the user's hides it."""
    traceback: TracebackType | None = _TRACEBACK.__get__(error)
    return traceback


def text_of(error: BaseException) -> str:
    """What the exception says, where it can say it."""
    try:
        return str(error)[:4000]
    except KeyboardInterrupt:
        raise
    except BaseException:
        return "(its text cannot be had)"


def ending(error: BaseException) -> dict[str, Any]:
    """The exception that ends a run, as its trace keeps it."""
    return {"type": type(error).__name__, "text": text_of(error), "behind": _behind(error)}


def _behind(error: BaseException) -> list[str]:
    """What the exceptions say that this one was raised from, or while they were handled; newest first."""
    texts: list[str] = []
    seen = {id(error)}
    before = error.__cause__ or error.__context__
    while before is not None and id(before) not in seen and len(seen) < _DEEPEST:
        seen.add(id(before))
        texts.append(text_of(before))
        before = before.__cause__ or before.__context__
    return texts


def _is_shown(code: CodeType) -> bool:
    return not is_own(code.co_filename) and not is_detour(code.co_filename)


def _hidden(codes: list[CodeType]) -> set[int]:
    """Places of the calls, outermost first, that a plain program has not: ours, and those
    that torch adds for a function mode."""
    hidden: set[int] = set()
    above: list[int] = []  # places that are shown
    for place, code in enumerate(codes):
        following = codes[place + 1] if place + 1 < len(codes) else None
        if is_own(code.co_filename):
            hidden.add(place)
            caller = codes[above[-1]] if above else None
            if caller is not None and caller is following and is_of_torch(caller.co_filename, "_ops.py"):
                hidden.add(above.pop())  # it goes through a mode from C++, and stands there again
        elif is_detour(code.co_filename) and following is not None and is_own(following.co_filename):
            hidden.add(place)
            # The function that took the detour comes again, called for real.
            if above and codes[above[-1]] is next((c for c in codes[place:] if _is_shown(c)), None):
                hidden.add(above.pop())
        else:
            above.append(place)
    return hidden


def clean(traceback: TracebackType | None) -> TracebackType | None:
    """The traceback without our frames, and without those that torch adds for a function
    mode. The chain is relinked in place; nothing in it is copied."""
    entries = []
    current = traceback
    while current is not None:
        entries.append(current)
        current = current.tb_next
    hidden = _hidden([entry.tb_frame.f_code for entry in entries])
    kept = [entry for place, entry in enumerate(entries) if place not in hidden]
    if not kept:
        return None
    for entry, following in zip(kept, [*kept[1:], None], strict=True):
        if entry.tb_next is not following:
            entry.tb_next = following
    return kept[0]


def visible_frames(frames: Iterable[tuple[FrameType, int]]) -> list[tuple[FrameType, int]]:
    """The (frame, line) pairs of a stack, innermost first, without those that `clean` takes out and
    those below which `gradscope run` runs the program."""
    stack = list(takewhile(lambda pair: real_path(pair[0].f_code.co_filename) != _RUN, frames))
    hidden = _hidden([frame.f_code for frame, _ in reversed(stack)])
    return [pair for place, pair in enumerate(reversed(stack)) if place not in hidden][::-1]


def clean_exception(error: BaseException | None) -> None:
    """Cleans an exception with all its causes and contexts, in place."""
    seen: set[int] = set()
    todo = [error]
    while todo:
        current = todo.pop()
        if current is None or id(current) in seen:
            continue
        seen.add(id(current))
        traceback = traceback_of(current)
        cleaned = clean(traceback)
        if cleaned is not traceback:
            _TRACEBACK.__set__(current, cleaned)
        todo += [current.__cause__, current.__context__]
        if isinstance(current, BaseExceptionGroup):
            todo += current.exceptions
