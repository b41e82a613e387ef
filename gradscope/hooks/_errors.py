"""Notes an exception that left a torch call, with what only the live process knows."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from gradscope.hooks._torch import DisableTorchFunction, grad_fn_of, name_of, saved_by, sequence_of
from gradscope.hooks._values import find_tensors

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
                "type": type(error).__name__, "text": str(error)[:2000], "where": where, "op": op, "inputs": inputs,
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
    seen: set[Any] = set()
    todo = [node for t in roots if (node := grad_fn_of(t)) is not None]
    candidates = []
    while todo and len(seen) < MAX_WALK:
        node = todo.pop(0)
        if node in seen:
            continue
        seen.add(node)
        for name in _saved_names(node):
            try:
                saved_by(node, name)
            except RuntimeError as fault:
                said = str(fault)
                written = inplace and "inplace" in said
                right = from_version is None or f"version {from_version[1]};" in said
                if (written and right) or (freed and ("freed" in said or "second time" in said)):
                    candidates.append(node)
                    break
        if candidates:
            break
        todo.extend(target for target, _ in node.next_functions if target is not None)
    if not candidates:
        return {}
    node = candidates[0]
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
