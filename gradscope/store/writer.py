"""Appends to a trace file."""

from __future__ import annotations

import json
import os
import sqlite3
import threading
from collections.abc import Iterable
from contextlib import closing, suppress
from pathlib import Path
from time import monotonic
from typing import Any

from gradscope.model import GradscopeError
from gradscope.store._ground import descriptors, kept_open, leak, moved_aside, quiet, still_ours
from gradscope.store.alike import folded, parameters_of
from gradscope.store.outline import KEY, outlines
from gradscope.store.schema import APPLICATION_ID, COLUMNS, COMMON, INDEX, MANY_OPS, SCHEMA, SCHEMA_VERSION

SMALL = 1 << 24  # bytes
PAGE = 1024  # bytes: most norms of a pass take a few, and leave the rest of the last one empty

Rows = dict[str, list[tuple[Any, ...]]]

_encode = json.JSONEncoder(separators=(",", ":"), check_circular=False).encode

_GRANTED: dict[str, Any] = {  # as in model.Parameter
    "module": None, "declared": False, "sharded": False, "updates": 0, "changed": False, "reads": 0, "read_at": [],
    "taken": 0, "taken_at": [], "handed": 0, "grad_norm": None, "site": None,
}  # fmt: skip


def pack(data: Any) -> str:
    """JSON as the trace holds it: compact; NaN and infinity as Python's `json` writes and reads them."""
    return _encode(data)


def pack_numbers(numbers: Iterable[int]) -> str:
    """`pack` for what most rows hold, a list of whole numbers."""
    return "[" + ",".join(map(str, numbers)) + "]"


def left_out(place: int, text: str) -> str:
    """`text` as a row of `value` has it, whose kind (0), dtype (1) and device (2) are mostly the same."""
    return "" if text == COMMON[place] else text


def pack_parameter(data: dict[str, Any]) -> str:
    """`pack` for a row of `parameter`, without what a reader takes for granted: there may be thousands."""
    return _encode(
        {key: value for key, value in data.items() if key not in _GRANTED or _GRANTED[key] != value}
    )


class TraceWriter:
    """Appends to a trace file. Rows are gathered and committed in batches, at most
    `COMMIT_SECONDS` apart while segments close, `HURRY_SECONDS` where that was asked for; a killed run keeps
    what was committed.

    Raises GradscopeError if `path` exists and is no trace, sqlite3.Error on faults of the disk.
    """

    COMMIT_SECONDS = 0.25
    HURRY_SECONDS = 0.05
    MAX_FAILURES = 3  # commits in a row, before it is given up
    MAX_MOVES = 3  # to new descriptors, since the program closed the old ones

    def __init__(self, path: Path):
        self.path = path
        if path.exists():
            with path.open("rb") as file:
                head = file.read(72)
            if head and (len(head) < 72 or int.from_bytes(head[68:72], "big") != APPLICATION_ID):
                raise GradscopeError(f"{path} exists and is not a gradscope trace: not overwritten")
            for suffix in ("", "-wal", "-shm", "-died"):
                Path(f"{path}{suffix}").unlink(missing_ok=True)
        with quiet():
            self.db = _connection(path)
            # Before the WAL: so that the file itself says what it is from the first moment.
            self.db.execute(f"PRAGMA application_id={APPLICATION_ID}")
            self.db.execute(f"PRAGMA user_version={SCHEMA_VERSION}")
            self.db.executescript("BEGIN;" + SCHEMA + "COMMIT;")
            _use_log(self.db)
        self._descriptors = descriptors(path)
        self._moves = 0
        self._rows = _nothing()
        self._gathered = _nothing()  # of the commit that is under way
        self._committed = monotonic()
        self._hurry_until = 0.0
        self._failures = 0
        self._writing = threading.Lock()

    def add(self, table: str, *row: Any) -> None:
        self._rows[table].append(row)

    def add_all(self, table: str, rows: Iterable[tuple[Any, ...]]) -> None:
        self._rows[table].extend(rows)

    def set_meta(self, key: str, value: Any) -> None:
        text = pack(value)
        self._find_ground()
        with quiet():
            self.db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, text))

    def due(self) -> bool:
        waits = self.HURRY_SECONDS if self._committed < self._hurry_until else self.COMMIT_SECONDS
        return monotonic() - self._committed > waits

    def hurry(self, seconds: float) -> None:
        """Has rows committed more often for so long: somebody may read along who waits for what has just begun."""
        self._hurry_until = monotonic() + seconds

    def commit(self) -> None:
        """Writes the gathered rows. After a failure they are kept for the next time, until that
        has failed too often: then they are dropped, so that a full disk fills no memory. They wait
        too where another thread is writing, or this one was when a signal came."""
        if self._writing.acquire(blocking=False):
            try:
                self._commit()
            finally:
                self._writing.release()

    def _commit(self) -> None:
        self._committed = monotonic()
        gathered = self._gathered = self._rows
        self._rows = _nothing()  # a signal handler may add more meanwhile
        try:
            if self._failures < self.MAX_FAILURES:
                self._find_ground()
                with quiet():
                    try:
                        self._insert(gathered)
                    except UnicodeEncodeError:  # a name with half a character in it
                        self.db.execute("ROLLBACK")
                        self._insert(
                            {table: [_encodable(r) for r in rows] for table, rows in gathered.items()}
                        )
        except BaseException:
            self._failures += 1
            if self.db.in_transaction:
                self.db.execute("ROLLBACK")
            if self._failures < self.MAX_FAILURES:
                self._rows = {table: rows + self._rows[table] for table, rows in gathered.items()}
            self._gathered = _nothing()
            raise
        self._gathered = _nothing()

    def _insert(self, gathered: Rows) -> None:
        self.db.execute("BEGIN")
        for table, rows in gathered.items():
            if rows:
                marks = ",".join("?" * COLUMNS[table])
                self.db.executemany(f"INSERT OR REPLACE INTO {table} VALUES ({marks})", rows)
        self.db.execute("COMMIT")
        self._failures = 0

    def close(self, one_of: dict[str, Any] | None = None) -> None:
        """Ends the file. `one_of`: the facts of the program (`Trace.program`) where it is one of several processes; its
        trace then says itself by what they are compared."""
        with quiet():
            try:
                if self.db.in_transaction:  # a signal came in the middle of a commit, and ends the run
                    self.db.execute("ROLLBACK")
                self._rows = {table: rows + self._rows[table] for table, rows in self._gathered.items()}
                self._commit()
                if self._rows_of("SELECT coalesce(sum(ops), 0) FROM graph")[0][0] > MANY_OPS:
                    self.db.execute(INDEX)
                if one_of is not None:
                    found = outlines(self._rows_of, one_of)
                    self.db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (KEY, pack(found)))
                    self._make_small()
                _fold_in(self.db)
            finally:
                self.db.close()

    def _rows_of(self, query: str) -> list[tuple[Any, ...]]:
        return self.db.execute(query).fetchall()

    def _make_small(self) -> None:
        """There may be a thousand of them. A large one is left as it is, which would take long."""
        pages, size = (self._rows_of(f"PRAGMA {name}")[0][0] for name in ("page_count", "page_size"))
        if pages * size > SMALL:
            return
        shared, rows = folded(parameters_of(self._rows_of))
        self.db.execute("BEGIN")
        self.db.executemany("INSERT OR REPLACE INTO alike VALUES (?, ?)", shared)
        self.db.executemany("INSERT OR REPLACE INTO parameter VALUES (?, ?)", rows)
        if self._rows_of("SELECT coalesce(sum(ops), 0) FROM graph")[0][0] <= MANY_OPS:
            self.db.execute("DROP INDEX IF EXISTS op_cut")
        self.db.execute("COMMIT")
        _fold_in(self.db)
        if self._rows_of("PRAGMA journal_mode") != [("delete",)]:
            return  # somebody reads: what is in the log belongs to this file
        # Into another file, which takes its place: one that is killed meanwhile leaves the old one whole.
        copy = Path(f"{self.path}-new")
        try:
            self.db.execute(f"PRAGMA page_size={PAGE}")
            self.db.execute("VACUUM INTO ?", (str(copy),))
            os.replace(copy, self.path)
        except (sqlite3.Error, OSError):  # no room to do it in
            copy.unlink(missing_ok=True)

    def forget(self) -> None:
        """Never writes again, nor closes the file: in a forked child it is the parent's."""
        leak(self.db)
        self._failures = self.MAX_FAILURES

    def _find_ground(self) -> None:
        """Where the program has closed the descriptors of the trace (`os.closerange`), or opened
        files of its own under their numbers, the trace goes on in a copy that takes its place.

        Raises OSError where that can't be, or happens again and again.
        """
        if still_ours(self._descriptors):
            return
        leak(self.db)
        self._moves += 1
        if self._moves > self.MAX_MOVES:
            self._failures = self.MAX_FAILURES
            raise OSError("the program closes the files of the trace again and again")
        with quiet():
            self._old = kept_open(self.path)
            moved_aside(self.path)
            self.db = _connection(self.path)
            _use_log(self.db)
        self._descriptors = descriptors(self.path)


def _encodable(row: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(v.encode(errors="backslashreplace").decode() if isinstance(v, str) else v for v in row)


def _nothing() -> Rows:
    return {name: [] for name in COLUMNS}


def _connection(path: Path) -> sqlite3.Connection:
    db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    db.execute("PRAGMA busy_timeout=2000")
    db.execute("PRAGMA synchronous=OFF")
    return db


def _use_log(db: sqlite3.Connection) -> None:
    try:
        db.execute("PRAGMA journal_mode=WAL").fetchone()
    except sqlite3.OperationalError:  # no shared memory here (some network disks)
        db.execute("PRAGMA locking_mode=EXCLUSIVE")
        db.execute("PRAGMA journal_mode=WAL").fetchone()
    db.execute("SELECT count(*) FROM meta").fetchone()  # opens the log


def _fold_in(db: sqlite3.Connection) -> None:
    """Makes one file of a trace and its write-ahead log; they stay apart while somebody reads."""
    db.execute("PRAGMA busy_timeout=0")  # the program's end waits for no reader
    with suppress(sqlite3.OperationalError):
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        db.execute("PRAGMA journal_mode=DELETE").fetchone()


def tidy(path: Path) -> None:
    """Removes the files beside a trace that a reader kept its writer from removing, or that hold nothing."""
    with suppress(OSError):
        if not (words := Path(f"{path}-died")).stat().st_size:
            words.unlink()
    if Path(f"{path}-wal").exists():
        with suppress(sqlite3.Error), closing(sqlite3.connect(path, isolation_level=None)) as db:
            _fold_in(db)
