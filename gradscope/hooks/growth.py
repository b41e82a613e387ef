"""Watches for tensors that carry their graph from step to step: `total += loss`, or
losses kept in a list."""

from __future__ import annotations

import weakref
from collections import deque
from dataclasses import dataclass, field
from typing import Any

import torch

from gradscope.hooks import Hook
from gradscope.hooks._segments import Row
from gradscope.hooks._torch import DisableTorchFunction

MAX_WALK = 20_000
MIN_LENGTH = 3  # segments in a row before it counts as growth
MIN_KEPT = 4  # losses alive at once
LOOKS = {6, 12, 24, 48, 100, 200, 400, 1000}  # passes at which they are counted


@dataclass
class Chain:
    """One accumulating line."""

    site: int
    length: int = 1
    longest: int = 1
    last: Any = None  # weak reference to the newest sum
    backwarded: bool = False
    asked: int = 0  # passes in which it was looked for
    sizes: list[tuple[int, int, int]] = field(default_factory=list)  # (length, nodes, bytes)


class Growth(Hook):
    order = 85

    def install(self) -> None:
        self.chains: dict[int, Chain] = {}
        self.roots: deque[tuple[Any, int]] = deque(maxlen=64)
        self.passes = 0
        self.kept: tuple[int, int, int, int] | None = None  # (losses, nodes, bytes, site)
        recorder = self.recorder
        recorder.on_carried = self._carried
        recorder.before_pass.append(self._before_pass)
        recorder.before_end.append(self._tell)

    def _carried(self, row: Row, sites: list[int], outs: list[Any]) -> None:
        """An op read values that carry a graph from before; `sites` is where those were made."""
        if row.site not in sites or not outs or not outs[0].requires_grad or outs[0].dim() > 1:
            return
        chain = self.chains.get(row.site)
        if chain is None:
            chain = self.chains[row.site] = Chain(row.site)
        chain.length += 1
        chain.longest = max(chain.longest, chain.length)
        chain.last = weakref.ref(outs[0])
        if chain.length in (MIN_LENGTH, 10, 100, 1000):
            chain.sizes.append((chain.length, *held([outs[0]])))

    def _before_pass(self, roots: Any, args: Any, site: int, accumulate: bool, frame: Any) -> None:
        self.passes += 1
        tensors = [t for t in roots if isinstance(t, torch.Tensor) and t.grad_fn is not None]
        if accumulate and tensors:
            if self.passes in LOOKS:
                self._find_kept()
            entry = self.recorder.live.find(tensors[0])
            self.roots.append((weakref.ref(tensors[0]), entry.site if entry is not None else site))
        for chain in self.chains.values():
            last = chain.last() if chain.last is not None else None
            if chain.backwarded or last is None or chain.length < 2:
                continue
            chain.asked += 1
            look = chain.asked <= 20 or chain.asked % 100 == 0
            chain.backwarded = any(t is last for t in tensors) or (look and _reaches(tensors, last))

    def _tell(self) -> None:
        """At the end of the run, when it is known what was never backwarded."""
        recorder = self.recorder
        with DisableTorchFunction():
            for chain in self.chains.values():
                if chain.longest < MIN_LENGTH or chain.backwarded:
                    continue
                last = chain.last()
                if last is not None and last.grad_fn is not None:
                    chain.sizes.append((chain.length, *held([last])))
                if not chain.sizes:
                    continue
                length, nodes, size = chain.sizes[-1]
                first = chain.sizes[0]
                recorder.emit(
                    "keeps_graph", chain.site,
                    {
                        "site": chain.site, "length": max(length, chain.longest), "nodes": nodes, "bytes": size,
                        "how": "add", "first": list(first),
                    },
                )  # fmt: skip
            self._find_kept()
            if self.kept is not None:
                length, nodes, size, site = self.kept
                data = {
                    "site": site,
                    "length": length,
                    "nodes": nodes,
                    "bytes": size,
                    "how": "list",
                    "first": [],
                }
                recorder.emit("keeps_graph", site, data)

    def _find_kept(self) -> None:
        """Losses of one line that were backwarded, every one of them still alive."""
        by_site: dict[int, list[Any]] = {}
        for ref, site in self.roots:
            by_site.setdefault(site, []).append(ref())
        for site, tensors in by_site.items():
            alive = [t for t in tensors if t is not None and t.grad_fn is not None]
            if len(alive) < MIN_KEPT or len(alive) < len(tensors) - 1:
                continue
            if self.kept is None or self.kept[0] < len(alive):
                self.kept = (len(alive), *held(alive), site)


def held(tensors: list[Any]) -> tuple[int, int]:
    """(nodes reachable from these tensors, bytes of what they saved)."""
    seen: set[Any] = set()
    memory: dict[int, int] = {}
    todo = [t.grad_fn for t in tensors if t.grad_fn is not None]
    while todo and len(seen) < MAX_WALK:
        node = todo.pop()
        if node in seen:
            continue
        seen.add(node)
        for name in dir(type(node)):
            if not name.startswith("_saved_"):
                continue
            try:
                saved = getattr(node, name)
            except RuntimeError:
                continue  # freed, or written to since
            if isinstance(saved, torch.Tensor) and not isinstance(saved, torch.nn.Parameter):
                try:
                    storage = saved.untyped_storage()
                    memory[storage.data_ptr()] = storage.nbytes()
                except (RuntimeError, NotImplementedError):
                    continue
        todo.extend(target for target, _ in node.next_functions if target is not None)
    return len(seen), sum(memory.values())


def _reaches(tensors: list[Any], wanted: Any) -> bool:
    seen: set[Any] = set()
    todo = [t.grad_fn for t in tensors]
    goal = wanted.grad_fn
    while todo and len(seen) < 5_000:
        node = todo.pop()
        if node is goal:
            return True
        if node not in seen:
            seen.add(node)
            todo.extend(target for target, _ in node.next_functions if target is not None)
    return False
