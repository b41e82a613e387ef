"""Watches optimizers: made, step, zero_grad. What a step does inside is torch's own
business: it runs with recording paused, only a closure's ops are the user's."""

from __future__ import annotations

import inspect
import multiprocessing
import sys
import threading
import weakref
from collections.abc import Callable
from functools import partial
from time import perf_counter
from typing import Any, NamedTuple

import torch
from torch.optim import optimizer as torch_optimizer

from gradscope.hooks import Hook
from gradscope.hooks import _torch as private
from gradscope.hooks.recorder.errors import note_error
from gradscope.hooks.recorder.history import Write
from gradscope.hooks.recorder.leaf import LeafRecord
from gradscope.hooks.recorder.parts import groups_of

_PLAIN = (int, float, str, bool, type(None))


class Inside(NamedTuple):
    """A step under way."""

    frame: int  # id of torch's wrapper's frame
    site: int
    records: list[LeafRecord] | None  # None: a step that went as expected
    states: dict[str, list[int]]
    versions: list[tuple[LeafRecord, int]]
    closure: bool
    mode: bool  # the function mode was taken off: it would be asked about every attribute
    placed: list[int]  # parameters into whose `.grad` the program put a tensor of its own


class Optimizers(Hook):
    order = 30

    def install(self) -> None:
        self.ids: dict[int, tuple[int, Any]] = {}
        self.count = 0
        self.sizes: dict[int, int] = {}  # parameters of each
        self.roots: dict[int, frozenset[int]] = {}  # what memory each has last written to
        self.inside: list[Inside] = []
        self.passing: dict[type, bool] = {}  # whether steps of a class may run backward passes themselves
        self.recorder.services.optimizer_number = self._register
        self.recorder.services.steps_of = self._steps_of
        self.recorder.services.leave_failed = self._leave_failed
        self.recorder.services.step_of_others = self._step_of_others
        self.recorder.services.clearing_of_others = partial(self._zero_grad, fills=True)
        cls = torch.optim.Optimizer
        self.patch(cls, "__init__", self._init(cls.__init__))
        self.patch(cls, "zero_grad", self._zero_grad(cls.zero_grad))
        self.patch(torch.nn.Module, "zero_grad", self._module_zero_grad(torch.nn.Module.zero_grad))
        for handle in (
            torch_optimizer.register_optimizer_step_pre_hook(self._before_step),
            torch_optimizer.register_optimizer_step_post_hook(self._after_step),
        ):
            self._undo.append(handle.remove)

    # -- made ------------------------------------------------------------------------

    def _init(self, real: Any) -> Any:
        recorder = self.recorder

        def __init__(optimizer: Any, /, *args: Any, **kwargs: Any) -> None:
            if not recorder.here():
                real(optimizer, *args, **kwargs)
                return
            recorder.paused += 1
            try:
                real(optimizer, *args, **kwargs)
            except BaseException as error:
                recorder.paused -= 1
                if isinstance(error, Exception) and recorder.mine():
                    name, frame = type(optimizer).__name__, sys._getframe(1)
                    note_error(recorder, "optimizer", name, error, args[:1], None, frame)
                raise
            recorder.paused -= 1
            if recorder.mine():
                try:
                    with private.aside():
                        number = self._register(
                            optimizer, recorder.sites.current(sys._getframe(1)), made=True
                        )
                        for follow in recorder.signals.optimizer_made:
                            follow(optimizer, number)
                except BaseException as error:
                    recorder.fault("recording an optimizer", error)

        return __init__

    def _register(self, optimizer: Any, site: int, made: bool = False) -> int:
        """The optimizer's number. made: it is made at `site`, not met there."""
        known = self.ids.get(id(optimizer))
        if known is None or known[1]() is not optimizer:
            inner = _wrapped(optimizer)
            if inner is not None:
                known = self.ids[id(optimizer)] = (self._register(inner, site, made), weakref.ref(optimizer))
                return known[0]
            known = self.ids[id(optimizer)] = (self.count, weakref.ref(optimizer))
            self.count += 1
            self._write(optimizer, known[0], site, made)
            self.recorder.emit(
                "optimizer", site, {"optimizer": known[0], **_in_child(optimizer, self._records)}
            )
        return known[0]

    def _steps_of(self, optimizer: Any) -> int:
        known = self.ids.get(id(optimizer))
        if known is None or known[1]() is not optimizer:
            return 0
        return int(self.recorder.optimizers[known[0]]["steps"])

    def _write(self, optimizer: Any, number: int, site: int, made: bool) -> None:
        groups = []
        for group in groups_of(optimizer):
            row: dict[str, Any] = {k: v for k, v in group.items() if k != "params" and isinstance(v, _PLAIN)}
            row["parameters"] = []
            for p in group["params"]:
                record = self.recorder.ledger.of(p)
                if number not in record.optimizers:
                    record.optimizers.append(number)
                row["parameters"].append(record.id)
            groups.append(row)
        before = self.recorder.optimizers.get(number, {})
        self.recorder.optimizers[number] = {
            "cls": type(optimizer).__name__, "groups": groups, "site": site or None, "made": made,
            "steps": before.get("steps", 0), "highest": before.get("highest", 0.0),
        }  # fmt: skip
        self.sizes[number] = sum(len(row["parameters"]) for row in groups)

    def _records(self, optimizer: Any) -> list[Any]:
        ledger = self.recorder.ledger
        found = []
        for group in groups_of(optimizer):
            for p in group["params"]:
                record = ledger.records.get(id(p))
                found.append(record if record is not None and record.ref() is p else ledger.of(p))
        return found

    # -- step ------------------------------------------------------------------------

    def _before_step(self, optimizer: Any, args: Any, kwargs: Any) -> Any:
        recorder = self.recorder
        if threading.get_ident() != recorder.thread or recorder.depth:
            return None
        if self.inside:
            self._leave_failed()
        if self.inside:  # a wrapper's step that calls the inner optimizer's
            return None
        if self._runs_passes(optimizer):  # what is recorded is what it does
            return None
        began = perf_counter()
        changed = None
        frame = sys._getframe(1)  # torch's wrapper around step
        closure = None
        recorder.paused += 1
        try:
            if recorder.replay.active and self._expected(optimizer, frame):
                return None
            with private.aside():
                site = recorder.sites.current(frame.f_back)
                number = self._register(optimizer, site)
                records = self._records(optimizer)
                if len(records) != self.sizes.get(number):  # groups were added
                    known = recorder.optimizers[number]
                    self._write(optimizer, number, known["site"] or 0, known["made"])
                states, placed = recorder.ledger.states(records)
                closure = args[1] if len(args) > 1 else kwargs.get("closure")
                lent = recorder.ledger.lent(records) if closure is None else []
                stale = recorder.ledger.stale_use([*records, *lent])
                recorder.ledger.used(lent, site, lent=True)
                used = [r for r in records if r.state in ("fresh", "stale")]
                versions = [(r, private.version_of(t)) for r in used if (t := r.ref()) is not None]
                if stale is not None:
                    recorder.emit(
                        "stale_used", site, {"optimizer": number, **stale["data"]}, **stale["measured"]
                    )
                if closure is not None and callable(closure):
                    wrapped = self._closure(closure)
                    if len(args) > 1:
                        changed = ((args[0], wrapped, *args[2:]), kwargs)
                    else:
                        changed = (args, {**kwargs, "closure": wrapped})
                if closure is None:
                    for follow in recorder.signals.before_step:
                        follow(optimizer, number, records)
                mode = closure is None and recorder.functions.pause()
                self.inside.append(
                    Inside(id(frame), site, records, states, versions, closure is not None, mode, placed)
                )
        except BaseException as error:
            recorder.fault("recording a step", error)
        finally:  # also after Ctrl-C
            if not self.inside:
                recorder.paused -= 1
            recorder.own_time += perf_counter() - began
        return changed

    def _step_of_others(self, real: Any) -> Any:
        """A `step` that torch's own hooks are not told of."""

        def step(optimizer: Any, /, *args: Any, **kwargs: Any) -> Any:
            self._before_step(optimizer, (optimizer, *args), kwargs)
            result = real(optimizer, *args, **kwargs)
            self._after_step(optimizer, args, kwargs)
            for look in self.recorder.looks:
                look()
            return result

        return step

    def _runs_passes(self, optimizer: Any) -> bool:
        """Whether an optimizer of the program's own runs backward passes in its step: then its step is one of the
        program's functions. Where it leaves the update to one that it holds, as SAM may, the two are one optimizer."""
        recorder = self.recorder
        try:
            cls = type(optimizer)
            if cls not in self.passing:
                self.passing[cls] = _names_backward(cls)
            if not self.passing[cls]:
                return False
            with private.aside():
                inner = _held(optimizer)
                if inner is None:
                    return True
                known = self.ids.get(id(inner))
                mine = self._register(optimizer, recorder.sites.current(sys._getframe(3)))
                if known is None or known[0] != mine:
                    self.ids[id(inner)] = (mine, weakref.ref(inner))
                return True
        except BaseException as error:
            recorder.fault("recording a step", error)
            return False

    def _expected(self, optimizer: Any, frame: Any) -> bool:
        """Whether this step is the event that comes next; then it is taken for under way."""
        number, known = self.ids.get(id(optimizer), (None, None))
        if number is None or known is None or known() is not optimizer:
            return False
        site = self.recorder.replay.comes("step", frame.f_back, number)
        if not site or not self.recorder.replay.holds():
            return False
        for follow in self.recorder.signals.before_expected_step:
            follow(optimizer, number)
        self.inside.append(Inside(id(frame), site, None, {}, [], False, False, []))
        return True

    def _closure(self, closure: Any) -> Any:
        recorder = self.recorder

        def wrapped(*args: Any, **kwargs: Any) -> Any:
            paused, recorder.paused = recorder.paused, 0
            try:
                return closure(*args, **kwargs)
            finally:
                recorder.paused = paused

        return wrapped

    def _leave_failed(self) -> None:
        try:
            self._forget_failed()
        except BaseException as error:
            self.recorder.fault("recording a step", error)

    def _forget_failed(self) -> None:
        """A step that raised has no post hook: leave it once its frame is gone."""
        while self.inside and threading.get_ident() == self.recorder.thread:
            frame: Any = sys._getframe(1)
            while frame is not None and id(frame) != self.inside[-1][0]:
                frame = frame.f_back
            if frame is not None:
                return
            if self.inside.pop().mode:
                self.recorder.functions.resume()
            self.recorder.paused = max(0, self.recorder.paused - 1)

    def _after_step(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        recorder = self.recorder
        if threading.get_ident() != recorder.thread:
            recorder.services.stepped_beside()
            return
        if not self.inside or recorder.depth:
            return
        if self.inside[-1][0] != id(sys._getframe(1)):
            return
        began = perf_counter()
        _, site, records, states, versions, closure, mode, placed = self.inside.pop()
        try:
            if mode:
                recorder.functions.resume()
            number = self.ids[id(optimizer)][0]
            if records is None and recorder.replay.expects("step", site, number):
                self._count(site, self.roots[number])
                with private.aside():
                    recorder.replay.take()
                return
            with private.aside():
                if records is None or closure:
                    records = self._records(optimizer) if records is None else records
                    states, _ = recorder.ledger.states(records)
                unchanged = []
                # Fused kernels write without telling the version counter, and so do writes to `.data` (fastai's).
                unseen = not isinstance(optimizer, torch_optimizer.Optimizer) or any(
                    group.get("fused") for group in groups_of(optimizer)
                )
                for record, version in versions:
                    t = record.ref()
                    if t is not None and private.version_of(t) == version and not unseen:
                        unchanged.append(record.id)
                    else:  # noted now: it may be gone at the end
                        record.changed = True
                data = {"optimizer": number, "states": states, "unchanged": unchanged, "closure": closure}
                if placed and not closure:
                    data["placed"] = placed
                recorder.emit("step", site, data)
                if not closure:
                    for follow in recorder.signals.after_step:
                        follow(optimizer, number, site)
                recorder.ledger.used(records, site)
                roots = frozenset(r.root for r in records)
                if roots != self.roots.get(number):
                    self.roots[number] = roots
                recorder.optimizers[number]["steps"] += 1
                self._count(site, self.roots[number])
                recorder.end_segment(True)
        except BaseException as error:
            recorder.fault("recording a step", error)
        finally:
            recorder.paused -= 1
            recorder.own_time += perf_counter() - began

    def _count(self, site: int, roots: frozenset[int]) -> None:
        recorder = self.recorder
        recorder.steps += 1
        recorder.history.writes.append(Write(private.sequence_number(), site, "step", roots, None))

    # -- zero_grad -------------------------------------------------------------------

    def _zero_grad(self, real: Any, fills: bool = False) -> Any:
        """fills: it puts zeros into the gradients, whatever it is given."""
        recorder = self.recorder

        def zero_grad(optimizer: Any, /, *args: Any, **kwargs: Any) -> Any:
            if recorder.mine():
                began = perf_counter()
                recorder.paused += 1
                try:
                    if not recorder.replay.active or not self._cleared_again(optimizer, sys._getframe(1)):
                        with private.aside():
                            site = recorder.sites.current(sys._getframe(1))
                            number = self._register(optimizer, site)
                            to_none = not fills and _to_none(*args, **kwargs)
                            recorder.ledger.cleared(
                                self._records(optimizer), to_none, site, by="optimizer", optimizer=number
                            )
                except BaseException as error:
                    recorder.fault("recording zero_grad", error)
                finally:
                    recorder.paused -= 1
                    recorder.own_time += perf_counter() - began
            elif not recorder.here():
                return real(optimizer, *args, **kwargs)
            return self._quietly(real, optimizer, *args, **kwargs)

        return zero_grad

    def _cleared_again(self, optimizer: Any, frame: Any) -> bool:
        """Whether this zero_grad is the event that comes next; then it is taken."""
        replay = self.recorder.replay
        number, known = self.ids.get(id(optimizer), (None, None))
        if known is None or known() is not optimizer or not replay.comes("zero_grad", frame, number):
            return False
        replay.take()
        return True

    def _module_zero_grad(self, real: Any) -> Any:
        recorder = self.recorder

        def zero_grad(module: Any, /, *args: Any, **kwargs: Any) -> Any:
            if not recorder.here():
                return real(module, *args, **kwargs)
            if recorder.mine():
                began = perf_counter()
                recorder.paused += 1
                try:
                    with private.aside():
                        frame = sys._getframe(1)
                        if recorder.replay.comes("zero_grad", frame):
                            recorder.replay.take()
                        else:
                            site = recorder.sites.current(frame)
                            record = recorder.modules.find(module) or recorder.modules.register_root(
                                module, frame, site
                            )
                            records = [recorder.ledger.of(p) for p in module.parameters()]
                            to_none = _to_none(*args, **kwargs)
                            recorder.ledger.cleared(records, to_none, site, by="module", module=record.id)
                except BaseException as error:
                    recorder.fault("recording zero_grad", error)
                finally:
                    recorder.paused -= 1
                    recorder.own_time += perf_counter() - began
            return self._quietly(real, module, *args, **kwargs)

        return zero_grad

    def _quietly(self, real: Any, *args: Any, **kwargs: Any) -> Any:
        """Calls torch's own; what it does inside is not recorded."""
        recorder = self.recorder
        mode = False
        recorder.paused += 1
        try:
            mode = recorder.functions.pause()
        except BaseException as error:
            recorder.fault("recording zero_grad", error)
        try:
            return real(*args, **kwargs)
        finally:
            recorder.paused -= 1
            try:
                if mode:
                    recorder.functions.resume()
            except BaseException as error:
                recorder.fault("recording zero_grad", error)


def _wrapped(optimizer: Any) -> Any:
    """The optimizer that one without parameter groups of its own hands everything on to, as Lightning's does."""
    own = vars(optimizer)
    if "param_groups" in own:
        return None
    groups = getattr(optimizer, "param_groups", None)
    others = (
        one for one in own.values() if isinstance(one, torch_optimizer.Optimizer) and one is not optimizer
    )
    return next((one for one in others if groups is not None and groups_of(one) is groups), None)


def _names_backward(cls: type) -> bool:
    """Whether the step that the program gave to a class of optimizers, or one of the class's methods that it calls,
    asks for a backward pass by name."""
    looked, names = set(), ["step"]
    while names:
        looked.add(name := names.pop())
        for part in cls.__mro__:
            if part.__module__.partition(".")[0] == "torch":
                break
            code = getattr(inspect.unwrap(vars(part).get(name)), "__code__", None)  # type: ignore[arg-type]
            if code is None:
                continue
            if "backward" in code.co_names:
                return True
            names += [other for other in code.co_names if other not in looked]
            if "super" not in code.co_names:
                break
    return False


def _held(optimizer: Any) -> Any:
    """The optimizer that one holds for the very same parameters, or None."""
    mine = {id(p) for group in groups_of(optimizer) for p in group["params"]}
    for one in vars(optimizer).values():
        if isinstance(one, torch_optimizer.Optimizer) and one is not optimizer:
            if mine == {id(p) for group in groups_of(one) for p in group["params"]}:
                return one
    return None


def _to_none(set_to_none: Any = True, *_: Any, **__: Any) -> bool:
    """What torch's own `zero_grad` makes of its arguments."""
    return bool(set_to_none)


def _in_child(optimizer: Any, records_of: Callable[[Any], list[Any]]) -> dict[str, list[int]]:
    """In a child of `multiprocessing`: the parameters (ids) whose memory no other process sees."""
    if multiprocessing.parent_process() is None:
        return {}
    held = ((record, record.ref()) for record in records_of(optimizer))
    return {"apart": [record.id for record, p in held if p is not None and private.in_own_memory(p)]}
