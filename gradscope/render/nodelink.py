"""The graph as JSON, as networkx and d3 have it: `nx.node_link_graph(json.load(file), edges="edges")`."""

from __future__ import annotations

import json

from gradscope.graph import View
from gradscope.render._plain import plain_graph

PICTURES = ("json",)
WHOLE = True


def paint(view: View, kind: str) -> bytes:
    """The file's content."""
    import networkx as nx

    data = nx.node_link_data(plain_graph(view), edges="edges")
    return (json.dumps(data, indent=1, allow_nan=False) + "\n").encode()
