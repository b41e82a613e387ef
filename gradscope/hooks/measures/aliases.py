"""Watches writes that autograd's version counter does not see: through `.data`, by a
call between ranks, or through memory that numpy (or another library) shares.

Nothing is copied until a write could matter: the memory was read by an op whose
graph is still waiting for its backward. Then the old bytes are kept, and at the
backward the saved tensors are compared with them (docs/design.md).
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

import torch

from gradscope.hooks import Hook
from gradscope.hooks._torch import aside, grad_fn_of, grad_of, name_of, saved_by, sequence_number, sequence_of
from gradscope.hooks.behind import nodes_behind
from gradscope.hooks.recorder.learner import writes_by_name
from gradscope.hooks.recorder.modules import tensor_variables
from gradscope.hooks.recorder.sites import kind_of
from gradscope.hooks.recorder.values import Live, has_values

EXPOSING = ("numpy", "__array__", "from_numpy", "__dlpack__")  # hand the memory to another library
STORAGES = ("untyped_storage", "storage")  # hand out the memory itself
THROUGH = {"__dlpack__", "from_numpy", *STORAGES}  # the others are numpy's
# torch's own frames below the call
PASSED_ON = {*EXPOSING, *STORAGES, "handle_torch_function", "from_dlpack"}
_FORMS = {  # write to the sizes and strides of a tensor, and not to its memory
    "transpose_", "t_", "swapaxes_", "swapdims_", "squeeze_", "unsqueeze_", "as_strided_", "detach_", "rename_",
}  # fmt: skip
SHOWN = 3  # leaves of which the numbers are told
MAX_BYTES = 256 << 20  # of copies held at a time
MAX_WALK = 20_000  # nodes looked at for a proof
MAX_PROVE_NODES = 2_000  # without --prove


@dataclass
class Snapshot:
    """Bytes of a storage as they were before a hidden write."""

    pointer: int
    copy: Any
    number: int  # nodes with a smaller number saved these bytes
    site: int
    through: str
    value: int


class _Swap:
    """Gives a node of the graph what it had saved, while it runs."""

    def __init__(self, node: Any, storage: Any, saved: Any):
        self.node, self.storage, self.saved = node, storage, saved
        self.kept: Any = None
        self.handles: list[Any] = []

    def install(self) -> None:
        self.handles = [self.node.register_prehook(self._before), self.node.register_hook(self._after)]

    def remove(self) -> None:
        for handle in self.handles:
            handle.remove()
        self._put_back()

    def _before(self, grads: Any) -> None:
        if self.kept is None:
            self.kept = self.storage.clone()
            self.storage.copy_(self.saved)

    def _after(self, inputs: Any, outputs: Any) -> None:
        self._put_back()

    def _put_back(self) -> None:
        if self.kept is not None:
            self.storage.copy_(self.kept)
            self.kept = None


class Aliases(Hook):
    order = 80

    def install(self) -> None:
        self.snapshots: list[Snapshot] = []
        self.held = 0
        self.suspects: set[int] = set()  # places of a write on a GPU that was seen in what backward had saved
        self.exposed: dict[int, tuple[int, str]] = {}  # root → (site, through)
        self.found: list[dict[str, Any]] = []
        self.recorder.signals.thread_changed.connect(self.snapshots.clear)
        recorder = self.recorder
        recorder.functions.before_write = self._before_write
        recorder.functions.follow(EXPOSING, self._expose)
        recorder.functions.special[torch._C.TensorBase.untyped_storage] = self._storage("untyped_storage")
        recorder.functions.special[torch.Tensor.storage] = self._storage("storage")
        self.patch(torch, "from_numpy", self._from_numpy(torch.from_numpy))
        recorder.signals.before_reduced.connect(self._before_reduced)
        recorder.signals.before_pass.connect(self._before_pass)
        recorder.signals.after_pass.connect(self._after_pass)

    def uninstall(self) -> None:
        self.recorder.functions.before_write = None
        self.recorder.signals.values_read.disconnect(self._consumed)
        self.snapshots.clear()
        super().uninstall()

    def _from_numpy(self, real: Any) -> Any:
        """A function mode does not see this call: its input is no tensor."""

        def from_numpy(array: Any) -> Any:
            result = real(array)
            if self.recorder.mine() and self.recorder.segment.looked:
                try:
                    self._expose("from_numpy", (), {}, result, sys._getframe(1))
                    for follow in self.recorder.signals.array_wrapped:
                        follow(result, sys._getframe(1))
                except BaseException as error:
                    self.recorder.fault("recording from_numpy", error)
            return result

        return from_numpy

    def _storage(self, name: str) -> Any:
        def handed_out(func: Any, types: Any, args: Any, kwargs: Any, frame: Any) -> Any:
            result = func(*args, **kwargs)
            try:
                if self.recorder.segment.looked:
                    self._expose(name, args, kwargs, result, frame)
            except BaseException as error:
                self.recorder.fault("watching a storage", error)
            return result

        return handed_out

    # -- keeping old bytes ----------------------------------------------------------------

    def _before_write(self, name: str, args: Any, kwargs: Any, frame: Any) -> None:
        if not args or not isinstance(args[0], torch.Tensor):
            return
        recorder = self.recorder
        try:
            entry = recorder.live.find(args[0])
            if entry is not None and entry.hidden and name not in _FORMS and writes_by_name(name, kwargs):
                with aside():
                    self._hidden_write(args[0], recorder.sites.current(frame), entry.root)
        except BaseException as error:
            recorder.fault("watching a write", error)

    def _hidden_write(self, t: Any, site: int, root: int) -> None:
        recorder = self.recorder
        kept = self._waiting(root)
        if kept:
            kept = self._keep(t, site, "data", recorder.value(t, site).index)
        if recorder.sites.nodes[site].kind == "user" or kept:
            recorder.emit(
                "hidden_write", site,
                {
                    "value": recorder.value(t, site).index, "through": "data",
                    "op": len(recorder.segment.ops), "proof": kept,
                },
            )  # fmt: skip

    def _before_reduced(self, name: str, tensors: list[Any], frame: Any) -> None:
        recorder = self.recorder
        with aside():
            for t in tensors:
                entry = recorder.live.find(t)
                if entry is not None and self._waiting(entry.root):
                    self._keep(t, recorder.sites.current(frame), name, entry.index)

    def _waiting(self, root: int) -> bool:
        """Whether an op of a graph through which no pass has been used this memory."""
        recorder = self.recorder
        templates = recorder.templates
        segments = [(recorder.segment, recorder.segment.freed_at)]
        segments += [(s, 0) for s in recorder.history.recent if s.nodes and not s.passes]
        for segment, start in segments:
            roots = segment.roots
            for row in segment.ops[start:]:
                if templates[row.template].nodes and any(roots[v] == root for v in row.ins + row.outs):
                    return True
        return False

    def _keep(self, t: Any, site: int, through: str, value: int) -> bool:
        if t.layout is not torch.strided or not has_values(t):
            return False
        storage = t.untyped_storage()
        if storage.nbytes() + self.held > MAX_BYTES:
            return False
        self.held += storage.nbytes()
        with aside():
            copy = storage.clone()
        self.snapshots.append(Snapshot(storage.data_ptr(), copy, sequence_number(), site, through, value))
        return True

    def _expose(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        """Memory was handed to another library: what is saved of it must be checked."""
        t = result if name == "from_numpy" else args[0]
        recorder = self.recorder
        if not isinstance(t, torch.Tensor) or _device(t) != "cpu":
            return
        while frame is not None and frame.f_code.co_name in PASSED_ON and _of_torch(frame):
            frame = frame.f_back
        site = recorder.sites.current(frame)
        if recorder.sites.nodes[site].kind != "user" or len(self.exposed) > 64:
            return
        through = name if name in THROUGH else "numpy"
        with aside():
            entry = recorder.value(t, site)
            self.exposed[entry.root] = (site, through)
            recorder.signals.values_read.connect(self._consumed)
            if name != "from_numpy" and self._waiting(entry.root):
                self._keep(t, site, through, entry.index)

    def _consumed(self, entries: list[Live], op: int) -> None:
        """An op read exposed memory: what it saved are these bytes."""
        recorder = self.recorder
        row = recorder.segment.ops[op]
        if not recorder.templates[row.template].nodes:
            return
        for entry in entries:
            known = self.exposed.get(entry.root)
            t = entry()
            if known is not None and t is not None and t.numel() * t.element_size() <= 4 << 20:
                self._keep(t, known[0], known[1], entry.index)

    # -- comparing at the backward -------------------------------------------------------

    def _before_pass(self, roots: Any, args: Any, site: int, accumulate: bool, frame: Any) -> None:
        self.found = []
        if not self.snapshots:
            return
        roots = [t for t in roots if isinstance(t, torch.Tensor)]
        nodes = list(nodes_behind(map(grad_fn_of, roots), MAX_WALK))
        by_pointer: dict[int, list[Snapshot]] = {}
        for snapshot in self.snapshots:
            by_pointer.setdefault(snapshot.pointer, []).append(snapshot)
        for node in nodes:
            number = sequence_of(node)
            for name in dir(type(node)):
                if name.startswith("_saved_") and "running_" not in name and len(self.found) < 5:
                    self._compare(node, name, number, by_pointer)
        if not self.found or not accumulate:
            return
        leaves = _leaves([f["node"] for f in self.found])
        names = _names(leaves, frame, self.recorder)
        shown = leaves[:SHOWN]
        if self._may_prove(nodes, roots, leaves):
            apart = self._apart(roots, args, leaves)
            if apart is not None:
                shown = [t for t in leaves if id(t) in apart][:SHOWN]
                self.found[0]["apart"] = apart
                if not shown:  # what was overwritten, backward did not need
                    self.found = []
                    return
        self.found[0]["leaves"] = [(names[id(t)], t) for t in shown]

    def _compare(self, node: Any, name: str, number: int, by_pointer: dict[int, list[Snapshot]]) -> None:
        try:
            saved = saved_by(node, name)
            if (
                not isinstance(saved, torch.Tensor)
                or saved.layout is not torch.strided
                or not has_values(saved)
            ):
                return
            storage = saved.untyped_storage()
        except RuntimeError:
            return  # freed; or seen by the version counter: torch itself will say so; or without memory
        snapshot = next((s for s in by_pointer.get(storage.data_ptr(), ()) if s.number > number), None)
        if snapshot is None or snapshot.copy.nbytes() != storage.nbytes():
            return  # nbytes differ: the program gave the memory back for now
        old = torch.empty(0, dtype=saved.dtype, device=saved.device).set_(
            snapshot.copy, saved.storage_offset(), saved.size(), saved.stride()
        )
        same = old == saved.detach()
        if saved.is_floating_point() or saved.is_complex():
            same = same | (old.isnan() & saved.detach().isnan())
        if not old.is_cpu and snapshot.site not in self.suspects:
            # A GPU is not waited for before there is a reason: the next pass like this one is.
            def judge(same: torch.Tensor, site: int = snapshot.site) -> None:
                if not bool(same):
                    self.suspects.add(site)

            self.recorder.arrivals.when_here((same.all(),), judge)
            return
        if bool(same.all()):
            return
        self.found.append(
            {
                "node": node, "number": number, "snapshot": snapshot, "old": old, "storage": storage,
                "saved": head(old), "read": head(saved.detach()),
            }
        )  # fmt: skip

    def _may_prove(self, nodes: list[Any], roots: list[Any], leaves: list[Any]) -> bool:
        """A second backward is harmless: no code of the user's would run in it."""
        if self.recorder.prove:
            return True
        if len(nodes) > MAX_PROVE_NODES or self.recorder.functions.hooks_seen:
            return False
        custom = any(isinstance(n, torch.autograd.function.BackwardCFunction) for n in nodes)
        return not custom and not any(t._backward_hooks for t in (*roots, *leaves))

    def _apart(self, roots: list[Any], args: Any, leaves: list[Any]) -> dict[int, Any] | None:
        """By id, of each leaf whose gradient is wrong: how much this pass gives it beyond what it would with the bytes
        that were saved. None where torch refuses to say. Each node that was found gets its own for as long as it runs:
        others may have saved the same memory later."""
        given = args[0] if args else None

        def gradients() -> tuple[Any, ...]:
            return torch.autograd.grad(roots, leaves, given, retain_graph=True, allow_unused=True)

        # One for each memory of a node: a second one would take what the first has put there for the program's.
        swaps = {
            (id(one["node"]), one["storage"].data_ptr()): _Swap(
                one["node"], one["storage"], one["snapshot"].copy
            )
            for one in self.found
        }
        try:
            wrong = gradients()
            for swap in swaps.values():
                swap.install()
            right = gradients()
        except RuntimeError:  # torch refuses this graph: the program will hear of that itself
            return None
        finally:
            for swap in swaps.values():
                swap.remove()
        both = zip(leaves, wrong, right, strict=True)
        return {id(t): a - b for t, a, b in both if a is not None and b is not None and not torch.equal(a, b)}

    def _after_pass(self, site: int, failed: BaseException | None) -> None:
        recorder = self.recorder
        for one in self.found if failed is None else ():
            snapshot = one["snapshot"]
            place = recorder.history.locate(one["number"])
            known = [(name, t) for name, t in one.get("leaves", ()) if grad_of(t) is not None]
            apart = one.get("apart", {})
            wrong = {name: head(grad_of(t)) for name, t in known}
            right = {name: head(grad_of(t) - apart[id(t)]) for name, t in known if id(t) in apart}
            in_this = place is not None and place[0] == recorder.segment.serial
            recorder.emit(
                "corrupted", site,
                {
                    "write": snapshot.site, "through": snapshot.through,
                    "saved_by": place[1] if place and in_this else None, "saved_site": place[2] if place else None,
                    "value": snapshot.value, "node_name": name_of(one["node"]), "backward": site,
                },
                saved=one["saved"], read=one["read"], wrong=wrong, right=right,
            )  # fmt: skip
        self.found = []
        if failed is None:
            self.snapshots.clear()
            self.held = 0


def _of_torch(frame: Any) -> bool:
    return kind_of(frame.f_code.co_filename) == "torch"


def _device(t: Any) -> str:
    with aside():
        return str(t.device.type)


def head(t: Any) -> list[float]:
    """The first elements, rounded for showing."""
    flat = t.detach().flatten()[:8].tolist()
    return [round(x, 4) if isinstance(x, float) else x for x in flat]


def _leaves(nodes: list[Any]) -> list[Any]:
    """Leaves whose gradient flows through these nodes."""
    found = (getattr(node, "variable", None) for node in nodes_behind(nodes, MAX_WALK))
    return [leaf for leaf in found if leaf is not None]


def _names(leaves: list[Any], frame: Any, recorder: Any) -> dict[int, str]:
    """Of each leaf the number by which the trace knows it; else what its caller calls it."""
    names = {
        id(t): str(record.id)
        for t in leaves
        if (record := recorder.ledger.records.get(id(t))) and (record.name or record.registered)
    }
    wanted = {id(t): t for t in leaves if id(t) not in names}
    while frame is not None and wanted:
        if kind_of(frame.f_code.co_filename) != "own":
            for key, name in tensor_variables(frame, wanted).items():
                names[key] = name
                wanted.pop(key, None)
        frame = frame.f_back
    for number, t in enumerate(leaves):
        names.setdefault(id(t), f"leaf {number}")
    return names
