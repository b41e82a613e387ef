"""The nodes behind tensors, for the hooks that have to look at them, and what that must not do to a deep graph.

On torch 2.13 a node that Python has looked at keeps its object, and a chain of such nodes is let go of recursively,
on the C stack: plain torch drops a chain of any length, one that was looked at ends the process from some 40,000
nodes on (8 MB). Held in a list by the metadata of the node where the walk began, they go one after the other.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any

from gradscope.hooks._torch import sequence_of

MANY = 2_000  # nodes: far from what the stack holds
_KEY = "gradscope"


def nodes_behind(nodes: Iterable[Any], most: int | None = None) -> Iterator[Any]:
    """These grad_fn nodes (None is none) and those that their gradients go to, each once, nearest first, `most` of
    them at most."""
    seen: set[Any] = set()
    roots = [node for node in nodes if node is not None]
    todo = deque(roots)
    try:
        while todo and (most is None or len(seen) < most):
            node = todo.popleft()
            if node not in seen:
                seen.add(node)
                yield node
                todo.extend(target for target, _ in node.next_functions if target is not None)
    finally:
        if len(seen) > MANY:
            _let_go_in_order(roots, seen)


def _let_go_in_order(roots: list[Any], looked_at: set[Any]) -> None:
    """Sees to it that those behind each root are let go of without recursion."""
    for root in dict.fromkeys(roots):
        behind = looked_at if len(roots) == 1 else _among(root, looked_at)
        held = [node for node in behind if node is not root and sequence_of(node) >= 0]
        before = root.metadata.get(_KEY)
        if len(held) > (len(before.nodes) if before is not None else MANY):
            root.metadata[_KEY] = _Held(sorted(held, key=sequence_of))


def _among(root: Any, nodes: set[Any]) -> set[Any]:
    """Those of `nodes` that are behind `root`, which may not hold what it does not keep alive."""
    found = {root}
    todo = [root]
    while todo:
        for target, _ in todo.pop().next_functions:
            if target in nodes and target not in found:
                found.add(target)
                todo.append(target)
    return found


class _Held:
    """Nodes, oldest first. A node's inputs are older than it is, and are still held when it goes."""

    __slots__ = ("nodes",)

    def __init__(self, nodes: list[Any]):
        self.nodes = nodes

    def __del__(self) -> None:
        while self.nodes:
            self.nodes.pop()
