"""Whether a trace that is being written has anything new, without reading it."""

from __future__ import annotations

import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from typing import NamedTuple


class Glance(NamedTuple):
    """What is compared with the same of earlier. stamp: of the files. kinds: the newest distinct graph and list of
    events. last: the newest segment and how often it has repeated. written: what is known of parameters and
    optimizers, which is written now and then. ended: the program's facts, which the end alone changes."""

    stamp: tuple[tuple[int, int], ...] = ()
    kinds: object = None
    last: object = None
    written: object = None
    ended: object = None


def glance(path: Path, before: Glance | None = None) -> Glance:
    """What there is now; `before` where nothing was written since, or the file can't be read."""
    stamp = stamp_of(path)
    if before is not None and stamp == before.stamp:
        return before
    with (
        suppress(sqlite3.Error),
        closing(sqlite3.connect(path.resolve().as_uri() + "?mode=ro", uri=True, isolation_level=None)) as db,
    ):
        kinds = db.execute("SELECT (SELECT max(list) FROM event), (SELECT max(id) FROM graph)").fetchone()
        last = db.execute("SELECT idx, repeat FROM segment ORDER BY idx DESC LIMIT 1").fetchone()
        facts = dict(db.execute("SELECT key, value FROM meta WHERE key IN ('summary', 'program')"))
        return Glance(stamp, kinds, last, facts.get("summary"), facts.get("program"))
    return before or Glance(stamp)


def stamp_of(path: Path) -> tuple[tuple[int, int], ...]:
    """(size in bytes, time of the last write in ns) of the file and of its write-ahead log, as far as they exist."""
    found = []
    for file in (path, Path(f"{path}-wal")):
        with suppress(OSError):
            stat = file.stat()
            found.append((stat.st_size, stat.st_mtime_ns))
    return tuple(found)
