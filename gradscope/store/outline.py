"""What a trace says but for times and measured numbers, as one short text: ranks with the same have done the same."""

from __future__ import annotations

import hashlib
import re

from gradscope.store.reader import Trace

_FLOAT = re.compile(r"-?\d+\.\d+(?:e[-+]?\d+)?|-?\d+e[-+]?\d+|NaN|-?Infinity")
_QUERIES = (
    "SELECT path, kind, source FROM file ORDER BY id",
    "SELECT * FROM site ORDER BY id",
    "SELECT id, path, cls, root, parent, name, site FROM module ORDER BY id",
    "SELECT id, json_remove(data, '$.grad_norm') FROM parameter ORDER BY id",
    "SELECT id, data FROM optimizer ORDER BY id",
    "SELECT * FROM region ORDER BY id",
    "SELECT * FROM graph ORDER BY id",
    "SELECT graph, idx, name, site, module, region, inputs, outputs, nodes, cut FROM op ORDER BY graph, idx",
    "SELECT coalesce(sum(repeat), 0) FROM segment WHERE is_step",
    # Sampling looks now and then, and not on all ranks at the same steps: so not in which order they came.
    "SELECT DISTINCT kind, site, data FROM event WHERE kind NOT IN ('pass_time', 'call_time') ORDER BY 1, 2, 3",
)


def outline(trace: Trace) -> str:
    """The digest. Raises GradscopeError for a damaged trace."""
    digest = hashlib.sha1(repr(trace.program.get("exception")).encode(errors="replace"))
    digest.update(repr([trace.program.get(key) for key in ("exit_code", "ended")]).encode())
    for query in _QUERIES:
        for row in trace.rows(query):
            text = repr(row)
            digest.update((_FLOAT.sub("#", text) if "." in text else text).encode(errors="replace"))
    return digest.hexdigest()


def outline_of_prints(trace: Trace, kind: str) -> str:
    """The same of what ranks are compared by: equal where all its numbers are, of the same steps."""
    if not trace.rows("SELECT 1 FROM sqlite_master WHERE name = 'print'"):
        return ""
    rows = trace.rows("SELECT of, number, data FROM print WHERE kind = ? ORDER BY of, number", kind)
    return hashlib.sha1(repr(rows).encode()).hexdigest()
