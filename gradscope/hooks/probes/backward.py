"""Watches backward passes at the one door into the engine.

`Tensor.backward`, `autograd.backward` and `autograd.grad` all go through
`_engine_run_backward` (torch/autograd/graph.py); its name is bound in two modules.
"""

from __future__ import annotations

import sys
import threading
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median
from time import perf_counter
from typing import Any

import torch

from gradscope.hooks import Hook
from gradscope.hooks import _torch as private
from gradscope.hooks.measures.growth import held
from gradscope.hooks.recorder.errors import examine, note_error
from gradscope.hooks.recorder.history import Pass
from gradscope.hooks.recorder.values import bytes_of, measurable, sizes
from gradscope.tracebacks import text_of

ENOUGH_PASSES = 8  # to tell the first ones from the last


@dataclass
class PassTimes:
    """How long the passes of one line took."""

    passes: int = 0
    seconds: float = 0.0
    early: list[float] = field(default_factory=list)
    late: deque[float] = field(default_factory=lambda: deque(maxlen=3))

    def add(self, seconds: float) -> None:
        self.passes += 1
        self.seconds += seconds
        self.late.append(seconds)
        if 2 <= self.passes <= 4:  # the first one pays for what is made once
            self.early.append(seconds)

    def growth(self) -> tuple[float | None, float | None]:
        """A pass's seconds at the beginning and at the end, as medians of three."""
        if self.passes < ENOUGH_PASSES:
            return None, None
        return round(median(self.early), 7), round(median(self.late), 7)


class Backward(Hook):
    order = 40

    def install(self) -> None:
        self.weighed: set[int] = set()  # sites whose kept graph was weighed
        self.times: dict[int, PassTimes] = {}  # by site
        self.running: dict[str, Any] | None = None  # what is known of the pass that is in the engine
        self.recorder.signals.before_end.connect(self._tell_times)
        for owner, name, engine, put in private.backward_doors():
            self.patch(owner, name, put(self._door(engine)))

    def _door(self, engine: Any) -> Any:
        recorder = self.recorder

        def _engine_run_backward(t_outputs: Any, *args: Any, **kwargs: Any) -> Any:
            if threading.get_ident() != recorder.thread and not recorder.services.elsewhere(True):
                if not recorder.ended:
                    try:
                        recorder.services.passed_beside(t_outputs, sys._getframe(1))
                    except BaseException as error:
                        recorder.fault("noting a pass of another thread", error)
                return engine(t_outputs, *args, **kwargs)
            if recorder.paused:
                recorder.services.leave_failed()
            if recorder.depth or recorder.paused:
                if self.running is not None:
                    self._within(self.running, t_outputs)
                return engine(t_outputs, *args, **kwargs)
            began = perf_counter()
            note = None
            expected = 0
            failed: BaseException | None = None
            recorder.paused += 1
            recorder.depth += 1  # a proof goes through this door too
            try:
                try:
                    if recorder.replay.active:
                        expected = self._expected(t_outputs, args, kwargs, sys._getframe(1))
                    if not expected and not private.in_transform(sys._getframe(1)):
                        with private.aside():
                            note = self._before(t_outputs, args, kwargs, sys._getframe(1))
                except BaseException as error:
                    recorder.fault("recording a backward", error)
                started = perf_counter()
                recorder.own_time += started - began
                self.running = note
                try:
                    return engine(t_outputs, *args, **kwargs)
                except BaseException as error:
                    failed = error
                    raise
                finally:
                    self.running = None
                    ended = perf_counter()
                    try:
                        if expected and failed is None and recorder.replay.expects("backward", expected):
                            self._went_on(expected, args, ended - started)
                        elif expected or note is not None:
                            with private.aside():
                                note = note or _note(expected, args)
                                self._after(note, t_outputs, failed, ended - started, sys._getframe(1))
                        elif failed is not None:
                            with private.aside():
                                self._failed(failed, t_outputs, sys._getframe(1))
                    except BaseException as error:
                        recorder.fault("recording a backward", error)
                    recorder.own_time += perf_counter() - ended
            finally:
                failed = None  # a frame and an error that hold each other keep the user's tensors
                recorder.depth -= 1
                recorder.paused -= 1

        return _engine_run_backward

    def _tell_times(self) -> None:
        """At the end: how long the passes of each line took (on a GPU, to be queued)."""
        for site, times in self.times.items():
            early, late = times.growth()
            data = {"passes": times.passes, "seconds": round(times.seconds, 6), "early": early, "late": late}
            self.recorder.emit("pass_time", site, data)

    def _before(self, t_outputs: Any, args: Any, kwargs: Any, frame: Any) -> dict[str, Any]:
        recorder = self.recorder
        site = recorder.sites.current(frame)
        accumulate = kwargs.get("accumulate_grad", False)
        inputs = args[3] if len(args) > 3 else kwargs.get("inputs", ())
        recorder.replay.leave()
        for follow in recorder.signals.before_pass:
            follow(t_outputs, args, site, bool(accumulate), frame)
        if args and args[0]:
            recorder.ledger.uses.given(args[0], site)
        return {
            **_note(site, args),
            "roots": self._indices(t_outputs, site),
            "inputs": self._indices(inputs or (), site),
            "accumulate": bool(accumulate),
            "before": recorder.ledger.before_pass(t_outputs) if accumulate else [],
            "weights": self._indices(_weights(args[0], t_outputs) if args and accumulate else (), site),
            "sense": _sense(args[0] if args and recorder.segment.looked else ()),
        }

    def _within(self, outer: dict[str, Any], t_outputs: Any) -> None:
        """A hook of a pass asks for a pass of its own: it goes through what was made before, too."""
        recorder = self.recorder
        try:
            with private.aside():
                known = [t for t in t_outputs if recorder.live.find(t) is not None]
                outer["within"] += self._indices(known, outer["site"])
        except BaseException as error:
            recorder.fault("recording a pass within a pass", error)

    def _expected(self, t_outputs: Any, args: Any, kwargs: Any, frame: Any) -> int:
        """The site of a pass that comes in its turn and whose loss is finite, otherwise 0."""
        recorder = self.recorder
        site = recorder.replay.comes("backward", frame)
        if not site or not recorder.services.is_sound(t_outputs):
            return 0
        for follow in recorder.signals.before_expected_pass:
            follow(t_outputs, args, site, bool(kwargs.get("accumulate_grad")), frame)
        return site

    def _went_on(self, site: int, args: Any, seconds: float) -> None:
        """A pass was like the last one here."""
        recorder = self.recorder
        recorder.passes += 1
        recorder.ledger.filled = recorder.replay.take().filled
        recorder.history.passes.append(Pass(private.sequence_number(), site, bool(args[1:2] and args[1])))
        self.times[site].add(seconds)

    def _indices(self, tensors: Any, site: int) -> list[int]:
        recorder = self.recorder
        if not recorder.segment.looked:
            return []
        return [recorder.value(t, site).index for t in tensors if isinstance(t, torch.Tensor)]

    def _after(
        self, note: dict[str, Any], t_outputs: Any, failed: BaseException | None, seconds: float, frame: Any
    ) -> None:
        recorder = self.recorder
        site = note["site"]
        self.times.setdefault(site, PassTimes()).add(seconds)
        recorder.passes += 1
        recorder.replay.leave()
        accumulated, stale, others = recorder.ledger.after_pass(note["before"], t_outputs, site)
        leaves = []
        for record in others:
            t = record.ref()
            if t is not None and recorder.segment.looked:
                grad = private.grad_of(t)
                leaves.append(
                    {
                        "value": recorder.value(t, site).index, "bytes": bytes_of(grad),
                        "shape": list(sizes(t)), "record": record.id if record.passes > 1 else None,
                    }
                )  # fmt: skip
        segment = recorder.segment
        if failed is not None:
            self._failed(failed, t_outputs, frame, note["roots"])
        else:
            segment.passes += 1
            if not note["retain"]:
                segment.freed_at = len(segment.ops)
            data = {
                "call": "backward" if note["accumulate"] else "grad", "roots": note["roots"],
                "retain_graph": note["retain"], "create_graph": note["create"], "inputs": note["inputs"],
                "accumulated": accumulated, "leaves": leaves, "stale": stale, "unlooked": not segment.looked,
            }  # fmt: skip
            if note["within"]:
                data["within"] = sorted(set(note["within"]))
            if note["weights"]:
                data["weights"] = note["weights"]
            if note["sense"] != 1:
                data["sense"] = note["sense"]
            first: dict[str, Any] = {"pass": recorder.passes}
            if note["retain"] and site not in self.weighed:
                self.weighed.add(site)
                first["held_nodes"], first["held_bytes"] = held(
                    [t for t in t_outputs if isinstance(t, torch.Tensor)]
                )
            recorder.emit("backward", site, data, **first)
        if failed is None:
            recorder.history.passes.append(Pass(note["number"], note["site"], note["retain"]))
        for follow in recorder.signals.after_pass:
            follow(note["site"], failed)

    def _failed(self, error: BaseException, t_outputs: Any, frame: Any, roots: Sequence[int] = ()) -> None:
        """Notes a pass that failed; of one that torch.func runs nothing else is noted. A pass that Ctrl-C ends is
        not examined: a second Ctrl-C would end that instead, and its frames be shown."""
        if not isinstance(error, Exception):
            return
        more = examine(self.recorder, [t for t in t_outputs if isinstance(t, torch.Tensor)], text_of(error))
        more["roots"] = list(roots)
        note_error(self.recorder, "backward", "backward", error, t_outputs, {}, frame, more)


def _weights(given: Any, roots: Any) -> list[Any]:
    """Those of the gradients that a pass begins with which are leaves that require one themselves, or its roots."""
    own = {id(root) for root in roots}
    tensors = [t for t in given or () if isinstance(t, torch.Tensor) and t.requires_grad]
    return [t for t in tensors if id(t) in own or private.is_leaf(t)]


def _sense(given: Any) -> int:
    """1 where a pass begins with one positive number, -1 with one negative; 0: that is not known."""
    t = given[0] if isinstance(given, (tuple, list)) and len(given) == 1 else None
    if t is None or not measurable(t) or not t.is_cpu or t.numel() != 1 or not t.is_floating_point():
        return 0
    number = float(t)
    return int(number > 0) - int(number < 0)


def _note(site: int, args: Any) -> dict[str, Any]:
    """What is known of a pass before it runs, of one whose tensors are not looked at."""
    return {
        "site": site, "roots": [], "inputs": [], "accumulate": True, "before": [], "weights": [], "sense": 0,
        "within": [],
        "retain": bool(args[1]) if len(args) > 1 else False,
        "create": bool(args[2]) if len(args) > 2 else False,
        "number": private.sequence_number(),
    }  # fmt: skip
