"""Calls that make NaN or infinity of some numbers, and which of them was on the way."""

from __future__ import annotations

from collections.abc import Iterator

from gradscope.analysis.names import op_name
from gradscope.analysis.ops import EXPONENTIALS, LOGARITHMS, QUOTIENTS, ROOTS, STATISTICS
from gradscope.analysis.reach import Key, Paths, paths
from gradscope.analysis.words import user
from gradscope.events import NonFinite
from gradscope.model import Op
from gradscope.store import Trace

DELICATE = (LOGARITHMS | ROOTS | QUOTIENTS | STATISTICS | EXPONENTIALS) - {"pow", "__pow__", "mean"}


def maker_of(trace: Trace, event: NonFinite) -> Op | None:
    """The one call on the way to the input that can make such a number, in a pass that was looked at."""
    origin, known = user(trace.site(event.origin)), paths(trace)
    values = event.values
    if event.graph >= 0 and values and values[0] < len(known.graph(event.graph).values):
        own = {o.site.user.location(): o for o in _risky(known, [(event.graph, values[0])])}
        if own:
            return next(iter(own.values())) if len(own) == 1 else None
    for number in reversed(known.graph_ids):
        for op in known.graph(number).ops:
            if origin is not None and op.nodes and op.site.user.location() == origin.location():
                risky = {
                    o.site.user.location(): o for o in _risky(known, [(number, i) for i in op.inputs[:1]])
                }
                return next(iter(risky.values())) if len(risky) == 1 else None
    return None


def _risky(known: Paths, entered: list[Key]) -> Iterator[Op]:
    """The user's own calls before these values that have numbers they cannot take. A quotient
    counts where its divisor is computed from what is divided: a constant is rarely 0."""
    for number, index in list(known.flow(entered).order)[:1000]:
        graph = known.graph(number)
        made = graph.values[index].op
        op = graph.ops[made] if made is not None else None
        if op is None or op.name not in DELICATE or op.site.user.kind != "user":
            continue
        if op.name not in QUOTIENTS or set(graph.upstream(op.inputs[0])) & set(
            graph.upstream(op.inputs[-1])[1:]
        ):
            yield op


DIVERGED = 1e9  # what is larger got so by growing: no operation of its own is to blame


def overflow(event: NonFinite) -> bool:
    """Whether numbers had grown until plain arithmetic could not hold them."""
    if event.where == "parameter":
        return True
    ranges = [abs(float(data[end])) for data in event.inputs for end in ("min", "max") if end in data]
    if ranges:
        return max(ranges) > DIVERGED
    return event.where == "forward" and op_name(str(event.name)) not in DELICATE
