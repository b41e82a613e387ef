"""Rows of `parameter` of which most say the same: where a run of many ranks ends, what they share is written once."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

Rows = Callable[[str], Sequence[tuple[Any, ...]]]

_OWN = ("name", "module", "grad_norm")
_WORTH = 4  # rows for each thing that is shared


def parameters_of(rows: Rows) -> list[tuple[int, dict[str, Any]]]:
    """(id, fields) of each row, with what it shares. Raises KeyError, TypeError or ValueError where they make no
    sense."""
    shared = {}
    if rows("SELECT 1 FROM sqlite_master WHERE name = 'alike'"):
        shared = {id: json.loads(data) for id, data in rows("SELECT id, data FROM alike")}
    found = []
    for id, data in rows("SELECT id, data FROM parameter ORDER BY id"):
        fields = json.loads(data)
        if isinstance(fields, list):
            number, *own = fields
            fields = {**shared[number], **dict(zip(_OWN, own, strict=True))}
        found.append((id, fields))
    return found


def folded(found: list[tuple[int, dict[str, Any]]]) -> tuple[list[tuple[int, str]], list[tuple[int, str]]]:
    """Rows of `alike` and of `parameter`; none where little would be shared."""
    shared: dict[str, int] = {}
    rows = []
    for id, fields in found:
        text = _text({key: value for key, value in fields.items() if key not in _OWN})
        name, module, norm = (fields.get(key) for key in _OWN)
        norm = norm and float(f"{norm:.6g}")
        rows.append((id, _text([shared.setdefault(text, len(shared)), name, module, norm])))
    if len(rows) < _WORTH * len(shared):
        return [], []
    return [(number, text) for text, number in shared.items()], rows


def _text(data: Any) -> str:
    return json.dumps(data, separators=(",", ":"))
