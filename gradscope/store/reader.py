"""Reads a trace file."""

from __future__ import annotations

import json
import os
import sqlite3
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import cached_property, wraps
from pathlib import Path
from typing import Any, TypeVar, cast

from gradscope.collector import paused
from gradscope.events import Backward, Kind
from gradscope.model import (
    Event,
    GradscopeError,
    Graph,
    Mark,
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
from gradscope.source import SourceFile, lines_of, parsed
from gradscope.store._rows import NODES, OPS, VALUES, nodes_of, ops_of, values_of
from gradscope.store.alike import parameters_of
from gradscope.store.glance import stamp_of
from gradscope.store.norms import read_norms
from gradscope.store.schema import APPLICATION_ID, SCHEMA_VERSION

R = TypeVar("R")
E = TypeVar("E", bound=Event)


def _within(indices: list[int], size: int) -> None:
    if indices and not 0 <= min(indices) <= max(indices) < size:
        raise IndexError


def _indexed(ops: Sequence[Op], values: Sequence[Value], nodes: Sequence[Node]) -> None:
    """Raises IndexError where one of them is not at its index, or points to what is not there."""
    for rows in (ops, values, nodes):
        if [row.index for row in rows] != list(range(len(rows))):
            raise IndexError
    _within(
        [i for op in ops for some in (op.inputs, op.outputs, op.writes, op.written) for i in some],
        len(values),
    )
    _within([i for op in ops for i in op.nodes], len(nodes))
    _within([value.alias_of for value in values if value.alias_of is not None], len(values))
    _within([value.op for value in values if value.op is not None], len(ops))
    _within([value.node for value in values if value.node is not None], len(nodes))
    _within([edge.target for node in nodes for edge in node.edges], len(nodes))
    _within([node.leaf for node in nodes if node.leaf is not None], len(values))
    _within([node.op for node in nodes if node.op is not None], len(ops))


def _holder(name: str) -> str:
    """`nets[` of `nets[0]`; "" where no list or dict holds it."""
    before, bracket, _ = name.rpartition("[")
    return before + bracket


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


def _sound(read: Callable[..., R]) -> Callable[..., R]:
    """Makes a reader's method say that the file is damaged where its rows make no sense."""

    @wraps(read)
    def checked(trace: Trace, *args: Any) -> R:
        try:
            return read(trace, *args)
        except (ValueError, TypeError, KeyError, IndexError, AttributeError) as error:
            raise GradscopeError(
                f"{trace.path} is damaged: {type(error).__name__} in {read.__name__}"
            ) from None

    return checked


class Trace:
    """Reads a trace, one that is still being written as it was when opened. No torch needed.

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
            if not head:
                raise GradscopeError(
                    f"{self.path} is empty: that run has just begun, or was ended before its program began"
                )
            if len(head) < 100 and b"SQLite format 3\0".startswith(head[:16]):
                raise GradscopeError(f"{self.path} is truncated: nothing of the trace is left")
            made = f": `gradscope run {self.path}` makes one, and the newest is taken where none is named"
            hint = made if self.path.suffix == ".py" else ""
            raise GradscopeError(f"{self.path} is not a gradscope trace{hint}")
        self._stamp = stamp_of(self.path)
        self._db: sqlite3.Connection | None = self._connect()
        try:
            version = self._db.execute("PRAGMA user_version").fetchone()[0]
            if version > SCHEMA_VERSION:
                raise GradscopeError(
                    f"{self.path} was written by a newer gradscope (schema {version}, this one reads {SCHEMA_VERSION})"
                )
            self._db.execute("SELECT count(*) FROM segment").fetchone()
            self._db.execute("SELECT count(*) FROM op").fetchone()
        except sqlite3.DatabaseError as error:
            raise GradscopeError(f"{self.path} is damaged or truncated: {_first_line(error)}") from None
        self._graphs: dict[int, Graph] = {}
        self._source_files: dict[str, SourceFile] = {}
        self.worked_out: dict[object, object] = {}  # what others keep of it (analysis/memo.py)

    def _connect(self) -> sqlite3.Connection:
        uri = self.path.resolve().as_uri()
        # A closed trace may lie where SQLite can't create its side files: then it is immutable.
        for query in ("?mode=ro", "?mode=ro&immutable=1"):
            db: sqlite3.Connection | None = None
            try:
                # Fails where the file is gone: a child has taken a rank, or had nothing to tell.
                db = sqlite3.connect(uri + query, uri=True, isolation_level=None, check_same_thread=False)
                # One transaction: what is read later belongs to what was read first, however the file grows.
                db.execute("BEGIN")
                db.execute("SELECT count(*) FROM sqlite_master").fetchone()
                return db
            except sqlite3.DatabaseError as error:
                if db is not None:
                    db.close()
                last = error
        if isinstance(last, sqlite3.OperationalError):  # the system's word, not the file's
            raise GradscopeError(f"cannot open {self.path}: {_first_line(last)}")
        raise GradscopeError(f"{self.path} is damaged or truncated: {_first_line(last)}")

    def close(self) -> None:
        """Lets go of the file. What is asked for later opens it again."""
        if self._db is not None:
            self._db.close()
            self._db = None

    def grown(self) -> bool:
        """Whether a running program has added to the file since it was opened: what is new is read by another
        `Trace`."""
        return stamp_of(self.path) not in ((), self._stamp)

    def rows(self, query: str, *args: Any) -> list[tuple[Any, ...]]:
        """What an SQL query gives. Raises GradscopeError for a damaged file."""
        if self._db is None:
            self._db = self._connect()
        try:
            return self._db.execute(query, args).fetchall()
        except sqlite3.DatabaseError as error:
            raise GradscopeError(f"{self.path} is damaged: {_first_line(error)}") from None

    # -- facts about the run -------------------------------------------------

    @cached_property
    def marks(self) -> list[Mark]:
        """What the program has called its steps, in order."""
        return [Mark(*mark) for mark in self.meta.get("marks", ())]

    @cached_property
    @_sound
    def meta(self) -> dict[str, Any]:
        return {key: json.loads(value) for key, value in self.rows("SELECT key, value FROM meta")}

    @property
    def program(self) -> dict[str, Any]:
        """argv, cwd, exit_code (minus the signal that ended it), exception (None or {"type", "text",
        "frames": [site ids]}), ended (False while it runs, and where it was killed), command (how it was started: see
        `runner.Program.command`; None for a block), process (its number), rank and child (which of several
        processes it was: docs/events.md), stood (the site at which a signal ended it), left (the one
        at which it ended itself)."""
        program: dict[str, Any] = self.meta.get("program") or {
            "argv": [], "cwd": "", "exit_code": None, "exception": None,
        }  # fmt: skip
        return program

    @cached_property
    def last_words(self) -> str:
        """What Python's fault handler has written beside the trace of a process that C code ended; "" of others."""
        try:
            return Path(f"{self.path}-died").read_text(errors="replace")
        except OSError:
            return ""

    @cached_property
    def summary(self) -> dict[str, Any]:
        """steps, passes, distinct_graphs, nodes (of the largest graph: one may be stored several times, with other
        values), overhead (ratio to the plain run, or None)."""
        stored = self.meta.get("summary", {})
        passes = stored.get("passes", 0)
        # Of a run that goes on, or was killed, what was stored is older than the events.
        if not self.program.get("ended"):
            passes = max(passes, sum(e.count for e in self.of(Backward)))
        return {
            "steps": self.rows("SELECT coalesce(sum(repeat), 0) FROM segment WHERE is_step")[0][0],
            "passes": passes,
            "distinct_graphs": stored.get("distinct_graphs") or len(self.graphs_with_nodes),
            "nodes": self.rows("SELECT coalesce(max(nodes), 0) FROM graph")[0][0],
            "overhead": stored.get("overhead"),
        }

    @cached_property
    def graphs_with_nodes(self) -> list[int]:
        return [row[0] for row in self.rows("SELECT id FROM graph WHERE nodes > 0 ORDER BY id")]

    # -- source --------------------------------------------------------------

    @cached_property
    @_sound
    def _files(self) -> dict[int, tuple[str, str]]:
        return {id: (path, kind) for id, path, kind in self.rows("SELECT id, path, kind FROM file")}

    @cached_property
    @_sound
    def sources(self) -> dict[str, str]:
        """Path → the text of the user's file as it ran."""
        return dict(self.rows("SELECT path, source FROM file WHERE source IS NOT NULL"))

    def lines(self, path: str) -> list[str]:
        return lines_of(self.sources.get(path, ""))

    def source_file(self, path: str) -> SourceFile:
        """The file at `path` as syntax; empty where its text is not in the trace."""
        if path not in self._source_files:
            self._source_files[path] = parsed(self.sources.get(path, ""))
        return self._source_files[path]

    def _block_end(self, site: Site) -> int | None:
        return self.source_file(site.path).block_end(site.line)

    @cached_property
    @_sound
    def sites_by_id(self) -> dict[int, Site]:
        sites: dict[int, Site] = {}
        for id, parent, file, line, col, end_line, end_col, function in self.rows(
            "SELECT id, parent, file, line, col, end_line, end_col, function FROM site ORDER BY id"
        ):
            path, kind = self._files.get(file, ("?", "library"))
            sites[id] = Site(id, path, line, col, end_line, end_col, function, kind, sites.get(parent))
        return sites

    def site(self, id: int | None) -> Site | None:
        return None if id is None else self.sites_by_id.get(id)

    @property
    def sites(self) -> list[Site]:
        return list(self.sites_by_id.values())

    # -- modules, parameters, optimizers, regions -----------------------------

    @cached_property
    @_sound
    def modules(self) -> dict[int, Module]:
        rows = [
            (id, path, cls, root, parent, name or (self._given_to(site) if id == root else ""), site, held)
            for id, path, cls, root, parent, name, site, held in self.rows(
                "SELECT id, path, cls, root, parent, name, site, held FROM module ORDER BY id"
            )
        ]
        alike = Counter(
            kin
            for id, _, _, root, _, name, _, held in rows
            for kin in ({name, _holder(held or name)} - {""} if id == root else ())
        )
        return {
            id: Module(
                id, path, cls, root, parent,
                held if held and max(alike[name], alike[_holder(held)]) > 1 else name, self.site(site), name,
            )
            for id, path, cls, root, parent, name, site, held in rows
        }  # fmt: skip

    def _given_to(self, number: int | None) -> str:
        """The variable of a module that was met before there was one: in `net = Net().eval()`."""
        site = self.site(number)
        return (site and self.source_file(site.user.path).variable_of_module(site.user)) or ""

    @cached_property
    @_sound
    def parameters(self) -> list[Parameter]:
        """Of a run that goes on, or was killed, the rows can be older than the events: as many passes as these tell of
        there have been."""
        told: Counter[int] = Counter()
        for event in self.of(Backward) if not self.program.get("ended") else ():
            for id in event.filled:
                told[id] += event.count
        found = []
        for id, fields in parameters_of(self.rows):
            fields["passes"] = max(fields.get("passes", 0), told[id])
            fields["shape"] = tuple(fields["shape"])
            fields["optimizers"] = tuple(fields.get("optimizers", ()))
            for places in ("read_at", "taken_at"):
                sites = [self.site(number) for number in fields.get(places, ())]
                fields[places] = tuple(
                    (s.user.path, s.user.line, s.user.column) for s in sites if s is not None
                )
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
    @_sound
    def optimizers(self) -> dict[int, Optimizer]:
        found = {}
        for id, data in self.rows("SELECT id, data FROM optimizer ORDER BY id"):
            fields = json.loads(data)
            fields["site"] = self.site(fields.get("site"))
            fields["groups"] = tuple(fields["groups"])
            found[id] = Optimizer(id=id, **fields)
        return found

    @cached_property
    @_sound
    def regions(self) -> dict[int, Region]:
        return {
            id: Region(id, kind, self.sites_by_id[site], parent, self._block_end(self.sites_by_id[site].user))
            for id, kind, site, parent in self.rows("SELECT id, kind, site, parent FROM region")
            if site in self.sites_by_id
        }

    # -- graphs ----------------------------------------------------------------

    def graph(self, id: int) -> Graph:
        """One distinct graph, loaded on first use."""
        if id not in self._graphs:
            self._graphs[id] = self._load_graph(id)
        return self._graphs[id]

    @property
    def graphs(self) -> list[Graph]:
        return [self.graph(row[0]) for row in self.rows("SELECT id FROM graph ORDER BY id")]

    def called_at(self, site: int | None, names: Collection[str]) -> Iterator[Op]:
        """The calls of these ops from one site, in the order of the graphs."""
        for graph in self.graphs:
            yield from (op for op in graph.called(names) if op.site.id == site)

    @cached_property
    def node_names(self) -> frozenset[str]:
        """The kinds of grad nodes that the run built."""
        return frozenset(name for (name,) in self.rows("SELECT DISTINCT name FROM node"))

    @cached_property
    def op_names(self) -> frozenset[str]:
        """The ops that the run called."""
        return frozenset(name for (name,) in self.rows("SELECT DISTINCT name FROM op"))

    @cached_property
    def graph_counts(self) -> dict[int, int]:
        """Graph → how often the run built it."""
        return dict(
            self.rows("SELECT graph, sum(repeat) FROM segment WHERE graph IS NOT NULL GROUP BY graph")
        )

    @_sound
    def _load_graph(self, id: int) -> Graph:
        sites, of = self.sites_by_id, "WHERE graph = ? ORDER BY idx"
        with paused():
            nodes = nodes_of(self.rows(f"{NODES} {of}", id), sites)
            values = values_of(self.rows(f"{VALUES} {of}", id), sites)
            ops = ops_of(self.rows(f"{OPS} {of}", id), sites)
            _indexed(ops, values, nodes)
        return Graph(id, ops, values, nodes, self.graph_counts.get(id, 0))

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
    @_sound
    def segments(self) -> list[Segment]:
        return [
            Segment(i, graph, events, started, duration, bool(step), repeat)
            for i, graph, events, started, duration, step, repeat in self.rows(
                "SELECT idx, graph, events, started, duration, is_step, repeat FROM segment ORDER BY idx"
            )
        ]

    @cached_property
    @_sound
    def _taken(self) -> dict[int, list[tuple[int, dict[int, tuple[int, int]]]]]:
        """Graph → since which segment, what it took over from where."""
        found: dict[int, list[tuple[int, dict[int, tuple[int, int]]]]] = {}
        if self.rows("SELECT 1 FROM sqlite_master WHERE name = 'taken'"):
            for graph, since, text in self.rows(
                "SELECT graph, since, origins FROM taken ORDER BY graph, since"
            ):
                origins = {value: (at, index) for value, (at, index) in json.loads(text)}
                found.setdefault(graph, []).append((since, origins))
        return found

    def taken(self, segment: Segment) -> dict[int, tuple[int, int]]:
        """Value of the graph of a segment → where it came from there, where that was not `value.origin`: of a graph
        that runs again that is of its first run."""
        known = self._taken.get(segment.graph, []) if segment.graph is not None else []
        latest = [origins for since, origins in known if since <= segment.index]
        own = self.graph_counts
        return {value: at for value, at in latest[-1].items() if at[0] in own} if latest else {}

    @cached_property
    @_sound
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
        for row in self.rows("SELECT list, kind, site, position, data FROM event ORDER BY list, idx"):
            lists.setdefault(row[0], []).append(row[1:])
        found = []
        for (events, graph), index in sorted(first.items(), key=lambda item: item[1]):
            for kind, site, position, data in lists.get(events, ()):
                count = counts[events, graph]
                found.append(
                    Kind.known.get(kind, Event)(
                        kind, self.sites_by_id[site], json.loads(data), graph, position, index, count
                    )
                )
        return found

    @cached_property
    @_sound
    def _numbers(self) -> list[tuple[int, int | None, float | None, dict[int, float]]]:
        """(step, site of the backward, loss, norms) of each measured pass."""
        stepped = any(segment.is_step for segment in self.segments)
        found = []
        for number, step, site, loss, norms in self.rows(
            "SELECT pass, step, site, loss, norms FROM number ORDER BY pass"
        ):
            value = json.loads(loss) if loss else None
            found.append(
                (
                    step if stepped else number,
                    site,
                    None if value is None else float(value),
                    read_norms(norms),
                )
            )
        return found

    def numbers(
        self,
        name: str,
        about: int | None = None,
        sites: Collection[int] | None = None,
        filled: Collection[int] = (),
    ) -> list[tuple[int, float]]:
        """(step, value) of each measured backward pass, in program order; several passes before one
        step have the same number, and in a run without steps passes count instead.

        name: "grad_norm" (about: a parameter's id) or "loss" (about: the site id of its backward,
        None for all). sites: only passes from these. filled: only those of which it is known that they filled one of
        these parameters.
        """
        if name == "loss":
            return [
                (step, loss)
                for step, site, loss, norms in self._numbers
                if loss is not None
                and about in (None, site)
                and (sites is None or site in sites)
                and (not filled or any(id in norms for id in filled))
            ]
        if name != "grad_norm" or about is None:
            raise KeyError(f"no numbers {name!r} about {about!r}")
        return [
            (step, norms[about])
            for step, site, _, norms in self._numbers
            if about in norms and (sites is None or site in sites)
        ]

    @_sound
    def prints(self, kind: str) -> dict[int, dict[int, tuple[int | None, dict[str, float]]]]:
        """What ranks are compared by: number of the optimizer ("parameters") or the wrapper ("input") → step or
        call → (site, numbers by name; those of parameters by number)."""
        if not self.rows("SELECT 1 FROM sqlite_master WHERE name = 'print'"):
            return {}
        found: dict[int, dict[int, tuple[int | None, dict[str, float]]]] = {}
        for of, number, site, data in self.rows(
            "SELECT of, number, site, data FROM print WHERE kind = ? ORDER BY of, number", kind
        ):
            if isinstance(data, str):
                numbers = {k: float(v) for k, v in json.loads(data).items()}
            else:
                numbers = {str(id): norm for id, norm in read_norms(data).items()}
            found.setdefault(of, {})[number] = (site, numbers)
        return found

    def of(self, *kinds: type[E]) -> list[E]:
        """The events of these kinds (classes of gradscope.events), in program order."""
        if kinds not in self._of:  # hundreds of rules ask
            self._of[kinds] = [event for event in self.events if isinstance(event, kinds)]
        return cast(list[E], list(self._of[kinds]))

    @cached_property
    def kinds(self) -> frozenset[str]:
        """The names of the classes of its events, and of those that these are derived from."""
        return frozenset(
            base.__name__ for kind in {type(event) for event in self.events} for base in kind.__mro__
        )

    @cached_property
    def _of(self) -> dict[tuple[type[Event], ...], list[Event]]:
        return {}
