"""What each line that clips gradients met."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from gradscope.analysis.loop import timeline
from gradscope.analysis.memo import once
from gradscope.analysis.scales import Scales
from gradscope.events import Backward, Clip, Scaler, Step, ZeroGrad
from gradscope.model import Event, Site
from gradscope.store import Trace

MEASURES = 1e6  # a limit that only wants to know the norm


@dataclass
class Clipped:
    """What one line that clips met."""

    site: Site
    times: int = 0
    met: int = 0  # times that it found a new gradient which a step can use
    empty: int = 0  # times without any parameter
    states: Counter[str] = field(default_factory=Counter)
    parameters: set[int] = field(default_factory=set)
    midway: Counter[Site] = field(default_factory=Counter)  # passes that then added to it
    scaled: int = 0
    # (a clip of scaled gradients, the `unscale_` that came after it): how often, with their stacks
    unscaled: Counter[tuple[Site, Site]] = field(default_factory=Counter)
    last: Site | None = None
    # the line of the step that came next where it met nothing new, and used what no clip had met: how often
    others: Counter[Site] = field(default_factory=Counter)
    # the same where all that it met was cleared before a step used any of it
    cleared: Counter[Site] = field(default_factory=Counter)
    # times that it met nothing new, and the step of these parameters that came next found no gradient of any either
    idle: int = 0
    next: Counter[Site] = field(default_factory=Counter)  # the line of the step that came next: how often
    lost: int = (
        0  # times that all gradients it met were cleared before a step used any, also such as held older ones
    )
    first: dict[str, int] = field(default_factory=dict)  # what it met → the first stretch in which it did
    scale: float | None = None
    limit: float | None = None


@dataclass
class _Met:
    """New gradients that a call of a clip met."""

    clip: Clipped
    times: int
    parameters: set[int]
    together: bool  # scaled by one norm
    step: Site | None = None  # that came next, and used others


@dataclass
class Exchange:
    """Two lines that clip: each meets what the optimizer of the other's step holds, and all of it is cleared unused."""

    clips: tuple[Clipped, Clipped]
    steps: tuple[Site, Site]
    optimizers: tuple[int, int]  # of these steps


class Clips:
    """The lines that clip, and the lines of the steps that use new gradients."""

    def __init__(self, trace: Trace):
        self.clips: dict[Site, Clipped] = {}
        self.steps: dict[Site, set[int]] = {}  # line of a step → parameters whose new gradient it used
        self.holders: dict[Site, int] = {}
        self.pending: dict[int, Clipped] = {}  # parameter → the clip of the gradient that waits for a step
        self.in_vain: list[tuple[Clipped, int]] = []  # clips since the last step that met nothing new
        self.waiting: dict[Site, _Met] = {}  # line of a clip → what its last call met that no step has used
        self.recent: list[tuple[Clipped, int]] = []  # clips since the last step
        self.held: dict[
            Site, tuple[int, set[int]]
        ] = {}  # line of a clip → (times, gradients that it met) so far
        # parameters whose gradients went into the norm by which those of a step were scaled
        self.weighed: set[int] = set()
        self.scales = Scales(trace)
        self.stepped = {p.id for p in trace.parameters if p.steps}
        for self.stretch, (times, events) in enumerate(timeline(trace)):
            for repeat in (1, times - 1)[: 2 if times > 1 else 1]:  # what the first left, the others find
                for event in events:
                    self._follow(trace, event, repeat)

    def _follow(self, trace: Trace, event: Event, repeat: int) -> None:
        if isinstance(event, Backward):
            self._backward(event, repeat)
        elif isinstance(event, Clip):
            self._clip(event, repeat)
        elif isinstance(event, Step):
            self._step(event)
        elif isinstance(event, ZeroGrad):
            self._gone(event.parameters)
            self._cleared(event.parameters)
        elif isinstance(event, Scaler):
            self._unscaled(trace, event, repeat)
        self.scales.follow(event)

    def _backward(self, event: Backward, repeat: int) -> None:
        for parameter in event.filled:
            clip = self.pending.pop(parameter, None)
            if clip is not None:
                clip.midway[event.site.user] += repeat if parameter == min(clip.parameters) else 0
                clip.first.setdefault("midway", self.stretch)

    def _clip(self, event: Clip, repeat: int) -> None:
        limit = event.limit
        if limit is not None and float(limit) >= MEASURES:  # infinity is stored as its name
            return
        clip = self.clips.setdefault(event.site.user, Clipped(event.site.user))
        new = event.fresh & self.stepped
        clip.times += repeat
        clip.last = event.site
        clip.limit = limit
        clip.met += repeat if new else 0
        clip.first.setdefault("new" if new else "nothing new", self.stretch)
        if not event.given and event.call == "norm":
            clip.empty += repeat
            clip.first.setdefault("no parameter", self.stretch)
        for state, ids in event.states.items():
            clip.states[state] += repeat
            clip.parameters.update(ids)
        self.recent.append((clip, repeat))
        self.held[clip.site] = repeat, set(event.in_state("fresh", "stale", "used"))
        self.pending.update(dict.fromkeys(new, clip))
        if new:
            self.waiting[clip.site] = _Met(clip, repeat, new, event.call == "norm")
        if not new and event.given:
            self.in_vain.append((clip, repeat))
        if new & self.scales.scaled.keys():
            clip.scaled += repeat
            clip.first.setdefault("scaled", self.stretch)
            clip.scale = self.scales.scale

    def _unscaled(self, trace: Trace, event: Scaler, repeat: int) -> None:
        """The scaler's own division inside of its `step` is no call of the program's."""
        if event.call != "unscale_" or event.error or event.optimizer not in trace.optimizers:
            return
        held = self.scales.scaled.keys() & trace.optimizers[event.optimizer].parameters
        for clip in {id(c): c for number in held if (c := self.pending.get(number))}.values():
            if clip.last is not None:
                clip.unscaled[clip.last, event.site] += repeat

    def _step(self, event: Step) -> None:
        new = event.fresh
        if not event.fed:
            for clip, repeat in self.in_vain:
                clip.idle += repeat if clip.parameters.issubset(event.in_state("none", "zero")) else 0
        if new:
            self.steps.setdefault(event.site.user, set()).update(new)
            self.holders[event.site.user] = event.optimizer
            for clip, repeat in self.in_vain:
                if not new & (clip.parameters | self.pending.keys()):
                    clip.others[event.site.user] += repeat
            for line, met in list(self.waiting.items()):
                if new & met.parameters:
                    self.weighed |= met.parameters - new if met.together else set()
                    del self.waiting[line]
                elif met.step is None:
                    met.step = event.site.user
            for clip, repeat in self.recent:
                clip.next[event.site.user] += repeat
            for line, (_, held) in list(self.held.items()):
                if new & held:
                    del self.held[line]
        self.recent.clear()
        self.in_vain.clear()
        self._gone(new)

    def _cleared(self, ids: Iterable[int]) -> None:
        for line, met in list(self.waiting.items()):
            met.parameters.difference_update(ids)
            if not met.parameters:
                del self.waiting[line]
                if met.step is not None:
                    met.clip.cleared[met.step] += met.times

        for line, (times, held) in list(self.held.items()):
            held.difference_update(ids)
            if not held:
                del self.held[line]
                self.clips[line].lost += times

    def exchanges(self, trace: Trace) -> Iterator[Exchange]:
        """Pairs of such lines."""
        lost = [c for c in self.clips.values() if c.times >= 2 and c.lost >= c.times - 1 and len(c.next) == 1]
        for i, one in enumerate(lost):
            for other in lost[i + 1 :]:
                steps = next(iter(one.next)), next(iter(other.next))
                numbers = tuple(self.holders.get(step, -1) for step in steps)
                held = [trace.optimizers[n].parameters if n in trace.optimizers else [] for n in numbers]
                if numbers[0] != numbers[1] and all(held):
                    if one.parameters == set(held[1]) and other.parameters == set(held[0]):
                        yield Exchange((one, other), steps, (numbers[0], numbers[1]))

    def _gone(self, ids: Iterable[int]) -> None:
        for parameter in ids:
            self.pending.pop(parameter, None)

    def step_of(self, ids: set[int]) -> Site | None:
        """The line that steps these parameters (any, where `ids` is empty)."""
        return next((site for site, used in self.steps.items() if not ids or ids & used), None)


@once
def clips(trace: Trace) -> Clips:
    """What the run's clips met."""
    return Clips(trace)
