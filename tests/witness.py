"""What a program could notice of being watched, taken down while it runs."""

from __future__ import annotations

import hashlib
import sys
import threading
import traceback
import warnings
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch.multiprocessing.reductions import StorageWeakRef

LARGE = 100_000
LIBRARY = Path(__file__).with_name("random_library.py")


@dataclass
class Check:
    """The graph below one tensor, and where the trace should have it."""

    rows: list[Any]
    serial: int
    index: int
    text: str


@dataclass
class Record:
    """What was seen of one run."""

    notes: list[Any] = field(default_factory=list)
    checks: list[Check] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    mismatch: str = ""


class TooLarge(BaseException):
    """The program's tensors grow without bounds: it ends here."""


class Witness:
    """`T` in the programs: takes notes, and holds what programs share. Keeps no tensor alive."""

    def __init__(self, watched: bool):
        self.record = Record()
        self.watched = watched
        self.seen: dict[int, Any] = {}
        self.refs: list[Any] = []
        self.storages: list[Any] = []
        self.times = 0
        vars(self).update(_functions(self))

    # -- notes -------------------------------------------------------------------------

    def step(self, *pool: Any) -> None:
        """Takes down the state of all variables and which tensors and memory are gone."""
        if any(isinstance(t, torch.Tensor) and t.numel() > LARGE for t in pool):
            raise TooLarge
        with torch._C.DisableTorchFunction():
            self.record.notes.append((tuple([self._state(t) for t in pool]), self.gone(), _modes()))

    def gone(self) -> tuple[Any, ...]:
        refs = tuple([i for i, ref in enumerate(self.refs) if ref() is None])
        versions = tuple([_version(t) for ref in self.refs if (t := ref()) is not None])
        return refs, versions, tuple([i for i, ref in enumerate(self.storages) if ref.expired()])

    def _state(self, t: Any) -> Any:
        if not isinstance(t, torch.Tensor):
            return repr(t)
        self.watch(t)
        grad = _asked(lambda: t.grad)
        if isinstance(grad, torch.Tensor):
            self.watch(grad)
        own = (type(t).__name__, str(t.dtype), tuple(t.shape), t.requires_grad, _asked(lambda: t.is_leaf))
        return own, _version(t), digest(t), digest(grad)

    def watch(self, t: Any) -> None:
        """Follows a tensor (or another object) and its memory to their end."""
        known = self.seen.get(id(t))
        if known is not None and known() is t:
            return
        self.seen[id(t)] = ref = weakref.ref(t)
        self.refs.append(ref)
        if isinstance(t, torch.Tensor):
            self.storages.append(StorageWeakRef(t.untyped_storage()))

    def log(self, *what: Any) -> None:
        with torch._C.DisableTorchFunction():
            shown = [digest(w) if isinstance(w, torch.Tensor) else repr(w) for w in what]
            self.record.notes.append(("log", [" ".join(_no_addresses(s)) for s in map(str, shown)]))

    def error(self, error: BaseException) -> None:
        text = "".join(traceback.format_exception(error))
        self.record.notes.append(("error", type(error).__name__, " ".join(_no_addresses(text))))

    def truth(self, t: Any) -> None:
        """Notes the graph below the sum of `t`, and which value the trace has for it."""
        if not isinstance(t, torch.Tensor):
            return
        try:
            with torch.enable_grad():
                t = t.abs().sum()
        except RuntimeError:
            return
        with torch._C.DisableTorchFunction():
            root = _asked(lambda: t.grad_fn)
            if root is None or isinstance(root, str):
                return
            rows = graph_below(root)
            self.record.notes.append(("graph", [name for name, _ in rows], [edges for _, edges in rows]))
            if not self.watched:
                return
            from gradscope.session import active

            session = active()
            assert session is not None
            recorder = session.recorder
            elsewhere = recorder.thread != threading.get_ident()  # a thread that trained took the watch
            if elsewhere or recorder.paused or not recorder.segment.looked:
                return
            entry = recorder.live.find(t)
            text = f"line {sys._getframe(1).f_lineno}"
            if entry is None or entry.serial < 0:
                self.record.mismatch = self.record.mismatch or f"{text}: not captured"
            else:
                self.record.checks.append(Check(rows, entry.serial, entry.index, text))

    def twice(self) -> bool:
        self.times += 1
        return self.times % 3 != 0 and self.times < 60  # one loop in another may never meet the third

    def broken(self, g: Any) -> None:
        raise ValueError("a hook of the user's")


def _modes() -> tuple[Any, ...]:
    return torch.is_grad_enabled(), torch.is_inference_mode_enabled(), hash_bytes(torch.get_rng_state())


def _asked(question: Callable[[], Any]) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return question()
        except (RuntimeError, AttributeError) as error:
            return str(error)


def _version(t: Any) -> Any:
    return (t._version if not t.is_inference() else "inference") if isinstance(t, torch.Tensor) else None


def digest(t: Any) -> Any:
    """The tensor's bytes, short."""
    if not isinstance(t, torch.Tensor):
        return repr(t)
    with torch._C.DisableTorchFunction():
        return str(t.dtype), tuple(t.shape), hash_bytes(t)


def hash_bytes(t: Any) -> str:
    last = t.storage_offset() + sum((n - 1) * step for n, step in zip(t.shape, t.stride(), strict=True))
    if t.numel() and (last + 1) * t.element_size() > t.untyped_storage().nbytes():
        return "beyond its memory"  # what a resize that failed leaves behind
    plain = t.detach().contiguous().resolve_conj().resolve_neg().view(-1)
    return hashlib.md5(plain.view(torch.uint8).numpy().tobytes() if plain.numel() else b"").hexdigest()[:8]


def _no_addresses(text: str) -> list[str]:
    return [word for word in text.split() if not word.startswith("0x")]


def graph_below(root: Any) -> list[tuple[str, list[tuple[int, int]]]]:
    """(name, edges) of every node below `root`, in the order of a walk over next_functions."""
    index = {root: 0}
    order = [root]
    rows = []
    for node in order:
        edges = []
        for target, input_nr in node.next_functions:
            if target is None:
                continue
            if target not in index:
                index[target] = len(order)
                order.append(target)
            edges.append((index[target], input_nr))
        rows.append((node.name().rpartition("::")[2], edges))
    return rows


def same_graph(rows: list[Any], graph: Any, node: int) -> str:
    """What differs between a true graph and a captured one, up to where the captured one says that
    an earlier segment goes on; "" where nothing does."""
    paired = {0: node}
    todo = [0]
    while todo:
        at = todo.pop()
        name, edges = rows[at]
        found = graph.nodes[paired[at]]
        if found.name != name:
            return f"node {at} is {name}, captured {found.name}"
        if found.op is None and not found.edges and name != "AccumulateGrad":
            continue
        if [nr for _, nr in edges] != [e.input_nr for e in found.edges]:
            return f"edges of {name} ({at}): {edges}, captured {found.edges}"
        for (target, _), edge in zip(edges, found.edges, strict=True):
            if target not in paired:
                paired[target] = edge.target
                todo.append(target)
            elif paired[target] != edge.target:
                return f"{name} ({at}) leads to {target}, captured another node"
    if len(set(paired.values())) != len(paired):
        return "two nodes are captured as one"
    return ""


def _functions(witness: Witness) -> dict[str, Any]:
    """Functions and classes that are a user's own, made anew for each run."""
    space: dict[str, Any] = {"__name__": "random_library"}
    exec(compile(LIBRARY.read_text(), str(LIBRARY), "exec"), space)
    space["T"] = witness
    return {name: space[name] for name in space if not name.startswith("__") and name != "T"}
