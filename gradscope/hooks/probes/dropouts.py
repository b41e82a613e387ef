"""Watches dropout that is called as a function: whether it follows its module's mode, there and back."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn

from gradscope.hooks import Hook
from gradscope.hooks import _torch as private
from gradscope.hooks.recorder.parts import in_training
from gradscope.hooks.recorder.values import measurable

FUNCTIONS = (
    "dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout", "feature_alpha_dropout", "feature_dropout",
)  # fmt: skip
ATTENTION = "scaled_dot_product_attention"
MAX_RATES = 200  # modules that are followed


@dataclass
class Rates:
    """The rates that one module gave to dropout at one line."""

    op: str
    site: int
    high: float  # in training, before the first evaluation
    names: set[str] = field(default_factory=set)  # attributes of the module that held it
    trained: int = 0  # calls in training before the first evaluation
    evaluated: bool = False
    off: int = 0  # calls in training since then, without dropout
    other: bool = False  # what is not so: another rate before, dropout after


class Dropouts(Hook):
    order = 92  # after the mode that calls it

    def install(self) -> None:
        self.told: set[tuple[int, int, bool]] = set()
        self.rates: dict[tuple[int, Any, int], Rates] = {}  # by module and place (code, instruction)
        self.recorder.signals.before_end.connect(self._tell_rates)
        functions = self.recorder.functions
        functions.follow(FUNCTIONS, self._dropout)
        functions.follow([ATTENTION], self._attention)
        functions.follow(["multi_head_attention_forward"], self._multi_head)

    def _dropout(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        rate = args[1] if len(args) > 1 else kwargs.get("p", 0.5)
        active = args[2] if len(args) > 2 else kwargs.get("training", kwargs.get("train", True))
        self._follow(name, rate if active else 0.0, frame)
        if rate:
            self._listens(bool(active))
        if rate and active and self._suspect():
            self._tell(name, float(rate), frame, lambda: _zeroed(args[0], result))

    def _listens(self, active: bool) -> None:
        """The module that calls dropout as a function counts as a layer that listens to the mode,
        where this call is as its mode has it."""
        table = self.recorder.modules
        module = table.inner.ref() if table.inner is not None else None
        if table.inner is None or module is None or table.layers is None or table.inner.mode is not None:
            return
        if in_training(module) == active:
            table.layers[table.inner.id] = active

    def _attention(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        rate = args[4] if len(args) > 4 else (kwargs or {}).get("dropout_p", 0.0)
        self._follow(name, rate, frame)
        if rate and self._suspect():
            self._tell(name, float(rate), frame, lambda: _moved(args, kwargs or {}, result))

    def _multi_head(self, name: str, args: Any, kwargs: Any, result: Any, frame: Any) -> None:
        kwargs = kwargs or {}
        rate = args[10] if len(args) > 10 else kwargs.get("dropout_p", 0.0)
        active = args[13] if len(args) > 13 else kwargs.get("training", True)
        if rate and active and self._suspect():
            self._tell(name, float(rate), frame, lambda: None)

    def _follow(self, op: str, rate: float, frame: Any) -> None:
        """Whether a rate that was one number until the first evaluation is zero in training from there on."""
        record = self.recorder.modules.inner
        module = record.ref() if record is not None else None
        if record is None or module is None or isinstance(module, nn.modules.dropout._DropoutNd):
            return
        if type(rate) not in (int, float):
            return
        key = record.id, frame.f_code, frame.f_lasti  # whoever calls the module
        found = self.rates.get(key)
        if found is None:
            if not rate or len(self.rates) >= MAX_RATES:
                return
            found = self.rates[key] = Rates(op, self.recorder.sites.current(frame), rate)
        if found.other:
            return
        if not in_training(module):
            found.evaluated = found.evaluated or bool(found.trained)
            found.other = bool(rate)
        elif torch.is_grad_enabled() and not found.evaluated:
            names = {name for name, value in vars(module).items() if type(value) is float and value == rate}
            found.names = found.names & names if found.trained else names
            found.other = rate != found.high
            found.trained += 1
        elif torch.is_grad_enabled():
            found.names = {name for name in found.names if vars(module).get(name) == 0}
            found.other = bool(rate) or not found.names
            found.off += 1

    def _tell_rates(self) -> None:
        for (module, *_), found in self.rates.items():
            if found.off and not found.other:
                data = {
                    "module": module, "op": found.op, "p": found.high, "names": sorted(found.names),
                    "trained": found.trained, "off": found.off,
                }  # fmt: skip
                self.recorder.emit("dropout_off", found.site, data)

    def _suspect(self) -> bool:
        """Whether the module that calls is in evaluation mode, or evaluates in training mode."""
        record = self.recorder.modules.inner
        module = record.ref() if record is not None else None
        if module is None:
            return False
        if in_training(module):
            return not torch.is_grad_enabled()
        return not isinstance(module, nn.modules.dropout._DropoutNd)

    def _tell(self, name: str, rate: float, frame: Any, measure: Any) -> None:
        recorder = self.recorder
        record = recorder.modules.inner
        site = recorder.sites.current(frame)
        if record is None:
            return
        anew = (
            not record.path and name != ATTENTION and isinstance(record.ref(), nn.modules.dropout._DropoutNd)
        )
        # A layer made in `forward` is another each time; what evaluates in training mode may do so in eval mode too.
        key = (site, -1 if anew else record.id, torch.is_grad_enabled() or not in_training(record.ref()))
        if key in self.told:
            return
        self.told.add(key)
        told = recorder.emit("dropout", site, {"module": record.id, "op": name, "p": rate})
        with private.aside():
            number = measure()
        if number is None:
            return

        def put(number: torch.Tensor) -> None:
            if math.isfinite(number):
                told["moved" if name == ATTENTION else "zeroed"] = float(number)

        recorder.arrivals.when_here((number,), put)


def _zeroed(given: Any, result: Any) -> torch.Tensor | None:
    """Which part of the input the call set to zero, NaN where it was zero before."""
    if not measurable(given) or not measurable(result) or given is result:
        return None
    with torch.no_grad():
        kept = given.detach() != 0
        gone = (result.detach() == 0) & kept
        share: torch.Tensor = (gone.sum().double() / kept.sum()).round(decimals=4)
        return share


def _moved(args: Any, kwargs: Any, result: Any) -> torch.Tensor | None:
    """How far the result is from the one without dropout, which draws no random numbers."""
    if not measurable(result) or not all(measurable(t) for t in args[:3]):
        return None
    if len(args) > 4:
        args = (*args[:4], 0.0, *args[5:])
    else:
        kwargs = {**kwargs, "dropout_p": 0.0}
    with torch.no_grad():
        plain = torch.nn.functional.scaled_dot_product_attention(*args, **kwargs)
        far: torch.Tensor = (result.detach() - plain).abs().max().double().round(decimals=6)
        return far
