"""Rows of the trace file → the model's ops, values and nodes.

Many rows at once, column by column: a graph may have a million of them, and one call of the JSON parser for a
whole column costs a tenth of one for each row.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import repeat
from typing import Any, TypeVar

from gradscope.model import Edge, Node, Op, Site, Value
from gradscope.store.schema import COMMON

T = TypeVar("T", bound=tuple[Any, ...])

Row = tuple[Any, ...]
Sites = Mapping[int, Site]

OPS = "SELECT graph, idx, name, site, module, region, inputs, outputs, nodes, cut, writes, written, extra FROM op"
VALUES = (
    "SELECT idx, kind, shape, dtype, device, requires_grad, is_leaf, op, position, alias_of, hidden,"
    " node, parameter, module, origin, site FROM value"
)
NODES = "SELECT graph, idx, name, op, edges, site, leaf, parameter FROM node"


def ops_of(rows: Sequence[Row], sites: Sites) -> tuple[Op, ...]:
    """Rows of `OPS`, in their order. Raises KeyError, TypeError or ValueError where they make no sense."""
    if not rows:
        return ()
    graph, idx, name, site, module, region, inputs, outputs, own, cut, writes, written, extra = _columns(rows)
    return tuple(
        _all(
            Op, idx, name, map(sites.__getitem__, site), module, region, _tuples(inputs), _tuples(outputs),
            _tuples(own), cut, _few(writes), _few(written), graph, _dicts(extra),
        )
    )  # fmt: skip


def values_of(rows: Sequence[Row], sites: Sites) -> tuple[Value, ...]:
    """Rows of `VALUES`, in their order. Raises KeyError, TypeError or ValueError where they make no sense."""
    if not rows:
        return ()
    (
        idx, kind, shape, dtype, device, rg, leaf, op, position, alias_of, hidden, node, parameter, module,
        origin, site,
    ) = _columns(rows)  # fmt: skip
    kinds, dtypes, devices = (
        [text or common for text in column]
        for column, common in zip((kind, dtype, device), COMMON, strict=True)
    )
    origins = {text: tuple(json.loads(text)) if text else None for text in set(origin)}
    return tuple(
        _all(
            Value, idx, kinds, _few(shape), dtypes, devices, map(bool, rg), map(bool, leaf), op, position, alias_of,
            map(bool, hidden), node, parameter, module, map(origins.__getitem__, origin), map(sites.get, site),
        )
    )  # fmt: skip


def nodes_of(rows: Sequence[Row], sites: Sites) -> tuple[Node, ...]:
    """Rows of `NODES`, in their order. Raises KeyError, TypeError or ValueError where they make no sense."""
    if not rows:
        return ()
    graph, idx, name, op, edges, site, leaf, parameter = _columns(rows)
    targets = (tuple(map(tuple.__new__, repeat(Edge), pairs)) for pairs in _parsed(edges))
    return tuple(_all(Node, idx, name, op, targets, map(sites.get, site), leaf, graph, parameter))


def _all(kind: type[T], *columns: Iterable[Any]) -> Iterable[T]:
    """A named tuple for each row of these columns, all as long. (Its own constructor is Python, and as slow as all
    the rest.)"""
    return map(tuple.__new__, repeat(kind), zip(*columns, strict=True))


def _columns(rows: Sequence[Row]) -> list[tuple[Any, ...]]:
    return list(zip(*rows, strict=True))


def _parsed(texts: Sequence[str]) -> list[Any]:
    """Each of them as JSON: all at once."""
    found: list[Any] = json.loads(f"[{','.join(texts)}]")
    if len(found) != len(texts):
        raise ValueError("a row of several")
    return found


def _tuples(texts: Sequence[str]) -> Iterable[tuple[int, ...]]:
    return map(tuple, _parsed(texts))


def _few(texts: Sequence[str | None]) -> Iterable[tuple[int, ...]]:
    """The same of a column in which few texts come often; none is the empty tuple."""
    known = {text: tuple(json.loads(text)) if text else () for text in set(texts)}
    return map(known.__getitem__, texts)


def _dicts(texts: Sequence[str | None]) -> Iterable[dict[str, Any]]:
    return (json.loads(text) if text else {} for text in texts)
