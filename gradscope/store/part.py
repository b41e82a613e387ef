"""A stretch of a run as a trace of its own: what a `watch()` inside another one has to show."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gradscope.store.schema import INDEX, MANY_OPS
from gradscope.store.writer import pack

_NEVER = 1 << 60
_COUNTS = ("passes", "steps", "updates", "reads")  # of a parameter, over the whole run


@dataclass
class Start:
    """How far the run was when the stretch began."""

    segment: int  # the first that belongs to it
    passes: int = 0
    seconds: float = 0.0
    own_seconds: float = 0.0
    parameters: dict[int, dict[str, Any]] = field(default_factory=dict)
    optimizers: dict[int, int] = field(default_factory=dict)  # their steps


def copy_part(trace: Path, target: Path, start: Start | None, program: dict[str, Any]) -> None:
    """Copies what the trace holds from `start` on, as far as it is written. None: nothing of it.

    Raises sqlite3.Error and OSError.
    """
    uri = trace.resolve().as_uri() + "?mode=ro"
    with closing(sqlite3.connect(target, isolation_level=None)) as part:
        with closing(sqlite3.connect(uri, uri=True)) as whole:
            whole.backup(part)
        part.execute("PRAGMA journal_mode=DELETE").fetchone()
        part.execute("BEGIN")
        since = start or Start(_NEVER, _NEVER)
        _drop_before(part, since)
        if start is None:
            part.execute("DELETE FROM parameter")
            part.execute("DELETE FROM optimizer")
        _optimizers(part, since, _parameters(part, since))
        _facts(part, since, program)
        part.execute("COMMIT")
        if part.execute("SELECT coalesce(sum(ops), 0) FROM graph").fetchone()[0] > MANY_OPS:
            part.execute(INDEX)


def _drop_before(db: sqlite3.Connection, start: Start) -> None:
    db.execute("DELETE FROM segment WHERE idx < ?", (start.segment,))
    db.execute("DELETE FROM number WHERE pass <= ?", (start.passes,))
    db.execute("DELETE FROM graph WHERE id NOT IN (SELECT graph FROM segment WHERE graph IS NOT NULL)")
    for table in ("op", "value", "node", "taken"):
        db.execute(f"DELETE FROM {table} WHERE graph NOT IN (SELECT id FROM graph)")
    db.execute("DELETE FROM event WHERE list NOT IN (SELECT events FROM segment WHERE events IS NOT NULL)")
    gone = "CAST(substr(origin, 2) AS INTEGER) NOT IN (SELECT id FROM graph)"
    db.execute(f"UPDATE value SET origin = NULL WHERE origin IS NOT NULL AND {gone}")


def _parameters(db: sqlite3.Connection, start: Start) -> set[int]:
    """Counts from the start on. Gives those that have to do with the stretch; the others go."""
    used = _numbers(db, "SELECT DISTINCT parameter FROM value WHERE parameter IS NOT NULL")
    called = _numbers(db, "SELECT DISTINCT m.root FROM op JOIN module m ON m.id = op.module")
    root = dict(db.execute("SELECT id, root FROM module").fetchall())
    kept = set()
    for id, text in db.execute("SELECT id, data FROM parameter").fetchall():
        data, before = json.loads(text), start.parameters.get(id)
        if before is not None:
            data.update({key: data.get(key, 0) - before.get(key, 0) for key in _COUNTS})
        counted = any(data.get(key) for key in _COUNTS)
        if before is None or counted or id in used or root.get(data.get("module")) in called:
            kept.add(id)
            db.execute("UPDATE parameter SET data = ? WHERE id = ?", (pack(data), id))
        else:
            db.execute("DELETE FROM parameter WHERE id = ?", (id,))
    return kept


def _optimizers(db: sqlite3.Connection, start: Start, kept: set[int]) -> None:
    for id, text in db.execute("SELECT id, data FROM optimizer").fetchall():
        data = json.loads(text)
        data["steps"] = data.get("steps", 0) - start.optimizers.get(id, 0)
        held = {parameter for group in data["groups"] for parameter in group["parameters"]}
        if id in start.optimizers and not data["steps"] and not held & kept:
            db.execute("DELETE FROM optimizer WHERE id = ?", (id,))
        else:
            db.execute("UPDATE optimizer SET data = ? WHERE id = ?", (pack(data), id))


def _facts(db: sqlite3.Connection, start: Start, program: dict[str, Any]) -> None:
    meta = {key: json.loads(value) for key, value in db.execute("SELECT key, value FROM meta")}
    summary = meta.get("summary", {})
    for key, before in (
        ("passes", start.passes), ("seconds", start.seconds), ("own_seconds", start.own_seconds)
    ):  # fmt: skip
        if key in summary:
            summary[key] = max(summary[key] - before, 0)
    summary.pop("distinct_graphs", None)  # counted from the graphs that are left
    summary.update(unseen_threads=0, unseen_passes=0, start_seconds=0.0, import_seconds=0.0)
    if (plain := summary.get("seconds", 0) - summary.get("own_seconds", 0)) > 0:
        summary["overhead"] = round(summary["seconds"] / plain, 3)
    meta["program"] = {**meta.get("program", {}), **program}
    steps = sum(start.optimizers.values())
    marks = [
        [max(mark[0] - steps, 0), *mark[1:3], mark[3] + max(steps - mark[0], 0)]
        for mark in meta.get("marks", ())
    ]
    for key, value in (("summary", summary), ("program", meta["program"]), ("marks", marks)):
        db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, pack(value)))


def _numbers(db: sqlite3.Connection, query: str) -> set[int]:
    rows: Iterable[tuple[int]] = db.execute(query)
    return {number for (number,) in rows}
