"""Losses of many steps that were backwarded, and meet again later, each still with its graph."""

from __future__ import annotations

from collections.abc import Iterator

from gradscope.model import Finding, Op, Value
from gradscope.rules._common import code, plural
from gradscope.rules._keeping import stored_at, without_graph
from gradscope.rules._paths import Paths
from gradscope.rules._unread import passes_then_and_now
from gradscope.store import Trace

MANY = 4  # losses kept that are no accident


def meeting(trace: Trace, known: Paths) -> Iterator[Finding]:
    """Backwarded losses of many steps that meet again, each still with its graph."""
    told: set[tuple[str, int]] = set()
    for number in known.graph_ids:
        graph = known.graph(number)
        kept: dict[tuple[str, int], list[tuple[Value, Op]]] = {}
        for value in graph.values:
            if value.kind == "carried" and value.origin in known.roots and value.site is not None:
                for op in graph.consumers.get(value.index, ())[:1]:
                    if graph.values[op.outputs[0]].requires_grad if op.outputs else False:
                        kept.setdefault(value.site.user.location(), []).append((value, op))
        for place, found in kept.items():
            value, op = found[0]
            if len(found) < MANY or place in told or (number, found[-1][1].outputs[0]) in known.used.order:
                continue
            told.add(place)
            assert value.site is not None
            stored = stored_at(trace, value.site)
            cause = stored or value.site.user
            fix, edits = without_graph(trace, cause, handed=stored is not None, stored=stored is not None)
            nodes = sum(len(known.reach([v.origin]).nodes) for v, _ in found if v.origin is not None)
            held = f"{len(found)} losses hold {plural(nodes, 'node')} of their graphs"
            yield Finding(
                message=f"a list of losses keeps the graph of every step alive: {code(trace, cause)}",
                cause=cause,
                cause_label="each value brings its graph along",
                related=((op.site.user, f"{len(found)} losses meet here"),),
                seen=tuple(filter(None, (held, passes_then_and_now(trace)))),
                fix=fix,
                count=len(found),
                edits=edits,
                subjects=frozenset({("keeps", place)}),
            )
