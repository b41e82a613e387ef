"""Learns what a call did: looks at its nodes, writes and aliases once per kind of call."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch

from gradscope.hooks._torch import grad_fn_of, held_here, is_functional, kernel_modes, name_of, sequence_of
from gradscope.hooks._torch import is_leaf as leafness
from gradscope.hooks.recorder.learn import Sources, Template, cut_of, walk
from gradscope.hooks.recorder.values import Live, Metas, find_tensors

if TYPE_CHECKING:
    from gradscope.hooks.recorder.state import State

ENOUGH = 8  # calls that differ in details and build the same, before details count no more
RECHECK = 16  # one of so many is looked at all the same
MAX_DETAILS = 1_000

# Results that tell the shape or kind of an input, not its data.
FACTORIES = {
    "zeros_like", "ones_like", "empty_like", "rand_like", "randn_like", "full_like", "randint_like",
    "new_zeros", "new_ones", "new_empty", "new_full",
}  # fmt: skip

_INPLACE_DUNDERS = {"__iand__", "__ior__", "__ixor__", "__ilshift__", "__irshift__"}


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
class Group:
    """Calls that differ in nothing but sizes and numbers that seldom matter."""

    number: int | None
    seen: int = 0
    trusted: int = 0


@dataclass(slots=True)
class Kind:
    """Calls at one site with the same kinds of inputs and outputs. They may still differ in
    sizes, strides and other arguments, and so in what they build: `sort(stable=True)` makes
    another node than `sort()`. Where sizes and larger numbers were never seen to matter, they
    are taken not to, but for a look now and then: they may be new at every call, and each look
    has its price."""

    exact: dict[tuple[Any, ...], int] = field(default_factory=dict)  # details → template
    groups: dict[tuple[Any, ...], Group] = field(default_factory=dict)

    def trusted(self, outline: tuple[Any, ...]) -> int | None:
        """The template of calls that look like this one, if there were enough."""
        group = self.groups.get(outline)
        if group is None or group.number is None or group.seen < ENOUGH:
            return None
        group.trusted += 1
        return group.number if group.trusted % RECHECK else None

    def add(self, details: tuple[Any, ...], outline: tuple[Any, ...], number: int | None) -> None:
        """Notes what was learned; None if it holds for that one call only."""
        group = self.groups.get(outline)
        if group is None:
            group = self.groups[outline] = Group(number)
        elif group.number != number:
            group.number = None
        group.seen += 1
        if len(self.exact) >= MAX_DETAILS:
            self.exact.clear()
        if number is not None:
            self.exact[details] = number


@dataclass(slots=True)
class Call:
    """A finished call that is to be learned. first: the thread's node number before it; made: nodes made since;
    known: for each output what is known of it where it is no new tensor; listed: length of the list that is the first
    argument."""

    name: str
    kwargs: Any
    others: list[Any]
    tensors: list[Any]
    entries: list[Live]
    outs: list[Any]
    known: list[Live | None]
    first: int
    made: int
    extra: str
    listed: int


def outline(others: list[Any], entries: list[Live], metas: Metas) -> tuple[Any, ...]:
    """A call's arguments without the sizes and numbers that seldom matter."""
    return tuple([_coarse(a) for a in others]), tuple([metas.classes[e.meta] for e in entries])


def _coarse(argument: Any) -> Any:
    cls = type(argument)
    if cls is int:
        return argument if -8 <= argument <= 8 else "int"
    if cls is float:
        return argument if argument in (0.0, 0.5, 1.0, 2.0, 3.0) else "float"
    return tuple([_coarse(a) for a in argument]) if cls is tuple else argument


class Learner:
    """Templates by content, and by what is known of a call before its nodes are looked at."""

    def __init__(self, state: State, value: Callable[..., Live]):
        self.state = state
        self.value = value  # Entering's
        self._kinds: dict[tuple[Any, ...], Kind] = {}
        self._ids: dict[Template, int] = {}

    def find(
        self, key: tuple[Any, ...], details: tuple[Any, ...], others: list[Any], entries: list[Live]
    ) -> int | None:
        """The template of such a call, or None if it has to be learned."""
        kind = self._kinds.get(key)
        if kind is None:
            return None
        number = kind.exact.get(details)
        return kind.trusted(outline(others, entries, self.state.metas)) if number is None else number

    def learn(self, key: tuple[Any, ...], details: tuple[Any, ...], call: Call, certain: bool) -> int:
        """Looks at the call's nodes and interns what it did. certain: whether such a call will do the same again."""
        name, kwargs, made, first = call.name, call.kwargs, call.made, call.first
        tensors, entries, outs, extra = call.tensors, call.entries, call.outs, call.extra
        writes = self._find_writes(call)
        written = [tensors[i] for i in writes]
        fresh = _fresh(outs, call.known, written)
        alias = tuple(
            None if _among(t, written) else self._alias_source(name, t, tensors, writes) for t in fresh
        )
        nodes: tuple[Any, ...] = ()
        outputs: tuple[int, ...] = tuple(-1 for _ in fresh)
        reusable = True
        inference = torch.is_inference_mode_enabled()  # no nodes, and to ask may lose some (_ops._leafness)
        # Asked for the node of a view that was written to in no_grad, torch runs kernels to make it anew.
        felt = not made and not torch.is_grad_enabled() and kernel_modes() > 0
        if not inference and not felt and (made or any(t.requires_grad for t in fresh)):
            sources = self._sources(tensors, entries, writes, first)
            nodes, outputs, reusable = walk(
                fresh, first, sources, self._earlier, self._outside, self._leaf_value
            )
        any_grad = any(self.state.metas.table[e.meta].requires_grad for e in entries)
        region = None
        if inference:
            region = "inference_mode"
        elif not torch.is_grad_enabled():
            region = "no_grad"
        own_leaves = region == "no_grad" and not made  # views that require a gradient, but pass none on
        out_grad = any(t.requires_grad for t in written) or any(
            t.requires_grad and not (own_leaves and any(t is f for f in fresh) and leafness(t)) for t in outs
        )
        cut = cut_of(name, any_grad, out_grad, bool(outs) or bool(written), region)
        if name in FACTORIES or (writes and not outs and name == "__setitem__" and not any_grad):
            cut = None
        if not extra and kwargs and isinstance(kwargs.get("reduction"), str):
            extra = json.dumps({"reduction": _reduction(kwargs)})
        template = Template(name, cut, nodes, outputs, alias, tuple(writes), reusable, extra)
        number = self._ids.get(template)
        if number is None:
            number = len(self.state.templates)
            self.state.templates.append(template)
            self._ids[template] = number  # last, as Ctrl-C may come between
        kind = self._kinds.get(key)
        if kind is None:
            kind = self._kinds[key] = Kind()
        alike = outline(call.others, entries, self.state.metas)
        kind.add(details, alike, number if reusable and certain and name != "data" else None)
        return number

    def _find_writes(self, call: Call) -> list[int]:
        name, kwargs, tensors = call.name, call.kwargs, call.tensors
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
            if name.startswith("_fused"):
                return []
            if name.startswith("_foreach"):  # writes to every tensor of its first list
                return list(
                    {id(t): i for i, t in reversed(list(enumerate(tensors[: call.listed])))}.values()
                )[::-1]
            return [0]
        if call.made:
            given_back = [i for i, t in enumerate(tensors) if any(t is o for o in call.outs)]
            return [i for i in given_back if self._has_new_node(tensors[i], call.first)][:1]
        return []

    @staticmethod
    def _has_new_node(t: Any, first: int) -> bool:
        """Whether the call gave the tensor another node: `atleast_1d` gives some back as they are."""
        node = grad_fn_of(t)
        return node is not None and sequence_of(node) >= first

    def _alias_source(
        self, name: str, t: Any, tensors: list[Any], writes: list[int]
    ) -> tuple[int, bool] | None:
        """Which input's memory an output shares, and whether writes through it go unseen."""
        try:
            if name == "data":
                return (0, True)
            base = t._base
            plain = type(t) in (torch.Tensor, torch.nn.Parameter) and not t.is_meta and not is_functional(t)
            pointer = t.untyped_storage().data_ptr() if base is None and plain else 0
            for i, source in enumerate(map(held_here, tensors)):
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

    def _sources(self, tensors: list[Any], entries: list[Live], writes: list[int], first: int) -> Sources:
        sources = Sources()
        for i, (t, entry) in enumerate(zip(tensors, entries, strict=True)):
            if not self.state.metas.table[entry.meta].requires_grad:
                continue
            number = self._number_of(entry.index)
            if number is not None:
                sources.by_number.setdefault(number, i)
                sources.by_output.setdefault((number, entry.output_nr), i)
            elif leafness(t):
                if i not in writes:
                    sources.leaves.setdefault(id(t), i)
            elif (grad_fn := grad_fn_of(t)) is not None:
                number = sequence_of(grad_fn)
                if (i in writes and number >= first) or not self._still(entry.index, number):
                    continue  # the node is the call's own, or of a write through a view since
                sources.by_number.setdefault(number, i)
                sources.by_output.setdefault((number, entry.output_nr), i)
        return sources

    def _still(self, value: int, number: int) -> bool:
        """Whether the node with this number is the one that a value came into the segment with."""
        segment = self.state.segment
        external = segment.externals.get(value)
        if external is not None and external.outside is not None:
            return segment.outside_of.get(number) == external.outside
        return self._earlier(number) is None

    def _number_of(self, value: int) -> int | None:
        """The node number of a value made in this segment, without touching its node."""
        segment = self.state.segment
        maker = segment.makers[value]
        if maker < 0:
            return None
        row = segment.ops[maker]
        template = self.state.templates[row.template]
        fresh = [v for v in dict.fromkeys(row.outs + row.written) if segment.makers[v] == maker]
        place = fresh.index(value)
        if place < len(template.outputs) and template.outputs[place] >= 0:
            return row.first + template.nodes[template.outputs[place]][1]
        return None

    def _earlier(self, number: int) -> tuple[int, int] | None:
        """(op, node) of the node with this number, if an op of this segment made it."""
        index = self.state.segment.op_before(number)
        if index < 0:
            return None
        row = self.state.segment.ops[index]
        for k, (_, relative, _) in enumerate(self.state.templates[row.template].nodes):
            if row.first + relative == number:
                return index, k
        return None

    def _outside(self, node: Any) -> int:
        return self.state.segment.from_outside(sequence_of(node), name_of(node), 0)

    def _leaf_value(self, node: Any) -> int:
        leaf = getattr(node, "variable", None)
        if leaf is None:
            return self.state.segment.new_value(0, -1, 0)
        return self.value(leaf, 0).index


def _among(t: Any, tensors: list[Any]) -> bool:
    return any(t is other for other in tensors)


def _fresh(outs: list[Any], known: list[Live | None], written: list[Any]) -> list[Any]:
    """The tensors that get a new value, in the order in which _segments.GraphRows lists them."""
    found: list[Any] = []
    for t, entry in zip(outs, known, strict=True):
        if entry is None or (_among(t, written) and not _among(t, found)):
            found.append(t)
    return found + [t for t in written if not _among(t, found)]


def _reduction(given: dict[str, Any]) -> Any:
    """What a loss does with its elements; `size_average` and `reduce`, the names of before, go before `reduction`."""
    average, reduce = given.get("size_average"), given.get("reduce")
    if average is None and reduce is None:
        return given["reduction"]
    return "none" if reduce is False else "sum" if average is False else "mean"
