"""Which stored graphs a picture shows: those of one step, or the ones that matter most."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from gradscope.analysis.flow import origin_of
from gradscope.analysis.lost import lost
from gradscope.analysis.memo import once
from gradscope.analysis.reach import Key
from gradscope.events import (
    Backward,
    ErrorRaised,
    HiddenWrite,
    Mode,
    ModuleCall,
    RequiresGrad,
    Step,
    ZeroGrad,
)
from gradscope.graph._earlier import earlier, source_of
from gradscope.graph._marks import severing
from gradscope.model import Finding, GradscopeError, Segment, Span
from gradscope.store import Trace

HAPPENS = (Backward, ErrorRaised, HiddenWrite, Mode, ModuleCall, RequiresGrad, Step, ZeroGrad)
MAX_OPS = 20_000  # of several segments shown together


@dataclass
class Selection:
    """Ids of graphs in program order, and what the reader should know about the choice. origins: as for `join`.
    times: graph → how often it ran there, where that is known."""

    graphs: list[int]
    notes: list[str] = field(default_factory=list)
    title: str = ""
    origins: dict[Key, Key] = field(default_factory=dict)
    times: dict[int, int] = field(default_factory=dict)


@dataclass
class _Step:
    first: int
    last: int
    segments: list[Segment]

    @property
    def graphs(self) -> list[int]:
        return list(self.times)

    @property
    def times(self) -> dict[int, int]:
        """How often each graph ran in it; a row of equal steps is one of them."""
        found: dict[int, int] = {}
        for segment in self.segments:
            if segment.graph is not None:
                rounds = 1 if segment.is_step else segment.repeat
                found[segment.graph] = found.get(segment.graph, 0) + rounds
        return found


def _steps(trace: Trace) -> tuple[list[_Step], list[Segment]]:
    """The optimizer steps of the run, and the segments after the last of them."""
    steps: list[_Step] = []
    rest: list[Segment] = []
    done = 0
    for segment in trace.segments:
        rest.append(segment)
        if segment.is_step:
            steps.append(_Step(done + 1, done + segment.repeat, rest))
            done += segment.repeat
            rest = []
    return steps, rest


def select(trace: Trace, step: int | None = None, findings: Sequence[Finding] = ()) -> Selection:
    """The graphs of optimizer step `step` (from 1); without it, of the last step in which the worst of
    `findings` (the first of them) shows. Where there is none, of a crash or a backward after the last step, else of
    the last step with those that take turns with it, else (no optimizer) of the whole run; but of the last step in
    which a gradient is lost, where that shows none. step=0 means all graphs of the run."""
    steps, tail = _steps(trace)
    if step is not None and step != 0:
        return _chosen(trace, steps, step)
    if step is None and steps and (worst := _with_worst(trace, steps, tail, findings)) is not None:
        return worst
    latest = _latest(trace, steps, tail, whole=step == 0)
    if step is None and lost(trace) and not _shows_what_is_lost(trace, steps, latest):
        at = {end.op.graph for end in lost(trace).values()}
        for found in reversed(steps):
            if at.intersection(found.graphs):
                return _because(
                    steps,
                    _step_of(trace, steps, found, found.last),
                    found,
                    "the last in which a gradient is lost",
                )
    return latest


def _because(steps: list[_Step], chosen: Selection, step: _Step, why: str) -> Selection:
    """A step that was chosen for the reader: why it is not the last of the run."""
    if step is steps[-1]:
        return chosen
    notes = [*chosen.notes, f"{chosen.title} {'are' if ' and ' in chosen.title else 'is'} drawn, {why}"]
    return replace(chosen, notes=notes)


def _shows_what_is_lost(trace: Trace, steps: list[_Step], chosen: Selection) -> bool:
    own = all(_is_own(trace, steps, step) for step in steps if step.graphs == chosen.graphs)
    return own and severing(trace, chosen.graphs)


def _with_worst(
    trace: Trace, steps: list[_Step], tail: list[Segment], findings: Sequence[Finding]
) -> Selection | None:
    """The last step with most of the places of the worst finding whose places a graph has, those counted that passes
    before ran for it; of a gradient that is lost, one in which it is."""
    after = _Step(0, 0, tail)
    for finding in findings:
        if finding.severity == "note":
            break
        places = {s.span() for s in (finding.cause, finding.effect) if s is not None}
        held = [
            (step, places & _places(trace, step, tail=step is after))
            for step in (*steps, after)
            if step.graphs
        ]
        if not any(found == places for _, found in held):  # in no step alone
            graphs = dict.fromkeys(tuple(step.graphs) for step, _ in held)
            before = {ids: places & _places_before(trace, ids) for ids in graphs}
            held = [(step, found | before[tuple(step.graphs)]) for step, found in held]
        most = max((len(found) for _, found in held), default=0)
        fitting = [step for step, found in held if len(found) == most] if most else []
        if len(fitting) > 1 and fitting[-1] is after:
            trains, evaluates = (_is_of_a_loss(trace, step, places) for step in fitting[-2:])
            if trains and not evaluates:
                fitting.pop()  # an evaluation that runs the same lines shows less than a step
        losing = [step for step in fitting if severing(trace, step.graphs)]
        if fitting:
            own = next((step for step in reversed(losing) if _is_own(trace, steps, step)), None)
            step = own or (losing or fitting)[-1]
            if step is after:
                return Selection(after.graphs, [], "after the last step", times=after.times)
            return _because(steps, _step_of(trace, steps, step, step.last), step, f"for {finding.code}")
    return None


def _is_of_a_loss(trace: Trace, step: _Step, places: set[Span]) -> bool:
    """Whether something that a pass goes through stands at one of these places."""
    for event in trace.of(Backward):
        if event.graph not in step.graphs:
            continue
        graph = trace.graph(event.graph)
        for index in (value for root in event.roots for value in graph.upstream(root)):
            op = graph.values[index].op
            site = graph.ops[op].site if op is not None else None
            if site is not None and not places.isdisjoint((site.span(), site.user.span())):
                return True
    return False


def _places(trace: Trace, step: _Step, tail: bool) -> set[Span]:
    """Where the ops and the events of a step stand. tail: it is what came after the last one, where also stands what
    is summed up when the run ends."""
    sites = [op.site for id in step.graphs for op in trace.graph(id).ops]
    lists = {(s.events, s.graph) for s in step.segments}
    own = {index for index, key in _lists(trace).items() if key in lists}
    events = trace.of(*HAPPENS) if tail else trace.events
    sites += [event.site for event in events if event.segment in own]
    return {frame.span() for site in sites for frame in (site, site.user)}


def _places_before(trace: Trace, graphs: Sequence[int]) -> set[Span]:
    """Where that stands which passes before made for these graphs, and which is drawn with them."""
    made = earlier(trace, list(graphs))
    sites = [trace.graph(id).ops[op].site for id, ops in made.items() for op in ops]
    return {frame.span() for site in sites for frame in (site, site.user)}


@once
def _lists(trace: Trace) -> dict[int, tuple[int | None, int | None]]:
    """Segment → which list of events and which graph it has: an event is known by its first segment."""
    return {s.index: (s.events, s.graph) for s in trace.segments}


def _latest(trace: Trace, steps: list[_Step], tail: list[Segment], whole: bool) -> Selection:
    if steps and not whole:
        busy = {e.segment for e in trace.of(Backward) if e.graph >= 0}
        busy |= {e.segment for e in trace.of(ErrorRaised)}
        after = _Step(0, 0, tail)
        if after.graphs and any(s.index in busy for s in tail):
            return Selection(after.graphs, [], "after the last step", times=after.times)
        if (turns := _in_turns(trace, steps)) is not None:
            return turns
        for found in reversed(steps):
            if found.graphs:
                return _because(
                    steps, _step_of(trace, steps, found, found.last), found, "the last that was looked at"
                )
    times: Counter[int] = Counter()
    for segment in trace.segments:
        if segment.graph is not None:
            times[segment.graph] += segment.repeat
    return replace(_within_size(trace, list(times)), times=times)


def _in_turns(trace: Trace, steps: list[_Step]) -> Selection | None:
    """The last round of optimizers that take turns, as in a GAN, from the one that begins: of each its last step.
    None where they do not, where that was long ago, or where a step took over what it would have to be drawn with."""
    by = _optimizers(trace)
    held = [by.get(step.segments[-1].events, set()) for step in steps]
    end = next((n for n in range(len(steps))[::-1] if steps[n].graphs and held[n] - held[0]), 0)
    turns = {frozenset(held[end]): steps[end]}
    for number in range(end)[::-1]:
        if held[number] & held[end]:
            if len(turns) > 1:
                break
        elif held[number] and steps[number].graphs:
            turns.setdefault(frozenset(held[number]), steps[number])
    else:
        return None
    later = sum(1 for step in steps[end + 1 :] if step.graphs)
    whole = all(_is_whole(trace, steps, step) for step in turns.values())
    if len(turns) == 1 or later > end - number or not whole:
        return None
    found = list(turns.values())[::-1]
    *numbers, last = (str(step.last) for step in found)
    together = _Step(found[0].first, found[-1].last, [segment for step in found for segment in step.segments])
    title = f"steps {', '.join(numbers)} and {last} of {steps[-1].last}"
    chosen = Selection(together.graphs, [], title, _taken(trace, together), together.times)
    return _because(steps, chosen, found[-1], "the last round that was looked at")


def _step_of(trace: Trace, steps: list[_Step], wanted: _Step, step: int) -> Selection:
    """A step with what it took over; the first one with the same grad graphs where that also has what a model made
    for it (a rollout), which this one took over from steps before."""
    if not _is_whole(trace, steps, wanted):
        _, wanted = _like(trace, steps, wanted)
    return Selection(
        wanted.graphs, [], f"step {step} of {steps[-1].last}", _taken(trace, wanted), wanted.times
    )


def _taken(trace: Trace, step: _Step) -> dict[Key, Key]:
    """(graph, value) → where it came from in a step, where that is not `value.origin`. Of a graph that ran several
    times in it, where that was another one each time, the first that ran before it: a picture has it there."""
    found: dict[Key, Key] = {}
    settled: set[Key] = set()
    before: set[int] = set()
    runs = [(s.graph, trace.taken(s)) for s in step.segments if s.graph is not None]
    moved = {(graph, value) for graph, taken in runs for value in taken}
    for graph, taken in runs:
        for key in [key for key in moved - settled if key[0] == graph]:
            at = taken.get(key[1], trace.graph(graph).values[key[1]].origin)
            if at is not None:
                found[key] = at
                if at[0] in before and at[0] != graph:
                    settled.add(key)
        before.add(graph)
    return found


def _is_whole(trace: Trace, steps: list[_Step], step: _Step) -> bool:
    """Whether a step made all that the first one with the same grad graphs made for them out of parameters."""
    same, first = _like(trace, steps, step)
    if first is step:
        return True
    own, origins, others = set(step.graphs), _taken(trace, step), set(first.graphs) - set(same)
    for id in same:
        for value in trace.graph(id).values:
            if value.origin is None or value.origin[0] not in others or value.parameter is not None:
                continue
            now = origin_of(id, value, origins)
            made = now is not None and now[0] in own
            if not made and source_of(trace, value.origin, {}) is not None:
                return False
    return True


def _like(trace: Trace, steps: list[_Step], wanted: _Step) -> tuple[list[int], _Step]:
    """The grad graphs of a step, and the first step that has the same."""
    built = set(trace.graphs_with_nodes)
    same = [g for g in wanted.graphs if g in built]
    return same, next((s for s in steps if same and [g for g in s.graphs if g in built] == same), wanted)


def _is_own(trace: Trace, steps: list[_Step], wanted: _Step) -> bool:
    """Whether the grad graphs of a step, or of the first like it, were all built there first: of one that is put
    together of graphs that several steps before it stored, it is not known how they hang together."""
    same, first = _like(trace, steps, wanted)
    before = {g for step in steps[: steps.index(first)] for g in step.graphs} if first in steps else set()
    return before.isdisjoint(same)


def _chosen(trace: Trace, steps: list[_Step], step: int) -> Selection:
    total = steps[-1].last if steps else 0
    if not 1 <= step <= total:
        known = f"it has steps 1 to {total}" if total else "no optimizer stepped in it"
        raise GradscopeError(f"the run has no step {step}: {known}")
    at = next(i for i, s in enumerate(steps) if s.first <= step <= s.last)
    if steps[at].graphs:
        return _step_of(trace, steps, steps[at], step)
    by = _optimizers(trace)
    own = by.get(steps[at].segments[-1].events)
    near = [other for other in [*reversed(steps[:at]), *steps[at + 1 :]] if other.graphs]
    alike = [other for other in near if by.get(other.segments[-1].events) == own]
    for other in alike or near:
        note = f"step {step} was not captured in full: showing step {other.last}"
        return Selection(other.graphs, [note], f"step {other.last} of {total}")
    raise GradscopeError(f"no graph of step {step} was captured, nor of any other step")


def _optimizers(trace: Trace) -> dict[int | None, set[int]]:
    """Events of a segment → the optimizers that stepped in it."""
    events = {segment.index: segment.events for segment in trace.segments}
    found: dict[int | None, set[int]] = {}
    for step in trace.of(Step):
        found.setdefault(events.get(step.segment), set()).add(step.optimizer)
    return found


def _within_size(trace: Trace, graphs: list[int]) -> Selection:
    kept: list[int] = []
    size = 0
    for id in reversed(graphs):
        size += len(trace.graph(id).ops)
        if kept and size > MAX_OPS:
            note = f"showing the last {len(kept)} of {len(graphs)} graphs: `--step N` shows those of one step"
            return Selection(kept[::-1], [note], "end of the run")
        kept.append(id)
    return Selection(kept[::-1], [], "whole run")
