"""The trace file: an SQLite database that hooks write and everything else reads.

Each distinct graph (ops, values, nodes) and each distinct list of events is
stored once; a `segment` row says which of them a stretch of the run had.
Nothing in it is pickled: opening a stranger's trace runs no code.
"""

from __future__ import annotations

import json
import os
import sqlite3
import time
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

from gradscope.model import (
    Edge,
    Event,
    GradscopeError,
    Graph,
    Module,
    Node,
    Op,
    Optimizer,
    Parameter,
    Region,
    Segment,
    Site,
    Value,
)
from gradscope.source import SourceFile

SCHEMA_VERSION = 1
APPLICATION_ID = 0x67736370  # "gscp", in the file's header: tells ours from other SQLite files

SCHEMA = """
-- one row: facts about the run as JSON (program, torch, summary), rewritten as it goes
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
-- the user's source as it was when it ran; NULL for library files
CREATE TABLE file (id INTEGER PRIMARY KEY, path TEXT NOT NULL, kind TEXT NOT NULL, source TEXT);
-- call sites, a tree: parent is the frame outside
CREATE TABLE site (id INTEGER PRIMARY KEY, parent INTEGER, file INTEGER NOT NULL, line INTEGER NOT NULL,
  col INTEGER NOT NULL, end_line INTEGER NOT NULL, end_col INTEGER NOT NULL, function TEXT NOT NULL);
CREATE TABLE module (id INTEGER PRIMARY KEY, path TEXT NOT NULL, cls TEXT NOT NULL, root INTEGER NOT NULL,
  parent INTEGER, name TEXT NOT NULL, site INTEGER);
-- rewritten when the run ends (and now and then before): data is JSON of model.Parameter's other fields
CREATE TABLE parameter (id INTEGER PRIMARY KEY, data TEXT NOT NULL);
CREATE TABLE optimizer (id INTEGER PRIMARY KEY, data TEXT NOT NULL);
CREATE TABLE region (id INTEGER PRIMARY KEY, kind TEXT NOT NULL, site INTEGER NOT NULL, parent INTEGER);
CREATE TABLE graph (id INTEGER PRIMARY KEY, ops INTEGER NOT NULL, nodes INTEGER NOT NULL);
-- the four lists below are keyed by graph and index; lists inside a row are JSON arrays
CREATE TABLE op (graph INTEGER, idx INTEGER, name TEXT NOT NULL, site INTEGER, module INTEGER, region INTEGER,
  inputs TEXT NOT NULL, outputs TEXT NOT NULL, nodes TEXT NOT NULL, cut TEXT, writes TEXT, written TEXT, extra TEXT,
  PRIMARY KEY (graph, idx)) WITHOUT ROWID;
CREATE TABLE value (graph INTEGER, idx INTEGER, kind TEXT NOT NULL, shape TEXT NOT NULL, dtype TEXT NOT NULL,
  device TEXT NOT NULL, requires_grad INTEGER NOT NULL, is_leaf INTEGER NOT NULL, op INTEGER, position INTEGER,
  alias_of INTEGER, hidden INTEGER NOT NULL, node INTEGER, parameter INTEGER, module INTEGER,
  origin TEXT, site INTEGER, PRIMARY KEY (graph, idx)) WITHOUT ROWID;
-- edges: JSON [[target, input_nr], …]
CREATE TABLE node (graph INTEGER, idx INTEGER, name TEXT NOT NULL, op INTEGER, edges TEXT NOT NULL, site INTEGER,
  leaf INTEGER, parameter INTEGER, PRIMARY KEY (graph, idx)) WITHOUT ROWID;
-- one distinct list of events; data is JSON, documented in docs/events.md
CREATE TABLE event (list INTEGER, idx INTEGER, kind TEXT NOT NULL, site INTEGER, position INTEGER NOT NULL,
  data TEXT NOT NULL, PRIMARY KEY (list, idx)) WITHOUT ROWID;
-- the run: consecutive identical segments are one row with repeat > 1; numbers is JSON
CREATE TABLE segment (idx INTEGER PRIMARY KEY, graph INTEGER, events INTEGER, started REAL NOT NULL,
  duration REAL NOT NULL, is_step INTEGER NOT NULL, repeat INTEGER NOT NULL, numbers TEXT);
"""

_COLUMNS = {
    "file": 4, "site": 8, "module": 7, "parameter": 2, "optimizer": 2, "region": 4,
    "graph": 3, "op": 13, "value": 17, "node": 8, "event": 6, "segment": 8,
}  # fmt: skip


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
        self._rows: dict[str, list[tuple[Any, ...]]] = {name: [] for name in _COLUMNS}
        self._committed = time.monotonic()

    def add(self, table: str, *row: Any) -> None:
        self._rows[table].append(row)

    def add_all(self, table: str, rows: Iterable[tuple[Any, ...]]) -> None:
        self._rows[table].extend(rows)

    def set_meta(self, key: str, value: Any) -> None:
        self.db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, pack(value)))

    def due(self) -> bool:
        return time.monotonic() - self._committed > self.COMMIT_SECONDS

    def commit(self) -> None:
        self._committed = time.monotonic()
        self.db.execute("BEGIN")
        for table, rows in self._rows.items():
            if rows:
                marks = ",".join("?" * _COLUMNS[table])
                self.db.executemany(f"INSERT OR REPLACE INTO {table} VALUES ({marks})", rows)
                rows.clear()
        self.db.execute("COMMIT")

    def close(self) -> None:
        try:
            self.commit()
            self.db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            self.db.execute("PRAGMA journal_mode=DELETE").fetchone()  # leaves one file
        finally:
            self.db.close()


class Trace:
    """Reads a trace, also one that is still being written. No torch needed.

    `nodes`, `ops`, `parameters`, `events` iterate what is stored, each distinct
    graph once. Raises GradscopeError if the file is missing, foreign, truncated or newer.
    """

    def __init__(self, path: str | os.PathLike[str]):
        self.path = Path(path)
        if self.path.is_dir():
            raise GradscopeError(f"{self.path} is a directory, not a trace")
        if not self.path.exists():
            raise GradscopeError(f"no trace at {self.path}")
        try:
            with self.path.open("rb") as file:
                head = file.read(100)
        except OSError as error:
            raise GradscopeError(f"cannot read {self.path}: {error.strerror}") from None
        if head[:16] != b"SQLite format 3\0" or int.from_bytes(head[68:72], "big") != APPLICATION_ID:
            if len(head) < 100 and b"SQLite format 3\0".startswith(head[:16]):
                raise GradscopeError(f"{self.path} is truncated: nothing of the trace is left")
            raise GradscopeError(f"{self.path} is not a gradscope trace")
        self._db = self._connect()
        try:
            version = self._db.execute("PRAGMA user_version").fetchone()[0]
            if version > SCHEMA_VERSION:
                raise GradscopeError(
                    f"{self.path} was written by a newer gradscope (schema {version}, this one reads {SCHEMA_VERSION})"
                )
            self._db.execute("SELECT count(*) FROM segment").fetchone()
            self._db.execute("SELECT count(*) FROM op").fetchone()
        except sqlite3.DatabaseError as error:
            raise GradscopeError(f"{self.path} is damaged or truncated: {error}") from None
        self._graphs: dict[int, Graph] = {}
        self._source_files: dict[str, SourceFile] = {}

    def _connect(self) -> sqlite3.Connection:
        uri = self.path.resolve().as_uri()
        # A closed trace may lie where SQLite can't create its side files: then it is immutable.
        for query in ("?mode=ro", "?mode=ro&immutable=1"):
            db = sqlite3.connect(uri + query, uri=True, check_same_thread=False)
            try:
                db.execute("SELECT count(*) FROM sqlite_master").fetchone()
                return db
            except sqlite3.DatabaseError as error:
                db.close()
                last = error
        raise GradscopeError(f"cannot open {self.path}: {last}")

    def close(self) -> None:
        self._db.close()

    def _rows(self, query: str, *args: Any) -> list[tuple[Any, ...]]:
        try:
            return self._db.execute(query, args).fetchall()
        except sqlite3.DatabaseError as error:
            raise GradscopeError(f"{self.path} is damaged: {error}") from None

    # -- facts about the run -------------------------------------------------

    @cached_property
    def meta(self) -> dict[str, Any]:
        return {key: json.loads(value) for key, value in self._rows("SELECT key, value FROM meta")}

    @property
    def program(self) -> dict[str, Any]:
        """argv, cwd, exit_code, exception (None or {"type", "text", "frames": [site ids]})."""
        program: dict[str, Any] = self.meta.get("program") or {
            "argv": [], "cwd": "", "exit_code": None, "exception": None,
        }  # fmt: skip
        return program

    @cached_property
    def summary(self) -> dict[str, Any]:
        """steps, passes, distinct_graphs, nodes, overhead (ratio to the plain run, or None)."""
        stored = self.meta.get("summary", {})
        return {
            "steps": self._rows("SELECT coalesce(sum(repeat), 0) FROM segment WHERE is_step")[0][0],
            "passes": stored.get("passes", sum(e.count for e in self.of("backward"))),
            "distinct_graphs": stored.get("distinct_graphs", len(self.graphs_with_nodes)),
            "nodes": self._rows("SELECT count(*) FROM node")[0][0],
            "overhead": stored.get("overhead"),
        }

    @cached_property
    def graphs_with_nodes(self) -> list[int]:
        return [row[0] for row in self._rows("SELECT id FROM graph WHERE nodes > 0 ORDER BY id")]

    # -- source --------------------------------------------------------------

    @cached_property
    def _files(self) -> dict[int, tuple[str, str]]:
        return {id: (path, kind) for id, path, kind in self._rows("SELECT id, path, kind FROM file")}

    @cached_property
    def sources(self) -> dict[str, str]:
        """Path → the text of the user's file as it ran."""
        return dict(self._rows("SELECT path, source FROM file WHERE source IS NOT NULL"))

    def lines(self, path: str) -> list[str]:
        return self.sources.get(path, "").splitlines()

    def source_file(self, path: str) -> SourceFile:
        """The file at `path` as syntax; empty where its text is not in the trace."""
        if path not in self._source_files:
            self._source_files[path] = SourceFile(self.sources.get(path, ""))
        return self._source_files[path]

    def _block_end(self, site: Site) -> int | None:
        return self.source_file(site.path).block_end(site.line)

    @cached_property
    def _sites(self) -> dict[int, Site]:
        sites: dict[int, Site] = {}
        for id, parent, file, line, col, end_line, end_col, function in self._rows(
            "SELECT id, parent, file, line, col, end_line, end_col, function FROM site ORDER BY id"
        ):
            path, kind = self._files.get(file, ("?", "library"))
            sites[id] = Site(id, path, line, col, end_line, end_col, function, kind, sites.get(parent))
        return sites

    def site(self, id: int | None) -> Site | None:
        return None if id is None else self._sites.get(id)

    @property
    def sites(self) -> list[Site]:
        return list(self._sites.values())

    # -- modules, parameters, optimizers, regions -----------------------------

    @cached_property
    def modules(self) -> dict[int, Module]:
        return {
            row[0]: Module(row[0], row[1], row[2], row[3], row[4], row[5], self.site(row[6]))
            for row in self._rows("SELECT id, path, cls, root, parent, name, site FROM module ORDER BY id")
        }

    @cached_property
    def parameters(self) -> list[Parameter]:
        found = []
        for id, data in self._rows("SELECT id, data FROM parameter ORDER BY id"):
            fields = json.loads(data)
            fields["shape"] = tuple(fields["shape"])
            fields["optimizers"] = tuple(fields.get("optimizers", ()))
            site = fields["site"] = self.site(fields.get("site"))
            if not fields["name"] and site is not None:
                fields["name"] = self.source_file(site.user.path).variable(site.user) or ""
            found.append(Parameter(id=id, **fields))
        return found

    def parameter(self, id: int) -> Parameter:
        return self._parameters_by_id[id]

    @cached_property
    def _parameters_by_id(self) -> dict[int, Parameter]:
        return {p.id: p for p in self.parameters}

    @cached_property
    def optimizers(self) -> dict[int, Optimizer]:
        found = {}
        for id, data in self._rows("SELECT id, data FROM optimizer ORDER BY id"):
            fields = json.loads(data)
            fields["site"] = self.site(fields.get("site"))
            fields["groups"] = tuple(fields["groups"])
            found[id] = Optimizer(id=id, **fields)
        return found

    @cached_property
    def regions(self) -> dict[int, Region]:
        return {
            id: Region(id, kind, self._sites[site], parent, self._block_end(self._sites[site].user))
            for id, kind, site, parent in self._rows("SELECT id, kind, site, parent FROM region")
            if site in self._sites
        }

    # -- graphs ----------------------------------------------------------------

    def graph(self, id: int) -> Graph:
        """One distinct graph, loaded on first use."""
        if id not in self._graphs:
            self._graphs[id] = self._load_graph(id)
        return self._graphs[id]

    @property
    def graphs(self) -> list[Graph]:
        return [self.graph(row[0]) for row in self._rows("SELECT id FROM graph ORDER BY id")]

    @cached_property
    def _graph_counts(self) -> dict[int, int]:
        return dict(
            self._rows("SELECT graph, sum(repeat) FROM segment WHERE graph IS NOT NULL GROUP BY graph")
        )

    def _load_graph(self, id: int) -> Graph:
        site = self._sites.get
        nodes = tuple(
            Node(
                idx, name, op, tuple(Edge(idx, t, nr) for t, nr in json.loads(edges)),
                site(site_id), leaf, id, parameter,
            )
            for idx, name, op, edges, site_id, leaf, parameter in self._rows(
                "SELECT idx, name, op, edges, site, leaf, parameter FROM node WHERE graph = ? ORDER BY idx", id
            )
        )  # fmt: skip
        values = tuple(
            Value(
                idx, kind, tuple(json.loads(shape)), dtype, device, bool(rg), bool(leaf), op, position, alias_of,
                bool(hidden), node, parameter, module, tuple(json.loads(origin)) if origin else None, site(site_id),
            )
            for (
                idx, kind, shape, dtype, device, rg, leaf, op, position, alias_of, hidden, node, parameter, module,
                origin, site_id,
            ) in self._rows(
                "SELECT idx, kind, shape, dtype, device, requires_grad, is_leaf, op, position, alias_of, hidden,"
                " node, parameter, module, origin, site FROM value WHERE graph = ? ORDER BY idx", id
            )
        )  # fmt: skip
        ops = tuple(
            Op(
                idx, name, self._sites[site_id], module, region, tuple(json.loads(inputs)), tuple(json.loads(outputs)),
                tuple(json.loads(own)), cut, tuple(json.loads(writes or "[]")), tuple(json.loads(written or "[]")),
                id, json.loads(extra) if extra else {},
            )
            for idx, name, site_id, module, region, inputs, outputs, own, cut, writes, written, extra in self._rows(
                "SELECT idx, name, site, module, region, inputs, outputs, nodes, cut, writes, written, extra"
                " FROM op WHERE graph = ? ORDER BY idx", id
            )
        )  # fmt: skip
        return Graph(id, ops, values, nodes, self._graph_counts.get(id, 0))

    @property
    def nodes(self) -> Iterator[Node]:
        for graph in self.graphs:
            yield from graph.nodes

    @property
    def ops(self) -> Iterator[Op]:
        for graph in self.graphs:
            yield from graph.ops

    # -- the run -----------------------------------------------------------------

    @cached_property
    def segments(self) -> list[Segment]:
        return [
            Segment(
                i,
                graph,
                events,
                started,
                duration,
                bool(step),
                repeat,
                json.loads(numbers) if numbers else {},
            )
            for i, graph, events, started, duration, step, repeat, numbers in self._rows(
                "SELECT idx, graph, events, started, duration, is_step, repeat, numbers FROM segment ORDER BY idx"
            )
        ]

    @cached_property
    def events(self) -> list[Event]:
        """All distinct events in the order of their first segment; `count` says how often
        the whole list they stand in was seen."""
        first: dict[tuple[int, int], int] = {}
        counts: dict[tuple[int, int], int] = {}
        for segment in self.segments:
            if segment.events is not None:
                key = (segment.events, segment.graph if segment.graph is not None else -1)
                first.setdefault(key, segment.index)
                counts[key] = counts.get(key, 0) + segment.repeat
        lists: dict[int, list[tuple[Any, ...]]] = {}
        for row in self._rows("SELECT list, kind, site, position, data FROM event ORDER BY list, idx"):
            lists.setdefault(row[0], []).append(row[1:])
        found = []
        for (events, graph), index in sorted(first.items(), key=lambda item: item[1]):
            for kind, site, position, data in lists.get(events, ()):
                count = counts[events, graph]
                found.append(Event(kind, self._sites[site], json.loads(data), graph, position, index, count))
        return found

    def of(self, *kinds: str) -> list[Event]:
        """The events of these kinds, in program order."""
        return [event for event in self.events if event.kind in kinds]

    @property
    def findings(self) -> list[Any]:
        """What the rules say about this trace (model.Finding), most severe first."""
        from gradscope.check import check  # rules stand to the right of the store

        return check(self)
