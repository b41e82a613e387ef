"""How fast a tensor that the program keeps beside a trained parameter follows it: the part of their distance that
is left after an update between two steps. Measured at the first steps of each optimizer and then ever more seldom,
on the CPU only. One that is made anew by each update is known by its line, and by how many that line has made."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch

from gradscope.hooks import Hook
from gradscope.hooks import _torch as private
from gradscope.hooks.recorder.leaf import LeafRecord
from gradscope.hooks.recorder.values import measurable

WRITES = ("add_", "sub_", "lerp_", "mul_", "copy_")
OF_LISTS = ("_foreach_add_", "_foreach_lerp_")
MAKES = (
    "add",
    "sub",
    "lerp",
)  # a new tensor, kept in the place of the old one
LEAST = 3  # elements: numbers of one element, as a running sum of losses, always lie in one direction
MAX_ELEMENTS = 1_000_000
MOST = 4  # tensors that are followed
MOST_MADE = 8  # places of such that are made anew
FIRST = 3  # step
OFTEN = 12  # so many copies before they become seldom
FAR = 1e-4  # distance from the parameter, in its own norm: less is rounding
ALIASES = 16  # of `.data` that are remembered: of one line
ALIKE = 1e-2  # what of the new distance may not lie in the direction of the old one


@dataclass
class _Copy:
    """What a tensor was after a step of one optimizer."""

    old: Any = None  # its numbers
    at: int = 0  # that step
    times: int = 0  # that they were taken


@dataclass
class _Kept:
    """One tensor that the program writes to."""

    ref: Any
    written: int  # site of the last write
    copies: dict[int, _Copy] = field(default_factory=dict)  # by the number of the optimizer
    site: int = 0  # of the write before the last measurement
    parameter: int | None = None
    left: list[tuple[int, float]] = field(default_factory=list)  # (step, part of the distance)


class Averages(Hook):
    order = 93  # after the mode that calls it

    def install(self) -> None:
        self.kept: dict[int, _Kept] = {}
        self.shapes: dict[int, set[Any]] = {}  # of what each optimizer steps
        self.held: dict[int, int] = {}  # how many that were
        self.slots: dict[
            tuple[int, int], _Kept
        ] = {}  # by line and number since the step: a new tensor each time
        self.calls: dict[int, int] = {}  # of each of these lines since the step
        self.behind: dict[int, tuple[Any, Any]] = {}  # `x.data`, which nobody keeps, and x
        self.recorder.functions.follow(["data"], self._read)
        self.recorder.functions.follow(WRITES, self._written)
        self.recorder.functions.follow(OF_LISTS, self._list_written)
        self.recorder.functions.follow(MAKES, self._made)
        self.recorder.signals.before_step.connect(self._before)
        self.recorder.signals.after_step.connect(self._after)
        self.recorder.signals.before_swap.connect(self._forget)
        self.recorder.signals.before_end.connect(self._tell)

    def _forget(self, t: Any) -> None:
        self.behind.clear()
        self.kept.pop(id(t), None)

    def _read(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        source = args[0]
        if type(source) in (torch.Tensor, torch.nn.Parameter) and self._fits(source):
            if len(self.behind) >= ALIASES:
                self.behind.clear()
            self.behind[id(result)] = (private.TensorRef(result), private.TensorRef(source))

    def _fits(self, t: Any) -> bool:
        return any(t.shape in shapes for shapes in self.shapes.values())

    def _written(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        t: Any = args[0] if args else None
        alias, source = self.behind.get(id(t), (None, None))
        if alias is not None and alias() is t:
            t = source()
        if type(t) not in (torch.Tensor, torch.nn.Parameter) or not self._fits(t):
            return
        known = self.kept.get(id(t))
        if known is not None and known.ref() is t:
            known.written = self.recorder.sites.current(frame)
            return
        if private.has_grad_fn(t):
            return
        self.kept = {key: kept for key, kept in self.kept.items() if kept.ref() is not None}
        if len(self.kept) < MOST and measurable(t) and t.is_cpu and t.is_floating_point():
            if LEAST <= t.numel() <= MAX_ELEMENTS and t.layout is torch.strided:
                site = self.recorder.sites.current(frame)
                self.kept[id(t)] = _Kept(private.TensorRef(t), site)

    def _list_written(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        tensors: Any = args[0] if args else ()
        for t in tensors[:MOST] if type(tensors) in (list, tuple) else ():
            self._written(name, (t,), kwargs, result, frame)

    def _made(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        if (
            not self.shapes
            or type(result) is not torch.Tensor
            or result.requires_grad
            or not self._fits(result)
        ):
            return
        if not measurable(result) or not result.is_cpu or not result.is_floating_point():
            return
        if not LEAST <= result.numel() <= MAX_ELEMENTS or result.layout is not torch.strided:
            return
        site = self.recorder.sites.current(frame)
        place = site, self.calls.get(site, 0)
        self.calls[site] = place[1] + 1
        slot = self.slots.get(place)
        if slot is not None:
            slot.ref, slot.written = private.TensorRef(result), site
        elif len(self.slots) < MOST_MADE and place[1] < MOST:
            self.slots[place] = _Kept(private.TensorRef(result), site)

    def _before(self, optimizer: Any, number: int, records: list[LeafRecord]) -> None:
        if self.held.get(number) != len(records):  # as long as it holds as many, they are the same
            self.held[number] = len(records)
            shapes = (t.shape for record in records if (t := record.ref()) is not None)
            self.shapes.setdefault(number, set()).update(shapes)
        step = int(self.recorder.optimizers[number]["steps"])
        for kept in (*self.kept.values(), *self.slots.values()):
            copy = kept.copies.get(number)
            if copy is None:
                continue
            old, copy.old = copy.old, None
            t = kept.ref()
            if (
                old is not None
                and t is not None
                and step == copy.at
                and measurable(t)
                and t.shape == old.shape
            ):
                with torch.no_grad(), private.aside():
                    self._measure(kept, t.detach(), old, step, records)

    def _measure(self, kept: _Kept, now: Any, old: Any, step: int, records: list[LeafRecord]) -> None:
        for record in records:
            p = record.ref()
            if p is None or p.shape != now.shape or not measurable(p) or p.dtype != now.dtype or not p.is_cpu:
                continue
            if kept.parameter not in (None, record.id):
                continue
            before, after = (old - p.detach()).double(), (now - p.detach()).double()
            far = float(before.norm())
            if now.data_ptr() == p.data_ptr() or far <= FAR * float(p.norm()):
                continue
            left = float((before * after).sum()) / far**2
            if (
                left != 0
                and float((after - left * before).norm()) <= ALIKE * min(abs(left), abs(1 - left)) * far
            ):
                kept.parameter, kept.site = record.id, kept.written
                kept.left.append((step, left))
                return

    def _after(self, optimizer: Any, number: int, site: int) -> None:
        step = int(self.recorder.optimizers[number]["steps"]) + 1
        if step < FIRST:
            return
        self.calls.clear()
        for kept in (*self.kept.values(), *self.slots.values()):
            copy = kept.copies.setdefault(number, _Copy())
            seldom = copy.times >= OFTEN and step < 2 * copy.at
            t = kept.ref() if not seldom else None
            if t is not None and measurable(t) and t.shape in self.shapes.get(number, ()):
                with torch.no_grad(), private.aside():
                    copy.old, copy.at, copy.times = t.detach().clone(), step, copy.times + 1

    def _tell(self) -> None:
        sites: set[int] = set()
        for kept in (*self.kept.values(), *self.slots.values()):
            if kept.left and kept.site not in sites:
                sites.add(kept.site)
                data = {
                    "parameter": kept.parameter,
                    "left": [[step, round(left, 6)] for step, left in kept.left],
                }
                self.recorder.emit("average", kept.site, data)
