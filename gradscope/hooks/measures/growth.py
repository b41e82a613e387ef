"""Watches for tensors that carry their graph from step to step: `total += loss`, a hidden
state that goes on into the next step, or losses kept in a list."""

from __future__ import annotations

import weakref
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any

import torch

from gradscope.hooks import Hook
from gradscope.hooks._torch import (
    DisableTorchFunction,
    TensorRef,
    grad_fn_of,
    has_grad_fn,
    saved_by,
    sequence_number,
    sequence_of,
)
from gradscope.hooks.behind import nodes_behind
from gradscope.hooks.recorder.segments import Row
from gradscope.hooks.recorder.values import Live

MAX_WALK = 20_000
SHORT_WALK = 5_000  # of a pass that was looked at before
MIN_LENGTH = 3  # segments in a row before it counts as growth
LONG_RUN = 5  # segments in a row that a state goes on without a detach
WEIGHED = (2, MIN_LENGTH, 6, 10, 100, 1000)  # lengths at which what it holds is measured
MANY_PASSES = 3  # through one state
MAX_LATE = 20  # times that a state which comes later than it did is walked for its last value
MAX_CHAINS = 256
MAX_RESULTS = 3  # of a call, as the output and the two states of an LSTM
MIN_KEPT = 4  # losses alive at once
MIN_LATE = 24  # of them, where those of earlier steps are gone
MAX_ASKED = 3  # passes of one line that are walked for what is kept
MAX_NOTED = 12  # passes whose parts of the loss are noted
MAX_PARTS = 200  # ops behind a loss
LONG_AGO = MIN_LATE + 8  # passes: some of those between are noted at the line of their loss, not of the pass
BEGUN = 12  # losses alive, and none of those before: from here on they may be kept
SURE = 16  # of them, with all that came since: no window of the last ones
NEXT = 3  # passes until one that is told of
MAX_EARLY = 5  # looks because one loss outlives many passes: it may be the best so far, kept alone
LOOKS = {6, 12, 24, 48, 100, 200, 400, 1000}  # passes at which they are counted
BETWEEN = {16, 32, 40, 60, 80, 120, 150, 300}  # at which only the newest are
LOOKED = LOOKS | BETWEEN
OUTLIVED = 8  # passes after which nothing should need a graph any more
DEPTH = 8  # nodes behind a loss, to one that what else is computed in its step shares
MAX_OUTLIVED = 5  # times that a graph which is still there is looked into
OUTLIVED_STEPS = MIN_LENGTH + 2  # to be looked at for that
_MARK = "gradscope.lives"  # in the metadata of a node


@dataclass
class Chain:
    """One line whose result goes into itself, from one segment to a later one."""

    site: int
    begun: int = 0  # steps of the run when it was first carried on
    sum: bool = True  # a number or a row of numbers, as losses are
    serial: int = 0  # of the segment it was seen in last
    gap: int = 0  # segments from one to the next, at the least
    late: int = 0  # times that it was more
    run: int = 1  # how often in a row, without a detach between
    reached: int = 0  # passes in this run that filled gradients and went through it
    state: tuple[int, int] = (0, 0)  # (run, reached) at its longest
    length: int = 1
    last: tuple[Any, ...] = ()  # weak references to the newest results: of (output, state) one may be gone
    number: int = -1  # of the newest node: `total = total / n` leaves the sum itself to the graph alone
    passed: bool = False  # a backward pass has been through it
    asked: Counter[int] = field(default_factory=Counter)  # passes in which it was looked for, by line
    sizes: list[tuple[int, int, int]] = field(default_factory=list)  # (length, nodes, bytes)

    def alive(self) -> list[Any]:
        """Its newest results that the program still has, each with a graph."""
        return [t for ref in self.last if (t := ref()) is not None and has_grad_fn(t)]

    @property
    def known(self) -> bool:
        """Whether it was seen to be a state that passes go through: no more to find out."""
        return self.state[0] >= LONG_RUN and self.state[1] >= MANY_PASSES


class Mark:
    """Lives as long as the node whose metadata holds it: to a node itself there is no weak reference."""

    __slots__ = ("__weakref__",)


class Growth(Hook):
    order = 85

    def install(self) -> None:
        self.chains: dict[int, Chain] = {}
        self.roots: deque[tuple[Any, int, int]] = deque(maxlen=64)  # (weak reference, site, `_now`)
        self.needed: set[int] = set()  # sites of roots that a later pass went through again
        self.asked: Counter[int] = Counter()  # passes of a line in which such roots were looked for
        self.parts: list[tuple[Any, int, int]] = []  # (weak reference to a number, site, `_now`)
        self.noted = 0
        self.passes = 0
        self.kept: tuple[int, int, int, int] | None = None  # (losses, nodes, bytes, site)
        self.early = MAX_EARLY  # looks for kept losses that are left before the end
        self.rooted = 0  # roots that were noted
        self.begun: int | None = None  # how many were before the first that is kept
        self.oldest: dict[int, int] = {}  # site → steps before the oldest loss found alive
        self.newest: list[int] = []  # of the losses at each look, how many of the last were alive in a row
        self.mark: weakref.ref[Mark] | None = None  # in the graph of a pass that was slept through
        self.marked_root: Any = None  # a weak reference to its loss
        self.marked = 0  # that pass
        self.outlived = MAX_OUTLIVED
        recorder = self.recorder
        recorder.signals.carried.connect(self._carried)
        recorder.signals.before_pass.connect(self._before_pass)
        recorder.signals.before_expected_pass.connect(self._expected)
        recorder.signals.before_end.connect(self._tell)
        recorder.services.undecided = self._undecided

    def _undecided(self) -> bool:
        """Whether a state has been carried on through passes, too few times yet to say that it grows."""
        now = self.recorder.segment.serial
        return any(
            chain.run > 1 and not chain.known and now - chain.serial <= 2 * chain.gap
            for chain in self.chains.values()
            if chain.passed or not chain.sum
        )

    def _carried(self, row: Row, sites: tuple[int, ...], outs: list[Any]) -> None:
        """An op's result depends on values that carry a graph from before, made at `sites`."""
        if row.site not in sites:
            return
        chain = self.chains.get(row.site)
        if chain is None:
            if len(self.chains) >= MAX_CHAINS:
                return
            chain = self.chains[row.site] = Chain(row.site, self.recorder.steps)
        serial = self.recorder.segment.serial
        if chain.serial != serial:
            self._go_on(chain, serial, outs)
        chain.last = tuple(TensorRef(out) for out in outs[:MAX_RESULTS])
        chain.number = sequence_number() - 1
        if chain.serial == serial:
            return  # an unrolled loop goes on from what came in
        chain.serial = serial
        chain.sum = outs[0].dim() <= 1
        chain.length += 1
        if chain.length in WEIGHED:
            chain.sizes.append((chain.length, *held([outs[0]])))
            self._tell_sum_early(chain, outs[0])

    @staticmethod
    def _go_on(chain: Chain, serial: int, outs: list[Any]) -> None:
        gap = serial - chain.serial if chain.serial else 0
        if gap and (not chain.gap or gap <= chain.gap):
            chain.gap = gap
            chain.run += 1
        elif gap and not chain.known:
            # It began afresh between, or others stepped meanwhile: then its graph goes back to the last result.
            chain.late += 1
            if chain.late <= MAX_LATE and _goes_back(outs, chain):
                chain.run += 1
            else:
                chain.run, chain.reached = 1, 0

    def _expected(self, roots: Any, args: Any, site: int, accumulate: bool, frame: Any) -> None:
        """A pass that is like the last one: no more than a weak reference, where nothing grows."""
        if self.chains:
            self._before_pass(roots, args, site, accumulate, frame)
            return
        self.passes += 1
        if isinstance(roots[0], torch.Tensor):
            self._mark(roots[0])
        if accumulate and isinstance(roots[0], torch.Tensor):
            if self.passes in LOOKED:
                self._look(self.passes in LOOKS)
            elif self.early and self._old_one_lives():
                self.recorder.services.wake()  # the next pass is told of
            self._note_root(roots[0], site)

    def _before_pass(self, roots: Any, args: Any, site: int, accumulate: bool, frame: Any) -> None:
        self.passes += 1
        tensors = [t for t in roots if isinstance(t, torch.Tensor) and has_grad_fn(t)]
        if tensors:
            self._mark(tensors[0])
        if accumulate and tensors:
            if self.passes in LOOKED:
                self._look(self.passes in LOOKS)
            self._find_needed(tensors, site)
            if self.early and self._old_one_lives():
                self._tell_early()
            entry = self.recorder.live.find(tensors[0])
            where = entry.site if entry is not None else site
            self._note_root(tensors[0], where)
            if entry is not None and self.noted < MAX_NOTED:
                self._note_parts(entry)
        for chain in self.chains.values():
            if chain.length < 2 or chain.known:
                continue
            last = chain.alive()
            if not (last or chain.sum):
                continue
            chain.asked[site] += 1
            look = chain.asked[site] <= 20 or chain.asked[site] % 100 == 0
            most = MAX_WALK if chain.asked[site] == 1 else SHORT_WALK
            if any(t is one for t in tensors for one in last) or (
                look and _reaches(tensors, chain, last, most)
            ):
                chain.passed = True
                chain.reached += accumulate
                chain.state = max(chain.state, (chain.run, chain.reached))

    def _note_root(self, root: Any, site: int) -> None:
        self.roots.append((TensorRef(root), site, self._now()))
        self.rooted += 1

    def _mark(self, root: Any) -> None:
        """While nobody looks a sum may begin to keep the graph of each step, of which nothing else shows: that it
        lives on is asked of one in `OUTLIVED`. Where its loss does as well, that is asked elsewhere."""
        if self.passes - self.marked < OUTLIVED or not self.outlived or self.recorder.segment.looked:
            return
        if self.mark is not None and self.mark() is not None and self.marked_root() is None:
            self.outlived -= 1
            self.recorder.services.wake(OUTLIVED_STEPS)
        with DisableTorchFunction():
            self.mark, self.marked_root, self.marked = marked(root), TensorRef(root), self.passes

    def _tell_sum_early(self, chain: Chain, newest: Any) -> None:
        """A sum of what passes have been through, so that none can go through it, for who follows a run that goes
        on. Of others the end tells: they may be there for a pass."""
        if chain.length < MIN_LENGTH or self.recorder.steps == chain.begun:
            return
        if chain.sum and not chain.passed and been_through(newest, SHORT_WALK):
            self._tell_sum(chain)

    def _tell(self) -> None:
        """At the end of the run, when it is known through what no pass went."""
        with DisableTorchFunction():
            for chain in self.chains.values():
                if chain.length < MIN_LENGTH:
                    continue
                if last := chain.alive():
                    chain.sizes.append((chain.length, *held(last[:1])))
                if chain.passed or not chain.sum:
                    self._tell_state(chain)
                    continue
                self._tell_sum(chain)
            self._look()
            self._tell_list()

    def _tell_sum(self, chain: Chain) -> None:
        """A number that holds more than one step's graph."""
        if not chain.sizes:
            return
        first = chain.sizes[0]
        _, nodes, size = max(chain.sizes, key=lambda row: row[1])
        if len(chain.sizes) > 1 and nodes <= first[1]:
            return  # it carries one step's graph, never more
        data = {
            "site": chain.site, "length": chain.length, "nodes": nodes, "bytes": size, "how": "add",
            "first": list(first), "step": chain.begun if chain.begun > 2 else 1,
        }  # fmt: skip
        self.recorder.emit("keeps_graph", chain.site, data)

    def _old_one_lives(self) -> bool:
        """Whether the loss of a pass long ago is still there: the question of every pass, so no more than that. Or of
        one not so long ago, where those before it went: a window of the last losses would have lost it again."""
        roots = self.roots
        if len(roots) >= LONG_AGO and roots[-LONG_AGO][0]() is not None:
            return True
        if len(roots) > BEGUN and roots[-BEGUN][0]() is not None and roots[-BEGUN - 1][0]() is None:
            self.begun = self.rooted - BEGUN
        if self.begun is None or not SURE <= self.rooted - self.begun < SURE + NEXT:
            return False
        return all(roots[-back][0]() is not None for back in range(1, SURE + 1))

    def _tell_early(self) -> None:
        """Losses that are kept, for who follows a run that goes on. The end tells how many there were. Those whose
        graph still has what a second pass needs may be kept for one: only the end knows of them."""
        self.early -= 1
        with DisableTorchFunction():
            self._find_kept(BEGUN)
            if self.kept is not None:
                self.early = 0
                if not self.kept[2]:
                    self._tell_list()

    def _look(self, whole: bool = True) -> None:
        if whole:
            self._find_kept()
        self.newest.append(len(self._last_alive()))

    def _last_alive(self) -> list[Any]:
        """The newest losses, as far as each of them is still there."""
        return list(takewhile(_is_there, (ref() for ref, _, _ in reversed(self.roots))))

    def _window(self) -> int:
        """How many of the last losses a list of a fixed length keeps (`deque(maxlen=20)`): as many at one look as at
        the one before. 0 where it is none."""
        seen = [count for count in self.newest if count]
        fixed = len(seen) > 1 and seen[-1] == seen[-2] and MIN_KEPT <= seen[-1] < len(self.roots)
        return seen[-1] if fixed else 0

    def _tell_list(self) -> None:
        if self.kept is None or self.kept[3] in self.needed:
            return
        length, nodes, size, site = self.kept
        how = "window" if (window := self._window()) else "list"
        if window:
            length, alive = window, self._last_alive()
            nodes, size = held(alive) if alive else (nodes, size)
        step = self.oldest[site] + 1 if self.recorder.optimizers else None
        data = {
            "site": site, "length": length, "nodes": nodes, "bytes": size, "how": how, "first": [], "step": step,
        }  # fmt: skip
        self.recorder.emit("keeps_graph", site, data)

    def _tell_state(self, chain: Chain) -> None:
        """A state that several passes of one run went through, each longer than the one before."""
        if not chain.known or len(chain.sizes) < 2:
            return
        first = chain.sizes[0]
        length, nodes, size = max(chain.sizes, key=lambda row: row[1])
        if nodes <= first[1]:
            return
        data = {
            "site": chain.site, "length": length, "nodes": nodes, "bytes": size, "how": "state", "first": list(first),
        }  # fmt: skip
        self.recorder.emit("keeps_graph", chain.site, data)

    def _now(self) -> int:
        """Steps so far: what one step needs (an episode's losses, a pass for each) is kept by right
        until it is done. Passes, where no optimizer steps."""
        return self.recorder.steps if self.recorder.optimizers else self.passes

    def _past(
        self, noted: Iterable[tuple[Any, int, int]], least: int = MIN_LATE
    ) -> Iterator[tuple[int, list[Any], int, int]]:
        """(site, those that still have their graph, how many there were, the first one's `_now`) of what
        was noted at one line, in two steps or more that are over. Those before the first with a graph don't count
        where `least` come after it."""
        by_site: dict[int, list[tuple[Any, int]]] = {}
        now = self._now()
        for ref, site, number in noted:
            if number < now:
                by_site.setdefault(site, []).append((ref(), number))
        for site, found in by_site.items():
            kept = [_is_there(t) for t, _ in found]
            if True in kept and len(kept) - kept.index(True) >= least:  # not from the beginning
                found = found[kept.index(True) :]
            if len({number for _, number in found}) > 1:
                alive = [t for t, _ in found if _is_there(t)]
                yield site, alive, len(found), found[0][1]

    def _find_needed(self, tensors: list[Any], site: int) -> None:
        """Losses that had a pass of their own, with `retain_graph=True`, are kept for one that goes through
        several of them. A second pass from one of them needs that one only."""
        self.asked[site] += 1
        if self.asked[site] > MAX_ASKED:
            return
        alive = {grad_fn_of(t): where for ref, where, _ in self.roots if (t := ref()) is not None}
        if len(alive) >= MIN_KEPT:
            behind = nodes_behind(map(grad_fn_of, tensors), MAX_WALK if self.asked[site] == 1 else SHORT_WALK)
            own = {grad_fn_of(t) for t in tensors}
            through = Counter(alive[node] for node in behind if node in alive and node not in own)
            self.needed.update(place for place, count in through.items() if count > 1)

    def _find_kept(self, least: int = MIN_LATE) -> None:
        """Losses of one line that had their backward pass, every one of them still alive."""
        for site, alive, count, first in self._past(self.roots, least):
            if len(alive) < MIN_KEPT or len(alive) < count - 1 or apart(alive) < MIN_KEPT:
                continue
            self.oldest.setdefault(site, first)
            if self.kept is None or self.kept[0] < len(alive):
                self.kept = (len(alive), *held(alive), site)
        if self.kept is None:
            self._find_kept_parts()

    def _note_parts(self, loss: Live) -> None:
        """Remembers the numbers that this loss is made of (reconstruction, penalty, ...)."""
        segment = self.recorder.segment
        if loss.serial != segment.serial:
            return
        self.noted += 1
        behind: set[int] = set()
        todo = [loss.index]
        while todo and len(behind) < MAX_PARTS:
            maker = segment.makers[todo.pop()]
            for index in segment.ops[maker].ins if maker is not None and maker >= 0 else ():
                if index not in behind:
                    behind.add(index)
                    todo.append(index)
        for entry in self.recorder.live.values():
            if entry.serial == segment.serial and entry.index in behind:
                t = entry()
                if t is not None and t.dim() == 0 and has_grad_fn(t):
                    self.parts.append((TensorRef(t), entry.site, self._now()))

    def _find_kept_parts(self) -> None:
        """Numbers of one line that went into the losses of several steps, every one of them still alive."""
        for site, alive, count, first in self._past(self.parts):
            if len(alive) == count and apart(alive) >= MIN_KEPT:
                self.oldest.setdefault(site, first)
                self.kept = (len(alive), *held(alive), site)
                return


def _is_there(loss: Any) -> bool:
    return loss is not None and has_grad_fn(loss)


def marked(root: Any) -> weakref.ref[Mark] | None:
    """A reference that lives as long as the graph of a pass from `root`."""
    node = grad_fn_of(root) if has_grad_fn(root) else None
    if node is None:
        return None
    for _ in range(DEPTH):
        inner = next(
            (n for n, _ in node.next_functions if n is not None and not hasattr(n, "variable")), None
        )
        if inner is None:
            break
        node = inner
    node.metadata[_MARK] = mark = Mark()
    return weakref.ref(mark)


def apart(tensors: list[Any]) -> int:
    """How many of these have a graph of their own that ends in the same leaves: those of one forward
    share its nodes, those of several networks no leaf."""
    seen: set[Any] = set()
    leaves: set[Any] = set()
    count = 0
    for t in tensors:
        todo: list[Any] = [grad_fn_of(t)]
        mine: set[Any] = set()
        ends: set[Any] = set()
        while todo and len(seen) + len(mine) < MAX_WALK:
            node = todo.pop()
            if node is None or node in mine:
                continue
            if hasattr(node, "variable"):
                ends.add(node)
                continue
            if node in seen:
                break
            mine.add(node)
            todo.extend(target for target, _ in node.next_functions)
        else:
            count += not leaves or bool(leaves & ends)
        seen |= mine
        leaves |= ends
        if count >= MIN_KEPT:
            break
    return count


def held(tensors: list[Any]) -> tuple[int, int]:
    """(nodes reachable from these tensors, bytes of what they saved)."""
    count = 0
    memory: dict[int, int] = {}
    for node in nodes_behind(map(grad_fn_of, tensors), MAX_WALK):
        count += 1
        for name in dir(type(node)):
            if not name.startswith("_saved_"):
                continue
            try:
                saved = saved_by(node, name)
            except RuntimeError:
                continue  # freed, or written to since
            if isinstance(saved, torch.Tensor) and not isinstance(saved, torch.nn.Parameter):
                try:
                    storage = saved.untyped_storage()
                    memory[storage.data_ptr()] = storage.nbytes()
                except (RuntimeError, NotImplementedError):
                    continue
    return count, sum(memory.values())


def been_through(t: Any, most: int) -> bool:
    """Whether a pass has freed what a node behind this value had saved, among the nearest `most`."""
    for node in nodes_behind([grad_fn_of(t)], most):
        for name in dir(type(node)):
            if name.startswith("_saved_"):
                try:
                    saved_by(node, name)
                except RuntimeError as error:
                    if "freed" in str(error):
                        return True
    return False


def _goes_back(outs: list[Any], chain: Chain) -> bool:
    """Whether new results of a chain were made from those that it had last."""
    goals = {grad_fn_of(t) for t in chain.alive()}
    behind = nodes_behind(map(grad_fn_of, outs), SHORT_WALK)
    return any(node in goals or sequence_of(node) == chain.number for node in behind)


def _reaches(tensors: list[Any], chain: Chain, alive: list[Any], most: int) -> bool:
    """Whether a pass from these tensors goes through the newest result of the chain."""
    goals = {grad_fn_of(t) for t in alive}
    if not chain.sum and len(alive) < len(chain.last):
        goals |= _below(goals)  # of an output that is gone, which shares what the state is made of
    number = chain.number if chain.sum and not alive else -1
    behind = nodes_behind(map(grad_fn_of, tensors), most)
    return any(node in goals or (number >= 0 and sequence_of(node) == number) for node in behind)


def _below(nodes: set[Any], levels: int = 2) -> set[Any]:
    """The nodes that these go back to, but no leaves: weights are shared by everything."""
    found: set[Any] = set()
    for _ in range(levels):
        nodes = {
            target
            for node in nodes
            for target, _ in node.next_functions
            if target is not None and not hasattr(target, "variable")
        }
        found |= nodes
    return found
