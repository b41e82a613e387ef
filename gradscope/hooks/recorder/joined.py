"""The rank that a process has taken itself, by `init_process_group`, where no launcher gave it one."""

from __future__ import annotations

import os
from typing import Any

from torch import distributed


def joined_rank() -> dict[str, Any] | None:
    """As `gradscope.ranks.Rank.facts`; None in a process that is alone, or not yet in a group."""
    if not distributed.is_available() or not distributed.is_initialized():
        return None
    world = distributed.get_world_size()
    if world < 2:
        return None
    meeting = "|".join(os.environ.get(name, "") for name in ("MASTER_ADDR", "MASTER_PORT"))
    return {
        "rank": distributed.get_rank(), "world": world, "local": None, "run": f"|{meeting}|", "agent": "",
        "attempt": 0,
    }  # fmt: skip
