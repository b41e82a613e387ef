"""How the program switches the grad modes that a picture shows."""

from __future__ import annotations

import ast

from gradscope.analysis.names import names_of
from gradscope.graph.arrows import Graph
from gradscope.store import Trace

KINDS = ("no_grad", "enable_grad", "inference_mode", "set_grad_enabled")


def opened(trace: Trace, graph: Graph) -> dict[int, str]:
    """Region → the words that open it, as `with torch.set_grad_enabled(training)` or `@torch.no_grad()`; of those that
    the program opens itself."""
    found: dict[int, str] = {}
    todo = list(dict.fromkeys(data["region"] for _, data in graph.nodes.items()))
    for number in todo:  # grows while it is walked
        region = trace.regions.get(number) if number is not None else None
        if region is None or number in found:
            continue
        todo.append(region.parent)
        if (
            region.kind in KINDS
            and region.site.kind == "user"
            and (text := names_of(trace).text(region.site))
        ):
            file = trace.source_file(region.site.path)
            node = file.at(region.site)
            entered = node is not None and isinstance(file.parent.get(id(node)), ast.withitem)
            found[number] = f"with {text}" if entered else text
    return found
