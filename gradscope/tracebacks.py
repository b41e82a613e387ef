"""Takes gradscope's frames out of tracebacks, so that the user reads only their own."""

from __future__ import annotations

import os
from pathlib import Path
from types import TracebackType

_PACKAGE = str(Path(__file__).resolve().parent) + os.sep
_EXAMPLES = os.path.join(_PACKAGE, "rules") + os.sep  # run under watch as programs
_DETOUR = os.path.join("torch", "overrides.py")


def _is_own(traceback: TracebackType) -> bool:
    path = traceback.tb_frame.f_code.co_filename
    return path.startswith(_PACKAGE) and not path.startswith(_EXAMPLES)


def _is_detour(traceback: TracebackType) -> bool:
    """torch's way round through a function mode; where ours follows, the plain program has none."""
    return traceback.tb_frame.f_code.co_filename.endswith(_DETOUR)


def clean(traceback: TracebackType | None) -> TracebackType | None:
    """The traceback without our frames, and without those that torch adds for a function
    mode. The chain is relinked in place; nothing in it is copied."""
    entries = []
    current = traceback
    while current is not None:
        entries.append(current)
        current = current.tb_next
    kept: list[TracebackType] = []
    for place, entry in enumerate(entries):
        following = entries[place + 1] if place + 1 < len(entries) else None
        if _is_own(entry):
            continue
        if _is_detour(entry) and following is not None and _is_own(following):
            # The function that took the detour comes again, called for real.
            if kept and "torch" in kept[-1].tb_frame.f_code.co_filename:
                kept.pop()
            continue
        kept.append(entry)
    if not kept:
        return None
    for entry, following in zip(kept, [*kept[1:], None], strict=True):
        if entry.tb_next is not following:
            entry.tb_next = following
    return kept[0]


def clean_exception(error: BaseException | None) -> None:
    """Cleans an exception with all its causes and contexts, in place."""
    seen: set[int] = set()
    todo = [error]
    while todo:
        current = todo.pop()
        if current is None or id(current) in seen:
            continue
        seen.add(id(current))
        cleaned = clean(current.__traceback__)
        if cleaned is not current.__traceback__:
            current.__traceback__ = cleaned
        todo += [current.__cause__, current.__context__]
        todo += getattr(current, "exceptions", ())
