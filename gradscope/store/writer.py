"""Appends to a trace file."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from gradscope.model import GradscopeError
from gradscope.store.schema import APPLICATION_ID, COLUMNS, INDEX, SCHEMA, SCHEMA_VERSION

_encode = json.JSONEncoder(separators=(",", ":"), allow_nan=False, check_circular=False).encode


def pack(data: Any) -> str:
    """JSON as the trace holds it: compact, non-finite numbers as strings."""
    try:
        return _encode(data)
    except ValueError:
        return _encode(_finite(data))


def pack_numbers(numbers: Iterable[int]) -> str:
    """`pack` for what most rows hold, a list of whole numbers."""
    return "[" + ",".join(map(str, numbers)) + "]"


def _finite(data: Any) -> Any:
    if isinstance(data, float) and (data != data or data in (float("inf"), float("-inf"))):
        return str(data)
    if isinstance(data, dict):
        return {k: _finite(v) for k, v in data.items()}
    if isinstance(data, (list, tuple)):
        return [_finite(v) for v in data]
    return data


class TraceWriter:
    """Appends to a trace file. Rows are gathered and committed in batches, at most
    `COMMIT_SECONDS` apart while segments close; a killed run keeps what was committed.

    Raises GradscopeError if `path` exists and is no trace, sqlite3.Error on faults of the disk.
    """

    COMMIT_SECONDS = 0.25
    MAX_FAILURES = 3  # commits in a row, before it is given up

    def __init__(self, path: Path):
        self.path = path
        if path.exists():
            with path.open("rb") as file:
                head = file.read(72)
            if head and (len(head) < 72 or int.from_bytes(head[68:72], "big") != APPLICATION_ID):
                raise GradscopeError(f"{path} exists and is not a gradscope trace: not overwritten")
            for suffix in ("", "-wal", "-shm"):
                Path(f"{path}{suffix}").unlink(missing_ok=True)
        self.db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self.db.execute("PRAGMA busy_timeout=2000")
        self.db.execute("PRAGMA synchronous=OFF")
        # Before the WAL: so that the file itself says what it is from the first moment.
        self.db.execute(f"PRAGMA application_id={APPLICATION_ID}")
        self.db.execute(f"PRAGMA user_version={SCHEMA_VERSION}")
        self.db.executescript("BEGIN;" + SCHEMA + "COMMIT;")
        try:
            self.db.execute("PRAGMA journal_mode=WAL").fetchone()
        except sqlite3.OperationalError:  # no shared memory here (some network disks)
            self.db.execute("PRAGMA locking_mode=EXCLUSIVE")
            self.db.execute("PRAGMA journal_mode=WAL").fetchone()
        self._rows: dict[str, list[tuple[Any, ...]]] = {name: [] for name in COLUMNS}
        self._committed = time.monotonic()
        self._failures = 0

    def add(self, table: str, *row: Any) -> None:
        self._rows[table].append(row)

    def add_all(self, table: str, rows: Iterable[tuple[Any, ...]]) -> None:
        self._rows[table].extend(rows)

    def set_meta(self, key: str, value: Any) -> None:
        self.db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, pack(value)))

    def due(self) -> bool:
        return time.monotonic() - self._committed > self.COMMIT_SECONDS

    def commit(self) -> None:
        """Writes the gathered rows. After a failure they are kept for the next time, until that
        has failed too often: then they are dropped, so that a full disk fills no memory."""
        self._committed = time.monotonic()
        try:
            if self._failures < self.MAX_FAILURES:
                self._insert()
        except BaseException:
            self._failures += 1
            if self.db.in_transaction:
                self.db.execute("ROLLBACK")
            if self._failures >= self.MAX_FAILURES:
                self._clear()
            raise
        self._clear()

    def _insert(self) -> None:
        self.db.execute("BEGIN")
        for table, rows in self._rows.items():
            if rows:
                marks = ",".join("?" * COLUMNS[table])
                self.db.executemany(f"INSERT OR REPLACE INTO {table} VALUES ({marks})", rows)
        self.db.execute("COMMIT")
        self._failures = 0

    def _clear(self) -> None:
        for rows in self._rows.values():
            rows.clear()

    def close(self) -> None:
        try:
            self.commit()
            self.db.execute(INDEX)
            _fold_in(self.db)
        finally:
            self.db.close()


def _fold_in(db: sqlite3.Connection) -> None:
    """Makes one file of a trace and its write-ahead log; they stay apart while somebody reads."""
    with suppress(sqlite3.OperationalError):
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        db.execute("PRAGMA journal_mode=DELETE").fetchone()


def tidy(path: Path) -> None:
    """Removes the files beside a trace that a reader kept its writer from removing."""
    if Path(f"{path}-wal").exists():
        with suppress(sqlite3.Error), closing(sqlite3.connect(path, isolation_level=None)) as db:
            _fold_in(db)
