"""Gradients are cleared between `backward()` and `step()`: the step sees nothing.

Why: `zero_grad()` throws away what `backward()` has just computed, so the step that
follows has no gradient to use and the parameters do not learn.

Fix: move `zero_grad()` before `backward()`, or after `step()`.

Silent on: gradients dropped at the end of training, gradients of another network (a GAN),
a rare batch that is skipped by clearing its gradients.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from gradscope.analysis.loop import timeline
from gradscope.analysis.since import since_stretch
from gradscope.analysis.words import code, parameter_names, parameter_subjects, plural, where
from gradscope.events import Backward, Scaler, Step, ZeroGrad
from gradscope.fixes.source import Source, calls
from gradscope.model import Edit, Event, Finding, Site
from gradscope.rules import rule
from gradscope.store import Trace


def bad() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        loss = model(torch.randn(8, 3)).pow(2).mean()
        loss.backward()
        opt.zero_grad()  # cause: GS202
        opt.step()  # effect: GS202


def good_cleared_after_step() -> None:
    import torch
    from torch import nn

    model = nn.Linear(3, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        model(torch.randn(8, 3)).pow(2).mean().backward()
        opt.step()
        opt.zero_grad()


NO_GRADIENT = "No inf checks were recorded"  # torch's own words


@dataclass
class _Tally:
    """Steps of one optimizer: all of them, and those whose gradients had been dropped."""

    steps: int = 0
    at: Counter[Site] = field(default_factory=Counter)  # steps by line
    lost: Counter[tuple[Site, Site]] = field(default_factory=Counter)
    first: dict[tuple[Site, Site], int] = field(default_factory=dict)  # the first lost one's stretch
    parameters: set[int] = field(default_factory=set)


class _Place(NamedTuple):
    """A point of the run: a stretch of the timeline, and the op that comes next in it."""

    stretch: int
    position: int


class _Waiting(NamedTuple):
    """A step without gradients after a forward that no pass has gone through yet."""

    place: tuple[Site, Site]
    step: _Place
    parameters: set[int]


class _Run:
    """Follows each gradient from the pass that made it to the call that dropped it and the step
    that then missed it."""

    def __init__(self, trace: Trace):
        self.trace = trace
        self.tallies: dict[int, _Tally] = {}
        self.stretches: list[list[Event]] = []
        self.filled: dict[int, int] = {}  # parameter → number of the pass that filled it
        self.passes: list[_Place] = []
        self.served: set[int] = set()  # passes that a step has used
        self.dropped: dict[int, tuple[ZeroGrad, _Place]] = {}  # parameter → the call, and whence to look
        self.waiting: _Waiting | None = None
        self.late: set[tuple[Site, Site]] = set()  # cleared in time, it is the backward that is missing
        for repeat, events in timeline(trace):
            self.stretches.append(events)
            for event in events:
                if isinstance(event, ZeroGrad):
                    self._clear(event)
                elif isinstance(event, Backward):
                    self._fill(event)
                elif isinstance(event, Step):
                    self._step(event, repeat)
                elif isinstance(event, Scaler) and NO_GRADIENT in event.error:
                    self._refused(event, repeat)

    def _refused(self, event: Scaler, repeat: int) -> None:
        """A scaler looks at the gradients before its optimizer steps, and raises where there is none."""
        known = self.trace.optimizers.get(event.optimizer)
        if known is not None:
            self._count(event, {"none": tuple(known.parameters)}, repeat)

    def _place(self, event: Event) -> _Place:
        return _Place(len(self.stretches) - 1, event.position + 1)

    def _made(self, parameter: int, otherwise: _Place) -> _Place:
        made = self.filled.get(parameter)
        return self.passes[made] if made is not None else otherwise

    def _fill(self, event: Backward) -> None:
        wait, self.waiting = self.waiting, None
        if wait is not None and wait.parameters & set(event.filled):
            if not self._forward_between(wait.step, event, wait.parameters):
                self.late.add(wait.place)  # the forward before the step is backwarded after it
        for parameter in event.filled:
            self.dropped.pop(parameter, None)
            self.filled[parameter] = len(self.passes)
        self.passes.append(self._place(event))

    def _clear(self, event: ZeroGrad) -> None:
        for parameter in event.dropped:
            made = self.filled.get(parameter)
            # What another optimizer's step has used was made for that one.
            start = self.passes[made] if made in self.served and made is not None else self._place(event)
            self.dropped[parameter] = (event, start)

    def _step(self, event: Step, repeat: int) -> None:
        states = event.states
        self.served.update(self.filled[p] for p in event.fresh if p in self.filled)
        self._count(event, states, repeat)
        for ids in states.values():
            for parameter in ids:
                self.dropped.pop(parameter, None)

    def _count(self, event: Step | Scaler, states: dict[str, tuple[int, ...]], repeat: int) -> None:
        tally = self.tallies.setdefault(event.optimizer, _Tally())
        tally.steps += repeat
        tally.at[event.site.user] += repeat
        lost = [p for state in ("none", "zero") for p in states.get(state, ()) if p in self.dropped]
        if not lost or any(states.get(state) for state in ("fresh", "stale", "used")):
            return
        clear, start = self.dropped[lost[0]]
        place = clear.site.user, event.site.user
        if self._forward_between(start, event, set(lost)):
            self.late.add(place)
        elif self._forward_between(self._made(lost[0], start), event, set(lost)):
            self.waiting = _Waiting(place, self._place(event), set(lost))
        else:
            tally.lost[place] += repeat
            tally.first.setdefault(place, len(self.stretches) - 1)
            tally.parameters.update(lost)

    def _forward_between(self, start: _Place, event: Event, ids: set[int]) -> bool:
        """Then the gradients were cleared in time, and it is the backward that comes too late or is
        missing (GS204)."""
        for number, events in enumerate(self.stretches[start.stretch :], start.stretch):
            graph = events[0].graph if events else -1
            if graph >= 0:
                begin = start.position if number == start.stretch else 0
                end = event.position + 1 if events is self.stretches[-1] else None
                ops = [op for op in self.trace.graph(graph).ops[begin:end] if op.nodes]
                ours = self._computed_from(graph, ids) - self._with_own_pass(events, graph) if ops else set()
                if any(not ours.isdisjoint(op.outputs) for op in ops):
                    return True
        return False

    def _computed_from(self, graph: int, ids: set[int]) -> set[int]:
        """Values that were computed from these parameters, or in an earlier stretch."""
        known = self.trace.graph(graph)
        found = {
            v.index
            for v in known.values
            if v.parameter in ids or (v.origin is not None and v.requires_grad and not v.is_leaf)
        }
        for op in known.ops:
            if not found.isdisjoint(op.inputs):
                found.update(op.outputs)
        return found

    def _with_own_pass(self, events: list[Event], graph: int) -> set[int]:
        """Values that a pass for something else went through: an attack's, between backward and step."""
        known = self.trace.graph(graph)
        aside = [e for e in events if isinstance(e, Backward) and not e.filled]
        through = {v for e in aside for root in e.roots for v in known.upstream(root)}
        return through | {v for op in known.ops if not through.isdisjoint(op.outputs) for v in op.outputs}


@rule("GS202", name="gradient-zeroed-before-step", severity="error", over=("GS204", "GS605"))
def gradient_zeroed_before_step(trace: Trace) -> Iterator[Finding]:
    run = _Run(trace)
    for number, tally in run.tallies.items():
        mostly = sum(tally.lost.values()) * 2 >= tally.steps  # a skipped bad batch is rarer
        for (cause, effect), count in tally.lost.items():
            if (mostly or 2 <= count >= tally.at[effect] / 2) and (cause, effect) not in run.late:
                yield _finding(trace, number, tally, cause, effect, count)


def _finding(trace: Trace, number: int, tally: _Tally, cause: Site, effect: Site, count: int) -> Finding:
    clear, step = code(trace, cause, "`zero_grad()`"), code(trace, effect, "the step")
    return Finding(
        message=f"gradients are cleared between backward and step: {step} sees none of them",
        cause=cause,
        cause_label="throws away the gradients that backward has just computed",
        effect=effect,
        effect_label="has no gradient to use",
        seen=(
            f"{count} of {plural(tally.steps, 'step')} had no gradient: {clear} had just cleared it",
            *_dropped(trace, cause),
        ),
        fix=f"move {clear} ({where(cause)}) before the backward, or after {step} ({where(effect)})",
        count=count,
        edits=_moved(trace, cause),
        subjects=parameter_subjects(tally.parameters) | {("optimizer", number)},
        since=since_stretch(trace, tally.first[cause, effect]),
    )


def _dropped(trace: Trace, clear: Site) -> Iterator[str]:
    """What was thrown away, where it was measured."""
    for event in trace.of(ZeroGrad):
        if event.site.user == clear and event.norm and event.dropped:
            name = parameter_names(trace, event.dropped[:1])
            yield f"norm of {name}'s gradient as it was thrown away: {event.norm:.4g}"
            return


def _moved(trace: Trace, clear: Site) -> tuple[Edit, ...]:
    """The clearing statement, moved before the backward where both stand in one block."""
    here = Source(trace, clear.path)
    statement = here.file.statement(clear)
    backward = here.earlier(statement, calls("backward"))
    if statement is None or backward is None:
        return ()
    before, gone = here.before(backward, here.file.text(statement)), here.remove(statement)
    return before + gone if before and gone else ()
