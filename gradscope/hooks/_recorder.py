"""The recorder: hooks tell it what happened, it tells the trace.

One per session, bound to one thread. Everything here runs between two calls of
the user's program, so it holds no tensor and no node, and an exception in it
must not reach the program: hooks call it through `guarded` or in a try block.
"""

from __future__ import annotations

import threading
import weakref
from collections import deque
from collections.abc import Callable
from time import perf_counter
from types import FrameType
from typing import Any

import torch

from gradscope.hooks._learn import Sources, Template, cut_of, walk
from gradscope.hooks._ledger import LeafRecord, Ledger
from gradscope.hooks._modules import ModuleTable
from gradscope.hooks._segments import External, Row, Segment, SegmentStore, freeze
from gradscope.hooks._sites import SiteTree
from gradscope.hooks._torch import grad_fn_of, name_of, sequence_number, sequence_of
from gradscope.hooks._torch import is_leaf as leafness
from gradscope.hooks._values import Live, LiveTable, Metas, find_tensors, is_tensor_type
from gradscope.store import TraceWriter

MAX_OPS = 50_000  # a segment longer than this is stored in parts

# Results that tell the shape or kind of an input, not its data.
FACTORIES = {
    "zeros_like", "ones_like", "empty_like", "rand_like", "randn_like", "full_like", "randint_like",
    "new_zeros", "new_ones", "new_empty", "new_full",
}  # fmt: skip
CONVERSIONS = {
    "item", "tolist", "numpy", "__float__", "__int__", "__bool__", "__index__", "__complex__", "__array__",
}  # fmt: skip


class Recorder:
    """State of one watched run."""

    def __init__(self, writer: TraceWriter, main: str | None, prove: bool = False):
        self.writer = writer
        self.prove = prove
        self.sample = True
        self.thread = threading.get_ident()
        self.sites = SiteTree(writer, main)
        self.metas = Metas()
        self.live = LiveTable()
        self.templates: list[Template] = []
        self._template_ids: dict[Template, int] = {}
        self._cache: dict[tuple[Any, ...], int] = {}
        self.store = SegmentStore(writer, self.metas, self.templates)
        self.began = self.store.began
        self.modules = ModuleTable(self)
        self.ledger = Ledger(self)
        self.segment = Segment(0, perf_counter())
        self.region = -1
        self.region_kinds: list[str] = []
        self._region_ids: dict[tuple[str, int], int] = {}
        self.paused = 0  # > 0: what runs is not the user's own op
        self.depth = 0  # of backward passes
        self.passes = 0
        self.steps = 0
        self.own_time = 0.0
        self.faults: list[str] = []
        self.on_segment: list[Callable[[bool, bool], None]] = []  # (is_step, nothing was new)
        self.before_pass: list[Callable[..., None]] = []
        self.after_pass: list[Callable[..., None]] = []
        self.consumed: Callable[[list[Live], int], None] | None = None  # set by aliases while it looks
        self.written: Callable[[Live, Any, int, str], None] | None = None
        self.optimizers: dict[int, dict[str, Any]] = {}
        self.functions: Any = None
        self.plain_module_call: Any = None  # torch's own nn.Module.__call__
        self.wake: Callable[[], None] = _nothing  # set by sampling
        self.on_carried: Callable[[Row, list[int], list[Any]], None] | None = None  # set by growth
        self.before_end: list[Callable[[], None]] = []  # what is only known at the end
        self.on_exit: Callable[[int], None] | None = None  # before os._exit
        self.last_error: Any = None  # weak reference to the exception told last
        # For explanations after a crash: what was written, and which passes ran, of late.
        self.write_log: deque[tuple[int, int, str, set[int], int | None]] = deque(maxlen=4000)
        self.pass_log: deque[tuple[int, int, bool, int, tuple[int, ...]]] = deque(maxlen=400)
        self.recent: deque[Segment] = deque(maxlen=6)

    # -- faults ------------------------------------------------------------------

    def fault(self, where: str, error: BaseException) -> None:
        """Notes a fault of ours; the program goes on."""
        text = f"{where}: {type(error).__name__}: {error}"
        if len(self.faults) < 20 and text not in self.faults:
            self.faults.append(text)

    def mine(self) -> bool:
        """Whether this is the watched thread, doing the user's own work."""
        return not self.paused and threading.get_ident() == self.thread

    # -- values --------------------------------------------------------------------

    def value(self, t: Any, site: int) -> Live:
        """The entry of `t` with its index in the current segment."""
        entry = self.live.get(id(t))
        if entry is not None and entry.ref() is t:
            if entry.serial == self.segment.serial:
                return entry
        else:
            entry = self.live.make(t)
        return self._enter(entry, t, site)

    def _enter(self, entry: Live, t: Any, site: int) -> Live:
        """Makes a tensor from outside the segment one of its values."""
        segment = self.segment
        requires_grad = t.requires_grad
        is_leaf = leafness(t)
        origin = (entry.serial, entry.index) if entry.serial >= 0 else None
        entry.site = entry.site or site
        kind = "input"
        node_name: str | None = None
        parameter: int | None = None
        module: int | None = None
        if requires_grad and not is_leaf:
            kind = "carried"
            grad_fn = grad_fn_of(t)
            node_name = name_of(grad_fn) if grad_fn is not None else "unknown"
        elif requires_grad or type(t) is torch.nn.Parameter:
            if entry.leaf is None:
                entry.leaf = self.ledger.leaf(t, entry.site, entry.root)
            parameter = entry.leaf.id
            kind = "parameter" if entry.leaf.registered or entry.leaf.optimizers else "input"
        else:
            module = self.modules.buffer_owner(t)
            kind = "buffer" if module is not None else kind
        entry.meta = self.metas.of(t, is_leaf)
        entry.serial = segment.serial
        entry.index = index = segment.new_value(entry.meta, -1, entry.root)
        # Where it came from is told, but two graphs that differ in nothing else are one.
        if kind == "carried":
            segment.carried[index] = entry.site
        segment.externals[index] = External(kind, parameter, module, origin, entry.site, node_name)
        segment.hash = hash(
            (segment.hash, index, kind, parameter, module, node_name, self.metas.structs[entry.meta])
        )
        return entry

    # -- ops -------------------------------------------------------------------------

    def op(
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
        made = sequence_number() - first
        tensors: list[Any] = []
        for a in args:
            cls = type(a)
            if is_tensor_type(cls):
                tensors.append(a)
            elif cls is list or cls is tuple or cls is dict:
                find_tensors(a, tensors)
        if kwargs:
            find_tensors(kwargs, tensors)
        outs: list[Any]
        cls = type(result)
        if is_tensor_type(cls):
            outs = [result]
        elif cls is tuple or cls is list or isinstance(result, (tuple, list)):
            outs = []
            find_tensors(result, outs)
        else:
            outs = []
            if not tensors or (name not in CONVERSIONS and not self._writes_by_name(name, kwargs)):
                return None
        site = self.sites.current(frame)
        segment = self.segment
        if made and (segment.ops or segment.passes):
            self._maybe_cut(tensors)
            segment = self.segment
        elif len(segment.ops) >= MAX_OPS:
            self.end_segment(False)
            segment = self.segment
            segment.continued = True
        if name in FACTORIES:
            tensors = []
        structs = self.metas.structs
        live = self.live
        serial = segment.serial
        entries: list[Live] = []
        for t in tensors:
            found = live.get(id(t))
            if found is not None and found.serial == serial and found.ref() is t:
                entries.append(found)
            else:
                entries.append(self.value(t, site))
        metas = []
        known: list[Live | None] = []
        for t in outs:
            found = live.get(id(t))
            known.append(found if found is not None and found.ref() is t else None)
            metas.append(self.metas.of(t, not t.requires_grad or (not made and leafness(t))))
        key = (
            site, name, self.region, made,
            tuple([structs[e.meta] for e in entries]), tuple([structs[m] for m in metas]),
            tuple([e is not None for e in known]), extra,
        )  # fmt: skip
        template_id = self._cache.get(key)
        if template_id is None:
            template_id = self._learn(key, name, kwargs, tensors, entries, outs, known, first, made, extra)
        template = self.templates[template_id]
        if made:
            segment.nodes = True
        return self._note(template_id, template, site, first, tensors, entries, outs, known, metas, hash(key))

    def _note(
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
        segment = self.segment
        index = len(segment.ops)
        ins = tuple([e.index for e in entries])
        written = []
        for position in template.writes:
            entry = entries[position]
            entry.meta = self.metas.of(tensors[position], leafness(tensors[position]))
            entry.index = segment.new_value(entry.meta, index, entry.root)
            entry.serial = segment.serial
            written.append(entry.index)
            self._log_write(entry, tensors[position], site, template.name)
        indices = []
        place = 0
        for t, same, meta in zip(outs, known, metas, strict=True):
            if same is not None:
                if same.serial != segment.serial:
                    self._enter(same, t, site)
                indices.append(same.index)
                continue
            entry = self.live[id(t)] = Live(t, segment.serial, meta, site)
            if place < len(template.alias) and (source := template.alias[place]) is not None:
                entry.root = entries[source[0]].root
                entry.hidden = source[1] or entries[source[0]].hidden
            entry.index = segment.new_value(meta, index, entry.root)
            indices.append(entry.index)
            place += 1
        row = Row(
            template_id, site, self.modules.current, self.region, ins, tuple(indices), tuple(written), first
        )
        segment.ops.append(row)
        # The template stands for the kinds of inputs and outputs too.
        segment.hash = hash((segment.hash, key, template_id, row.module, ins, row.outs))
        if self.consumed is not None:
            self.consumed(entries, index)
        if segment.carried and self.on_carried is not None and not segment.continued:
            sites = [segment.carried[v] for v in ins if v in segment.carried]
            if sites:
                self.on_carried(row, sites, outs)
        return row

    def _log_write(self, entry: Live, t: Any, site: int, name: str) -> None:
        version = None if t.is_inference() else t._version
        self.write_log.append((sequence_number(), site, name, {entry.root}, version))
        record = self.ledger.by_root.get(entry.root)
        if record is not None:
            self.ledger_update(record, "data" if entry.hidden else "no_grad", site)

    def ledger_update(self, record: LeafRecord, how: str, site: int) -> None:
        """The user's own code wrote to a leaf."""
        if not self.passes:
            return  # initialisation
        record.updates += 1
        self.emit("update", site, {"parameter": record.id, "how": how, "used": record.read_since})
        if not record.read_since or record.state not in ("fresh", "stale"):
            return
        stale = self.ledger.stale_use([record])
        if stale is not None:
            self.emit("stale_used", site, {"optimizer": None, **stale["data"]}, **stale["measured"])
        self.ledger.used([record], site)
        record.steps -= 1

    @staticmethod
    def _writes_by_name(name: str, kwargs: Any) -> bool:
        if name.endswith("_") and not name.endswith("__"):
            return name not in ("requires_grad_",)
        return (
            name == "__setitem__"
            or (name.startswith("__i") and name in _INPLACE_DUNDERS)
            or bool(kwargs and (kwargs.get("out") is not None or kwargs.get("inplace")))
        )

    def _learn(
        self,
        key: tuple[Any, ...],
        name: str,
        kwargs: Any,
        tensors: list[Any],
        entries: list[Live],
        outs: list[Any],
        known: list[Live | None],
        first: int,
        made: int,
        extra: str,
    ) -> int:
        """Looks at the call's nodes and interns what it did."""
        writes = self._find_writes(name, kwargs, tensors, outs, made)
        fresh: list[Any] = []
        alias: list[tuple[int, bool] | None] = []
        # New values are numbered as _note does: first what was written, then new outputs.
        fresh_out = [t for t, entry in zip(outs, known, strict=True) if entry is None]
        written = [tensors[i] for i in writes]
        fresh = fresh_out + written
        for t in fresh_out:
            alias.append(self._alias_source(name, t, tensors, writes))
        if written:
            order = [id(t) for t in fresh]
            fresh = sorted(fresh, key=lambda t: order.index(id(t)))
        nodes: tuple[Any, ...] = ()
        outputs: tuple[int, ...] = tuple(-1 for _ in fresh)
        reusable = True
        if made or any(t.requires_grad for t in fresh):
            sources = self._sources(tensors, entries, writes)
            values_first = written + fresh_out
            nodes, outs_nodes, reusable = walk(
                values_first, first, sources, self._earlier, self._outside, self._leaf_value
            )
            outputs = outs_nodes[len(written) :] + outs_nodes[: len(written)]
        any_grad = any(self.metas.table[e.meta].requires_grad for e in entries)
        region = None
        if torch.is_inference_mode_enabled():
            region = "inference_mode"
        elif not torch.is_grad_enabled():
            region = "no_grad"
        out_grad = any(t.requires_grad for t in outs) or any(t.requires_grad for t in written)
        cut = cut_of(name, any_grad, out_grad, bool(outs) or bool(written), region)
        if name in FACTORIES or (writes and not outs and name == "__setitem__" and not any_grad):
            cut = None
        template = Template(name, cut, nodes, outputs, tuple(alias), tuple(writes), reusable, extra)
        number = self._template_ids.get(template)
        if number is None:
            number = self._template_ids[template] = len(self.templates)
            self.templates.append(template)
        if reusable and name != "data":
            self._cache[key] = number
        return number

    def _find_writes(
        self, name: str, kwargs: Any, tensors: list[Any], outs: list[Any], made: int
    ) -> list[int]:
        if not tensors:
            return []
        if name == "batch_norm" or name == "native_batch_norm":
            return []
        if self._writes_by_name(name, kwargs):
            out = kwargs.get("out") if kwargs else None
            if out is not None:
                targets: list[Any] = []
                find_tensors([out], targets)
                return [i for i, t in enumerate(tensors) if any(t is o for o in targets)]
            if name.startswith(("_foreach", "_fused")):
                return []
            return [0]
        if made:
            return [i for i, t in enumerate(tensors) if any(t is o for o in outs)][:1]
        return []

    def _alias_source(
        self, name: str, t: Any, tensors: list[Any], writes: list[int]
    ) -> tuple[int, bool] | None:
        """Which input's memory an output shares, and whether writes through it go unseen."""
        try:
            if name == "data":
                return (0, True)
            base = t._base
            pointer = t.untyped_storage().data_ptr() if base is None else 0
            for i, source in enumerate(tensors):
                if base is not None and (base is source or base is source._base):
                    return (i, False)
                if (
                    base is None
                    and pointer
                    and source.untyped_storage().data_ptr() == pointer
                    and t is not source
                ):
                    return (i, name not in ("detach", "view_as", "alias") and t._version != source._version)
        except (RuntimeError, NotImplementedError, AttributeError):
            pass
        return None

    def _sources(self, tensors: list[Any], entries: list[Live], writes: list[int]) -> Sources:
        sources = Sources()
        for i, (t, entry) in enumerate(zip(tensors, entries, strict=True)):
            if not self.metas.table[entry.meta].requires_grad:
                continue
            number = self._number_of(entry.index)
            if number is not None:
                sources.by_number.setdefault(number, i)
            elif i in writes:
                continue
            elif leafness(t):
                sources.leaves.setdefault(id(t), i)
            elif (grad_fn := grad_fn_of(t)) is not None:
                sources.by_number.setdefault(sequence_of(grad_fn), i)
        return sources

    def _number_of(self, value: int) -> int | None:
        """The node number of a value made in this segment, without touching its node."""
        segment = self.segment
        maker = segment.makers[value]
        if maker < 0:
            return None
        row = segment.ops[maker]
        template = self.templates[row.template]
        fresh = [v for v in dict.fromkeys(row.outs + row.written) if segment.makers[v] == maker]
        place = fresh.index(value)
        if place < len(template.outputs) and template.outputs[place] >= 0:
            return row.first + template.nodes[template.outputs[place]][1]
        return None

    def _earlier(self, number: int) -> tuple[int, int] | None:
        """(op, node) of the node with this number, if an op of this segment made it."""
        index = self.segment.op_before(number)
        if index < 0:
            return None
        row = self.segment.ops[index]
        for k, (_, relative, _) in enumerate(self.templates[row.template].nodes):
            if row.first + relative == number:
                return index, k
        return None

    def _outside(self, node: Any) -> int:
        self.segment.outside.append(name_of(node))
        return len(self.segment.outside) - 1

    def _leaf_value(self, node: Any) -> int:
        leaf = getattr(node, "variable", None)
        if leaf is None:
            return self.segment.new_value(0, -1, 0)
        return self.value(leaf, 0).index

    # -- segments ------------------------------------------------------------------

    def _maybe_cut(self, tensors: list[Any]) -> None:
        """Ends the segment before a call that begins a new graph."""
        segment = self.segment
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
        self.segment.continued = going_on

    def end_segment(self, is_step: bool) -> None:
        segment = self.segment
        if not segment.ops and not segment.events and not is_step:
            return
        same, _ = self.store.store(segment, is_step)
        self.recent.append(segment)
        self.segment = Segment(segment.serial + 1, perf_counter())
        self.live.sweep()
        for follow in self.on_segment:
            follow(is_step, same)

    # -- after a crash ---------------------------------------------------------------

    def remember_error(self, error: BaseException) -> None:
        try:
            self.last_error = weakref.ref(error)
        except TypeError:
            self.last_error = None

    def locate(self, number: int) -> tuple[int, int, int] | None:
        """(segment serial, op index, site) of the call that made the node with this number."""
        for segment in (self.segment, *reversed(self.recent)):
            index = segment.op_before(number)
            if index >= 0:
                row = segment.ops[index]
                nodes = self.templates[row.template].nodes
                if nodes and number <= row.first + max(n for _, n, _ in nodes):
                    return segment.serial, index, row.site
        return None

    def writes_since(self, number: int, versions: tuple[int, int] | None) -> list[dict[str, Any]]:
        """In-place writes after the node with this number to what its call read or made,
        newest last; `versions` is (expected, found) from torch's message."""
        place = self.locate(number)
        roots: set[int] = set()
        if place is not None:
            segment = next(s for s in (self.segment, *self.recent) if s.serial == place[0])
            row = segment.ops[place[1]]
            roots = {segment.roots[v] for v in row.ins + row.outs + row.written}
        found = []
        for at, site, name, written, version in self.write_log:
            if at < number or (roots and not written & roots):
                continue
            if versions is not None and version is not None and not versions[0] < version <= versions[1]:
                continue
            found.append({"site": site, "op": name, "version": version})
        return found[-10:]

    def freed_by(self, number: int) -> int | None:
        """The first pass after the node was made that kept nothing."""
        for at, site, retain, _, _ in self.pass_log:
            if at > number and not retain:
                return site
        return None

    # -- events --------------------------------------------------------------------

    def emit(self, kind: str, site: int, data: dict[str, Any], **first_only: Any) -> None:
        """Notes an event. `first_only` data is stored with the first of identical events."""
        segment = self.segment
        segment.events.append((kind, site, len(segment.ops) - 1, freeze(data)))
        segment.volatile.append(first_only)

    # -- regions -------------------------------------------------------------------

    def region_id(self, kind: str, site: int, parent: int) -> int:
        key = (kind, site)
        number = self._region_ids.get(key)
        if number is None:
            number = self._region_ids[key] = len(self.region_kinds)
            self.region_kinds.append(kind)
            self.writer.add("region", number, kind, site, parent if parent >= 0 else None, None)
        return number


_INPLACE_DUNDERS = {
    "__iadd__", "__isub__", "__imul__", "__itruediv__", "__ifloordiv__", "__imod__", "__ipow__", "__iand__", "__ior__",
    "__ixor__", "__ilshift__", "__irshift__", "__idiv__", "__imatmul__",
}  # fmt: skip


def _nothing() -> None:
    """Stands where no hook wants to know."""
