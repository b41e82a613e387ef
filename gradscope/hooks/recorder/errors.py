"""Notes an exception that left a torch call, with what only the live process knows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from gradscope.hooks._torch import DisableTorchFunction, grad_fn_of, name_of, saved_by, sequence_of
from gradscope.hooks.behind import nodes_behind
from gradscope.hooks.recorder.plain_attributes import plainly_held
from gradscope.hooks.recorder.values import find_tensors
from gradscope.tracebacks import text_of

if TYPE_CHECKING:
    from gradscope.hooks.recorder.recorder import Recorder

MAX_WALK = 20_000
MAX_SPOILT = 20
# In-place operators whose node keeps their further operands as they are (the written one it copies), and those that
# keep what they have written.
_KEEP_OPERANDS = set(
    "mul_ multiply_ div_ divide_ true_divide_ pow_ addcmul_ addcdiv_ addmm_ addmv_ addbmm_ baddbmm_ addr_ atan2_"
    " arctan2_ hypot_ copysign_ fmod_ remainder_ xlogy_ lerp_".split()
)
_KEEP_RESULT = set(
    "exp_ exp2_ expm1_ sigmoid_ tanh_ tan_ sqrt_ rsqrt_ reciprocal_ relu_ elu_ celu_ selu_ leaky_relu_ hypot_"
    " pow_".split()
)


class Behind(NamedTuple):
    """What an in-place call on a view has saved and was written to since: the call's number and place (see
    `History.locate`), under which name it was saved, its memory, and at which versions it was saved and is now."""

    number: int
    place: tuple[int, int, int]
    name: str
    root: int
    saved: int
    now: int


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
                "module": recorder.modules.current if where == "op" else -1,
                "held": plainly_held(recorder.modules, zip(inputs, tensors, strict=True)) if where == "op" else [],
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
    node = _damaged(roots, versions, inplace, old)
    behind = _behind_views(recorder, roots) if inplace else []
    hidden = [one for one in behind if versions in (None, (one.saved, one.now))]
    if node is None and not hidden:
        return {}
    first = max(hidden, default=None)
    if first is not None and (node is None or first.number > sequence_of(node)):
        number, made = first.number, "CopySlices"
        place: tuple[int, int, int] | None = first.place
        memory = {first.root}
    else:
        number, made = sequence_of(node), name_of(node)
        place = recorder.history.locate(number)
        memory = recorder.history.memory_of(place)
    found: dict[str, Any] = {"node_name": made}
    if place is not None:
        graph, op, site = place
        found.update({"saved_by": op, "saved_graph": graph, "saved_site": site})
    if inplace:
        writes = recorder.history.writes_since(number, memory, versions)
        found["writes"] = [{"site": w.site, "op": w.name, "version": w.version} for w in writes]
        spoilt = _spoilt(recorder, roots, {root for w in writes for root in w.roots}, behind)
        found["spoilt"], found["spoilt_too"] = spoilt
    if freed:
        found["freed_by"] = recorder.history.freed_by(number)
    return found


def _spoilt(
    recorder: Recorder, roots: list[Any], written: set[int], behind: list[Behind]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Every call on the way back that saved what was written to since: its site, the op in its segment, and the
    names under which its node saved it. One mend has to reach them all: those that saved what was `written`, and
    those that saved other memory, with the site of its last write."""
    found: dict[int, dict[str, Any]] = {}
    others: dict[int, dict[str, Any]] = {}
    complaints: list[tuple[int, tuple[int, int, int], set[int], list[str], tuple[int, int] | None]] = [
        (one.number, one.place, {one.root}, [one.name], (one.saved, one.now)) for one in behind
    ]
    for node in nodes_behind(map(grad_fn_of, roots), MAX_WALK):
        said = [(name, text) for name, text in _complaints(node) if "inplace" in text]
        place = recorder.history.locate(sequence_of(node)) if said else None
        if place is not None:
            names = [name.removeprefix("_saved_") for name, _ in said]
            memory = recorder.history.memory_of(place)
            complaints.append((sequence_of(node), place, memory, names, _versions(said[0][1])))
    for number, place, memory, names, versions in complaints:
        group = found
        one: dict[str, Any] = {"site": place[2], "op": place[1], "as": []}
        if not written & memory:
            writes = recorder.history.writes_since(number, memory, versions)
            if not writes:
                continue
            group, one["write"] = others, writes[-1].site
        one = group.setdefault(place[2], one)
        one["as"] += [name for name in names if name not in one["as"]]
        if len(found) + len(others) == MAX_SPOILT:
            break
    return list(found.values()), list(others.values())


def _behind_views(recorder: Recorder, roots: list[Any]) -> list[Behind]:
    """What in-place calls on views have saved and was written to since. The node that torch makes of such a call
    (CopySlices) hides the one that saved, so this is worked out from the calls."""
    found: list[Behind] = []
    for node in nodes_behind(map(grad_fn_of, roots), MAX_WALK):
        if name_of(node) == "CopySlices":
            place = recorder.history.locate(sequence_of(node))
            if place is not None:
                found += _kept_by(recorder, place)
    return found


def _kept_by(recorder: Recorder, place: tuple[int, int, int]) -> Iterator[Behind]:
    history = recorder.history
    segment, row = history.call_at(place)
    name = f"{recorder.templates[row.template].name.removesuffix('_')}_"  # `relu`, of one with `inplace=True`
    own = next((w for w in history.writes if w.number > row.first and w.site == row.site), None)
    if own is None or own.version is None or not row.ins:
        return
    kept = []
    if name in _KEEP_OPERANDS and recorder.metas.table[segment.metas[row.ins[0]]].requires_grad:
        for value in row.ins[1:]:
            root = segment.roots[value]
            kept.append(("other", root, history.version_before(row.first, root)))
    if name in _KEEP_RESULT:
        kept += [("result", root, own.version) for root in own.roots]
    for what, root, saved in kept:
        now = max((w.version or 0 for w in history.writes if root in w.roots), default=0)
        if now > saved:
            yield Behind(row.first, place, what, root, saved, now)


def _versions(text: str) -> tuple[int, int] | None:
    """(expected, found) of torch's message about a saved tensor."""
    told = re.search(r"is at version (\d+); expected version (\d+)", text)
    return (int(told[2]), int(told[1])) if told is not None else None


def _damaged(roots: list[Any], versions: tuple[int, int] | None, inplace: bool, before: int | None) -> Any:
    """The first node, from the roots on, whose saved values were written to or, with `before`, freed.
    The failing pass has itself freed what it went through: only nodes with a number below `before`,
    those of an earlier pass, count then, if there are any."""
    freed = None
    for node in nodes_behind(map(grad_fn_of, roots), MAX_WALK):
        said = [text for _, text in _complaints(node)]
        if inplace and any("inplace" in t and versions in (None, _versions(t)) for t in said):
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
