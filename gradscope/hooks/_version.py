"""Whether the torch that is installed is one that can be watched."""

from __future__ import annotations

import re
from typing import Any

import torch

from gradscope.model import GradscopeError

OLDEST = (2, 2)


def check_version() -> None:
    """Raises GradscopeError where this torch is too old."""
    told: Any = getattr(torch, "__version__", "of no version")
    found = re.match(r"(\d+)\.(\d+)", str(told))
    if found is None or (int(found[1]), int(found[2])) < OLDEST:
        oldest = ".".join(map(str, OLDEST))
        raise GradscopeError(f"torch {told} is too old: gradscope needs torch {oldest} or newer")
