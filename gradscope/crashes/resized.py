"""Errors of sizes where the tensor at hand was to get another size, and an alias of it got that."""

from __future__ import annotations

from gradscope.analysis.names import names_of
from gradscope.analysis.words import quoted, source
from gradscope.analysis.writes import memory_root
from gradscope.crashes import Crash, Place, explain
from gradscope.events import ErrorRaised
from gradscope.model import Graph, Op, Value

RESIZES = {"resize_", "resize_as_"}
Resized = tuple[Graph, Value, Op]  # what the failing call was given, and the call that resized an alias of it


def _resized(crash: Crash) -> Resized | None:
    for error in crash.trace.of(ErrorRaised):
        if error.text != crash.event.text or error.graph < 0:
            continue
        graph = crash.trace.graph(error.graph)
        given = {memory_root(graph, i): graph.values[i] for i in error.inputs if i is not None}
        for op in reversed(graph.called(RESIZES)):
            if not op.writes or graph.values[op.writes[0]].alias_of is None:
                continue
            value = given.get(memory_root(graph, op.writes[0]))
            if value is not None and value.shape != graph.values[op.written[0]].shape:
                return graph, value, op
    return None


def _words(crash: Crash) -> dict[str, str]:
    found = _resized(crash)
    if found is None:
        return {}
    graph, value, op = found
    name = names_of(crash.trace).name(graph, value.index)
    call = source(crash.trace, op.site.user)
    shown = " ".join(call.split())
    return {
        "given": quoted(name) if name else "what the call was given",
        "old": "×".join(map(str, value.shape)),
        "new": "×".join(map(str, graph.values[op.written[0]].shape)),
        "call": quoted(shown) if shown else "`.data.resize_()`",
        "itself": quoted(shown.replace(".data.", ".", 1)) if ".data." in shown else "`x.resize_(…)`",
    }


def _where(crash: Crash) -> Place | None:
    found = _resized(crash)
    return (found[2].site.user, "resizes an alias, not the tensor itself") if found is not None else None


def _seen(crash: Crash) -> tuple[str, ...]:
    words = _words(crash)
    return ("{call} made the alias {new}, and {given} is {old} as before".format(**words),) if words else ()


explain(
    "resized-through-data",
    r"^(?=[\s\S]*(?:size|shape|channels|dimension))",
    "{given} still has the shape {old}: {call} resized another tensor that shares its memory",
    why="`.data` gives a tensor with a size of its own: to resize that one, and to fill it, leaves the size of the one"
    " that it was taken of as it was",
    fix="resize the tensor itself ({itself}) before it is filled, or go on with the loaded tensor in its place;"
    " the layer may be right as it is",
    cause=_where,
    when=lambda crash: _resized(crash) is not None,
    seen=_seen,
    words=_words,
)
