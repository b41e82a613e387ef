"""Finds the op that made the first NaN or infinity, where that reaches a gradient which is used.

Ops that can make one are checked while they are looked at, and from the first on every op after
them. Backward passes are checked, node by node, where the graph has nodes whose derivative can be
infinite. While sampling sleeps only the loss is read; then the tensors that the graph has saved
tell where it began. The event is emitted when a step is about to use such a gradient.
"""

from __future__ import annotations

import weakref
from collections import Counter
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import torch

from gradscope.hooks import Hook
from gradscope.hooks import _torch as private
from gradscope.hooks.measures import finite as numbers
from gradscope.hooks.measures.broken_values import BrokenValues, Origin
from gradscope.hooks.measures.finite import finite, is_mild, is_risky, kind, nodes_below, single_finite
from gradscope.hooks.recorder.leaf import LeafRecord
from gradscope.hooks.recorder.parts import groups_of
from gradscope.hooks.recorder.segments import Row, Segment

# Means over the labels that are not ignored: NaN where all are, and the gradient is zero as it should be.
AVERAGING = {"cross_entropy", "nll_loss"}
MAX_NODES = 20_000  # looked at in one pass: dropping longer chains of known nodes is deep (docs/design.md)
# What optimizers call what they divide by, but for `eps`.
DIVISORS = ("exp_avg_sq", "square_avg", "sum", "exp_inf")
EXPONENTIALS = {"ExpBackward0", "Exp2Backward0"}  # that save their result
ROOT_OF_LARGEST = 1e19  # in float32 the square of what is larger is infinite
MAX_TOO = 4  # other calls that gave such numbers
MAX_WAITED = 4  # passes
SHARE = 0.01  # of the run's time, for passes checked while sampling sleeps


@dataclass
class Pending:
    """A pass that left gradients which are not finite, not used yet."""

    origin: Origin
    loss: float | None
    site: int
    records: list[LeafRecord]


class NonFinite(Hook):
    order = 46

    def install(self) -> None:
        recorder = self.recorder
        self.told = False  # what comes after the first follows from it
        self.loss_told = False
        self.unlabelled = Counter[int]()  # passes whose loss is a mean over no label, by site
        self.site = 0  # of the last pass
        self.waited = 0  # passes in which a GPU was waited for at each call
        self.unsound = 0  # the last pass known for a norm that is not finite
        self.forward = BrokenValues(recorder)
        self.loss: float | None = None
        self.origin: Origin | None = None
        self.nodes: dict[int, Any] = {}  # during a pass: the nodes being watched, by number
        self.handles: list[Any] = []
        self.last = 0  # number of the newest node of the pass
        self.pending: Pending | None = None
        self.known: tuple[Segment, int] | None = None  # the last graph looked at, number of its newest node
        self.mild: set[int] = set()  # its powers that have a finite derivative, counted back from the newest
        self.since = perf_counter()
        self.spent = 0.0
        self.stepped = dict[int, Any]()  # number of an optimizer → a weak reference to it
        recorder.signals.op.connect(self.forward.look)
        recorder.services.is_sound = self._is_sound
        recorder.signals.before_pass.connect(self._before)
        recorder.signals.after_pass.connect(self._after)
        recorder.signals.before_step.connect(self._before_step)
        recorder.signals.before_end.connect(self._end)

    def uninstall(self) -> None:
        self._let_go()
        super().uninstall()

    # -- a pass --------------------------------------------------------------------

    def _is_sound(self, t_outputs: Any) -> bool:
        if self.told or len(t_outputs) != 1 or private.profiling():
            return True
        with private.aside():
            return single_finite(t_outputs[0], self.forward.suspect)

    def _before(self, t_outputs: Any, args: Any, site: int, accumulate: bool, frame: Any) -> None:
        self._let_go()
        self.loss = self.origin = None
        if not accumulate or self.told or private.profiling():
            return
        self._check_pending()
        began = perf_counter()
        roots = [t for t in t_outputs if isinstance(t, torch.Tensor)]
        if self.forward.suspect and any(t.is_cuda for t in roots):
            self.waited += 1
            self.forward.suspect = self.waited <= MAX_WAITED
        looked = self.recorder.segment.looked
        if looked and len(roots) == 1:
            self._remember(roots[0])
        if len(roots) == 1 and not single_finite(roots[0], self.forward.suspect):
            self.loss = float(roots[0].detach())
            nodes = nodes_below(roots, MAX_NODES)
            if looked:
                self._note_mild(nodes)
            self.origin = self._of_no_label(nodes) or self._forward_origin(roots[0])
            if self.origin is not None and self.origin.where == "forward":
                self.origin = replace(self.origin, grown=self._grown(nodes))
        affordable = self.spent < SHARE * (began - self.since)
        if self.loss is None and (
            self.forward.suspect or (self.forward.risky is not None and (looked or affordable))
        ):
            self._watch(roots)
        if not looked:
            self.spent += perf_counter() - began

    def _of_no_label(self, nodes: list[Any]) -> Origin | None:
        """The cross entropy that is a mean over no label. nodes: of the pass, the newest first."""
        last = private.sequence_of(nodes[0]) if nodes else 0
        for node in nodes:
            if (labels := numbers.all_ignored(node)) is not None:
                origin = self._of_node(node, last - private.sequence_of(node), "forward")
                return replace(origin, name="cross_entropy", made="nan", inputs=[labels])
        return None

    def _grown(self, nodes: list[Any]) -> list[dict[str, Any]]:
        """The first exponential whose result is finite and so large that the next products of it are not."""
        last = private.sequence_of(nodes[0]) if nodes else 0
        for node in reversed(nodes):
            if private.name_of(node) not in EXPONENTIALS:
                continue
            largest = (numbers.summary(numbers.saved(node).get("result")) or {}).get("max", 0.0)
            if largest > ROOT_OF_LARGEST:
                made = self._of_node(node, last - private.sequence_of(node), "forward")
                return [{"site": made.site, "name": made.name, "largest": largest}] if made.site else []
        return []

    def _forward_origin(self, root: Any) -> Origin | None:
        recorder = self.recorder
        filled = recorder.ledger.filled
        broken = [r for r in filled if (t := r.ref()) is not None and not finite(t, self.forward.suspect)]
        if recorder.passes and broken:  # it began in an earlier pass, or in the step after it
            return self._divided_by_zero(broken) or self._guess()
        if not recorder.segment.looked:
            return self._from_saved(root)
        entry = recorder.live.find(root)
        if entry is None or entry.serial != recorder.segment.serial:
            return None
        origin = self.forward.origin_of(entry.index, root)
        if origin.where == "forward" and origin.name not in numbers.RISKY and not origin.inputs:
            return self._from_saved(root) or origin  # what it was given is gone, but for what backward needs
        return origin

    def _divided_by_zero(self, broken: list[LeafRecord]) -> Origin | None:
        """The step that has made these parameters what they are: `eps` is 0 in their dtype, and so is what it is added
        to, wherever they are not finite. The gradients were finite, or that would not be 0."""
        for number in set.intersection(*(set(record.optimizers) for record in broken)):
            optimizer = self.stepped[number]() if number in self.stepped else None
            tensors = [t for record in broken if (t := record.ref()) is not None]
            if optimizer is None:
                continue
            found = [_without_divisor(optimizer, t) for t in tensors]
            if found and all(zeros for _, zeros in found):
                data = {
                    "of": "eps",
                    "eps": found[0][0],
                    "dtype": private.dtype_of(tensors[0]),
                    "optimizer": number,
                }
                origin = Origin("step", type(optimizer).__name__)
                origin.inputs = [{**data, "zeros": sum(zeros for _, zeros in found)}]
                return origin
        return None

    def _remember(self, root: Any) -> None:
        """Keeps what is known of this graph, for passes that build the same while sampling sleeps."""
        node = private.grad_fn_of(root)
        self.mild.clear()
        self.known = None if node is None else (self.recorder.segment, private.sequence_of(node))

    def _calls(self) -> dict[int, tuple[str, Row]]:
        """Which call each node of the known graph belongs to, counted back from the loss."""
        if self.known is None:
            return {}
        segment, last = self.known
        templates = self.recorder.templates
        return {
            last - row.first - number: (name, row)
            for row in segment.ops
            for name, number, _ in templates[row.template].nodes
        }

    def _from_saved(self, root: Any) -> Origin | None:
        """Looks for the oldest node that saved something not finite."""
        nodes = nodes_below([root], MAX_NODES)
        if not nodes:
            return None
        last = private.sequence_of(nodes[0])
        where, node = numbers.oldest_broken(nodes) or ("op", nodes[0])
        before = last - private.sequence_of(node)
        return self._of_node(node, before, "forward" if where == "op" else where)

    def _of_node(self, node: Any, before_last: int, where: str) -> Origin:
        name = private.name_of(node)
        origin = Origin(where, name)
        known = self._calls().get(before_last)
        if known is not None and known[0] == name:
            origin.site = known[1].site
            origin.name = self.recorder.templates[known[1].template].name
        origin.inputs = numbers.inputs_of(node)
        if known is not None and len(known[1].ins) == 1 and (number := numbers.divisor(node)) is not None:
            origin.inputs = [number]
        return origin

    # -- backward ------------------------------------------------------------------

    def _watch(self, roots: list[Any]) -> None:
        """Puts hooks on the nodes of this pass that only look. Not where hooks of the user's run
        while a node does: they would find its inputs kept, for ours."""
        if private.saved_hooks(True) is not None:
            return
        nodes = nodes_below(roots, MAX_NODES, self._oldest(roots))
        if not nodes:
            return
        self.last = private.sequence_of(nodes[0])
        if self.recorder.segment.looked:
            self._note_mild(nodes)
        for node in nodes:
            number = private.sequence_of(node)
            if self.forward.suspect or _can_break(node):
                self.nodes[number] = node
                self.handles.append(node.register_hook(self._hook(number)))

    def _note_mild(self, nodes: list[Any]) -> None:
        """nodes: of the graph that is known, the newest first."""
        last = private.sequence_of(nodes[0]) if nodes else 0
        self.mild.update(last - private.sequence_of(node) for node in nodes if is_mild(node))

    def _oldest(self, roots: list[Any]) -> int:
        """Where to stop: no node of this pass with a smaller number is watched, as far as is known."""
        if self.forward.suspect or self.forward.risky is None or self.known is None or len(roots) != 1:
            return 0
        segment, last = self.known
        node = private.grad_fn_of(roots[0])
        if node is None or segment.carried:
            return 0
        return max(0, private.sequence_of(node) - (last - self.forward.risky))

    def _hook(self, number: int) -> Any:
        def look(gradients: Any, incoming: Any) -> None:
            if self.origin is not None or number not in self.nodes:
                return
            began = perf_counter()
            try:
                with private.aside():
                    self._look(number, gradients, incoming)
            except BaseException as error:
                self.recorder.fault("looking at a gradient", error)
            self.recorder.own_time += perf_counter() - began

        return look

    def _look(self, number: int, gradients: Any, incoming: Any) -> None:
        broken = next((g for g in gradients if g is not None and not finite(g, self.forward.suspect)), None)
        if broken is None or any(g is not None and not finite(g, True) for g in incoming):
            return
        node = self.nodes[number]
        origin = self._of_node(node, self.last - number, "backward")
        segment = self.recorder.segment
        if segment.looked and (index := segment.op_before(number)) >= 0:
            row = segment.ops[index]
            origin.name, origin.site = self.recorder.templates[row.template].name, row.site
            origin.serial, origin.op, origin.values = segment.serial, index, list(row.ins[:1])
        if (own := numbers.own_backward(node)) is not None:
            origin.inputs = [own]
        origin.made = kind(broken)
        self.origin = origin

    def _let_go(self) -> None:
        for handle in self.handles:
            handle.remove()
        self.handles.clear()
        self.nodes.clear()

    def _after(self, site: int, failed: BaseException | None) -> None:
        origin = self.origin
        self.site = site
        self._let_go()
        recorder = self.recorder
        if (
            failed is not None
            or self.told
            or (self.loss is None and origin is None and recorder.unsound_pass <= self.unsound)
        ):
            return
        self.unsound = recorder.unsound_pass  # from a GPU the news comes passes later
        if self.loss is None and self.unsound <= recorder.scaled_pass and _on_gpu(recorder.ledger.filled):
            return  # what a gradient scaler is there for: it leaves out the step, and has asked the device itself
        broken = [r for r in recorder.ledger.filled if _broken(r)]
        if not broken and self.loss is not None and origin is not None:
            ignored = any("ignored" in data for data in origin.inputs)
            if ignored:
                self.unlabelled[site] += 1
            if not self.loss_told and (ignored or origin.name not in AVERAGING):
                self.loss_told = True
                self._emit(Pending(origin, self.loss, site, []))
        if broken:
            if self.loss is None and (origin is None or any("not_finite" in data for data in origin.inputs)):
                origin = self.forward.left_out() or origin
            guess = self._guess() if self.loss is None else Origin("unknown")
            self.pending = Pending(origin or guess, self.loss, site, broken)
            if origin is None:
                self.forward.suspect = True
                recorder.services.wake()

    # -- verdict -------------------------------------------------------------------

    def _before_step(self, optimizer: Any, number: int, records: list[LeafRecord]) -> None:
        if number not in self.stepped:
            self.stepped[number] = weakref.ref(optimizer)
        pending = self.pending
        if pending is None and self.forward.bad and not self.told:
            pending = self._made_of_gradients(records)
        if pending is None or getattr(optimizer, "found_inf", None) is not None:
            return
        used = {id(record) for record in records}
        broken = [r for r in pending.records if id(r) in used and _broken(r)]
        if broken:
            self._tell(pending, broken)

    def _made_of_gradients(self, records: list[LeafRecord]) -> Pending | None:
        """Gradients that the program has put there itself, computed from a number that it made since the pass."""
        recorder = self.recorder
        if self.forward.serial != recorder.segment.serial:
            return None
        for record in records:
            t = record.ref()
            entry = recorder.live.find(private.grad_of(t)) if t is not None else None
            origin = self.forward.bad.get(entry.index) if entry is not None else None
            if origin is not None and origin.where == "forward":
                return Pending(replace(origin, where="gradient"), None, self.site, records)
        return None

    def _check_pending(self) -> None:
        """An update by hand has used the gradients if the parameters are not finite now."""
        pending, self.pending = self.pending, None
        if pending is not None:
            broken = [r for r in pending.records if (t := r.ref()) is not None and not finite(t, True)]
            if broken:
                self._tell(pending, broken)

    def _end(self) -> None:
        pending = self.pending
        if pending is not None and not self.recorder.steps and not self.recorder.scaled_pass:
            broken = [r for r in pending.records if _broken(r)]
            if broken:
                self._tell(pending, broken)
        with private.aside():
            self._check_pending()
            if not self.told:
                self._check_parameters()
        for site, passes in self.unlabelled.items():
            self.recorder.emit("labels_ignored", site, {"passes": passes})

    def _check_parameters(self) -> None:
        """What was stepped and is not finite at the end went wrong in a pass that was not looked at."""
        records = self.recorder.ledger.all
        broken = [r for r in records if r.steps and (t := r.ref()) is not None and not finite(t, True)]
        if broken:
            self._tell(Pending(self._guess(), None, self.site, broken), broken)

    def _guess(self) -> Origin:
        """The likeliest call of the graph, where one alone has a derivative that is infinite."""
        calls = [
            (name, row)
            for before, (name, row) in self._calls().items()
            if is_risky(name) and before not in self.mild
        ]
        steep = {row.site: row for name, row in calls if is_risky(name, numbers.STEEP_NODES)}
        rows = steep or {row.site: row for _, row in calls}
        if len(rows) != 1:
            return Origin("unknown")
        row = next(iter(rows.values()))
        return Origin("unknown", self.recorder.templates[row.template].name, site=row.site)

    def _tell(self, pending: Pending, broken: list[LeafRecord]) -> None:
        """Emits the event, once a run."""
        self._emit(Pending(pending.origin, pending.loss, pending.site, broken))
        self.pending = None
        self.forward.suspect = False
        self.told = True
        self.recorder.signals.op.disconnect(self.forward.look)

    def _emit(self, pending: Pending) -> None:
        recorder = self.recorder
        origin = pending.origin
        here = origin.serial == recorder.segment.serial
        data = {
            "where": origin.where, "name": origin.name, "made": origin.made, "origin": origin.site or None,
            "op": origin.op if here else None, "values": origin.values if here else [],
            "parameters": [record.id for record in pending.records], "too": origin.too[:MAX_TOO],
            "grown": origin.grown,
        }  # fmt: skip
        recorder.emit("non_finite", pending.site, data, inputs=origin.inputs, loss=pending.loss)


def _can_break(node: Any) -> bool:
    """Whether this node can give a gradient that is not finite for one that is."""
    return (is_risky(private.name_of(node)) and not is_mild(node)) or private.function_of(node) is not None


def _on_gpu(records: list[LeafRecord]) -> bool:
    return any(t.is_cuda for record in records if (t := record.ref()) is not None)


def _broken(record: LeafRecord) -> bool:
    t = record.ref()
    return t is not None and (grad := private.grad_of(t)) is not None and not finite(grad, True)


def _without_divisor(optimizer: Any, t: Any) -> tuple[float, int]:
    """The optimizer's `eps` for this parameter, and how many elements of that are not finite, where it has divided each
    of them by 0; else 0."""
    state = optimizer.state.get(t)
    divisor = (
        next((state[key] for key in DIVISORS if key in state), None) if isinstance(state, dict) else None
    )
    eps = next(
        (group.get("eps") for group in groups_of(optimizer) if any(p is t for p in group["params"])), None
    )
    if not isinstance(divisor, torch.Tensor) or divisor.shape != t.shape or not isinstance(eps, float):
        return 0.0, 0
    gone = ~t.detach().isfinite()
    by_zero = torch.tensor(eps, dtype=divisor.dtype).item() == 0 and bool((divisor[gone] == 0).all())
    return eps, int(gone.sum()) if by_zero else 0
