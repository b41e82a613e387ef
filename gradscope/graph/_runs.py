"""Runs: what one box of a picture stands for, once. A loop that is rolled up, or equal blocks that are folded,
have several in one box."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field

from gradscope.analysis.flow import Flow
from gradscope.analysis.names import op_name
from gradscope.graph._counts import Counts, through_function
from gradscope.graph._fold import fold
from gradscope.graph._joined import Joined
from gradscope.graph._marks import got_gradient
from gradscope.model import Site

MANY = 3  # boxes of one line from which on its rounds are rather one, in whatever order they came


@dataclass
class Run:
    """Ops that follow each other and belong together; `own` is what they belong to."""

    own: Hashable
    ops: list[int] = field(default_factory=list)
    goes_on: bool = False  # with the round that the run before it was of, under another grad mode


def runs_of(owns: Sequence[Hashable]) -> list[Run]:
    """Ops with the same owner in a row."""
    found: list[Run] = []
    for op, own in enumerate(owns):
        if not found or found[-1].own != own:
            found.append(Run(own))
        found[-1].ops.append(op)
    return found


def line_runs(flow: Flow, owns: Sequence[Hashable], frames: Sequence[Site], counts: Counts) -> list[Run]:
    """The runs of lines: a new one where an expression comes again, or one that stands before what the line has come
    to, or calls another module, or a condition goes the other way. frames: of each op the line that stands for it,
    which may have called the one that it stands at."""
    seen: Counter[Hashable] = Counter()  # what the present run has done, and how often
    sides: dict[int, dict[int, str]] = {}  # expression → the side of each condition that it stands on
    taken: dict[int, str] = {}  # condition → the side that the present run has taken
    comprehended: dict[int, bool] = {}  # expression → whether it runs several times in one run of its line
    called: dict[int, list[int]] = {}  # expression → the module that it called in it
    latest: dict[int, int] = {}  # expression → the last op of it
    starts: dict[
        tuple[int, int], bool
    ] = {}  # expression, the one before it → whether it begins the line again

    def again(op: int) -> bool:
        at, frame = flow.ops[op], frames[op]
        if comprehended.setdefault(frame.id, counts.within_comprehension(frame)):
            return False
        module = counts.called(at, frame)
        if called.get(frame.id, module) != module:
            return True
        if any(taken.get(condition, side) != side for condition, side in sides[frame.id].items()):
            return True
        before = frames[op - 1]
        if not sides[frame.id] and starts.setdefault((frame.id, before.id), counts.precedes(frame, before)):
            return True
        if seen[_what(flow, op, frame)] < counts.turns(frame) or counts.looped_within(at.site, frame):
            return False
        return not counts.adds_up(op, latest[frame.id], frame)

    found: list[Run] = []
    for op, own in enumerate(owns):
        frame = frames[op]
        if frame.id not in sides:
            sides[frame.id] = counts.chosen(frame)
        if found and _under_another_mode(found[-1].own, own) and not again(op):
            found.append(Run(own, goes_on=True))
        elif not found or found[-1].own != own or again(op):
            ahead = _made_ahead(flow, found[-1], op) if found and found[-1].own == own else []
            if found and found[-1].own == own and counts.takes_from_generator(frame):
                ahead = [*_generated(found[-1], frames, frame), *ahead]
            found.append(Run(own, ahead))
            seen.clear()
            called.clear()
            taken.clear()
        found[-1].ops.append(op)
        latest[frame.id] = op
        seen[_what(flow, op, frame)] += 1
        called[frame.id] = counts.called(flow.ops[op], frame)
        taken.update(sides[frame.id])
    return found


def _under_another_mode(before: Hashable, own: Hashable) -> bool:
    """Whether two runs are of one line, reached in one way, and differ in the grad mode alone."""
    if not isinstance(before, tuple) or not isinstance(own, tuple):
        return False
    return bool(before[0] == own[0] and before[2] == own[2] and before[1] != own[1])


def rounds_of(runs: list[Run]) -> list[int]:
    """Of each run the first of its round."""
    found: list[int] = []
    for number, run in enumerate(runs):
        found.append(found[-1] if run.goes_on else number)
    return found


def made_ahead(flow: Flow, runs: list[Run]) -> list[Run]:
    """The runs, with the data that one ends with as a run of its own: it was made for what follows."""
    found: list[Run] = []
    for run in runs:
        at = len(run.ops)
        while at > 0 and not flow.inputs[run.ops[at - 1]]:
            at -= 1
        found += [Run(run.own, ops) for ops in (run.ops[:at], run.ops[at:]) if ops]
    return found


def unconnected(flow: Flow, runs: list[Run]) -> list[Run]:
    """The runs, those of what a module or a function does between its parts as one for each piece: lines that neither
    hand each other anything nor take the same are no box together."""
    found: list[Run] = []
    for run in runs:
        own = run.own[0] if isinstance(run.own, tuple) else ()
        if len(run.ops) == 1 or not isinstance(own, tuple) or own[:1] != ("part",):
            found.append(run)
            continue
        pieces = Joined(run.ops)
        first: dict[Hashable, int] = {}
        for op in run.ops:
            at = flow.ops[op].site.user.location()
            taken = [("value", v) for v in flow.inputs[op] if flow.parameter(v) is None]
            for tie in (("line", at), *taken, *(("value", v) for v in flow.outputs[op])):
                pieces.join(op, first.setdefault(tie, op))
        held: dict[int, list[int]] = {}
        for op in run.ops:
            held.setdefault(pieces.first(op), []).append(op)
        found += [Run(run.own, ops) for ops in held.values()]
    return found


def _made_ahead(flow: Flow, run: Run, op: int) -> list[int]:
    """Takes from a run the data that it ends with, made for the next one that begins with `op`."""
    ahead: list[int] = []
    while len(run.ops) > 1 and not flow.inputs[run.ops[-1]]:
        if not set(flow.outputs[run.ops[-1]]) & set(flow.inputs[op]):
            break
        ahead.insert(0, run.ops.pop())
    return ahead


def _generated(run: Run, frames: Sequence[Site], frame: Site) -> list[int]:
    """Takes from a run what it ends with that the generator of a call gave, which comes again."""
    given: list[int] = []
    while len(run.ops) > 1 and frames[run.ops[-1]].within(frame):
        given.insert(0, run.ops.pop())
    return given


def _what(flow: Flow, op: int, frame: Site) -> Hashable:
    at = flow.ops[op]
    return at.site.id, at.name, None if through_function(at.site, frame) else at.module


def folded(flow: Flow, runs: list[Run], least: int, parts: Sequence[Hashable] = ()) -> list[list[int]]:
    """Runs (by number) that are one place of a repeated stretch and differ neither in what they do nor in the
    kinds of modules and parameters that they do it with."""
    signatures = module_signatures(flow)
    tokens = [(run.own, *_contents(flow, run, signatures)) for run in runs]
    return fold(tokens, parts, least, partial=least < 3)


def gathered(
    flow: Flow, runs: list[Run], groups: list[list[int]], around: Sequence[Hashable]
) -> list[list[int]]:
    """The groups, with one for each line of a loop that goes another way by chance: rounds that do the same with the
    same are one where they would be MANY boxes. A loop whose rounds differ stays a row of them. around: of each run the
    lines that called its own."""
    signatures = module_signatures(flow)
    tokens = [(run.own, *_contents(flow, run, signatures)) for run in runs]
    kinds: dict[Hashable, set[Hashable]] = {}  # line → what its rounds do
    boxes = Counter(tokens[group[0]] for group in groups)
    for run, token in zip(runs, tokens, strict=True):
        kinds.setdefault(run.own, set()).add(token)
    mixed = {around[n] for n, run in enumerate(runs) if len(kinds[run.own]) > 1}
    # Data that each round makes anew says nothing.
    fed = [any(flow.inputs[op] for op in run.ops) for run in runs]
    many = {around[n] for n, token in enumerate(tokens) if fed[n] and boxes[token] >= MANY} - mixed
    found: dict[Hashable, list[int]] = {}
    for number, group in enumerate(groups):
        key = tokens[group[0]] if around[group[0]] in many else number
        found.setdefault(key, []).extend(group)
    return sorted(sorted(group) for group in found.values())


def _contents(flow: Flow, run: Run, signatures: dict[int | None, str]) -> tuple[Hashable, ...]:
    ops = [flow.ops[op] for op in run.ops if flow.inputs[op]] or [flow.ops[op] for op in run.ops]
    leaves = {
        state for op in run.ops for v in flow.inputs[op] if (state := parameter_state(flow, v)) is not None
    }
    return (
        frozenset(op_name(op.name) for op in ops),
        frozenset(signatures.get(op.module) for op in ops),
        frozenset(leaves),
        frozenset(op.cut for op in ops),
    )


def parameter_state(flow: Flow, value: int) -> Hashable:
    """What must agree for two ops to be drawn as one: only parameters have a state of their own."""
    parameter = flow.parameter(value)
    if parameter is None:
        return None
    return flow.values[value].requires_grad, parameter.shape, got_gradient(flow, value)


def module_signatures(flow: Flow) -> dict[int | None, str]:
    """Module → its place with numbers left out: equal for `blocks.0.ln` and `blocks.7.ln`."""
    found: dict[int | None, str] = {}
    for id, module in flow.trace.modules.items():
        found[id] = f"{module.root}:{re.sub(r'[0-9]+', '#', module.path)}:{module.cls}"
    return found


def aligned(runs: list[Run], groups: list[list[int]]) -> list[list[int]]:
    """Ops that are the same part of folded runs; those of runs that did more stand for themselves."""
    found = []
    for group in groups:
        first = runs[group[0]].ops
        rows = [runs[number].ops for number in group]
        if all(len(row) == len(first) for row in rows):
            found += [list(column) for column in zip(*rows, strict=True)]
        else:
            found += [[op] for row in rows for op in row]
    return sorted(found)
