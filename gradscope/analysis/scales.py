"""Which gradients carry the factor of a gradient scaler."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from gradscope.analysis.loop import in_order
from gradscope.analysis.memo import once
from gradscope.events import Backward, Scaler, Step, ZeroGrad
from gradscope.model import Event, Site
from gradscope.store import Trace


class Scales:
    """Follows the run, event by event: `scaled` and `plain` tell of each unused gradient which pass, with
    a scaled loss or with none, has filled it last. Passes before the first call of a scaler are neither."""

    def __init__(self, trace: Trace):
        self.trace = trace
        self.scaled: dict[int, Backward] = {}
        self.plain: dict[int, Backward] = {}
        self.scale: float | None = None  # the scaler's last
        self._next: bool | None = None  # whether the next pass begins at a scaled loss

    def follow(self, event: Event) -> None:
        if isinstance(event, Scaler):
            self._called(event)
        elif isinstance(event, Backward):
            self._fill(event)
        elif isinstance(event, Step):
            self._gone(event.fresh)
        elif isinstance(event, ZeroGrad):
            self._gone(event.parameters)

    def _called(self, event: Scaler) -> None:
        self.scale = event.scale or self.scale
        if event.call == "backward":
            self._next = event.scaled
        elif event.call == "unscale_" and not event.error and event.optimizer in self.trace.optimizers:
            self._gone(self.trace.optimizers[event.optimizer].parameters)

    def _fill(self, event: Backward) -> None:
        for parameter in event.filled:
            if self._next:
                self.scaled[parameter] = event
                self.plain.pop(parameter, None)
            elif self._next is False and parameter not in self.scaled:
                self.plain[parameter] = event
        self._next = None

    def _gone(self, ids: Iterable[int]) -> None:
        for parameter in ids:
            self.scaled.pop(parameter, None)
            self.plain.pop(parameter, None)


@dataclass(frozen=True)
class MixedUp:
    """Gradients that were used as they are though they are `scaled`, or divided though they are not."""

    scaled: bool
    filled: Site  # the line of the pass
    used: Site
    optimizer: int
    parameters: frozenset[int]
    count: int
    scale: float | None  # the scaler's last


def mixed_up(trace: Trace) -> list[MixedUp]:
    """The lines that used gradients with the wrong scale, each with that of the pass."""
    run = _Uses(trace)
    return [
        MixedUp(scaled, filled, used, event.optimizer, frozenset(ids), count, run.scales.scale)
        for (scaled, filled, used), (event, ids, count) in run.found.items()
    ]


@dataclass(frozen=True)
class Second:
    """Plain steps of an optimizer with gradients that the scaler has stepped with before: nothing cleared
    them in between."""

    first: Site  # the scaler's step
    again: Site
    optimizer: int
    parameters: frozenset[int]
    count: int


@once
def second_steps(trace: Trace) -> list[Second]:
    """The lines that step directly what the scaler has stepped already, if they did so more than once."""
    last: dict[int, Step] = {}
    found: dict[tuple[Site, Site, int], tuple[set[int], int]] = {}
    for repeat, event in in_order(trace):
        if not isinstance(event, Step):
            continue
        before = last.get(event.optimizer)
        used = event.in_state("used", "stale")
        if before is not None and before.by_scaler and not event.by_scaler and used:
            key = before.site.user, event.site.user, event.optimizer
            ids, count = found.get(key, (set[int](), 0))
            found[key] = ids | used, count + repeat
        last[event.optimizer] = event
    return [
        Second(first, again, optimizer, frozenset(ids), count)
        for (first, again, optimizer), (ids, count) in found.items()
        if count > 1
    ]


def calls_before(trace: Trace) -> Iterator[tuple[Scaler, Scaler | None, Scaler | None]]:
    """Each call of a scaler with the last one before it of the same kind for the same optimizer, and with the
    last `step`."""
    last: dict[tuple[str, int | None], Scaler] = {}
    for _, event in in_order(trace):
        if isinstance(event, Scaler) and event.call != "backward":
            key = event.call, event.optimizer
            yield event, last.get(key), last.get(("step", event.optimizer))
            last[key] = event


@once
def under_a_scaler(trace: Trace) -> frozenset[int]:
    """The parameters whose steps a scaler may skip, or whose losses it multiplies."""
    found: set[int] = set()
    lines = set()
    for event in trace.of(Scaler):
        if event.call == "backward":
            lines |= {event.site.user.location()} if event.scaled is not False else set()
        elif event.call in ("step", "unscale_") and event.optimizer in trace.optimizers:
            found |= set(trace.optimizers[event.optimizer].parameters)
        elif event.call in ("step", "unscale_"):
            return frozenset(p.id for p in trace.parameters)  # of whatever stands behind it
    for step in trace.of(Step):
        if step.by_scaler and step.optimizer in trace.optimizers:
            found |= set(trace.optimizers[step.optimizer].parameters)
    for passed in trace.of(Backward):
        if passed.site.user.location() in lines:
            found.update(passed.filled)
    return frozenset(found)


class _Uses:
    """The steps that use scaled gradients as they are, and the divisions of those that were never scaled."""

    def __init__(self, trace: Trace):
        self.scales = Scales(trace)
        self.dividing = {e.site.user for e in trace.of(Scaler) if e.call == "step"}
        self.found: dict[tuple[bool, Site, Site], tuple[Step | Scaler, set[int], int]] = {}
        for repeat, event in in_order(trace):
            if isinstance(event, Step):
                self._step(event, repeat)
            elif isinstance(event, Scaler) and event.call == "unscale_" and not event.error:
                optimizer = trace.optimizers.get(event.optimizer)
                held = optimizer.parameters if optimizer is not None else ()
                self._note(False, event, self.scales.plain.keys() & held, repeat)
            self.scales.follow(event)

    def _step(self, event: Step, repeat: int) -> None:
        new, scaled, plain = event.fresh, self.scales.scaled, self.scales.plain
        if not event.by_scaler or event.site.user not in self.dividing:
            self._note(True, event, new & scaled.keys(), repeat)
        elif not new & scaled.keys():
            self._note(False, event, new & plain.keys(), repeat)

    def _note(self, scaled: bool, event: Step | Scaler, ids: set[int], repeat: int) -> None:
        if ids:
            passed = (self.scales.scaled if scaled else self.scales.plain)[min(ids)]
            key = scaled, passed.site.user, event.site.user
            _, known, count = self.found.get(key, (event, set[int](), 0))
            self.found[key] = event, known | ids, count + repeat
