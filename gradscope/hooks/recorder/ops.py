"""A finished call becomes an op of the segment: what went in, what came out, which nodes it built."""

from __future__ import annotations

from collections.abc import Callable
from types import FrameType
from typing import TYPE_CHECKING, Any

from gradscope.hooks._torch import is_leaf as leafness
from gradscope.hooks._torch import sequence_number
from gradscope.hooks.recorder.history import Write
from gradscope.hooks.recorder.learn import CONVERSIONS, Template
from gradscope.hooks.recorder.learner import FACTORIES, Call, Learner, writes_by_name
from gradscope.hooks.recorder.segments import Row, Segment
from gradscope.hooks.recorder.values import (
    PLAIN_TYPES,
    Live,
    bounds_of,
    find_tensors,
    is_tensor_type,
    plain,
    repeats,
)

if TYPE_CHECKING:
    from gradscope.hooks.recorder.entering import Entering
    from gradscope.hooks.recorder.history import History
    from gradscope.hooks.recorder.state import State

MAX_CARRIED = 4  # tensors from before that one value is followed back to
MAX_OPS = 50_000  # a segment longer than this is stored in parts
PREPARED = 10_000  # ops of one without a graph: more of them tell nothing new


class Ops:
    """Notes calls for a recorder; `note` is its `op`."""

    def __init__(
        self, state: State, entering: Entering, history: History, end_segment: Callable[[bool], None]
    ):
        self.state = state
        self.entering = entering
        self.end_segment = end_segment
        self.learner = Learner(state, entering.value)
        self.sites = state.sites
        self.metas = state.metas
        self.live = state.live
        self.ledger = entering.ledger
        self.modules = entering.modules
        self.history = history
        self.templates = state.templates

    def note(
        self,
        name: str,
        args: Any,
        kwargs: Any,
        result: Any,
        first: int,
        frame: FrameType | None,
        extra: str = "",
    ) -> Row | None:
        """Notes one finished call. first: the thread's node number before it."""
        state = self.state
        made = sequence_number() - first
        tensors: list[Any] = []
        others: list[Any] = []
        for a in args:
            cls = type(a)
            if is_tensor_type(cls):
                tensors.append(a)
            elif cls is list or cls is tuple or cls is dict:
                find_tensors(a, tensors, 0, others)
            else:
                if cls is slice:
                    tensors += bounds_of(a)
                others.append(a if cls in PLAIN_TYPES else plain(a))
        if kwargs:
            find_tensors(kwargs, tensors, 0, others)
        outs: list[Any]
        cls = type(result)
        if is_tensor_type(cls):
            outs = [result]
        elif cls is tuple or cls is list or isinstance(result, (tuple, list)):
            outs = []
            find_tensors(result, outs)
        else:
            outs = []
            if not tensors or (name not in CONVERSIONS and not writes_by_name(name, kwargs)):
                return None
        if state.preparing:
            if (
                not made
                and not any(t.requires_grad for t in tensors)
                and not any(t.requires_grad for t in outs)
            ):
                return None
            state.preparing = False
        site = self.sites.current(frame)
        segment = state.segment
        if made and (segment.ops or segment.passes):
            self._maybe_cut(tensors)
            segment = state.segment
        elif len(segment.ops) >= PREPARED and not made and self._prepares(segment):
            self.end_segment(False)
            state.preparing = True
            return None
        elif len(segment.ops) >= MAX_OPS:
            self.end_segment(False)
            segment = state.segment
            segment.continued = True
        if name in FACTORIES:
            tensors = []
        structs = self.metas.structs
        live = self.live
        serial = segment.serial
        entries: list[Live] = []
        numbers: list[int] = []  # of the inputs' metas
        given: list[int] = []
        places: list[int] = []
        for t in tensors:  # one loop for all that is asked of them: each has its price at every call
            entry = live.get(id(t))
            if entry is None or entry.serial != serial or entry() is not t:
                entry = self.entering.value(t, site, first if made else None)
            entries.append(entry)
            meta = entry.meta
            numbers.append(meta)
            given.append(structs[meta])
            places.append(entry.output_nr)
        metas: list[int] = []
        known: list[Live | None] = []
        details: list[Any] = []
        gives: list[int] = []
        old: list[bool] = []
        for t in outs:
            found = live.get(id(t))
            if found is not None and found() is not t:
                found = None
            known.append(found)
            old.append(found is not None)
            meta = self.metas.of(t, not t.requires_grad or (not made and self._leafness(t, found)))
            metas.append(meta)
            gives.append(structs[meta])
            details.append(t._is_view())
        key = (
            site, name, state.region, made, tuple(given), tuple(gives), tuple(old), extra, tuple(places),
            None if len(entries) < 2 or len(set(entries)) == len(entries) else repeats(entries),
        )  # fmt: skip
        if made:
            details += others
            details += numbers
        certain = not segment.rebased or not self._rebased(entries)
        template_id = self.learner.find(key, tuple(details), others, entries) if certain else None
        if template_id is None:
            listed = len(args[0]) if args and type(args[0]) in (list, tuple) else 0
            call = Call(name, kwargs, others, tensors, entries, outs, known, first, made, extra, listed)
            template_id = self.learner.learn(key, tuple(details), call, certain)
        template = self.templates[template_id]
        if made:
            segment.nodes = True
        uses = self.ledger.uses
        parts = uses.of(entries) if uses.held else None
        if parts:
            uses.consumed(name, parts, entries, template.writes, site)
        row = self._store(template_id, template, site, first, tensors, entries, outs, known, metas, hash(key))
        if parts:
            self.ledger.uses.made(parts, outs, site)
        for follow in state.signals.op:
            follow(row, tensors, outs)
        return row

    def _prepares(self, segment: Segment) -> bool:
        """Whether so many ops were data in the making: none built a graph, none ran in a module."""
        return not segment.nodes and not segment.passes and self.modules.current < 0

    def _rebased(self, entries: list[Live]) -> bool:
        """Whether a write through another view may have changed the grad_fn of one of these."""
        segment = self.state.segment
        return any(segment.rebased.get(e.root, -1) > segment.makers[e.index] for e in entries)

    def _store(
        self,
        template_id: int,
        template: Template,
        site: int,
        first: int,
        tensors: list[Any],
        entries: list[Live],
        outs: list[Any],
        known: list[Live | None],
        metas: list[int],
        key: int,
    ) -> Row:
        state = self.state
        segment = state.segment
        index = len(segment.ops)
        ins = tuple([e.index for e in entries])
        written = []
        for position in template.writes:
            entry = entries[position]
            t = tensors[position]
            is_leaf = leafness(t) if template.nodes else not t.requires_grad or self._leafness(t, entry)
            entry.meta = self.metas.of(t, is_leaf)
            entry.index = segment.new_value(entry.meta, index, entry.root)
            entry.serial = segment.serial
            entry.output_nr = tensors[position].output_nr
            if template.nodes:
                entry.written = site
            written.append(entry.index)
            if entry.shared and not entry.hidden:
                segment.rebased[entry.root] = index
            self._log_write(entry, tensors[position], site, template.name)
        indices = []
        place = 0
        for t, same, meta in zip(outs, known, metas, strict=True):
            if same is not None:
                if same.serial != segment.serial:
                    self.entering.enter(same, t, site)
                if same.index in written and same.index not in indices:
                    place += 1
                indices.append(same.index)
                continue
            entry = self.live[id(t)] = Live(t)
            entry.serial, entry.meta, entry.site = segment.serial, meta, site
            if place < len(template.alias) and (source := template.alias[place]) is not None:
                entry.root = entries[source[0]].root
                entry.shared = entries[source[0]].shared = True
                entry.hidden = source[1] or entries[source[0]].hidden
            entry.index = segment.new_value(meta, index, entry.root)
            # Of a view that is made without a graph torch says so too, if what it shows requires grad.
            view = template.cut in ("no_grad", "inference_mode")
            if not template.nodes and not view and t.requires_grad and leafness(t):
                entry.leaf = self.ledger.leaf(t, site, entry.root)
            indices.append(entry.index)
            place += 1
        row = Row(
            template_id,
            site,
            self.modules.current,
            state.region,
            ins,
            tuple(indices),
            tuple(written),
            first,
        )
        segment.ops.append(row)
        # The template stands for the kinds of inputs and outputs too.
        segment.hash = hash((segment.hash, key, template_id, row.module, ins, row.outs))
        for read in state.signals.values_read:
            read(entries, index)
        if segment.carried and state.signals.carried and not segment.continued:
            found = [segment.carried[v] for v in ins if v in segment.carried]
            if found and outs and outs[0].requires_grad:
                sites = found[0] if len(found) == 1 else tuple(dict.fromkeys(s for one in found for s in one))
                for value in (*indices, *written):
                    segment.carried.setdefault(value, sites[:MAX_CARRIED])
                for notice in state.signals.carried:
                    notice(row, sites, outs)
        return row

    def _leafness(self, t: Any, entry: Live | None) -> bool:
        """Whether it is a leaf after a call that made no node: as before it. (To ask for it may
        change it: under inference_mode torch loses the node of a view that was written to.)"""
        if entry is None or entry.meta < 0:
            return leafness(t)
        return self.metas.table[entry.meta].is_leaf

    def _log_write(self, entry: Live, t: Any, site: int, name: str) -> None:
        version = None if t.is_inference() else t._version
        self.history.writes.append(Write(sequence_number(), site, name, {entry.root}, version))
        if self.ledger.by_hand.followed:
            self.ledger.by_hand.wrote(entry.root, t, name, entry.hidden, site)
        record = self.ledger.by_root.get(entry.root)
        if record is not None:
            self.ledger.written(record, "data" if entry.hidden else "no_grad", site)

    def _maybe_cut(self, tensors: list[Any]) -> None:
        """Ends the segment before a call that begins a new graph."""
        state = self.state
        segment = state.segment
        full = len(segment.ops) >= MAX_OPS
        if segment.nodes and not full:
            if not segment.passes:
                return
            for t in tensors:
                entry = self.live.get(id(t))
                if (
                    entry is not None
                    and entry.serial == segment.serial
                    and t.requires_grad
                    and not leafness(t)
                ):
                    return
        going_on = segment.nodes and not segment.passes
        self.end_segment(False)
        state.segment.continued = going_on
