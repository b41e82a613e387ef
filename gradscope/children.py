"""How much this process has left to others, as far as it can be asked without touching anything."""

from __future__ import annotations

import re
import sys


def processes_made() -> int:
    """Processes that `multiprocessing` has made here so far: it numbers them."""
    module = sys.modules.get("multiprocessing.process")
    number = re.search(r"\d+", repr(getattr(module, "_process_counter", "")))
    return int(number[0]) - 1 if number else 0


def child_seconds() -> float:
    """The time that all children have computed which have ended and were waited for."""
    try:
        import resource
    except ImportError:  # Windows
        return 0.0
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
