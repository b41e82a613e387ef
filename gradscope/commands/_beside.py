"""Starts what follows a run while it goes, for its terminal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TextIO

from gradscope.beside import beside, nothing


def follow(trace: Path, after: int, options: Sequence[str], stream: TextIO | None) -> Callable[[], None]:
    """Runs `gradscope check --follow` on `trace` in `after` seconds, telling on `stream`. Gives what ends it.
    Does nothing where there is no shell for it, or no such stream."""
    try:
        told = stream.fileno() if stream is not None else -1
    except (OSError, ValueError):
        return nothing
    if told < 0:
        return nothing
    return beside(after, ["-m", "gradscope", "check", "--follow", *options, str(trace)], told)
