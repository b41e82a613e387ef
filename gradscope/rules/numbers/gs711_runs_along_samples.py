"""A recurrent layer or attention runs along the samples of a batch, and takes its steps for the samples.

Why: without `batch_first=True` the first axis is time for `nn.LSTM` and its like, and the second one the batch. Of a
batch that comes first each sample then goes on from the one before it, its own steps never meet, and `out[:, -1]` is
not the last step, but the last of the layer's sequences.

Fix: `batch_first=True` where the batch comes first; without it where time does.

The same where the samples lie on the first axis together with another one, as after `x.reshape(batch * rows, …)`; and
where the program itself goes from step to step, hands the state on, and lays what the layer gave side by side along the
axis that is the batch to the layer: each step then runs along the samples, and the one state is handed from the last of
them to the first.

A note where only the loss says which axis the samples are on: steps with a target each may be meant.

Silent on: single sequences, layers along an axis of which nothing says that it holds samples.
"""

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import NamedTuple, TypedDict

from gradscope.analysis.axes import Axes, Run, axes, size_of, time_axis
from gradscope.analysis.ops import ALIASES, JOINING, LOSSES, RECURRENT
from gradscope.analysis.reach import Key, Paths, paths
from gradscope.analysis.words import code, located
from gradscope.fixes.source import Edits
from gradscope.model import Finding, Graph, Op, Site
from gradscope.rules import rule
from gradscope.rules.numbers._layers import made, other_first
from gradscope.store import Trace

LAYERS = RECURRENT | {"multi_head_attention_forward"}  # that are told which axis comes first
PICKING = {"__getitem__", "select"}
TAKEN = PICKING | {"unbind", "__iter__", "split", "chunk", "narrow"}  # one step out of a sequence
SQUEEZING = {"squeeze", "unsqueeze", "contiguous", "dropout"}
CARRYING = ALIASES | {"clone", "contiguous"}


class Cause(TypedDict):
    cause: Site
    cause_label: str


class Pick(NamedTuple):
    """The call that takes one sequence of a layer's, and the loss that takes its places for samples."""

    op: Op
    loss: Op


def bad() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    rnn, head = nn.LSTM(3, 4), nn.Linear(4, 2)  # cause: GS711
    opt = torch.optim.SGD([*rnn.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        out, _ = rnn(torch.randn(8, 5, 3))  # eight samples of five steps
        last = out[:, -1]  # effect: GS711
        loss = nn.functional.cross_entropy(head(last), torch.randint(0, 2, (8,)))
        opt.zero_grad()
        loss.backward()
        opt.step()


def good() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    rnn, head = nn.LSTM(3, 4, batch_first=True), nn.Linear(4, 2)
    opt = torch.optim.SGD([*rnn.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        out, _ = rnn(torch.randn(8, 5, 3))
        loss = nn.functional.cross_entropy(head(out[:, -1]), torch.randint(0, 2, (8,)))
        opt.zero_grad()
        loss.backward()
        opt.step()


@rule("GS711", name="runs-along-samples", severity="warning", over=("GS714",))
def runs_along_samples(trace: Trace) -> Iterator[Finding]:
    if trace.op_names.isdisjoint(LAYERS):
        return
    known, found = paths(trace), axes(trace)
    picks: dict[tuple[str, int], tuple[Pick, list[Run]]] = {}
    others: dict[tuple[str, int], list[Run]] = {}
    for run in found.runs:
        if run.op.name not in LAYERS or size_of(run.along) == 1 or size_of(run.apart) == 1:
            continue
        pick = None if trace.op_names.isdisjoint(PICKING) else _pick(known, found, run)
        if pick is not None:
            picks.setdefault(pick.op.site.user.location(), (pick, []))[1].append(run)
        else:
            others.setdefault((made(trace, known, run.op) or run.op.site.user).location(), []).append(run)
    for stepped in _stepped(known, found):
        yield _of_one_step(trace, known, *stepped)
    for pick, runs in picks.values():
        yield _of_one_sequence(trace, known, runs, pick)
    told = {run.along for _, runs in picks.values() for run in runs}
    for runs in others.values():
        if told.isdisjoint(run.along for run in runs):
            finding = _of_samples(trace, known, found, runs[0])
            if finding is not None:
                told.add(runs[0].along)
                yield finding


def _pick(known: Paths, found: Axes, run: Run) -> Pick | None:
    """The one call that takes a single sequence of all that the layer gives, where nothing else takes part in a loss
    and a loss has a target for each place along it."""
    graph = known.graph(run.op.graph)
    todo = list(run.op.outputs)
    seen = set(todo)
    picks: list[Op] = []
    for value in todo:  # grows while it is walked
        if (graph.id, value) not in known.used.order:
            continue
        if (graph.id, value) in known.roots:
            return None
        for op in known.readers((graph.id, value)):
            if op is None:
                return None
            if _is_pick(found, graph, op, value, run):
                picks.append(op)
                continue
            given = [v for v in (*op.outputs, *op.written) if (graph.id, v) in known.used.order]
            if not given or not all(run.apart in found.of((graph.id, v)) for v in given):
                return None
            todo.extend(v for v in given if v not in seen)
            seen.update(given)
    loss = _loss(known, found, graph, picks[0].outputs, run) if len(picks) == 1 else None
    return Pick(picks[0], loss) if loss is not None else None


def _is_pick(found: Axes, graph: Graph, op: Op, value: int, run: Run) -> bool:
    """Whether it takes one place along the axis of the sequences by a plain number."""
    before, given = found.of((graph.id, value)), found.of((graph.id, op.outputs[0])) if op.outputs else ()
    if op.name not in PICKING or before.count(run.apart) != 1 or run.along not in given:
        return False
    dim = before.index(run.apart)
    if op.name == "select":
        return op.extra.get("dims") in ([dim], [dim - len(before)])
    entries = str(op.extra.get("at", ""))
    if "t" in entries or "n" in entries:
        return False
    if "." in entries:
        entries = entries.replace(".", ":" * (len(before) - len(entries) + 1))
    return entries[dim : dim + 1] == "i"


def _loss(known: Paths, found: Axes, graph: Graph, values: Iterable[int], run: Run) -> Op | None:
    """The loss with a target for each place along the layer's way, where the other axis is gone by then."""
    todo = list(values)
    seen = set(todo)
    for value in todo:  # grows while it is walked
        for op in known.readers((graph.id, value)):
            if op is None:
                continue
            if op.name in LOSSES and len(op.inputs) > 1 and op.inputs[0] == value:
                one, other = (found.of((graph.id, v)) for v in op.inputs[:2])
                if (
                    one
                    and other
                    and one[0] == run.along
                    and size_of(other[0]) == size_of(one[0])
                    and not any(piece in run.apart for axis in one for piece in axis)
                ):
                    return op
            todo.extend(v for v in op.outputs if v not in seen)
            seen.update(op.outputs)
    return None


def _stepped(known: Paths, found: Axes) -> Iterator[tuple[Run, Op, Op, int]]:
    """Recurrent layers that are called for one step after the other, with the state of the call before, each along an
    axis of several places, where the results are laid side by side along their other axis, of one place: the first
    call, what gave its step, what lays them side by side, and how many they are."""
    told: set[tuple[str, int]] = set()
    alone = [
        run for run in found.runs if run.op.name in RECURRENT and size_of(run.apart) == 1 < size_of(run.along)
    ]
    for first, second in pairwise(alone):
        place = first.op.site.user.location()
        if place in told or first.op.graph != second.op.graph or first.op.site.id != second.op.site.id:
            continue
        graph = known.graph(first.op.graph)
        handed = [known.source_behind((graph.id, index), CARRYING) for index in second.op.inputs[1:]]
        steps = [_step(known, (graph.id, run.op.inputs[0])) for run in (first, second)]
        if not any((graph.id, state) in handed for state in first.op.outputs[1:]) or steps[0] is None:
            continue
        if steps[1] is None or steps[0].inputs[0] != steps[1].inputs[0]:
            continue
        axis = 1 - time_axis(first.op)
        for _, joined in graph.readers_behind(first.op.outputs[:1], lambda op: op.name in SQUEEZING):
            if joined.name not in JOINING or not joined.outputs or len(joined.inputs) < 2:
                continue
            rank = len(graph.values[joined.outputs[0]].shape)
            dims = joined.extra.get("dims") or [0]
            if rank == 3 and len(dims) == 1 and dims[0] % rank == axis:
                told.add(place)
                yield first, steps[0], joined, len(joined.inputs)
                break


def _step(known: Paths, key: Key) -> Op | None:
    """The call that took one step, as it is given to a layer, out of a tensor."""
    maker = known.maker_behind(key, SQUEEZING)
    return maker if maker is not None and maker.name in TAKEN and maker.inputs else None


def _of_one_step(trace: Trace, known: Paths, run: Run, step: Op, joined: Op, steps: int) -> Finding:
    layer, along = _name(trace, run), size_of(run.along)
    shape = known.graph(run.op.graph).values[run.op.inputs[0]].shape
    fix, edits = _other_first(trace, known, run, made(trace, known, run.op))
    return Finding(
        message=f"`{layer}` is called for {steps} steps one by one, and in each of them runs along the {along} samples"
        " of the batch: it takes them for a sequence",
        **_cause(trace, known, run),
        effect=run.op.site.user,
        effect_label=f"is given {shape}: one sequence of {along} steps to it",
        related=((joined.site.user, f"lays {steps} results side by side, as steps"),),
        seen=(
            f"each call was given {shape} and the state of the call before; `{joined.name}` lays the {steps} results"
            f" side by side along the axis that is the batch to the layer, so that the {along} places are samples:"
            " there is one state for all of them, which goes from sample to sample",
        ),
        fix=fix,
        edits=edits,
    )


def _of_one_sequence(trace: Trace, known: Paths, runs: list[Run], pick: Pick) -> Finding:
    """`runs`: one layer after the other along the same axis."""
    run, layer = runs[0], _name(trace, runs[0])
    along, apart = size_of(run.along), size_of(run.apart)
    fixes = {made(trace, known, other.op): other for other in runs}
    told = [_other_first(trace, known, other, place) for place, other in fixes.items()]
    return Finding(
        message=f"`{layer}` runs along the {along} samples of the loss, and of its {apart} sequences only one is used",
        **_cause(trace, known, run),
        effect=pick.op.site.user,
        effect_label=f"takes one of {apart} sequences, not a step",
        seen=(
            f"{_given(known, run)}; {code(trace, pick.op.site.user, 'an index')} took one sequence, the other"
            f" {apart - 1} reached no loss, and {_compared(pick.loss, run)}",
        ),
        fix=" and ".join(fix for fix, _ in told),
        edits=tuple(edit for _, edits in told for edit in edits) if all(edits for _, edits in told) else (),
    )


def _of_samples(trace: Trace, known: Paths, found: Axes, run: Run) -> Finding | None:
    """A layer along an axis that holds samples: they were drawn in a random order, or each has a target."""
    drawn = found.drawn(run.along) if found.drawn(run.apart) is None else None
    loss = _loss(known, found, known.graph(run.op.graph), run.op.outputs, run)
    if loss is not None:
        drawn = drawn or found.handed.get(run.along)
    layer = _name(trace, run)
    along, apart = size_of(run.along), size_of(run.apart)
    fix, edits = _other_first(trace, known, run, made(trace, known, run.op))
    if drawn is not None:
        place = drawn.site.user
        return Finding(
            message=f"`{layer}` runs along the {along} samples of a batch, and takes their {apart} steps for samples",
            **_cause(trace, known, run),
            effect=place,
            effect_label=f"gives {along} samples in a random order",
            seen=(
                f"{_given(known, run)}; {located(trace, place)} had drawn these {along} in a random order, so that"
                + (
                    " none goes on from the one before it"
                    if run.op.name in RECURRENT
                    else " they are no sequence"
                )
                + (f", and {_compared(loss, run)}" if loss else ""),
            ),
            fix=fix,
            edits=edits,
        )
    folded = _folded(known, found, run)
    if folded is not None:
        count, told = folded
        merged = found.merged.get(run.along)
        place = told.site.user
        return Finding(
            message=f"`{layer}` runs along an axis in which the {count} samples of a batch lie one behind the other,"
            f" and takes the {apart} steps of each for samples",
            **_cause(trace, known, run),
            effect=merged.site.user if merged is not None else place,
            effect_label=f"merges the axis of {count} samples with another one, into {along}",
            related=((place, f"takes the axis of {count} for the samples"),),
            seen=(
                f"{_given(known, run)}; these {along} were {count} samples by {along // count} others: {count} is the"
                f" axis that {code(trace, place, f'`{told.name}`')} has the samples on",
            ),
            fix=fix,
            edits=edits,
        )
    if loss is None:
        return None
    return Finding(
        message=f"`{layer}` runs along an axis of {along}, and the loss has a target for each place of it",
        **_cause(trace, known, run),
        effect=loss.site.user,
        effect_label=f"compares {along} results with {along} targets",
        seen=(
            f"{_given(known, run)}; {_compared(loss, run)}, its results along the axis of {apart} were put together"
            " before that",
        ),
        fix=f"if these {along} are the samples, {fix}",
        edits=edits,
        severity="note",
    )


def _other_first(trace: Trace, known: Paths, run: Run, site: Site | None) -> tuple[str, Edits]:
    """The layer with its other axis first, and the state that it is given with as many places as there are then
    sequences: the layer alone would fail with it."""
    fix, edits = other_first(trace, run.op, site, _name(trace, run))
    values = known.graph(run.op.graph).values
    states = [
        index
        for index in (run.op.inputs[1:] if run.op.name in RECURRENT else ())
        if values[index].kind != "parameter" and values[index].shape[-2:-1] == (size_of(run.apart),)
    ]
    maker = known.maker((run.op.graph, states[0])) if states else None
    if maker is None or maker.site.kind != "user" or size_of(run.apart) == size_of(run.along):
        return fix, edits
    lines = [frame for frame in maker.site.stack if frame.kind == "user"][-2:]
    calls = [f for f in lines if (f.path, f.function) != (run.op.site.user.path, run.op.site.user.function)]
    by = f", by {' in '.join(located(trace, line) for line in reversed(calls))}" if calls else ""
    shape = list(values[states[0]].shape)
    wanted = [*shape[:-2], size_of(run.along), shape[-1]]
    return (
        f"{fix}, and with it make the state that it is given{by}, of shape {wanted} in place of {shape}: one for each"
        f" of the {size_of(run.along)} samples (`x.size(0)` of the batch `x`)",
        (),
    )


def _folded(known: Paths, found: Axes, run: Run) -> tuple[int, Op] | None:
    """How many samples lie on the axis that a layer runs along, beside another axis, and the call that tells so; not
    of attention with a mask, which may keep them apart."""
    values = known.graph(run.op.graph).values
    if any(
        values[i].kind != "parameter" and values[i].shape[-2:] == (size_of(run.along),) * 2
        for i in run.op.inputs[3:]
    ):
        return None
    both = found.folded(run.apart) is not None or found.drawn(run.apart) is not None
    return None if both else found.folded(run.along)


def _name(trace: Trace, run: Run) -> str:
    return trace.modules[run.op.module].cls if run.op.module in trace.modules else run.op.name


def _cause(trace: Trace, known: Paths, run: Run) -> Cause:
    site = made(trace, known, run.op)
    if site is None:
        return {"cause": run.op.site.user, "cause_label": f"runs along the axis of {size_of(run.along)}"}
    return {"cause": site, "cause_label": "takes the other axis for time"}


def _given(known: Paths, run: Run) -> str:
    shape = known.graph(run.op.graph).values[run.op.inputs[0]].shape
    return (
        f"its input of shape {shape} was {size_of(run.apart)} sequences of {size_of(run.along)} steps to it"
    )


def _compared(loss: Op, run: Run) -> str:
    count = size_of(run.along)
    return f"`{loss.name}` compared the {count} places with {count} targets"
