"""Parts of a trace, read from the file when somebody looks at them.

`Trace.graph` loads a graph whole, which is right for rules and wrong for a screen that
shows twenty rows of a million.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from gradscope.model import Node, Op, Value
from gradscope.store._rows import NODES, OPS, VALUES, nodes_of, ops_of, values_of
from gradscope.store.reader import Trace

WINDOW = 20_000  # ops after a value's maker in which its readers are looked for


@dataclass(frozen=True)
class GraphSize:
    """A distinct graph and how often the run built it."""

    id: int
    ops: int
    nodes: int
    count: int


@dataclass
class LineWork:
    """What happened on one line of the user's source over all distinct graphs."""

    ops: int = 0  # tensor operations
    nodes: int = 0  # of the graph that backward goes through
    cuts: int = 0  # operations that let no gradient past
    writes: int = 0  # in place


class Pages:
    """Looks into the graphs of `trace` without loading them."""

    def __init__(self, trace: Trace):
        self._trace = trace
        # Named in the query: without statistics SQLite would read the whole graph instead. A trace
        # that still grows, or that its program did not close, has no such index.
        made = trace.rows("SELECT 1 FROM sqlite_master WHERE name = 'op_by_module'")
        self._by_module = " INDEXED BY op_by_module" if made else ""

    def graphs(self) -> list[GraphSize]:
        """Every distinct graph, in the order they were first built."""
        counts = self._trace.graph_counts
        rows = self._trace.rows("SELECT id, ops, nodes FROM graph ORDER BY id")
        return [GraphSize(id, ops, nodes, counts.get(id, 0)) for id, ops, nodes in rows]

    def ops_of_module(self, graph: int, module: int | None, first: int, limit: int) -> list[Op]:
        """`limit` of the ops that ran directly in a module (None: in no module), from the `first` on."""
        rows = self._trace.rows(
            f"{OPS}{self._by_module} WHERE graph = ? AND module IS ? ORDER BY idx LIMIT ? OFFSET ?",
            graph,
            module,
            limit,
            first,
        )
        return list(ops_of(rows, self._trace.sites_by_id))

    def first_ops(self, graph: int) -> dict[int | None, int]:
        """Module → the index of the first op that ran directly in it."""
        rows = self._trace.rows(
            f"SELECT module, min(idx) FROM op{self._by_module} WHERE graph = ? GROUP BY module", graph
        )
        return dict(rows)

    def ops_before(self, graph: int, module: int | None, index: float) -> int:
        """How many ops ran directly in a module before the op `index`."""
        rows = self._trace.rows(
            f"SELECT count(*) FROM op{self._by_module} WHERE graph = ? AND module IS ? AND idx < ?",
            graph, module, index,
        )  # fmt: skip
        return int(rows[0][0])

    def op_names(self, graph: int) -> list[str]:
        """The names of the ops in a graph, each once."""
        return [name for (name,) in self._trace.rows("SELECT DISTINCT name FROM op WHERE graph = ?", graph)]

    def op_called(self, graph: int, names: Iterable[str], index: int, *, forward: bool) -> int | None:
        """The next op after (or the one before) the op `index` that has one of these names."""
        some = list(names)[:500]
        marks = ",".join("?" * len(some))
        way, order = (">", "ASC") if forward else ("<", "DESC")
        rows = self._trace.rows(
            f"SELECT idx FROM op WHERE graph = ? AND idx {way} ? AND name IN ({marks}) ORDER BY idx {order} LIMIT 1",
            graph, index, *some,
        )  # fmt: skip
        return int(rows[0][0]) if rows else None

    def op(self, graph: int, index: int) -> Op | None:
        rows = self._trace.rows(f"{OPS} WHERE graph = ? AND idx = ?", graph, index)
        return next(iter(ops_of(rows, self._trace.sites_by_id)), None)

    def values(self, graph: int, indices: Iterable[int]) -> list[Value]:
        """These values, in the order asked for; without those that are not there."""
        rows = [
            row
            for index in indices
            for row in self._trace.rows(f"{VALUES} WHERE graph = ? AND idx = ?", graph, index)
        ]
        return list(values_of(rows, self._trace.sites_by_id))

    def node(self, graph: int, index: int) -> Node | None:
        rows = self._trace.rows(f"{NODES} WHERE graph = ? AND idx = ?", graph, index)
        return next(iter(nodes_of(rows, self._trace.sites_by_id)), None)

    def readers(self, graph: int, value: Value, limit: int, window: int = WINDOW) -> list[Op]:
        """The first ops that read a value, among the `window` ops after it was made."""
        first = -1 if value.op is None else value.op
        rows = self._trace.rows(
            f"{OPS} WHERE graph = ? AND idx > ? AND idx <= ?"
            " AND instr(replace(replace(inputs, '[', ','), ']', ','), ?) ORDER BY idx LIMIT ?",
            graph, first, first + window, f",{value.index},", limit,
        )  # fmt: skip
        return list(ops_of(rows, self._trace.sites_by_id))

    def cuts(self, graph: int) -> list[tuple[int | None, str, int]]:
        """(module, why no gradient passes, how many ops) of one graph."""
        # `+graph`: else SQLite reads the whole graph by its key instead of the few cuts by theirs.
        return [
            (module, cut, count)
            for module, cut, count in self._trace.rows(
                "SELECT module, cut, count(*) FROM op WHERE +graph = ? AND cut IS NOT NULL GROUP BY module, cut",
                graph,
            )
        ]

    def first_op_at(self, path: str, line: int) -> tuple[int, int] | None:
        """(graph, op) of the first op that a line of the user's source made."""
        sites = [s.id for s in self._trace.sites if s.user.location() == (path, line)]
        for start in range(0, len(sites), 500):
            some = sites[start : start + 500]
            marks = ",".join("?" * len(some))
            rows = self._trace.rows(f"SELECT graph, idx FROM op WHERE site IN ({marks}) LIMIT 1", *some)
            if rows:
                return rows[0][0], rows[0][1]
        return None

    def work_by_line(self) -> dict[tuple[str, int], LineWork]:
        """(path, line) → what was done there. Reads every op once: not for the key that waits."""
        found: dict[tuple[str, int], LineWork] = {}
        for site_id, ops, nodes, cuts, writes in self._trace.rows(
            "SELECT site, count(*), sum(json_array_length(nodes)), count(cut),"
            " sum(coalesce(writes, '[]') <> '[]') FROM op GROUP BY site"
        ):
            site = self._trace.site(site_id)
            if site is None:
                continue
            work = found.setdefault(site.user.location(), LineWork())
            work.ops += ops
            work.nodes += nodes or 0
            work.cuts += cuts
            work.writes += writes * (
                site.kind == "user"
            )  # torch's own are no news: `nn.Linear` fills its weight
        return found

    def shape_of(self, graph: int) -> dict[tuple[int, str], int]:
        """(site, op) → how often it is in a graph: what two graphs are compared by."""
        rows = self._trace.rows(
            "SELECT site, name, count(*) FROM op WHERE graph = ? GROUP BY site, name", graph
        )
        return {(site, name): count for site, name, count in rows}
