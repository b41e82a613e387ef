"""Rows of the trace file → the model's ops, values and nodes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from gradscope.model import Edge, Node, Op, Site, Value

Row = tuple[Any, ...]
Sites = Mapping[int, Site]

OPS = "SELECT graph, idx, name, site, module, region, inputs, outputs, nodes, cut, writes, written, extra FROM op"
VALUES = (
    "SELECT idx, kind, shape, dtype, device, requires_grad, is_leaf, op, position, alias_of, hidden,"
    " node, parameter, module, origin, site FROM value"
)
NODES = "SELECT graph, idx, name, op, edges, site, leaf, parameter FROM node"


def op_of(row: Row, sites: Sites) -> Op:
    graph, idx, name, site, module, region, inputs, outputs, own, cut, writes, written, extra = row
    return Op(
        idx, name, sites[site], module, region, tuple(json.loads(inputs)), tuple(json.loads(outputs)),
        tuple(json.loads(own)), cut, tuple(json.loads(writes or "[]")), tuple(json.loads(written or "[]")),
        graph, json.loads(extra) if extra else {},
    )  # fmt: skip


def value_of(row: Row, sites: Sites) -> Value:
    (
        idx, kind, shape, dtype, device, rg, leaf, op, position, alias_of, hidden, node, parameter, module,
        origin, site,
    ) = row  # fmt: skip
    return Value(
        idx, kind, tuple(json.loads(shape)), dtype, device, bool(rg), bool(leaf), op, position, alias_of,
        bool(hidden), node, parameter, module, tuple(json.loads(origin)) if origin else None, sites.get(site),
    )  # fmt: skip


def node_of(row: Row, sites: Sites) -> Node:
    graph, idx, name, op, edges, site, leaf, parameter = row
    targets = tuple(Edge(idx, target, nr) for target, nr in json.loads(edges))
    return Node(idx, name, op, targets, sites.get(site), leaf, graph, parameter)
