"""What a trace says but for times and measured numbers, as one short text: ranks with the same have done the same."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from typing import Any

from gradscope.store.reader import Trace

Rows = Callable[[str], Sequence[tuple[Any, ...]]]

KEY = "outline"  # of the meta table, where the writer of a rank's trace leaves it
_FLOAT = re.compile(r"(?<!\d)-?\d++(?:\.\d++(?:e[-+]?\d++)?|e[-+]?\d++)|NaN|-?Infinity")
_DIGITS = re.compile(r"\d+")
_SAME = (
    "SELECT path, kind, source FROM file ORDER BY id",
    "SELECT * FROM site ORDER BY id",
    "SELECT id, path, cls, root, parent, name, site, held FROM module ORDER BY id",
    "SELECT * FROM region ORDER BY id",
    "SELECT * FROM graph ORDER BY id",
    "SELECT graph, idx, name, site, module, region, inputs, outputs, nodes, cut FROM op ORDER BY graph, idx",
    "SELECT coalesce(sum(repeat), 0) FROM segment WHERE is_step",
    # A list where the run has ended (store/alike.py).
    "SELECT id, json_remove(data, CASE json_type(data) WHEN 'array' THEN '$[3]' ELSE '$.grad_norm' END) FROM parameter"
    " ORDER BY id",
)
_BUT_FOR_NUMBERS = (
    "SELECT id, data FROM optimizer ORDER BY id",
    # Sampling looks now and then, and not on all ranks at the same steps: so not in which order they came.
    "SELECT DISTINCT kind, site, data FROM event WHERE kind NOT IN ('pass_time', 'call_time', 'crash', 'error',"
    " 'replicated') ORDER BY 1, 2, 3",
)
_ERRORS = "SELECT DISTINCT kind, site, data FROM event WHERE kind IN ('crash', 'error') ORDER BY 1, 2, 3"


def outline(trace: Trace) -> str:
    """The digest: what the writer has left of a run that ended, else worked out. Raises GradscopeError for a damaged
    trace."""
    return _left(trace, "all") or _of_all(trace.rows, trace.program)


def outline_of_prints(trace: Trace) -> str:
    """The same of the parameters by which ranks are compared: equal where all numbers are, of the same steps."""
    return _left(trace, "parameters") or _of_prints(trace.rows)


def outlines(rows: Rows, program: dict[str, Any]) -> dict[str, str]:
    """Both, as the writer leaves them."""
    return {"all": _of_all(rows, program), "parameters": _of_prints(rows)}


def _left(trace: Trace, name: str) -> str:
    left = trace.meta.get(KEY)
    return str(left.get(name, "")) if isinstance(left, dict) else ""


def _of_all(rows: Rows, program: dict[str, Any]) -> str:
    ended = repr([program.get(key) for key in ("exception", "exit_code", "ended", "stood")])
    # What an error says has addresses and numbers of the rank in it.
    made = hashlib.sha1(_DIGITS.sub("#", f"{ended} {rows(_ERRORS)!r}").encode("utf-8", "replace"))
    for query in _SAME:
        made.update(repr(rows(query)).encode("utf-8", "replace"))
    for query in _BUT_FOR_NUMBERS:
        made.update(_FLOAT.sub("#", repr(rows(query))).encode("utf-8", "replace"))
    return made.hexdigest()


def _of_prints(rows: Rows) -> str:
    if not rows("SELECT 1 FROM sqlite_master WHERE name = 'print'"):
        return ""
    found = rows(
        "SELECT kind, of, number, data FROM print WHERE kind NOT IN ('input', 'replicated') ORDER BY 1, 2, 3"
    )
    return hashlib.sha1(repr(found).encode()).hexdigest()
