"""A view as a graph of nothing but text, numbers and lists, as files of other programs hold it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from gradscope.analysis.names import relative
from gradscope.escape import plain
from gradscope.graph import View
from gradscope.model import Site
from gradscope.render._region import region_words


def plain_graph(view: View, lists: bool = True) -> Any:
    """A networkx.MultiDiGraph with the same nodes and arrows under short names. What is not known is left out;
    without `lists` they are text, as JSON writes them."""
    import networkx as nx

    short = {id: f"n{number}" for number, id in enumerate(view.graph)}
    facts = {"title": plain(view.title), "level": view.level, "notes": [plain(note) for note in view.notes]}
    graph = nx.MultiDiGraph(**_known(facts, lists))
    for id, data in view.graph.nodes.items():
        around = [plain(view.clusters[number]) for number in data["cluster"] if number in view.clusters]
        told = {
            **data,
            "cluster": around,
            "names": sorted(data["names"]),
            "site": _place(data["site"], view.cwd),
        }
        region = view.regions.get(data["region"]) if data["region"] is not None else None
        told["region"] = (
            " at ".join(region_words(region, view.opened.get(region.id))) if region is not None else None
        )
        graph.add_node(short[id], **_known(told, lists))
    for tail, head, data in view.graph.edges():
        graph.add_edge(short[tail], short[head], **_known(data, lists))
    return graph


def _place(site: Site | None, cwd: str) -> str | None:
    """`src/train.py:31:5`"""
    if site is None:
        return None
    return f"{Path(relative(site.user.path, cwd)).as_posix()}:{site.user.line}:{site.user.column}"


def _known(data: dict[str, Any], lists: bool) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in data.items():
        if isinstance(value, str):
            found[key] = plain(value)
        elif isinstance(value, (list, tuple)):
            listed = [plain(part) if isinstance(part, str) else part for part in value]
            if listed or key == "shape":
                found[key] = listed if lists else json.dumps(listed, ensure_ascii=False)
        elif value is not None:
            found[key] = value
    return found
