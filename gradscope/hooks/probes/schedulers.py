"""Watches learning-rate schedulers: made, stepped, loaded. What one calls inside another is its own business.
Where one waits for a number to improve, also the losses that are computed meanwhile: the number may be one of them."""

from __future__ import annotations

import functools
import math
import sys
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import FrameType
from typing import Any, NamedTuple

import torch
from torch.optim.lr_scheduler import LRScheduler, ReduceLROnPlateau

from gradscope.hooks import Hook
from gradscope.hooks import _torch as private
from gradscope.hooks.recorder.leaf import LeafRecord
from gradscope.hooks.recorder.losses import OF_ALL
from gradscope.hooks.recorder.parts import all_rates_of, groups_of, keeps_tensors
from gradscope.hooks.recorder.values import measurable, readable
from gradscope.hooks.variables import first_argument

NOTHING = 1e-3  # of the largest rate: below it hardly anything moves
MOST_GIVEN = 200  # numbers that a plateau schedule was given are kept, the first ones
MOST_LOSSES = 1000  # between two of these numbers
APART = 0.05  # of a rate
FAR_DOWN, FAR_UP = 0.1, 0.5  # of the largest rate: a wave lies between
SETTINGS = ("gamma", "step_size", "T_max", "total_steps", "total_iters", "T_0")


class Schedulers(Hook):
    order = 32

    def install(self) -> None:
        self.numbers: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
        self.count = 0
        self.depth = 0
        self.turns: dict[int, Turns] = {}
        self.made: weakref.WeakKeyDictionary[Any, list[float] | None] = (
            weakref.WeakKeyDictionary()
        )  # rates then
        self.resumed: weakref.WeakKeyDictionary[Any, Resumed] = weakref.WeakKeyDictionary()  # of optimizers
        self.restored: weakref.WeakKeyDictionary[Any, Restored] = weakref.WeakKeyDictionary()  # the same
        self.driven: set[int] = set()  # schedules that another one steps
        # of passes, trained and evaluated, since the last number was given
        self.losses: dict[str, list[Loss]] = {}
        self.waits = False  # a schedule that is given numbers was made
        self.recorder.functions.follow(OF_ALL, self._loss)
        self.passes = 0  # over data loaders
        self.recorder.signals.loader_iterated.connect(self._loader_iterated)
        self.recorder.signals.before_end.connect(self._tell)
        self.recorder.signals.before_step.connect(self._before_step)
        self.recorder.signals.optimizer_loaded.connect(self._optimizer_loaded)
        self.recorder.signals.before_pass.connect(self._before_pass)
        wraps = (("__init__", self._init), ("step", self._step), ("load_state_dict", self._load))
        for cls in _family(LRScheduler):
            for name, wrap in wraps:
                if name in vars(cls):
                    self.patch(cls, name, wrap(vars(cls)[name]))

    def _init(self, real: Any) -> Any:
        @functools.wraps(real)
        def __init__(scheduler: Any, /, *args: Any, **kwargs: Any) -> None:
            given = args[0] if args else kwargs.get("optimizer")
            before = self._read(_rates_of, given) if self.restored and not self.depth else None
            self.depth += 1
            try:
                real(scheduler, *args, **kwargs)
            finally:
                self.depth -= 1
            if not self.depth and self.recorder.mine():
                self.made[scheduler] = self._read(_rates, scheduler)
                maker = sys._getframe(1)
                try:
                    maker = _maker(scheduler, maker)
                except BaseException as error:
                    self.recorder.fault("looking for what makes a scheduler", error)
                self._number(scheduler, maker)
                self._overwritten(scheduler, before, maker)

        return __init__

    def _read(self, rates: Callable[[Any], list[float] | None], of: Any) -> list[float] | None:
        """The rates, where the program's own call stands around this."""
        try:
            return rates(of)
        except BaseException as error:
            self.recorder.fault("reading learning rates", error)
            return None

    def _step(self, real: Any) -> Any:
        @functools.wraps(real)
        def step(scheduler: Any, /, *args: Any, **kwargs: Any) -> Any:
            outermost = not self.depth and self.recorder.mine()
            self.depth += 1
            before = self._read(_rates, scheduler) if outermost else None
            try:
                return real(scheduler, *args, **kwargs)
            finally:
                self.depth -= 1
                if outermost:
                    given = args[0] if args else kwargs.get("metrics", kwargs.get("epoch"))
                    self._note(scheduler, before, sys._getframe(1), given)

        return step

    def _load(self, real: Any) -> Any:
        @functools.wraps(real)
        def load_state_dict(scheduler: Any, /, *args: Any, **kwargs: Any) -> Any:
            outermost = not self.depth and self.recorder.mine()
            self.depth += 1
            try:
                return real(scheduler, *args, **kwargs)
            finally:
                self.depth -= 1
                if outermost:
                    self._note_load(scheduler, sys._getframe(1))

        return load_state_dict

    def _note_load(self, scheduler: Any, frame: Any) -> None:
        number = self._number(scheduler, frame)
        try:
            turn = _turn_of(scheduler)
            if number is not None and type(turn) is int and turn > 0:
                site = self.recorder.sites.current(frame)
                own = vars(scheduler).get("_last_lr"), self.made.get(scheduler)
                self.resumed[scheduler.optimizer] = Resumed(number, site, turn, *own)
        except BaseException as error:
            self.recorder.fault("recording a scheduler", error)

    def _optimizer_loaded(self, optimizer: Any, site: int) -> None:
        """Keeps the rates of one that was saved in the middle of a schedule: other ones than that begins with."""
        groups = groups_of(optimizer)
        rates = [(group.get("lr"), group.get("initial_lr")) for group in groups]
        if rates and all(type(one) is float for pair in rates for one in pair):
            if any(not math.isclose(now, first, rel_tol=APART) for now, first in rates):
                done = _steps_done(optimizer)
                self.restored[optimizer] = Restored(site, [now for now, _ in rates], done)

    def _overwritten(self, scheduler: Any, before: list[float] | None, frame: Any) -> None:
        """Whether a schedule, when it was made, has written its first rates over those that were loaded."""
        try:
            restored = self.restored.get(scheduler.optimizer) if self.restored else None
            if restored is not None and before == restored.rates and _apart(before, self.made.get(scheduler)):
                restored.overwritten = weakref.ref(scheduler), self.recorder.sites.current(frame)
        except BaseException as error:
            self.recorder.fault("recording a schedule over a loaded rate", error)

    def _begin(self, optimizer: Any, number: int) -> None:
        """At the first step of an optimizer that was given a state: the one schedule that it has now, if that is still
        where it began. One that has made no turn and stands at a later one was put there by the program."""
        restored = self.restored[optimizer]
        if restored.schedule is not None:
            return
        own = [one for one, n in self.numbers.items() if one.optimizer is optimizer and n not in self.driven]
        turn = vars(own[0]).get("last_epoch") if len(own) == 1 else None
        if turn == 0:
            restored.schedule = weakref.ref(own[0])
            return
        del self.restored[optimizer]
        by, site = restored.overwritten or (None, 0)
        if by is None or type(turn) is not int or turn < 0 or by() is not own[0] or optimizer in self.resumed:
            return
        schedule, stepped = self.numbers[own[0]], _rates_of(optimizer)
        if schedule not in self.turns and stepped == self.made.get(own[0]):
            data = {
                "scheduler": schedule, "optimizer": number, "turn": turn, "kept": restored.rates,
                "stepped": stepped,
            }  # fmt: skip
            self.recorder.emit("rates_apart", site, data)

    def _turned(self, scheduler: Any, number: int, after: list[float] | None) -> None:
        """At the first turn of a schedule after that."""
        optimizer = scheduler.optimizer
        restored = self.restored.get(optimizer)
        if restored is None or restored.schedule is None or restored.schedule() is not scheduler:
            return
        del self.restored[optimizer]
        if vars(scheduler).get("last_epoch") == 1 and after is not None:
            with private.aside():
                known = self.recorder.services.optimizer_number(optimizer, restored.site)
            data = {
                "scheduler": number, "optimizer": known, "done": restored.done, "kept": restored.rates,
                "turned": after,
            }  # fmt: skip
            self.recorder.emit("schedule_left", restored.site, data)

    def _before_step(self, optimizer: Any, number: int, records: list[LeafRecord]) -> None:
        """At the first step after its schedule was loaded: whether it has a state yet, and its rates; at the second,
        whether it has one by then. Some keep none."""
        if self.restored and optimizer in self.restored:
            self._begin(optimizer, number)
        resumed = self.resumed.get(optimizer) if self.resumed else None
        if resumed is None:
            return
        if resumed.stepped is None:
            resumed.stepped = _rates_of(optimizer) or []
            resumed.empty = not optimizer.state
            if resumed.empty:
                return
        del self.resumed[optimizer]
        data = {"scheduler": resumed.scheduler, "optimizer": number, "turn": resumed.turn}
        if resumed.empty and keeps_tensors(optimizer):
            self.recorder.emit("resumed", resumed.site, data)
        elif resumed.began_anew:
            rates = {"kept": resumed.kept, "stepped": resumed.stepped}
            self.recorder.emit("rates_apart", resumed.site, data | rates)

    def _number(self, scheduler: Any, frame: Any) -> int | None:
        """Its number; tells of it the first time."""
        recorder = self.recorder
        try:
            number = self.numbers.get(scheduler)
            if number is None:
                number = self.numbers[scheduler] = self.count
                self.count += 1
                self.waits = self.waits or bool(_mode(scheduler))
                site = recorder.sites.current(frame)
                inner = [self.numbers[s] for s in getattr(scheduler, "_schedulers", ()) if s in self.numbers]
                self.driven.update(inner)
                with private.aside():
                    optimizer = recorder.services.optimizer_number(scheduler.optimizer, site)
                turn, done = vars(scheduler).get("last_epoch"), _steps_done(scheduler.optimizer)
                data = {
                    "scheduler": number, "optimizer": optimizer, "cls": type(scheduler).__name__, "drives": inner,
                    "turn": turn if type(turn) is int and turn > 0 else 0, "done": done,
                    "settings": _settings(scheduler),
                }  # fmt: skip
                recorder.emit("scheduler", site, data)
            return number
        except BaseException as error:
            recorder.fault("recording a scheduler", error)
            return None

    def _note(self, scheduler: Any, before: list[float] | None, frame: Any, given: Any) -> None:
        recorder = self.recorder
        number = self._number(scheduler, frame)
        try:
            if number is not None:
                site = recorder.sites.current(frame)
                with private.aside():
                    optimizer = recorder.services.optimizer_number(scheduler.optimizer, site)
                data = {"scheduler": number, "optimizer": optimizer}
                after = _rates(scheduler)
                recorder.emit("schedule", site, data, before=before, after=after)
                turns = self.turns.get(number)
                if turns is None:
                    turns = self.turns[number] = Turns(optimizer, _settings(scheduler), mode=_mode(scheduler))
                turns.add(site, before, after, self.passes)
                if self.restored:
                    self._turned(scheduler, number, after)
                if turns.mode:
                    turns.add_given(given, before, after, self.losses)
                    self.losses.clear()
                elif given is not None:
                    turns.told = True
        except BaseException as error:
            recorder.fault("recording a scheduler", error)

    def _loader_iterated(self, iterator: Any, made: int, loop: int) -> None:
        self.passes += 1

    def _loss(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        if self.waits and readable(result, 1):
            with private.aside():
                plain = bool(args) and isinstance(args[0], torch.Tensor) and measurable(args[0])
                rows = int(args[0].shape[0]) if plain and args[0].dim() else 1
                self._keep("trained" if result.requires_grad else "evaluated", result, rows)

    def _before_pass(self, t_outputs: Any, args: Any, site: int, accumulate: bool, frame: Any) -> None:
        """The backward passes are known while sampling sleeps, too."""
        if self.waits and accumulate and len(t_outputs) == 1 and readable(t_outputs[0], 1):
            self._keep("passes", t_outputs[0], 1)

    def _keep(self, of: str, loss: Any, rows: int) -> None:
        """Keeps what a loss came to. One on another device is not waited for."""
        kept = self.losses.setdefault(of, [])
        if len(kept) < MOST_LOSSES:
            kept.append(Loss(float(loss.detach()), rows))

    def _tell(self) -> None:
        for number, turns in self.turns.items():
            if turns.high > 0 and not turns.told:
                data = {
                    "scheduler": number, "optimizer": turns.optimizer, "turns": turns.count, "high": turns.high,
                    "last": turns.last, "fell": turns.fell, "moved": turns.moved, "own": turns.own,
                    "settings": turns.settings, "raised": turns.raised, "passes": turns.passes,
                    "began": turns.began, "low": turns.low, "lowest": turns.lowest,
                    "waves": turns.waves,
                }  # fmt: skip
                self.recorder.emit("rates", turns.site, data)
            if turns.given and turns.high > 0:
                plateau = {
                    "scheduler": number, "optimizer": turns.optimizer, "mode": turns.mode, "given": turns.given,
                    "cuts": turns.cuts, "losses": turns.losses,
                }  # fmt: skip
                self.recorder.emit("plateau", turns.site, plateau)


@dataclass
class Resumed:
    """A schedule that was loaded, at a later turn than its first."""

    scheduler: int
    site: int
    turn: int
    kept: list[float] | None  # the rates that it was saved with
    made: list[float] | None  # those of its optimizer when it had been made
    stepped: list[float] | None = None  # and at its first step after that
    empty: bool = False  # its optimizer had no state when it stepped first

    @property
    def began_anew(self) -> bool:
        """Whether its optimizer steps at the rates that a schedule begins with, not at those where it was."""
        return self.stepped == self.made and _apart(self.kept, self.stepped)


@dataclass
class Restored:
    """An optimizer that was given a state which a schedule had been at work on."""

    site: int
    rates: list[float]
    done: int  # steps that the state had counted
    schedule: weakref.ref[Any] | None = None  # its own now, which had not turned at its first step
    # the schedule that has set the rates back when it was made, and where that was
    overwritten: tuple[weakref.ref[Any], int] | None = None


class Loss(NamedTuple):
    """What a loss came to, and over how many rows."""

    value: float
    rows: int


@dataclass
class Turns:
    """The rates that a schedule went through: the largest of its groups at each turn."""

    optimizer: int | None
    settings: dict[str, float]
    site: int = 0
    count: int = 0
    high: float = 0.0
    last: float = 0.0
    fell: int = 0  # the turn from which on the rate was next to nothing
    began: int = 0  # the first turn that changed it
    low: float = math.inf  # the smallest one
    lowest: int = 0  # the turn that came to it
    waves: int = 0  # times that it came up again from far down
    is_down: bool = False
    told: bool = False  # the program says which epoch it is: a turn may come as often as it likes
    moved: int = 0  # the last one
    own: float = 1.0  # how many times as large its own turns have made the rate
    raised: int = 0  # turns that made it at least twice as large
    passes: int = 0  # over data loaders, in each of which it made several turns
    last_pass: int = 0
    in_pass: int = 0  # turns in that
    mode: str = ""  # "min" or "max": of one that looks at a number
    given: list[float] = field(default_factory=list)  # these numbers
    cuts: list[int] = field(default_factory=list)  # the turns that made the rate smaller
    losses: int = 0  # of these numbers that were a loss, or the sum or mean of those since the one before

    def add(self, site: int, before: list[float] | None, after: list[float] | None, passes: int) -> None:
        self.site = site
        self.count += 1
        self.in_pass = self.in_pass + 1 if passes == self.last_pass else 1
        self.last_pass = passes
        self.passes += self.in_pass == 2 and passes > 0
        if before and after:
            self.last = max(after)
            self.high = max(self.high, self.last, *before)
            if self.last < self.low:
                self.low, self.lowest = self.last, self.count
            if self.last < FAR_DOWN * self.high:
                self.is_down = True
            elif self.is_down and self.last > FAR_UP * self.high:
                self.is_down, self.waves = False, self.waves + 1
            self.moved = self.count if after != before else self.moved
            self.began = self.began or self.moved
            self.raised += self.last >= 2 * max(before)
            self.own *= self.last / max(before) if max(before) > 0 else 1.0
            if self.last > self.high * NOTHING:
                self.fell = self.count + 1

    def add_given(
        self,
        number: Any,
        before: list[float] | None,
        after: list[float] | None,
        losses: dict[str, list[Loss]],
    ) -> None:
        """`number` as the program gave it. A tensor on another device is not waited for."""
        if isinstance(number, torch.Tensor):
            with private.aside():
                plain = measurable(number) and number.is_cpu and number.numel() == 1
                number = number.item() if plain else None
        elif isinstance(number, float):
            number = float(number)  # NumPy's, too
        if type(number) not in (int, float) or len(self.given) >= MOST_GIVEN:
            return
        self.given.append(float(number))
        self.losses += any(_is_of(float(number), computed) for computed in losses.values())
        if before and after and max(after) < max(before):
            self.cuts.append(len(self.given))


def _is_of(number: float, losses: list[Loss]) -> bool:
    """Whether a number is one of these losses, or the sum or mean of them, each counted once or as often as it has
    rows."""
    rows = sum(loss.rows for loss in losses) or 1
    once, by_rows = sum(loss.value for loss in losses), sum(v * n for v, n in losses)
    sums = once, once / len(losses), by_rows, by_rows / rows
    return any(math.isclose(number, one, rel_tol=1e-5) for one in (*sums, *(loss.value for loss in losses)))


def _mode(scheduler: Any) -> str:
    """Whether a schedule waits for smaller or for larger numbers; "" of one that looks at none."""
    mode = vars(scheduler).get("mode") if isinstance(scheduler, ReduceLROnPlateau) else None
    return mode if mode in ("min", "max") else ""


def _settings(scheduler: Any) -> dict[str, float]:
    """What it was made with, as far as it counts turns or says how fast rates fall."""
    found = {name: vars(scheduler).get(name) for name in SETTINGS}
    return {name: value for name, value in found.items() if type(value) in (int, float)}


def _steps_done(optimizer: Any) -> int:
    """The steps that an optimizer has counted in its state; 0 where it counts none, or on another device."""
    states = getattr(optimizer, "state", None)
    known = states.values() if isinstance(states, dict) else ()
    counted: list[Any] = [state.get("step") for state in known if isinstance(state, dict)]
    with private.aside():
        numbers = [float(one) for one in counted if type(one) in (int, float) or readable(one, 1)]
    return int(max(numbers, default=0))


def _family(cls: type) -> Iterator[type]:
    yield cls
    subclasses: list[type] = cls.__subclasses__()
    for below in subclasses:
        yield from _family(below)


def _apart(rates: list[float] | None, others: list[float] | None) -> bool:
    if not rates or not others or len(rates) != len(others):
        return False
    return any(not math.isclose(a, b, rel_tol=APART) for a, b in zip(rates, others, strict=True))


def _turn_of(scheduler: Any) -> Any:
    """At which turn it is; a chain of schedules, which keeps none of its own, at that of the first one."""
    inner = vars(scheduler).get("_schedulers")
    if "last_epoch" not in vars(scheduler) and isinstance(inner, (list, tuple)) and inner:
        scheduler = inner[0]
    return vars(scheduler).get("last_epoch")


def _rates(scheduler: Any) -> list[float] | None:
    """Learning rates of the groups that it drives, where they are plain numbers."""
    return _rates_of(getattr(scheduler, "optimizer", None))


def _rates_of(optimizer: Any) -> list[float] | None:
    try:
        return all_rates_of(optimizer)
    except Exception:  # a scheduler or an optimizer of the user's own
        return None


def _maker(scheduler: Any, frame: FrameType) -> FrameType:
    """The call that makes it: outside of the constructors of its own subclasses, which call that of their base."""
    while frame.f_code.co_name == "__init__" and frame.f_back is not None:
        if first_argument(frame) is not scheduler:
            break
        frame = frame.f_back
    return frame
