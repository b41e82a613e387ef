"""What became of the passes of each line: a step used their gradients, or a call cleared them."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Set
from dataclasses import dataclass, field
from itertools import accumulate

from gradscope.analysis.gradients import gradients
from gradscope.analysis.looks import kept_gradients
from gradscope.analysis.loop import in_order, timeline
from gradscope.analysis.own_leaves import serves_leaves
from gradscope.events import Backward, ModuleCall, Scaler, Step, Unregistered, Update, ZeroGrad
from gradscope.model import Event, Site
from gradscope.store import Trace


@dataclass
class Line:
    """What became of the passes of one line that runs backward."""

    used: int = 0
    asleep: int = 0  # of those used, passes while sampling slept: a loop that clears by hand is not seen then
    dropped: int = 0
    clears: dict[Site, int] = field(default_factory=dict)  # passes that each clearing has dropped
    parts: dict[Site, int] = field(
        default_factory=dict
    )  # those that cleared a part before: of which optimizer
    times: dict[Site, int] = field(default_factory=dict)  # how often it dropped some
    first: dict[Site, int] = field(default_factory=dict)  # the first stretch in which it did
    step: Site | None = None
    parameters: set[int] = field(default_factory=set)  # whose gradients were dropped
    filled: set[int] = field(default_factory=set)
    asks: bool = False  # other gradients of it were read, or its model did not train
    others: bool = False  # a part of what a pass filled was kept
    norm: float | None = None
    by_hand: bool = True  # all that cleared it sets `.grad` itself
    spared: bool = False  # it also served something else
    kept: bool = False  # numbers of gradients that were cleared had been kept: all that was wanted, perhaps


@dataclass
class _Waiting:
    """A pass whose gradients no step has used yet: `left` of them nobody has cleared either."""

    event: Backward
    left: set[int]
    count: int
    cleared: set[int] = field(default_factory=set)
    by: dict[Site, int] = field(default_factory=dict)  # the optimizer of each call that cleared a part

    @property
    def site(self) -> Site:
        return self.event.site.user

    def within(self, step: Step) -> bool:
        """Whether the step's closure made it. Lightning hands every step a closure, which may do nothing."""
        return bool(step.closure) and step.site.id in (frame.id for frame in self.event.site.stack)


class _Passes:
    """Follows each pass's gradients, or those of some parameters alone, to the step that uses them or the call that
    clears them."""

    def __init__(self, trace: Trace, alone: Set[int] | None = None):
        self.trace = trace
        self.alone = alone
        self.lines: dict[Site, Line] = {}
        self.waiting: list[_Waiting] = []
        self.scaler_stepped = False
        self.evaluating = False
        self.added: set[int] = set()  # what holds a gradient that a step has used, with new ones added to it
        self.left_out = _unregistered(trace) if alone is None else set[int]()
        for self.stretch, (repeat, events) in enumerate(timeline(trace)):
            for event in events:
                handle = getattr(self, f"_{event.kind}", None)
                if handle is not None:
                    handle(event, repeat)
        for one in self.waiting:
            self.lines[one.site].others |= bool(one.cleared)

    def _backward(self, event: Backward, repeat: int) -> None:
        ids = {number for number in event.filled if self.alone is None or number in self.alone}
        ids = ids - self.left_out or ids
        self.scaler_stepped = False
        self.added.update(event.stale)
        if not ids:
            return
        site = event.site.user
        line = self.lines.setdefault(site, Line())
        line.spared = line.spared or bool(event.inputs) or serves_leaves(self.trace, event)
        line.filled |= ids
        line.asks = line.asks or self.evaluating
        self.waiting.append(_Waiting(event, ids, repeat))

    def _call(self, event: ModuleCall, repeat: int) -> None:
        self.evaluating = not event.training

    def _grad_read(self, event: Event, repeat: int) -> None:
        for one in self.waiting[-1:]:
            self.lines[one.site].asks = True

    def _scaler(self, event: Scaler, repeat: int) -> None:
        self.scaler_stepped = self.scaler_stepped or event.call == "step"

    def _step(self, event: Step, repeat: int) -> None:
        new = event.fresh
        for one in self.waiting:
            if one.left & new:
                line = self.lines[one.site]
                line.used += one.count
                line.asleep += one.count if one.event.graph < 0 else 0
                line.step = event.site.user
                line.spared = line.spared or one.within(event)
                line.others = line.others or bool(one.cleared)
        self.waiting = [one for one in self.waiting if not one.left & new]
        self.added -= new

    def _update(self, event: Update, repeat: int) -> None:
        for one in self.waiting:
            if event.parameter in one.left and event.used:
                self.lines[one.site].spared = True  # by hand, which is not seen while sampling sleeps
        self.waiting = [one for one in self.waiting if event.parameter not in one.left]
        self.added.discard(event.parameter)

    def _kept(self, event: ZeroGrad) -> bool:
        """Whether what was read of the gradients that go may be what they were computed for."""
        return not kept_gradients(self.trace).isdisjoint(event.read)

    def _zero_grad(self, event: ZeroGrad, repeat: int) -> None:
        """An optimizer clears what it holds, a loop by hand one parameter at a time: a pass is for nothing when
        all that it filled has been cleared."""
        cleared = set(event.parameters)
        dropped = {*event.dropped, *(self.added & cleared)}
        place = event.site.user
        told: set[int] = set()
        for one in self.waiting:
            line = self.lines[one.site]
            if not one.left & cleared:
                continue
            line.kept = line.kept or self._kept(event)
            if self.scaler_stepped:
                line.spared = True
            elif not one.left & dropped:
                line.others = True
            else:
                line.by_hand = line.by_hand and event.by == "hand"
                one.cleared |= one.left & cleared
                if event.by == "optimizer":
                    one.by[place] = event.optimizer
                line.norm = event.norm or line.norm
                if one.left <= cleared:
                    line.parameters |= one.cleared
                    line.parts.update(one.by)
                    line.dropped += one.count
                    line.clears[place] = line.clears.get(place, 0) + one.count
                    line.times[place] = line.times.get(place, 0) + (0 if id(line) in told else repeat)
                    line.first.setdefault(place, self.stretch)
                    told.add(id(line))
        self.added -= cleared
        for one in self.waiting:
            one.left -= cleared
        self.waiting = [one for one in self.waiting if one.left]


def _unregistered(trace: Trace) -> set[int]:
    """Parameters in a plain list of a module (GS214), which no optimizer steps and nothing clears or changes: what
    becomes of a pass does not show in them."""
    held = {id for event in trace.of(Unregistered) if event.holder != "computed" for id in event.parameters}
    cleared = {id for event in trace.of(ZeroGrad) for id in event.parameters} if held else set[int]()
    return {p.id for p in trace.parameters if p.id in held - cleared and not p.optimizers and not p.updates}


def passes_by_line(trace: Trace, alone: Set[int] | None = None) -> dict[Site, Line]:
    """The lines whose passes filled gradients, with what became of those. alone: ids of the parameters that are
    looked at, all by default."""
    return _Passes(trace, alone).lines


def other_clears(trace: Trace, ids: Set[int], clear: Site, step: Site) -> tuple[Site | None, list[Site]]:
    """Of the other lines than `clear` that clear all these gradients: one that does so after each of these steps,
    before the next pass, and at no other time; and those that do so between a pass and the step, as `clear` does."""
    after: Site | None = None
    between: dict[tuple[str, int], Site] = {}
    stepped = passed = uncleared = False  # since the last step or pass
    missing = False
    for _, event in in_order(trace):
        user = event.site.user
        if isinstance(event, Step) and user.location() == step.location():
            stepped, passed, uncleared = True, False, True
        elif isinstance(event, Backward):
            missing = missing or (stepped and uncleared)
            stepped, passed = False, True
        elif (
            isinstance(event, ZeroGrad)
            and user.location() != clear.location()
            and ids <= set(event.parameters)
        ):
            if stepped:
                after, uncleared = user, False
            elif passed:
                between[user.location()] = user
    only_after = after is not None and not missing and after.location() not in between
    return after if only_after else None, list(between.values())


def counts_passes(trace: Trace, line: Site, step: Site) -> bool:
    """Whether a step waits for a number of a line's passes: each time it came after as many of them, or used the
    gradients of as many. A step that waits for something else may leave passes out on purpose. True of a step
    that never used any."""
    since: set[int] = set()  # passes since the step before
    used: set[int] = set()
    turns = [turn for turn in gradients(trace).turns if turn.step.site.user.location() == step.location()]
    fills = [fill for fill in gradients(trace).fills if fill.line == line.location()]
    numbers = [fill.number for fill in fills]
    up_to = [
        0,
        *accumulate(fill.times for fill in fills),
    ]  # a run may have as many steps as passes: no sum for each
    of_stretch: Counter[int] = Counter()
    for fill in fills:
        of_stretch[fill.stretch] += fill.times
    before, times = -1, 0
    for turn in turns:
        mine = [fill for fill in turn.fills if fill.line == line.location()]
        if not mine:
            continue
        times += turn.times
        last = max(fill.number for fill in mine)
        since.add(up_to[bisect_right(numbers, last)] - up_to[bisect_right(numbers, before)])
        used.add(sum(fill.times for fill in mine))
        if turn.times > 1:
            since.add(of_stretch[mine[-1].stretch])
        before = last
    # `if i % 4 == 0 and i > 0`: the first step of a loop waits for one more.
    as_many = bool(used) and max(used) - min(used) <= 1 < min(used)
    return times == 0 or (times > 1 and (len(since) == 1 or as_many))
