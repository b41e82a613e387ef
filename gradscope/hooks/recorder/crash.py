"""The exception that ends the run: where it was raised, and the tensors in the failing expression."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from gradscope.hooks._torch import DisableTorchFunction, dtype_of, grad_fn_of, is_leaf, name_of
from gradscope.hooks.recorder.parts import named_parts
from gradscope.hooks.recorder.sites import SiteTree, kind_of, source_lines
from gradscope.hooks.variables import variables
from gradscope.source import SourceFile
from gradscope.tracebacks import text_of, traceback_of

if TYPE_CHECKING:
    from gradscope.hooks.recorder.recorder import Recorder

MAX_TENSORS = 12


def note_crash(recorder: Recorder, error: BaseException) -> None:
    """Emits a `crash` event for the exception that leaves the watched program."""
    traceback = traceback_of(error)
    if traceback is None or isinstance(error, (SystemExit, KeyboardInterrupt)):
        return
    try:
        with DisableTorchFunction(), torch._C._DisableTorchDispatch():
            site = recorder.sites.of_traceback(traceback)
            data = {
                "type": type(error).__name__, "text": text_of(error), "told": recorder.history.is_last(error),
                "tensors": _operands(recorder, traceback, kept="deepcopy protocol" in text_of(error)),
                "forward": _forward(recorder, text_of(error)),
            }  # fmt: skip
            recorder.emit("crash", site, data)
    except Exception as fault:
        recorder.fault("recording a crash", fault)


def _forward(recorder: Recorder, text: str) -> list[list[Any]]:
    """The user's lines, outermost first, from which anomaly mode says that the node was made whose gradient
    is NaN."""
    said = recorder.history.anomaly
    named = re.match(r"Function '(\w+)' returned nan values", text)
    if named is None or not said.startswith(f"Error detected in {named[1]}."):
        return []
    frames = re.findall(r'^  File "(.+)", line (\d+), in ', said, re.MULTILINE)
    return [[path, int(line)] for path, line in frames if kind_of(path, recorder.sites.main) == "user"]


def _operands(recorder: Recorder, traceback: TracebackType, kept: bool) -> list[dict[str, Any]]:
    """What is known of the tensors that the user's failing expression names; with `kept`, also
    of those that its modules keep as plain attributes."""
    place = _innermost(traceback, recorder.sites.main)
    if place is None:
        return []
    frame, lasti = place
    found: dict[int, dict[str, Any]] = {}
    named = list(_named(frame, lasti))
    if kept:
        named += [
            held for text, value in named if isinstance(value, nn.Module) for held in _held(text, value)
        ]
    for text, value in named:
        several = isinstance(value, (list, tuple))
        for number, t in enumerate(value[:3] if several else [value]):
            if isinstance(t, torch.Tensor) and id(t) not in found and len(found) < MAX_TENSORS:
                name = f"{text}[{number}]" if several else text
                found[id(t)] = {"name": name, **facts(recorder, t)}
    return list(found.values())


def _held(text: str, module: nn.Module) -> Iterator[tuple[str, Any]]:
    """(text, value) of the tensors and lists of them in the attributes of a module and its parts."""
    for name, part in named_parts(module):
        for attribute, value in list(part.__dict__.items()):
            if isinstance(value, (torch.Tensor, list, tuple)):
                yield ".".join(filter(None, (text, name, attribute))), value


def facts(recorder: Recorder, t: Any) -> dict[str, Any]:
    """What a sentence can say of a tensor; `site` is where it was made, or first seen."""
    entry = recorder.live.find(t)
    leaf = entry.leaf if entry is not None else recorder.ledger.records.get(id(t))
    inference = bool(t.is_inference())
    node = grad_fn_of(t)
    return {
        "shape": list(t.shape), "dtype": dtype_of(t), "device": str(t.device),
        "requires_grad": bool(t.requires_grad), "is_leaf": is_leaf(t), "inference": inference,
        "version": None if inference else t._version, "view": bool(t._is_view()),
        "node": name_of(node) if node is not None else None,
        "parameter": leaf.id if leaf is not None and leaf.ref() is t else None,
        "site": entry.site or None if entry is not None else None,
    }  # fmt: skip


def _innermost(traceback: TracebackType, main: str | None) -> tuple[FrameType, int] | None:
    found = None
    entry: TracebackType | None = traceback
    while entry is not None:
        if kind_of(entry.tb_frame.f_code.co_filename, main) == "user":
            found = (entry.tb_frame, entry.tb_lasti)
        entry = entry.tb_next
    return found


def _named(frame: FrameType, lasti: int) -> Iterator[tuple[str, Any]]:
    """(text, value) of the names in the expression that runs at `lasti`. Looks values up and
    calls nothing of the user's."""
    path = frame.f_code.co_filename
    positions = list(frame.f_code.co_positions())
    line, end_line, start, end = positions[lasti // 2] if lasti // 2 < len(positions) else (None,) * 4
    if line is None:
        return
    columns = SiteTree.columns(path, line, end_line or line, start, end)
    source = SourceFile("".join(source_lines(path, frame.f_globals)))
    node = source.by_span.get((line, columns[0], end_line or line, columns[1]))
    if node is None:
        return
    scope = {**frame.f_globals, **variables(frame)}
    for part in ast.walk(node):
        if isinstance(part, (ast.Name, ast.Attribute, ast.Subscript)):
            value = _look_up(part, scope)
            if value is not None:
                yield ast.unparse(part), value


def _look_up(node: ast.expr, scope: dict[str, Any]) -> Any:
    if isinstance(node, ast.Name):
        return scope.get(node.id)
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        holder = _look_up(node.value, scope)
        if type(holder) in (list, tuple) and type(node.slice.value) is int:
            return holder[node.slice.value] if -len(holder) <= node.slice.value < len(holder) else None
        return holder.get(node.slice.value) if type(holder) is dict else None
    if isinstance(node, ast.Attribute):
        holder = _look_up(node.value, scope)
        if holder is None or isinstance(holder, torch.Tensor):
            return None
        own = getattr(holder, "__dict__", {}) if not isinstance(holder, type) else {}
        if isinstance(holder, nn.Module):
            for table in (own.get("_parameters"), own.get("_buffers"), own.get("_modules")):
                if table and node.attr in table:
                    return table[node.attr]
        return own.get(node.attr) if isinstance(own, dict) else None
    return None
