"""`.data` that is read of what a network returned."""

from __future__ import annotations

from gradscope.memo import once
from gradscope.model import Site
from gradscope.rules._common import memory_root
from gradscope.rules._paths import Key, paths
from gradscope.store import Trace


@once
def reads_of_results(trace: Trace) -> dict[Site, set[int]]:
    """Place of a `.data` → the networks (ids of roots) whose results are read there. Places that also
    read something else with a gradient are left out."""
    results: dict[Key, int] = {}
    for event in trace.of("call"):
        for value in event.data.get("outputs", ()) if event.graph >= 0 else ():
            results[event.graph, memory_root(trace.graph(event.graph), value)] = event.data["module"]
    found: dict[Site, set[int]] = {}
    others: set[Site] = set()
    for event in trace.of("data_read"):
        if event.graph < 0 or not event.data.get("requires_grad"):
            continue
        network = results.get(_origin(trace, (event.graph, event.data["value"])))
        if network is None:
            others.add(event.site.user)
        else:
            found.setdefault(event.site.user, set()).add(network)
    return {site: networks for site, networks in found.items() if site not in others}


def _origin(trace: Trace, key: Key) -> Key:
    """Where the memory of a value was made, perhaps in an earlier graph."""
    known = paths(trace)
    for _ in range(12):
        key = key[0], memory_root(known.graph(key[0]), key[1])
        origin = known.graph(key[0]).values[key[1]].origin
        if origin is None or origin[1] >= len(known.graph(origin[0]).values):
            break
        key = origin
    return key
