"""Where the program writes into gradients between a pass and a step."""

from __future__ import annotations

from collections.abc import Iterable

from gradscope.model import Site
from gradscope.store import Trace


def writes_into(trace: Trace, parameters: Iterable[int]) -> Site | None:
    """The line that writes into tensors of the forms of all these weights, which neither are parameters nor were
    computed: their gradients."""
    wanted = {trace.parameter(id).shape for id in parameters}
    met: dict[tuple[str, int], set[tuple[int, ...]]] = {}
    for graph in trace.graphs:
        for op in graph.writing:
            values = [graph.values[index] for index in op.writes]
            plain = [v for v in values if v.op is None and v.parameter is None and not v.requires_grad]
            met.setdefault(op.site.user.location(), set()).update(value.shape for value in plain)
            if wanted <= met[op.site.user.location()]:
                return op.site.user
    return None
