"""Calls that make NaN or infinity of some numbers, and which of them was on the way."""

from __future__ import annotations

from collections.abc import Iterator

from gradscope.analysis.names import names_of, op_name
from gradscope.analysis.non_finite import call_of
from gradscope.analysis.ops import (
    EXPONENTIALS,
    JOINING,
    LOGARITHMS,
    NORMS,
    PASSING,
    QUOTIENTS,
    ROOTS,
    STATISTICS,
    SUMS,
)
from gradscope.analysis.reach import Key, Paths, paths
from gradscope.analysis.words import user
from gradscope.events import NonFinite
from gradscope.model import Graph, Op, Site
from gradscope.store import Trace

DELICATE = (LOGARITHMS | ROOTS | QUOTIENTS | STATISTICS | EXPONENTIALS) - {"pow", "mean"}


def makers_of(trace: Trace, event: NonFinite) -> list[Op]:
    """The calls on the way to the input that can make such a number, in a pass that was looked at: of each line one,
    nearest first."""
    origin, known = user(trace.site(event.origin)), paths(trace)
    values = event.values
    if event.graph >= 0 and values and values[0] < len(known.graph(event.graph).values):
        own = {o.site.user.location(): o for o in _risky(known, [(event.graph, values[0])])}
        if own:
            return list(own.values())
    risky: dict[tuple[str, int], Op] = {}
    for number in reversed(known.graph_ids):  # any of them may have been the one of this pass
        for op in known.graph(number).ops:
            if origin is not None and op.nodes and op.site.user.location() == origin.location():
                for one in _risky(known, [(number, i) for i in op.inputs[:1]]):
                    risky.setdefault(one.site.user.location(), one)
                break
    return list(risky.values())


def _risky(known: Paths, entered: list[Key]) -> Iterator[Op]:
    """The user's own calls before these values that have numbers they cannot take. A quotient
    counts where its divisor is computed from what is divided: a constant is rarely 0."""
    for number, index in list(known.flow(entered).order)[:1000]:
        graph = known.graph(number)
        op = graph.maker(index)
        if op is None or op.name not in DELICATE or op.site.user.kind != "user":
            continue
        by_itself = len(op.inputs) > 1 and not set(graph.upstream(op.inputs[0])).isdisjoint(
            graph.upstream(op.inputs[-1])[1:]
        )
        if op.name not in QUOTIENTS or by_itself:
            yield op


def quotient_of_gradients(trace: Trace, event: NonFinite) -> Op | None:
    """The one division, among what the program itself computes with these gradients, that can be of 0 by 0: the
    divisor is computed from what is divided, and nothing is added to it."""
    taken = {place for id in event.parameters for place in trace.parameter(id).taken_at}
    found: dict[tuple[str, int], Op] = {}
    for graph in trace.graphs:
        for op in graph.called(QUOTIENTS):
            site = op.site.user
            if op.nodes or len(op.inputs) != 2:
                continue
            if (site.path, site.line, site.column) in taken and _of_itself(graph, op):
                found.setdefault(site.location(), op)
    return next(iter(found.values())) if len(found) == 1 else None


def _of_itself(graph: Graph, op: Op) -> bool:
    """Whether a quotient's divisor is a size of what is divided, as it is: `x / x.norm()`."""
    divided = set(graph.upstream(op.inputs[0]))
    index = op.inputs[1]
    while index not in divided:
        maker = graph.maker(index)
        if maker is None or len(maker.inputs) != 1 or maker.name not in SIZES:
            return False
        index = maker.inputs[0]
    return index != op.inputs[1]


SIZES = NORMS | {"pow", "square", "sum", "sqrt", "max", "amax", "abs", "mean", "item", "float"}


def idle_guard(trace: Trace, event: NonFinite) -> Op | None:
    """The sign in a divisor `d + sign(d) * eps`, which is meant to keep it away from 0 and is 0 where `d` is."""
    called = call_of(trace, event)
    if called is None:
        return None
    graph, op = called
    made = graph.maker(op.inputs[-1]) if op.name in QUOTIENTS and op.inputs else None
    if made is None or made.name not in SUMS or len(made.inputs) != 2:
        return None
    for base, added in (made.inputs, made.inputs[::-1]):
        sign = graph.maker(added)
        while sign is not None and _is_scaled(sign):
            sign = graph.maker(sign.inputs[0])
        if sign is not None and sign.name in ("sign", "sgn") and sign.inputs[0] == base:
            return sign
    return None


_SCALED = {"mul", "div", "neg"}  # by a number


def exponents(trace: Trace, origin: Site | None) -> tuple[str, Site | None, list[Site]]:
    """For an exponential that overflowed there: what the exponent is called, the line that makes it and nothing else,
    and the other exponentials that are taken of it or of a multiple."""
    known = paths(trace)
    for number in reversed(known.graph_ids):
        graph = known.graph(number)
        for op in graph.called(EXPONENTIALS):
            if origin is not None and op.inputs and op.site.user == origin:
                value = graph.values[op.inputs[0]]
                while not (others := _exponentials(graph, value.index, origin)):
                    if value.op is None or not _is_scaled(graph.ops[value.op]):
                        break
                    value = graph.values[graph.ops[value.op].inputs[0]]
                made = graph.ops[value.op].site.user if value.op is not None else None
                if made is not None and sum(one.site.user.span() == made.span() for one in graph.ops) > 1:
                    made = None  # a line that several layers share
                direct = names_of(trace).receiver(origin) if value.index == op.inputs[0] else None
                return names_of(trace).name(graph, value.index) or direct or "", made, others
    return "", None, []


def divide_too(trace: Trace, event: NonFinite) -> list[Op]:
    """All quotients by the very divisor of this one, in program order; none where it is the only one."""
    called = call_of(trace, event)
    if called is None:
        return []
    graph, divisor = called[0], _divisor(called[1])
    found = {
        op.site.user.location(): op
        for op in (graph.consumers.get(divisor, ()) if divisor is not None else ())
        if _divisor(op) == divisor and op.site.user.kind == "user"
    }
    return list(found.values()) if len(found) > 1 else []


def root_of_divisor(trace: Trace, event: NonFinite) -> Op | None:
    """The square root, with a graph, that a quotient's divisor is: 0 where what is under it is, and its derivative
    infinite there."""
    called = call_of(trace, event)
    divisor = _divisor(called[1]) if called is not None else None
    if called is None or divisor is None:
        return None
    made = called[0].maker_behind(divisor, PASSING - JOINING)
    return made if made is not None and made.name == "sqrt" and made.nodes else None


def _divisor(op: Op) -> int | None:
    """The tensor that a quotient divides by; a number is none."""
    one_sided = op.name in ("reciprocal", "__rdiv__")
    return op.inputs[-1] if op.name in QUOTIENTS and len(op.inputs) == (1 if one_sided else 2) else None


def _is_scaled(op: Op) -> bool:
    return op.name in _SCALED and len(op.inputs) == 1


def _exponentials(graph: Graph, index: int, but: Site) -> list[Site]:
    found = {
        op.site.user.location(): op.site.user
        for _, op in graph.readers_behind([index], _is_scaled)
        if op.name in EXPONENTIALS and op.site.user.kind == "user"
    }
    return [site for place, site in found.items() if place != but.location()]


DIVERGED = 1e9  # what is larger got so by growing: no operation of its own is to blame


def overflow(event: NonFinite) -> bool:
    """Whether numbers had grown until plain arithmetic could not hold them."""
    if event.where == "parameter":
        return True
    ranges = [abs(float(data[end])) for data in event.inputs for end in ("min", "max") if end in data]
    if ranges:
        return max(ranges) > DIVERGED
    return event.where == "forward" and op_name(str(event.name)) not in DELICATE


def grown_until_it_broke(trace: Trace) -> bool:
    """Whether what is not finite in this run got so by growing alone, all of it; also where nothing is."""
    return all(map(overflow, trace.of(NonFinite)))
