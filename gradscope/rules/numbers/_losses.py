"""What stands between a loss function and the op that really made its input."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.analysis.one_hots import one_hot
from gradscope.analysis.ops import JOINING, PASSING, PRODUCTS_OF_MATRICES, RELUS
from gradscope.analysis.reach import Key, Paths
from gradscope.analysis.words import plural
from gradscope.events import Backward, Targets
from gradscope.fixes.calls import unwrapped, without_last_layer
from gradscope.fixes.source import Edits, Source
from gradscope.model import Op, Span
from gradscope.store import Trace


def makers(known: Paths, key: Key, *, cut: bool = False) -> list[tuple[Key, Op]]:
    """The ops whose results `key` holds, perhaps reshaped, cast, joined or selected from, or clamped; with `cut`, a
    clamp at 0, which works as a ReLU does, is one of them."""
    found: list[tuple[Key, Op]] = []
    seen = {key}
    todo = [key]
    while todo:
        current = todo.pop()
        sources, op = known.sources(current)
        if op is None:
            nexts = sources
        elif op.name in PASSING and not (cut and cuts_at_zero(op)):
            nexts = sources if op.name in JOINING else sources[:1]
        else:
            found.append((current, op))
            continue
        for source in nexts:
            if source not in seen:
                seen.add(source)
                todo.append(source)
    return found


def cuts_at_zero(op: Op) -> bool:
    """Whether a call gives 0 for what is below 0, and else what it was given, perhaps up to a bound."""
    return op.name in RELUS or op.extra.get("low") == 0


def without_cut(trace: Trace, maker: Op) -> Edits:
    """`x` for `torch.relu(x)`, `x.clamp(min=0)` and the like, or the same `nn.Sequential` without its last layer."""
    site = maker.site.user
    here = Source(trace, site.path)
    call = here.file.at(site)
    if maker.extra.get("low") == 0 and isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
        value = (*call.args, None)[0] if here.file.is_imported(call.func) else call.func.value
        statement = isinstance(here.file.parent.get(id(call)), ast.Expr)
        if value is None or statement or call.func.attr != maker.name:
            return ()
        return here.replace(call, here.file.text(value))
    return unwrapped(trace, site) or without_last_layer(trace, maker)


def weights_of_labels(known: Paths, op: Op) -> Key | None:
    """What the result of `op` mixes one-hot labels by: `w` of `w @ F.one_hot(y)` and of
    `(w * F.one_hot(y)).sum(1)`. By probabilities that gives probabilities."""
    if op.name == "sum":
        made = known.sources((op.graph, op.inputs[0]))[1]
        if made is None or made.name != "mul":
            return None
        op = made
    elif op.name not in PRODUCTS_OF_MATRICES:
        return None
    sources = [(op.graph, value) for value in op.inputs]
    labels = [key for key in sources if one_hot(known, key) is not None]
    others = [key for key in sources if key not in labels]
    return others[0] if len(labels) == 1 and len(others) == 1 else None


def evaluated(known: Paths, names: set[str]) -> Iterator[tuple[Key, Op]]:
    """Each call of these loss functions that no backward pass depends on and that measures what
    a trained model gives, with its input."""
    for graph_id in known.graph_ids if known.trace.op_names & names else ():
        for op in known.graph(graph_id).ops:
            if op.name not in names or not op.inputs or not op.outputs:
                continue
            key = (graph_id, op.inputs[0])
            if (graph_id, op.outputs[0]) in known.used.order or key in known.used.order:
                continue
            behind = map(known.parameter_of, known.nearest_first(key))
            if any(p is not None and known.stepped(p) for p in behind):
                yield key, op


def measured_targets(trace: Trace) -> dict[tuple[Span, str], Targets]:
    """What was measured of the targets of losses, by the call and its name: several stand on one line."""
    return {(event.site.user.span(), event.name): event for event in trace.of(Targets)}


def unused(count: int) -> str:
    return f"in {plural(count, 'call')} that no backward pass depends on"


def losses(known: Paths, names: set[str]) -> Iterator[tuple[Key, Op]]:
    """Each call of these loss functions that a backward pass depends on, with its input."""
    seen: set[tuple[int, int]] = set()
    for _, op in known.used_calls(names):
        if (op.graph, op.index) not in seen:
            seen.add((op.graph, op.index))
            if op.inputs and known.graph(op.graph).values[op.inputs[0]].requires_grad:
                yield (op.graph, op.inputs[0]), op


def of_zeros_and_ones(trace: Trace, known: Paths, names: set[str]) -> Iterator[tuple[Targets, Op]]:
    """The calls of these loss functions, one for each place, whose targets were 0 and 1 at the first call, and nothing
    else."""
    targets = measured_targets(trace)
    told: set[Span] = set()
    for _, op in losses(known, names):
        span = op.site.user.span()
        event = targets.get((span, op.name))
        if event is not None and (event.low, event.high, event.between) == (0, 1, 0) and span not in told:
            told.add(span)
            yield event, op


def one_along_the_last(event: Targets) -> bool:
    """Whether such targets of several axes have exactly one 1 along the last, and not along that of the classes."""
    return event.last == (1, 1) and (event.least, event.most) != (1, 1)


def shape_of(known: Paths, key: Key) -> tuple[int, ...]:
    return known.value(key).shape


def loss_values(trace: Trace, known: Paths, key: Key) -> list[float]:
    """The measured losses of the backward passes that began at this very value."""
    sites = {event.site.id for event in known.roots.get(key, ())}
    return [value for site in sites for _, value in trace.numbers("loss", site)]


def loss_event(known: Paths, op: Op) -> Backward | None:
    """The first backward pass that the result of `op` leads to."""
    return known.loss_of((op.graph, op.outputs[0])) if op.outputs else None
