"""Watches for hooks that pile up: the same one put on the same module or tensor again, at the same line, with the
earlier ones still there and a call of a model (a backward pass) between them."""

from __future__ import annotations

import functools
import sys
import weakref
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from torch import nn

from gradscope.hooks import Hook
from gradscope.hooks import _torch as private
from gradscope.hooks.recorder.parts import function_of

OF_MODULES = (
    "register_forward_hook", "register_forward_pre_hook", "register_full_backward_hook",
    "register_full_backward_pre_hook", "register_backward_hook",
)  # fmt: skip
MOST = 200  # pairs of a line and what hooks are put on
KEPT = 64  # hooks of one that are counted
_PLAIN = (int, float, str, bool, bytes, type(None))


@dataclass
class _Pile:
    on: Any  # weak reference to the module or tensor
    data: dict[str, Any]
    handles: list[Any] = field(default_factory=list)
    counted: int = -1  # calls or passes when the last was put there
    most: int = 0  # that stood there at once


class PiledHooks(Hook):
    order = 86  # after what watches hooks for what they do: it sees the program's line through this

    def install(self) -> None:
        self.piles: dict[tuple[Any, ...], _Pile] = {}
        self.calls = 0  # of models
        for name in OF_MODULES:
            self.patch(nn.Module, name, self._registering(getattr(nn.Module, name)))
        self.recorder.functions.registered = self._of_tensor
        self.recorder.signals.after_call.connect(self._called)
        self.recorder.signals.before_swap.connect(self._forget)
        self.recorder.signals.before_end.connect(self._tell)

    def uninstall(self) -> None:
        self.recorder.functions.registered = None
        super().uninstall()

    def _forget(self, t: Any) -> None:
        self.piles = {key: pile for key, pile in self.piles.items() if pile.most > 1 or pile.on() is not t}
        for pile in self.piles.values():
            if pile.on() is t:
                pile.on = private.gone

    def _called(self, *args: Any) -> None:
        self.calls += 1

    def _registering(self, real: Any) -> Any:
        @functools.wraps(real)
        def register(module: Any, hook: Any, *args: Any, **kwargs: Any) -> Any:
            handle = real(module, hook, *args, **kwargs)
            try:
                if self.recorder.mine():
                    self._note(module, weakref.ref(module), hook, handle, sys._getframe(1), self.calls)
            except BaseException as error:
                self.recorder.fault("watching a module's hook", error)
            return handle

        return register

    def _of_tensor(self, t: Any, hook: Any, handle: Any, frame: Any) -> None:
        if private.is_leaf(t) and self.recorder.mine():  # another is new in each pass
            self._note(t, private.TensorRef(t), hook, handle, frame, self.recorder.passes)

    def _note(self, on: Any, ref: Any, hook: Any, handle: Any, frame: Any, counted: int) -> None:
        function = function_of(hook)
        site = self.recorder.sites.current(frame)
        if function is None or self.recorder.sites.nodes[site].kind != "user":
            return
        key = (site, id(on), function.__code__, *_given(function))
        pile = self.piles.get(key)
        if pile is not None and pile.on() is not on:
            pile = None
        if pile is None:
            if len(self.piles) >= MOST:
                return
            defined = self.recorder.sites.below(site, function.__code__)
            data = {"hook": defined, "name": function.__name__, **self._subject(on)}
            pile = self.piles[key] = _Pile(ref, data)
        if pile.counted == counted or len(pile.handles) >= KEPT:
            return
        pile.counted = counted
        pile.handles = [*filter(_stands, pile.handles), handle]
        pile.most = max(pile.most, len(pile.handles))

    def _subject(self, on: Any) -> dict[str, Any]:
        if not issubclass(type(on), nn.Module):
            return {"parameter": self.recorder.ledger.of(on).id}
        record = self.recorder.modules.find(on)
        return {"cls": type(on).__name__, "module": record.id if record is not None else None}

    def _tell(self) -> None:
        for (site, *_), pile in self.piles.items():
            if pile.most > 1:
                on = pile.on()
                subject = self._subject(on) if on is not None else {}  # it may have its name since then
                self.recorder.emit("piled_hook", site, {**pile.data, **subject, "most": pile.most})


def _stands(handle: Any) -> bool:
    hooks = handle.hooks_dict_ref()
    return hooks is not None and handle.id in hooks


def _given(function: Any) -> tuple[Any, ...]:
    """The plain values that a function was made with: hooks that differ in them do different things."""
    cells = islice(function.__closure__ or (), KEPT)
    held = (_content(cell) for cell in cells)
    return tuple((type(v), v) for v in (*held, *(function.__defaults__ or ())) if type(v) in _PLAIN)


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not set yet
        return None
