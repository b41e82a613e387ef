"""Learns what a call did: looks at its nodes, writes and aliases once per kind of call."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch

from gradscope.hooks._learn import Sources, Template, cut_of, walk
from gradscope.hooks._torch import grad_fn_of, name_of, sequence_of
from gradscope.hooks._torch import is_leaf as leafness
from gradscope.hooks._values import Live, find_tensors

if TYPE_CHECKING:
    from gradscope.hooks._recorder import Recorder

ENOUGH = 8  # calls that differ in details and build the same, before details count no more
RECHECK = 16  # one of so many is looked at all the same
MAX_DETAILS = 1_000

# Results that tell the shape or kind of an input, not its data.
FACTORIES = {
    "zeros_like", "ones_like", "empty_like", "rand_like", "randn_like", "full_like", "randint_like",
    "new_zeros", "new_ones", "new_empty", "new_full",
}  # fmt: skip

_INPLACE_DUNDERS = {
    "__iadd__", "__isub__", "__imul__", "__itruediv__", "__ifloordiv__", "__imod__", "__ipow__", "__iand__", "__ior__",
    "__ixor__", "__ilshift__", "__irshift__", "__idiv__", "__imatmul__",
}  # fmt: skip


def writes_by_name(name: str, kwargs: Any) -> bool:
    """Whether a call of this name writes to its first argument (or to `out`)."""
    if name.endswith("_") and not name.endswith("__"):
        return name not in ("requires_grad_",)
    return (
        name == "__setitem__"
        or (name.startswith("__i") and name in _INPLACE_DUNDERS)
        or bool(kwargs and (kwargs.get("out") is not None or kwargs.get("inplace")))
    )


@dataclass(slots=True)
class Kind:
    """Calls at one site with the same kinds of inputs and outputs. They may still differ in
    sizes and in other arguments, and so in what they build: `sort(stable=True)` makes another
    node than `sort()`. Where that was never seen to matter, it is taken not to, but for a look
    now and then: sizes and numbers may be new at every call, and each look has its price."""

    exact: dict[tuple[Any, ...], int] = field(default_factory=dict)  # details → template
    settled: int | None = None  # the template whatever the details
    differs: bool = False
    trusted: int = 0

    def add(self, details: tuple[Any, ...], number: int | None) -> None:
        """Notes what was learned; None if it holds for that one call only."""
        self.differs = self.differs or (bool(self.exact) and number != next(iter(self.exact.values())))
        if len(self.exact) >= MAX_DETAILS:
            self.exact.clear()
        if number is None:
            self.differs = True
        else:
            self.exact[details] = number
        if self.differs:
            self.settled = None
        elif len(self.exact) >= ENOUGH:
            self.settled = number


class Learner:
    """Templates by content, and by what is known of a call before its nodes are looked at."""

    def __init__(self, recorder: Recorder):
        self.recorder = recorder
        self._kinds: dict[tuple[Any, ...], Kind] = {}
        self._ids: dict[Template, int] = {}

    def find(self, key: tuple[Any, ...], details: tuple[Any, ...]) -> int | None:
        """The template of such a call, or None if it has to be learned."""
        kind = self._kinds.get(key)
        if kind is None:
            return None
        number = kind.exact.get(details)
        if number is None and kind.settled is not None:
            kind.trusted += 1
            if kind.trusted % RECHECK:
                return kind.settled
        return number

    def learn(
        self,
        key: tuple[Any, ...],
        details: tuple[Any, ...],
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
        any_grad = any(self.recorder.metas.table[e.meta].requires_grad for e in entries)
        region = None
        if torch.is_inference_mode_enabled():
            region = "inference_mode"
        elif not torch.is_grad_enabled():
            region = "no_grad"
        out_grad = any(t.requires_grad for t in outs) or any(t.requires_grad for t in written)
        cut = cut_of(name, any_grad, out_grad, bool(outs) or bool(written), region)
        if name in FACTORIES or (writes and not outs and name == "__setitem__" and not any_grad):
            cut = None
        if not extra and kwargs and isinstance(kwargs.get("reduction"), str):
            extra = json.dumps({"reduction": kwargs["reduction"]})
        template = Template(name, cut, nodes, outputs, tuple(alias), tuple(writes), reusable, extra)
        number = self._ids.get(template)
        if number is None:
            number = self._ids[template] = len(self.recorder.templates)
            self.recorder.templates.append(template)
        kind = self._kinds.get(key)
        if kind is None:
            kind = self._kinds[key] = Kind()
        kind.add(details, number if reusable and name != "data" else None)
        return number

    def _find_writes(
        self, name: str, kwargs: Any, tensors: list[Any], outs: list[Any], made: int
    ) -> list[int]:
        if not tensors:
            return []
        if name == "batch_norm" or name == "native_batch_norm":
            return []
        if writes_by_name(name, kwargs):
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
            plain = type(t) in (torch.Tensor, torch.nn.Parameter) and t.device.type != "meta"
            pointer = t.untyped_storage().data_ptr() if base is None and plain else 0
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
            if not self.recorder.metas.table[entry.meta].requires_grad:
                continue
            number = self._number_of(entry.index)
            if number is not None:
                sources.by_number.setdefault(number, i)
                sources.by_output.setdefault((number, entry.output_nr), i)
            elif i in writes:
                continue
            elif leafness(t):
                sources.leaves.setdefault(id(t), i)
            elif (grad_fn := grad_fn_of(t)) is not None:
                number = sequence_of(grad_fn)
                sources.by_number.setdefault(number, i)
                sources.by_output.setdefault((number, entry.output_nr), i)
        return sources

    def _number_of(self, value: int) -> int | None:
        """The node number of a value made in this segment, without touching its node."""
        segment = self.recorder.segment
        maker = segment.makers[value]
        if maker < 0:
            return None
        row = segment.ops[maker]
        template = self.recorder.templates[row.template]
        fresh = [v for v in dict.fromkeys(row.outs + row.written) if segment.makers[v] == maker]
        place = fresh.index(value)
        if place < len(template.outputs) and template.outputs[place] >= 0:
            return row.first + template.nodes[template.outputs[place]][1]
        return None

    def _earlier(self, number: int) -> tuple[int, int] | None:
        """(op, node) of the node with this number, if an op of this segment made it."""
        index = self.recorder.segment.op_before(number)
        if index < 0:
            return None
        row = self.recorder.segment.ops[index]
        for k, (_, relative, _) in enumerate(self.recorder.templates[row.template].nodes):
            if row.first + relative == number:
                return index, k
        return None

    def _outside(self, node: Any) -> int:
        self.recorder.segment.outside.append(name_of(node))
        return len(self.recorder.segment.outside) - 1

    def _leaf_value(self, node: Any) -> int:
        leaf = getattr(node, "variable", None)
        if leaf is None:
            return self.recorder.segment.new_value(0, -1, 0)
        return self.recorder.value(leaf, 0).index
