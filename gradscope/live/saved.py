"""What a graph keeps for its backward pass, by the lines that made it do so."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from gradscope.analysis.names import place
from gradscope.analysis.words import counted
from gradscope.api import Trace
from gradscope.hooks._torch import Tensor, accumulates, grad_fn_of, name_of, saved_tensors, sequence_of
from gradscope.hooks.behind import nodes_behind
from gradscope.live.table import Tabular
from gradscope.live.walk import MOST
from gradscope.session import made_at


@dataclass(frozen=True)
class SavedLine:
    """place: the user's line (`train.py:31`), or the node's name (`MulBackward0`) where no watch saw it made.
    tensors: how many tensors it keeps; bytes: their memory, which counts for the first line that keeps it."""

    place: str
    tensors: int
    bytes: int

    def cells(self) -> tuple[str, ...]:
        return self.place, f"{self.tensors:,}", f"{self.bytes:,}"


@dataclass(frozen=True, repr=False)
class Saved(Tabular):
    """The rows, most bytes first. `notes`: what was not counted, and why."""

    rows: list[SavedLine]
    notes: list[str]

    @property
    def bytes(self) -> int:
        """All of it."""
        return sum(row.bytes for row in self.rows)

    def lines(self) -> list[tuple[str, ...]]:
        total = [("together", f"{sum(row.tensors for row in self.rows):,}", f"{self.bytes:,}")]
        cells = [("saved by", "tensors", "bytes"), *(row.cells() for row in self.rows)]
        return [*cells, *(total if len(self.rows) > 1 else []), *((note, "", "") for note in self.notes)]


def saved_by_line(tensors: Iterable[Tensor]) -> Saved:
    """See `gradscope.saved`."""
    nodes = list(nodes_behind(map(grad_fn_of, tensors), MOST))
    nodes.sort(key=sequence_of)
    aside = {
        memory[0] for node in nodes if accumulates(node) and (memory := _memory(node.variable)) is not None
    }
    places = places_of(sequence_of(node) for node in nodes)
    found: dict[str, list[int]] = {}
    freed = hidden = 0
    for node in nodes:
        try:
            kept, unseen = saved_tensors(node)
        except RuntimeError:
            freed += 1
            continue
        hidden += unseen
        for tensor in kept:
            memory = _memory(tensor)
            if memory is None or memory[0] in aside:
                continue
            aside.add(memory[0])
            row = found.setdefault(places.get(sequence_of(node)) or name_of(node), [0, 0])
            row[0] += 1
            row[1] += memory[1]
    rows = [SavedLine(where, *counts) for where, counts in found.items()]
    return Saved(sorted(rows, key=lambda row: -row.bytes), list(_notes(freed, hidden, len(nodes) >= MOST)))


def _notes(freed: int, hidden: int, cut_short: bool) -> Iterable[str]:
    if freed:
        yield f"nothing to show of {counted(freed, 'node')}: a backward pass has freed it, or it was written to since"
    if hidden:
        yield f"not looked at: {counted(hidden, 'value')} under saved-tensor hooks (a checkpoint, `save_on_cpu`)"
    if cut_short:
        yield f"the nearest {MOST:,} nodes only"


def _memory(tensor: Any) -> tuple[int, int] | None:
    """(address, bytes) of the storage that a tensor is in; None where it has none."""
    try:
        storage = tensor.untyped_storage()
        return (storage.data_ptr(), storage.nbytes()) if storage.nbytes() else None
    except (RuntimeError, NotImplementedError):
        return None


def places_of(numbers: Iterable[int]) -> dict[int, str]:
    """Sequence number of a node → the line that made it, where a watch has seen that."""
    found = made_at(numbers)
    if found is None:
        return {}
    trace = Trace(found[0])
    sites = {number: trace.site(id) for number, id in found[1].items()}
    return {number: place(site.user) for number, site in sites.items() if site is not None}
