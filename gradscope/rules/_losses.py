"""What stands between a loss function and the op that really made its input."""

from __future__ import annotations

from collections.abc import Iterator

from gradscope.model import Event, Op
from gradscope.rules._paths import Key, Paths
from gradscope.store import Trace

# Calls that hand the numbers on as they are: other shape, type, memory or a selection of them.
PASSING = {
    "view", "view_as", "reshape", "reshape_as", "squeeze", "unsqueeze", "flatten", "unflatten", "transpose",
    "permute", "t", "T", "mT", "movedim", "swapaxes", "contiguous", "clone", "to", "float", "double", "half",
    "bfloat16", "type", "type_as", "cuda", "cpu", "__getitem__", "select", "narrow", "split", "chunk", "unbind", "cat",
    "concat", "stack", "vstack", "hstack", "expand", "repeat", "clamp", "clamp_", "clip", "clamp_min", "clamp_max",
    "index_select", "masked_select", "identity", "resize", "Resize", "ravel", "swapdims", "moveaxis", "flip", "tile",
    "concatenate", "column_stack", "squeeze_", "unsqueeze_",
}  # fmt: skip

JOINING = {"cat", "concat", "concatenate", "stack", "vstack", "hstack", "column_stack"}
PROBABILITIES = {"softmax", "sigmoid", "sigmoid_", "softmax_", "expit"}


def makers(known: Paths, key: Key) -> list[tuple[Key, Op]]:
    """The ops whose results `key` holds, perhaps reshaped, cast, joined or selected from."""
    found: list[tuple[Key, Op]] = []
    seen = {key}
    todo = [key]
    while todo:
        current = todo.pop()
        sources, op = known.sources(current)
        if op is None:
            nexts = sources
        elif op.name in PASSING:
            nexts = sources if op.name in JOINING else sources[:1]
        else:
            found.append((current, op))
            continue
        for source in nexts:
            if source not in seen:
                seen.add(source)
                todo.append(source)
    return found


def losses(known: Paths, names: set[str]) -> Iterator[tuple[Key, Op]]:
    """Each call of these loss functions that a backward pass depends on, with its input."""
    seen: set[tuple[int, int]] = set()
    for graph_id, index in known.used.order:
        graph = known.graph(graph_id)
        maker = graph.values[index].op
        if maker is None or (graph_id, maker) in seen:
            continue
        seen.add((graph_id, maker))
        op = graph.ops[maker]
        if op.name in names and op.inputs and graph.values[op.inputs[0]].requires_grad:
            yield (graph_id, op.inputs[0]), op


def shape_of(known: Paths, key: Key) -> tuple[int, ...]:
    return known.graph(key[0]).values[key[1]].shape


def loss_values(trace: Trace, known: Paths, key: Key) -> list[float]:
    """The measured losses of the backward passes that began at this very value."""
    sites = {event.site.id for event in known.roots.get(key, ())}
    return [value for site in sites for _, value in trace.numbers("loss", site)]


def loss_event(known: Paths, op: Op) -> Event | None:
    """The first backward pass that the result of `op` leads to."""
    return known.loss_of((op.graph, op.outputs[0])) if op.outputs else None
