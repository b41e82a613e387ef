"""Notes an exception that left a torch call, with what only the live process knows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from gradscope.hooks._torch import DisableTorchFunction, grad_fn_of, name_of, saved_by, sequence_of
from gradscope.hooks._values import find_tensors
from gradscope.tracebacks import text_of

if TYPE_CHECKING:
    from gradscope.hooks._recorder import Recorder

MAX_WALK = 20_000


def note_error(
    recorder: Recorder, where: str, op: str, error: BaseException, args: Any, kwargs: Any, frame: Any,
    more: dict[str, Any] | None = None,
) -> None:  # fmt: skip
    """Emits an `error` event; the innermost call that failed is the one told."""
    try:
        if recorder.history.told(error):
            return
        recorder.history.remember_error(error)
        tensors: list[Any] = []
        with DisableTorchFunction():
            find_tensors(list(args), tensors)
            find_tensors(list((kwargs or {}).values()), tensors)
            site = recorder.sites.current(frame)
            inputs = [recorder.value(t, site).index for t in tensors]
            data = {
                "type": type(error).__name__, "text": text_of(error)[:2000], "where": where, "op": op, "inputs": inputs,
                "saved_by": None, "node": None, "writes": [], "freed_by": None, "region": recorder.region,
                **(more or {}),
            }  # fmt: skip
            recorder.emit("error", site, data)
    except Exception as fault:
        recorder.fault("recording an error", fault)


def _saved_names(node: Any) -> list[str]:
    return [name for name in dir(type(node)) if name.startswith("_saved_")]


def examine(recorder: Recorder, roots: list[Any], text: str) -> dict[str, Any]:
    """After a failed backward: which node's saved tensor was written to or freed."""
    from_version = re.search(r"is at version (\d+); expected version (\d+)", text)
    inplace = "modified by an inplace operation" in text
    freed = "second time" in text or "already been freed" in text
    if not (inplace or freed):
        return {}
    old = recorder.history.last_pass() if freed else None
    node = _damaged(roots, from_version and from_version[1], inplace, old)
    if node is None:
        return {}
    number = sequence_of(node)
    found: dict[str, Any] = {"node_name": name_of(node)}
    place = recorder.history.locate(number)
    if place is not None:
        graph, op, site = place
        found.update({"saved_by": op, "saved_graph": graph, "saved_site": site})
    if inplace:
        found["writes"] = recorder.history.writes_since(
            number, from_version and (int(from_version[2]), int(from_version[1]))
        )
    if freed:
        found["freed_by"] = recorder.history.freed_by(number)
    return found


def _damaged(roots: list[Any], expected: str | None, inplace: bool, before: int | None) -> Any:
    """The first node, from the roots on, whose saved values were written to or, with `before`, freed.
    The failing pass has itself freed what it went through: only nodes with a number below `before`,
    those of an earlier pass, count then, if there are any."""
    seen: set[Any] = set()
    todo = [node for t in roots if (node := grad_fn_of(t)) is not None]
    freed = None
    while todo and len(seen) < MAX_WALK:
        node = todo.pop(0)
        if node in seen:
            continue
        seen.add(node)
        said = list(_complaints(node))
        if inplace and any(
            "inplace" in t and (expected is None or f"version {expected};" in t) for t in said
        ):
            return node
        if not inplace and any("freed" in t or "second time" in t for t in said):
            freed = freed or node
            if before is None or sequence_of(node) < before:
                return node
        todo.extend(target for target, _ in node.next_functions if target is not None)
    return freed


def _complaints(node: Any) -> Iterator[str]:
    """What torch says when the node's saved values are read."""
    for name in _saved_names(node):
        try:
            saved_by(node, name)
        except RuntimeError as fault:
            yield str(fault)
