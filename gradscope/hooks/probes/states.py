"""Watches states that are kept, then loaded or saved: a module's `state_dict()` holds its own tensors, no copies."""

from __future__ import annotations

import sys
import weakref
from collections import OrderedDict
from itertools import islice
from typing import Any, NamedTuple

import torch
from torch import nn

from gradscope.hooks import Hook
from gradscope.hooks._torch import DisableTorchFunction, TensorRef, aside, version_of
from gradscope.hooks.recorder.arguments import by_name
from gradscope.hooks.recorder.parts import named_tensors
from gradscope.hooks.recorder.values import measurable

MAX_TENSORS = 500  # compared of one state
MAX_TOLD = 50
MAX_PARTS = 50  # of what is saved
MAX_STATES = 100  # whose tensors are remembered


class Kept(NamedTuple):
    """Where and after how many steps and passes a state was made, and the versions and addresses of its first tensors
    then."""

    site: int
    steps: int
    passes: int
    versions: dict[str, int]
    addresses: dict[str, int]
    module: weakref.ref[Any]


class Saved(NamedTuple):
    """A state that was saved while its module held other tensors; told once these are taken out again, unread."""

    kept: Kept
    site: int  # of the save
    data: dict[str, Any]


class States(Hook):
    order = 87

    def install(self) -> None:
        self.kept: dict[int, Kept] = {}  # id of a state that lives
        self.made: dict[int, tuple[TensorRef, Kept]] = {}  # id of the first tensor of a state → that state
        self.newest: OrderedDict[int, Kept] = (
            OrderedDict()
        )  # address of the first tensor of a state → that state
        self.told = 0
        self.depth = 0
        self.places: set[tuple[Any, int]] = set()  # (code, instruction) of calls that wake sampling
        self.given: dict[
            int, int
        ] = {}  # id of a tensor → where it was given other memory since the last state
        self.saved: Saved | None = None
        self.recorder.signals.data_set.connect(self._set)
        self.recorder.signals.before_call.connect(self._called)
        self.patch(nn.Module, "state_dict", self._state_dict(nn.Module.state_dict))
        self.patch(nn.Module, "load_state_dict", self._load(nn.Module.load_state_dict))
        self.patch(torch, "save", self._save(torch.save))

    def _state_dict(self, real: Any) -> Any:
        def state_dict(*args: Any, **kwargs: Any) -> Any:
            module = by_name(("self",), args, kwargs).get("self")
            over = self._held_by(module, args[1:], kwargs) if args[1:] and not self.depth else []
            self.depth += 1
            try:
                state = real(*args, **kwargs)
            finally:
                self.depth -= 1
            if over:
                self._note_written_over(over, sys._getframe(1))
            wanted = not self.depth and type(state) is OrderedDict and self.told < MAX_TOLD
            if wanted and self.recorder.mine():
                try:
                    self._keep(module, state, sys._getframe(1))
                    with aside():
                        for follow in self.recorder.signals.state_made:
                            follow(module)
                except BaseException as error:
                    self.recorder.fault("noting a state", error)
            return state

        return state_dict

    def _held_by(self, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[int]:
        """The parameters of which a dict that `state_dict()` is to write to holds other tensors: all of the module's,
        or none."""
        if type(args[0]) not in (dict, OrderedDict) or len(args) > 1 or kwargs or not self.recorder.mine():
            return []
        try:
            with DisableTorchFunction():
                found = []
                for name, t in islice(named_tensors(module), MAX_TENSORS):
                    held = args[0].get(name)
                    if held is None and not isinstance(t, nn.Parameter):
                        continue
                    if not isinstance(held, torch.Tensor) or not measurable(held) or not measurable(t):
                        return []
                    if held.shape != t.shape or (t.numel() and held.data_ptr() == t.data_ptr()):
                        return []
                    if isinstance(t, nn.Parameter):
                        found.append(self.recorder.ledger.of(t).id)
                return found
        except BaseException as error:
            self.recorder.fault("looking at where a state is written", error)
            return []

    def _note_written_over(self, parameters: list[int], frame: Any) -> None:
        try:
            self.recorder.emit(
                "state_written_over", self.recorder.sites.current(frame), {"parameters": parameters}
            )
        except BaseException as error:
            self.recorder.fault("noting where a state was written", error)

    def _keep(self, module: Any, state: Any, frame: Any) -> None:
        number, kept = id(state), self.kept
        self._look_once(frame)
        self.given.clear()
        weakref.finalize(state, kept.pop, number, None).atexit = False
        tensors = [(name, t) for name, t in list(state.items())[:MAX_TENSORS] if isinstance(t, torch.Tensor)]
        with DisableTorchFunction():
            plain = [(name, t) for name, t in tensors if measurable(t)]
            versions = {name: version_of(t) for name, t in plain}
            addresses = {name: t.data_ptr() for name, t in plain}
        recorder = self.recorder
        kept[number] = Kept(
            recorder.sites.current(frame),
            recorder.steps,
            recorder.passes,
            versions,
            addresses,
            weakref.ref(module),
        )
        if plain:  # another dict may take the tensors over
            alive = [item for item in self.made.items() if item[1][0]() is not None]
            self.made = dict(alive[-MAX_STATES:])
            self.made[id(plain[0][1])] = TensorRef(plain[0][1]), kept[number]
            self.newest[addresses[plain[0][0]]] = kept[number]
            self.newest.move_to_end(addresses[plain[0][0]])
            if len(self.newest) > MAX_STATES:
                self.newest.popitem(last=False)

    def _load(self, real: Any) -> Any:
        def load_state_dict(*args: Any, **kwargs: Any) -> Any:
            given = by_name(("self", "state_dict"), args, kwargs)  # torch.distributed.checkpoint names them
            module, state_dict = given.get("self"), given.get("state_dict")
            if module is None or state_dict is None:
                return real(*args, **kwargs)
            if self.recorder.mine():
                self._look_once(sys._getframe(1))
            plain = type(state_dict) in (dict, OrderedDict) and not kwargs.get("assign") and len(args) < 4
            if plain and self.told < MAX_TOLD and self.recorder.mine():
                try:
                    self._compare(module, state_dict, sys._getframe(1))
                except BaseException as error:
                    self.recorder.fault("comparing a state", error)
            self._tell(module, state_dict)
            result = real(*args, **kwargs)
            self._tell(module, state_dict, result, sys._getframe(1))
            return result

        return load_state_dict

    def _tell(self, module: Any, state: Any, result: Any = None, frame: Any = None) -> None:
        """Tells those who listen of a load: before it, or after it with what it gave and its caller's frame."""
        recorder = self.recorder
        if not recorder.mine():
            return
        try:
            with aside():
                if frame is None:
                    for follow in recorder.signals.before_load:
                        follow(module)
                else:
                    site = recorder.sites.current(frame)
                    for follow_loaded in recorder.signals.after_load:
                        follow_loaded(module, site)
                    for follow_keys in recorder.signals.keys_loaded:
                        follow_keys(module, state, result, site)
        except BaseException as error:
            recorder.fault("looking at what is loaded", error)

    def _save(self, real: Any) -> Any:
        def save(*args: Any, **kwargs: Any) -> Any:
            if self.told < MAX_TOLD and self.recorder.mine():
                try:
                    obj = args[0] if args else kwargs.get("obj")
                    for state in _states(obj):
                        self._note_saved(state, sys._getframe(1))
                        self._note_apart(state, obj, sys._getframe(1))
                except BaseException as error:
                    self.recorder.fault("looking at what is saved", error)
            return real(*args, **kwargs)

        return save

    def _note_saved(self, state: Any, frame: Any) -> None:
        """Tells of a state that was kept during the training and written to since then."""
        kept = self.kept.get(id(state))
        if kept is None or not kept.steps or kept.steps == self.recorder.steps:
            return
        with DisableTorchFunction():
            moved = [
                name
                for name, version in kept.versions.items()
                if isinstance(t := state.get(name), torch.Tensor)
                and measurable(t)
                and t.data_ptr() == kept.addresses[name]
                and version_of(t) != version
            ]
        if moved:
            self.told += 1
            data = {"made": kept.site, "moved": len(moved), "steps": self.recorder.steps - kept.steps}
            self.recorder.emit("state_saved", self.recorder.sites.current(frame), data)

    def _note_apart(self, state: Any, obj: Any, frame: Any) -> None:
        """Notes a state whose module holds other tensors by now, each of its parameters, and none of these is saved."""
        kept = self.kept.get(id(state))
        module = kept.module() if kept is not None else None
        if kept is None or module is None or not self.given:
            return
        with DisableTorchFunction():
            apart, now, given = [], set(), 0
            for name, t in islice(named_tensors(module), MAX_TENSORS):
                held = state.get(name)
                if not isinstance(t, nn.Parameter) or not measurable(t) or not t.numel():
                    continue
                if not isinstance(held, torch.Tensor) or not measurable(held) or _form(held) != _form(t):
                    return
                if held.data_ptr() != kept.addresses.get(name) or t.data_ptr() == held.data_ptr():
                    return
                apart.append(self.recorder.ledger.of(t).id)
                now.add(t.data_ptr())
                given = self.given.get(id(t), 0)
                if not given:
                    return
            if not apart or any(measurable(t) and t.data_ptr() in now for t in _tensors(obj)):
                return
        key = next((k for k, v in obj.items() if v is state), None) if type(obj) is dict else None
        data = {
            "parameters": apart, "made": kept.site, "given": given, "itself": obj is state,
            "key": key if type(key) is str else "",
        }  # fmt: skip
        self.saved = Saved(kept, self.recorder.sites.current(frame), data)

    def _called(self, module: Any, record: Any, site: int) -> None:
        """Somebody computes with the weights that are in place."""
        if self.given or self.saved is not None:
            self.given.clear()
            self.saved = None
            self.recorder.signals.op.disconnect(self._read)

    def _read(self, row: Any, tensors: list[Any], outs: list[Any]) -> None:
        """The same, but for `p.data`, by which they are taken out."""
        if self.given and any(id(t) in self.given for t in tensors):
            if self.recorder.templates[row.template].name not in ("data", "detach"):
                self.given.clear()
                self.saved = None

    def _set(self, t: Any, data: Any, site: int) -> None:
        """`t.data = …`: tells of what was saved once all of the module's tensors are back in their memory."""
        if self.kept and isinstance(t, nn.Parameter) and len(self.given) < MAX_TENSORS:
            self.given[id(t)] = site
            self.recorder.signals.op.connect(self._read)
        saved = self.saved
        module = saved.kept.module() if saved is not None else None
        if saved is None or module is None:
            return
        with DisableTorchFunction():
            for name, own in islice(named_tensors(module), MAX_TENSORS):
                plain = isinstance(own, nn.Parameter) and measurable(own) and own.numel()
                if plain and own.data_ptr() != saved.kept.addresses.get(name):
                    return
        self.saved = None
        self.told += 1
        self.recorder.emit("state_apart", saved.site, saved.data)

    def _look_once(self, frame: Any) -> None:
        """Wakes sampling for the first load of each line, since what runs with these weights next is no training, and
        for the first state of each."""
        place = frame.f_code, frame.f_lasti
        if place not in self.places:
            self.places.add(place)
            self.recorder.services.wake()

    def _compare(self, module: Any, state: Any, frame: Any) -> None:
        """Tells of a state whose tensors are those of the module itself."""
        with DisableTorchFunction():
            same, compared, parameters = [], 0, []
            for name, t in named_tensors(module):
                given = state.get(name)
                if not isinstance(given, torch.Tensor) or not measurable(given) or not measurable(t):
                    continue
                compared += bool(t.numel())
                if t.numel() and given.data_ptr() == t.data_ptr() and given.shape == t.shape:
                    same.append((name, given))
                    if isinstance(t, nn.Parameter):
                        parameters.append(self.recorder.ledger.of(t).id)
                elif t.numel():
                    return
                if compared >= MAX_TENSORS:
                    break
            if not parameters or len(same) != compared:
                return
            kept = self.kept.get(id(state)) or self._taken_from(same[0][1])
            moved = (
                sum(kept.versions.get(name, version_of(t)) != version_of(t) for name, t in same)
                if kept
                else 0
            )
        self.told += 1
        site = self.recorder.sites.current(frame)
        data = {
            "parameters": parameters, "made": kept.site if kept else None, "moved": bool(moved),
            "passed": kept is not None and kept.passes < self.recorder.passes,
        }  # fmt: skip
        self.recorder.emit("state_loaded", site, data)

    def _taken_from(self, first: torch.Tensor) -> Kept | None:
        """The state whose first tensor this is, or the newest one whose first tensor it is a view of. That one may be
        gone: `v.detach()` and, on the CPU, `v.cpu()` give another tensor of the same memory, which the module keeps."""
        ref, kept = self.made.get(id(first), (None, None))
        if ref is not None and ref() is first:
            return kept
        alive = [(t, kept) for ref, kept in self.made.values() if (t := ref()) is not None]
        viewed = next((kept for t, kept in reversed(alive) if t.data_ptr() == first.data_ptr()), None)
        if viewed is None and not isinstance(first, nn.Parameter):
            viewed = self.newest.get(first.data_ptr())
        return viewed


def _form(t: torch.Tensor) -> tuple[Any, ...]:
    return t.shape, t.dtype, t.device


def _tensors(obj: Any, depth: int = 4) -> list[torch.Tensor]:
    """The tensors in an object that is saved."""
    if isinstance(obj, torch.Tensor):
        return [obj]
    if not depth or type(obj) not in (dict, OrderedDict, list, tuple):
        return []
    parts = obj if type(obj) in (list, tuple) else obj.values()
    return [t for part in islice(parts, MAX_TENSORS) for t in _tensors(part, depth - 1)]


def _states(obj: Any, depth: int = 2) -> list[Any]:
    """What may be a module's state in an object that is saved."""
    if type(obj) is OrderedDict:
        return [obj]
    if not depth or type(obj) not in (dict, list, tuple):
        return []
    parts = obj.values() if type(obj) is dict else obj
    return [state for part in islice(parts, MAX_PARTS) for state in _states(part, depth - 1)]
