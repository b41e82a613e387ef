"""The run, stretch by stretch, for the tables of the page and the terminal: what each is called, and what the program
did in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Set
from typing import NamedTuple

from gradscope.analysis.loop import stretches
from gradscope.events import ModuleCall
from gradscope.model import Event, Segment
from gradscope.store import Trace

# What the program itself did: the other kinds of events hold what rules want to know of it.
DID = {
    "backward": "backward", "step": "step", "zero_grad": "zero_grad", "clip": "clip", "update": "update by hand",
    "call": "model called", "mode": "train/eval", "optimizer": "optimizer made", "scheduler": "scheduler made",
    "scheduled": "scheduler step", "scaler": "grad scaler", "requires_grad": "requires_grad set",
    "state_loaded": "state loaded", "state_saved": "state saved", "error": "error", "crashed": "crash",
    "state_apart": "state saved",
    "non_finite": "not finite", "hidden_write": "hidden write", "corrupted": "corrupted",
}  # fmt: skip


LOOKED_BACK = 2000  # steps of a stretch, for its last loss


class Stretch(NamedTuple):
    """Equal segments in a row, by the optimizer steps they were; `first` is above `last` where they were none.
    `kind`: what one without a step was for. `events`: what the program did in it, of the kinds of `DID`."""

    segment: Segment
    first: int
    last: int
    kind: str
    events: tuple[Event, ...]

    @property
    def title(self) -> str:
        if not self.segment.is_step:
            return self.kind + (f" ×{self.segment.repeat:,}" if self.segment.repeat > 1 else "")
        if self.first == self.last:
            return f"step {self.first:,}"
        return f"steps {self.first:,}–{self.last:,}"

    @property
    def kinds(self) -> Counter[str]:
        """How often it has each kind of event."""
        return Counter(event.kind for event in self.events)

    @property
    def each(self) -> str:
        """Milliseconds that one of its segments took."""
        taken = self.segment.duration * 1000 / max(self.segment.repeat, 1)
        return f"{taken:.3g}" if taken < 100 else f"{taken:,.0f}"

    def loss(self, losses: Mapping[int, float]) -> float | None:
        """Of these, by step, its last one."""
        steps = range(self.last, max(self.first - 1, self.last - LOOKED_BACK), -1)
        return next((losses[step] for step in steps if step in losses), None)


def told_stretches(trace: Trace) -> list[Stretch]:
    """All of them, in order."""
    found, done, passed = [], 0, False
    models = _with_parameters(trace)
    for segment, all_events in stretches(trace):
        events = tuple(
            event
            for event in all_events
            if event.kind in DID and not (isinstance(event, ModuleCall) and event.module not in models)
        )
        kinds = {event.kind for event in events}
        passed = passed or bool(kinds & {"backward", "step"})
        count = segment.repeat if segment.is_step else 0
        found.append(Stretch(segment, done + 1, done + count, _purpose(kinds, passed), events))
        done += count
    return found


def _with_parameters(trace: Trace) -> set[int | None]:
    """The modules that hold parameters, themselves or further inside: a loss is a module too, but no model."""
    found: set[int | None] = set()
    for module in {p.module for p in trace.parameters}:
        while module is not None and module not in found:
            found.add(module)
            module = trace.modules[module].parent if module in trace.modules else None
    return found


def did(kinds: Counter[str]) -> str:
    """Kinds of events, each of `DID`, as a table lists them: "backward ×2, step"."""
    return ", ".join(f"{DID[kind]}{f' ×{n}' if n > 1 else ''}" for kind, n in kinds.items())


def _purpose(kinds: Set[str], passed: bool) -> str:
    """What a stretch without an optimizer step was for. passed: a pass or a step has been before its end."""
    if "backward" in kinds:
        return "backward only"
    if "call" in kinds:
        return "evaluation"
    return "between steps" if passed else "set-up"
