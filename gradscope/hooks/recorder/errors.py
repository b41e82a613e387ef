"""Notes an exception that left a torch call, with what only the live process knows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from gradscope.hooks._torch import DisableTorchFunction, grad_fn_of, name_of, saved_by, sequence_of
from gradscope.hooks.behind import nodes_behind
from gradscope.hooks.recorder.values import find_tensors
from gradscope.tracebacks import text_of

if TYPE_CHECKING:
    from gradscope.hooks.recorder.recorder import Recorder

MAX_WALK = 20_000
MAX_SPOILT = 20


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
                "saved_by": None, "writes": [], "freed_by": None, "region": recorder.region,
                **(more or {}),
            }  # fmt: skip
            recorder.emit("error", site, data)
    except Exception as fault:
        recorder.fault("recording an error", fault)


def _saved_names(node: Any) -> list[str]:
    return [name for name in dir(type(node)) if name.startswith("_saved_")]


def examine(recorder: Recorder, roots: list[Any], text: str) -> dict[str, Any]:
    """After a failed backward: which node's saved tensor was written to or freed."""
    versions = _versions(text)
    inplace = "modified by an inplace operation" in text
    freed = "second time" in text or "already been freed" in text
    if not (inplace or freed):
        return {}
    old = recorder.history.last_pass() if freed else None
    node = _damaged(roots, str(versions[1]) if versions else None, inplace, old)
    if node is None:
        return {}
    number = sequence_of(node)
    found: dict[str, Any] = {"node_name": name_of(node)}
    place = recorder.history.locate(number)
    if place is not None:
        graph, op, site = place
        found.update({"saved_by": op, "saved_graph": graph, "saved_site": site})
    if inplace:
        writes = recorder.history.writes_since(number, versions)
        found["writes"] = [{"site": w.site, "op": w.name, "version": w.version} for w in writes]
        spoilt = _spoilt(recorder, roots, {root for w in writes for root in w.roots})
        found["spoilt"], found["spoilt_too"] = spoilt
    if freed:
        found["freed_by"] = recorder.history.freed_by(number)
    return found


def _spoilt(
    recorder: Recorder, roots: list[Any], written: set[int]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Every call on the way back that saved what was written to since: its site, the op in its segment, and the
    names under which its node saved it. One mend has to reach them all: those that saved what was `written`, and
    those that saved other memory, with the site of its last write."""
    found: dict[int, dict[str, Any]] = {}
    others: dict[int, dict[str, Any]] = {}
    for node in nodes_behind(map(grad_fn_of, roots), MAX_WALK):
        said = [(name, text) for name, text in _complaints(node) if "inplace" in text]
        place = recorder.history.locate(sequence_of(node)) if said else None
        if place is None:
            continue
        group = found
        one: dict[str, Any] = {"site": place[2], "op": place[1], "as": []}
        if not written & recorder.history.memory_of(place):
            writes = recorder.history.writes_since(sequence_of(node), _versions(said[0][1]))
            if not writes:
                continue
            group, one["write"] = others, writes[-1].site
        one = group.setdefault(place[2], one)
        one["as"] += [n for name, _ in said if (n := name.removeprefix("_saved_")) not in one["as"]]
        if len(found) + len(others) == MAX_SPOILT:
            break
    return list(found.values()), list(others.values())


def _versions(text: str) -> tuple[int, int] | None:
    """(expected, found) of torch's message about a saved tensor."""
    told = re.search(r"is at version (\d+); expected version (\d+)", text)
    return (int(told[2]), int(told[1])) if told is not None else None


def _damaged(roots: list[Any], expected: str | None, inplace: bool, before: int | None) -> Any:
    """The first node, from the roots on, whose saved values were written to or, with `before`, freed.
    The failing pass has itself freed what it went through: only nodes with a number below `before`,
    those of an earlier pass, count then, if there are any."""
    freed = None
    for node in nodes_behind(map(grad_fn_of, roots), MAX_WALK):
        said = [text for _, text in _complaints(node)]
        if inplace and any(
            "inplace" in t and (expected is None or f"version {expected};" in t) for t in said
        ):
            return node
        if not inplace and any("freed" in t or "second time" in t for t in said):
            freed = freed or node
            if before is None or sequence_of(node) < before:
                return node
    return freed


def _complaints(node: Any) -> Iterator[tuple[str, str]]:
    """What torch says when the node's saved values are read, with the name of each."""
    for name in _saved_names(node):
        try:
            saved_by(node, name)
        except RuntimeError as fault:
            yield name, str(fault)
