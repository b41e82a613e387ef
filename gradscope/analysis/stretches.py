"""What a stretch of the run is called, and what the program did in it, for the tables of the page and the terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Set

from gradscope.model import Segment

# What the program itself did: the other kinds of events hold what rules want to know of it.
DID = {
    "backward": "backward", "step": "step", "zero_grad": "zero_grad", "clip": "clip", "update": "update by hand",
    "call": "model called", "mode": "train/eval", "optimizer": "optimizer made", "scheduler": "scheduler made",
    "scheduled": "scheduler step", "scaler": "grad scaler", "requires_grad": "requires_grad set",
    "state_loaded": "state loaded", "state_saved": "state saved", "error": "error", "crashed": "crash",
    "non_finite": "not finite", "hidden_write": "hidden write", "corrupted": "corrupted",
}  # fmt: skip


def did(kinds: Counter[str]) -> str:
    """Kinds of events, each of `DID`, as a table lists them: "backward ×2, step"."""
    return ", ".join(f"{DID[kind]}{f' ×{n}' if n > 1 else ''}" for kind, n in kinds.items())


def purpose(kinds: Set[str], passed: bool) -> str:
    """What a stretch without an optimizer step was for. passed: a pass or a step has been before its end."""
    if "backward" in kinds:
        return "backward only"
    if "call" in kinds:
        return "evaluation"
    return "between steps" if passed else "set-up"


def each(segment: Segment) -> str:
    """Milliseconds that one of the equal segments took."""
    taken = segment.duration * 1000 / max(segment.repeat, 1)
    return f"{taken:.3g}" if taken < 100 else f"{taken:,.0f}"
