"""Names of modules, parameters and buffers, learned when a root module is first called."""

from __future__ import annotations

import inspect
import re
from collections.abc import Hashable, Iterator
from itertools import islice
from types import FrameType, GetSetDescriptorType, MemberDescriptorType, SimpleNamespace
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from gradscope.hooks._torch import TensorRef, shard_of
from gradscope.hooks.recorder.module import ModuleRecord
from gradscope.hooks.recorder.parts import named_parts, own, parameters, parts
from gradscope.hooks.recorder.sites import kind_of
from gradscope.hooks.variables import variables

if TYPE_CHECKING:
    from gradscope.hooks.recorder.leaf import LeafRecord
    from gradscope.hooks.recorder.ledger import Ledger
    from gradscope.hooks.recorder.state import State

FEW_MODULES = 256
MANY_PARTS = 1_000
FEW_SEARCHES = 3  # in vain, for what objects hold of one line's modules
MANY_FRAMES = 12
MANY_HOLDERS = 500  # variables and attributes that are looked at for one that holds a model
MANY_MEMBERS = 50  # of one of them
_MADE_BY_PYTHON = 1 << 9  # CPython's Py_TPFLAGS_HEAPTYPE
_KEY = re.compile(r"[\w .:/-]+")  # a key that can be written into a name


class ModuleTable:
    """Module → record; `current` is the innermost module being called, -1 outside."""

    def __init__(self, state: State, ledger: Ledger):
        self.state = state
        self.ledger = ledger
        self.records: dict[int, ModuleRecord] = {}
        self.count = 0
        self.limit = FEW_MODULES  # of `records`, before those of dead modules go
        self.current = -1
        self.inner: ModuleRecord | None = None  # of `current`
        # of the outermost call: what listens to the mode → training
        self.layers: dict[int, bool] | None = None
        self.owned: dict[tuple[int, str], LeafRecord] = {}  # (module, name in it) → its parameter
        self._buffers: dict[int, tuple[Any, int]] = {}
        self._unheld: dict[
            int, int
        ] = {}  # site → how many modules of its were in no object: made in each step
        self._alone: dict[str, int] = {}  # variable → how many of its modules no list held
        self._nameless: set[int] = set()  # roots that were met where nothing held them
        # What a line made last, of kinds without parameters of their own: (key in `records`, record) of each new part.
        self._made_anew: dict[Hashable, list[tuple[int, ModuleRecord]]] = {}

    def find(self, m: nn.Module) -> ModuleRecord | None:
        record = self.records.get(id(m))
        return record if record is not None and record.ref() is m else None

    def since(self, count: int) -> list[tuple[ModuleRecord, nn.Module]]:
        """The modules that were met since `count` were, and live."""
        if count == self.count:  # asked before each pass
            return []
        new = [record for record in self.records.values() if record.id >= count]
        return [(record, module) for record in new if (module := record.ref()) is not None]

    def buffer_owner(self, t: Any) -> int | None:
        known = self._buffers.get(id(t))
        return known[1] if known is not None and known[0]() is t else None

    def whole_of(self, t: Any) -> LeafRecord | None:
        """The sharded parameter in whose place the module being called has this one: FSDP puts the whole
        one there for the forward, and the gradient into the sharded one, which the optimizer holds."""
        module = self.inner.ref() if self.inner is not None else None
        for name, p in own(module, "_parameters") if module is not None else ():
            leaf = self.owned.get((self.inner.id, name)) if p is t and self.inner is not None else None
            held = leaf.ref() if leaf is not None else None
            if held is not None and held is not t and shard_of(held) is not None:
                return leaf
        return None

    def let_go(self, t: Any) -> int | None:
        """Forgets a buffer; returns its module, for `keep`."""
        known = self._buffers.pop(id(t), None)
        return known[1] if known is not None and known[0]() is t else None

    def keep(self, t: Any, module: int) -> None:
        """Knows a buffer of this module."""
        self._buffers[id(t)] = (TensorRef(t), module)

    def register_root(self, m: nn.Module, frame: FrameType | None, site: int) -> ModuleRecord:
        """Names `m`, or the larger module it is part of where the caller holds one."""
        top, name = self._top(m, frame, site)
        if top is m and not name:
            self._register_source(m, frame, site)
        held = self._member(top, name, frame)
        found = self.find(top)
        if found is None:
            self._register(top, name, site, held=held)
        elif top is not m and self.find(m) is None:  # a layer that was added since
            self._register(top, name, site, found)
        record = self.find(m)
        if record is None:  # not below its supposed top after all
            self._register(m, name if top is m else "", site, held=held if top is m else "")
            record = self.find(m)
        assert record is not None
        return record

    def _register_source(self, m: nn.Module, frame: FrameType | None, site: int) -> None:
        """Names the model that a container which nobody holds has its parts from: `net[:3](x)` calls the model's."""
        part = next((part for _, part in own(m, "_modules") if part is not None), None)
        if part is None or self.find(part) is not None:
            return
        model, name = self._top(part, frame, site)
        if model is not part and self.find(model) is None:
            self._register(model, name, site, held=self._member(model, name, frame))

    def _top(self, m: nn.Module, frame: FrameType | None, site: int) -> tuple[nn.Module, str]:
        """The largest module in the callers' variables that holds `m`, and its variable."""
        best, best_name, best_size = m, "", 0
        for known in users_frames(frame, self.state.sites.main):
            for name, candidate in module_variables(known):
                if candidate is best and best_name in ("", "self"):
                    best_name = name
                if type(candidate).__name__ == "OptimizedModule":
                    continue  # the module that was compiled goes by its own names
                size = 0
                for size, sub in enumerate(parts(candidate), 1):  # noqa: B007
                    if size > 5000:
                        break
                if size > best_size and candidate is not m and any(s is m for s in parts(candidate)):
                    best, best_name, best_size = candidate, name, size
        if best_name not in ("", "self"):
            return best, best_name
        if self._unheld.get(site, 0) < FEW_SEARCHES:
            best, best_name = self._held(best, frame)
            if not best_name:
                self._unheld[site] = self._unheld.get(site, 0) + 1
            return best, best_name
        return best, ""

    def _held(self, m: nn.Module, frame: FrameType | None) -> tuple[nn.Module, str]:
        """The model that `m` is, or is part of, and where an object or a dict of the callers' holds it: `solver.net`,
        `models["G"]`. `self.net` only where no caller has the object under a name of its own."""
        best, best_name = m, ""
        seen: set[int] = set()
        if not parameters(m):  # a loss made in each step needs no name
            return best, best_name
        for known in users_frames(frame, self.state.sites.main):
            for name, candidate in held_modules(known, seen):
                if candidate is m or any(s is m for s in islice(parts(candidate), 5000)):
                    if not name.startswith("self."):
                        return candidate, name
                    if not best_name:
                        best, best_name = candidate, name
        return best, best_name

    def _member(self, m: nn.Module, name: str, frame: FrameType | None) -> str:
        """Where a list or a dict holds the model that a variable holds too: `for net in nets` calls each `net`. Not one
        of a library's own (`accelerator._models[0]`)."""
        if not name.isidentifier() or self._alone.get(name, 0) >= FEW_SEARCHES:
            return ""
        held = self._held(m, frame)[1]
        if not held.endswith("]") or "._" in held:
            self._alone[name] = self._alone.get(name, 0) + 1
            return self._by_callers(m, name, frame)
        return held

    def _by_callers(self, m: nn.Module, name: str, frame: FrameType | None) -> str:
        """What the nearest caller that has another name for a model calls it: a helper calls each `model`."""
        for known in users_frames(frame, self.state.sites.main):
            for other, candidate in module_variables(known):
                if candidate is m and other not in (name, "self"):
                    return other
        return ""

    def _register(
        self, top: nn.Module, name: str, site: int, above: ModuleRecord | None = None, held: str = ""
    ) -> None:
        """Names `top` and what is below it; where it is known already, only what is new."""
        if len(self.records) > self.limit:
            self._sweep()
        kind = self._kind(top, name, site, held) if above is None else None
        if kind is not None and self._takes_the_place(self._made_anew.get(kind, []), top):
            return
        root_id = self.count if above is None else above.root
        by_path: dict[str, int] = {}
        new: list[tuple[int, ModuleRecord]] = []
        for path, m in named_parts(top, above.path if above is not None else ""):
            known = self.find(m)
            parent = by_path.get(path.rpartition(".")[0]) if path else None
            if known is not None and (path or above is not None):
                by_path[path] = known.id
                if known.root in self._nameless and known.root != root_id:
                    known.path, known.root, known.parent = path, root_id, parent
                    self._write(known, site)
                    self._name_parameters(m, known)
                continue
            record = ModuleRecord(self.count, m, path, root_id, parent)
            self.count += 1
            by_path[path] = record.id
            self._write(record, site, name if not path else "", held if not path else "")
            self.records.pop(id(m), None)  # of a dead one: the newest stand last
            self.records[id(m)] = record
            new.append((id(m), record))
            self._name_parameters(m, record)
            for _, b in own(m, "_buffers"):
                self.keep(b, record.id)
        if above is None and not name and not held:
            self._nameless.add(root_id)
        if kind is not None:
            self._made_anew[kind] = new

    def _write(self, record: ModuleRecord, site: int, name: str = "", held: str = "") -> None:
        self.state.writer.add(
            "module", record.id, record.path, record.cls, record.root, record.parent, name, site or None, held
        )

    def _name_parameters(self, m: nn.Module, record: ModuleRecord) -> None:
        """Names those of a module by its place; one that other modules have too goes by its first place."""
        for name, p in own(m, "_parameters"):
            leaf = self.ledger.of(p)
            self.owned[record.id, name] = leaf
            if not leaf.registered or leaf.module == record.id:
                leaf.registered = True
                leaf.module = record.id
                leaf.name = f"{record.path}.{name}" if record.path else name

    def replaced_by(self, late: dict[int, LeafRecord]) -> Iterator[tuple[LeafRecord, LeafRecord]]:
        """(before, now) of each parameter that a module had when it was met and in whose place it has another one, of
        these by the ids of their tensors."""
        for record in self.records.values():
            m = record.ref()
            for name, p in own(m, "_parameters") if m is not None else ():
                before, now = self.owned.get((record.id, name)), late.get(id(p))
                if before is not None and now is not None and now.ref() is p and before is not now:
                    yield before, now

    def _kind(self, top: nn.Module, name: str, site: int, held: str) -> Hashable | None:
        """What tells modules apart that a line makes anew each time: what they are, and which known modules they hold.
        None of those with parameters that are not known yet."""
        made: list[Hashable] = []
        for path, m in named_parts(top):
            known = self.find(m) if path else None
            if len(made) == MANY_PARTS or (known is None and any(True for _ in own(m, "_parameters"))):
                return None
            made.append((path, known.id if known is not None else type(m)))
        return name, site, held, tuple(made)

    def _takes_the_place(self, earlier: list[tuple[int, ModuleRecord]], top: nn.Module) -> bool:
        """Whether modules that are gone are known by these records: `nn.MSELoss()(…)` and `layers[:3](…)` make one in
        each step, and are one module to who reads the program (and each step like the one before)."""
        made = [m for path, m in named_parts(top) if not path or self.find(m) is None]
        if not earlier or len(earlier) != len(made) or any(record.ref() is not None for _, record in earlier):
            return False
        for key, record in earlier:
            if self.records.get(key) is record:
                del self.records[key]
        for at, m in enumerate(made):
            record = earlier[at][1]
            record.stands_for(m)
            self.records[id(m)] = record
            earlier[at] = id(m), record
            for _, b in own(m, "_buffers"):
                self.keep(b, record.id)
        self.state.in_eval -= {record.id for _, record in earlier}
        return True

    def _sweep(self) -> None:
        """Forgets modules that died, and their buffers: a program may make new ones every step."""
        for key in [key for key, record in self.records.items() if record.ref() is None]:
            del self.records[key]
        known = {record.id for record in self.records.values()}
        self.owned = {key: leaf for key, leaf in self.owned.items() if key[0] in known}
        for key in [key for key, (ref, _) in self._buffers.items() if ref() is None]:
            del self._buffers[key]
        self.limit = max(FEW_MODULES, 2 * len(self.records))


def users_frames(frame: FrameType | None, main: str | None) -> Iterator[FrameType]:
    """Those of the program's own code among the nearest of a call's, innermost first."""
    for _ in range(MANY_FRAMES):
        if frame is None:
            return
        if kind_of(frame.f_code.co_filename, main) == "user":
            yield frame
        frame = frame.f_back


def module_variables(frame: FrameType) -> list[tuple[str, nn.Module]]:
    """Variables that a frame sees, its own before those of its file, that hold modules."""
    return [(k, v) for k, v in _seen_by(frame) if issubclass(type(v), nn.Module)]


def _seen_by(frame: FrameType) -> list[tuple[str, Any]]:
    of_a_function = frame.f_code.co_flags & inspect.CO_OPTIMIZED
    of_the_file = {} if not of_a_function and frame.f_locals is frame.f_globals else frame.f_globals
    return [*variables(frame).items(), *list(of_the_file.items())]


def held_modules(frame: FrameType, seen: set[int]) -> Iterator[tuple[str, nn.Module]]:
    """Modules that a frame's variables hold as attributes or members, the nearest first; not those of what was
    `seen` in another frame. Runs no code of the program's."""
    todo = [
        (name, value, 0) for name, value in _seen_by(frame) if _may_hold(value) and not name.startswith("__")
    ]
    for name, holder, depth in todo:  # grows meanwhile
        if id(holder) in seen or len(seen) > MANY_HOLDERS:
            continue
        if name != "self":  # another frame may have a name for it
            seen.add(id(holder))
        for member, value in islice(_members(holder), MANY_MEMBERS):
            if issubclass(type(value), nn.Module):
                yield name + member, value
            elif depth == 0 and _may_hold(value):
                todo.append((name + member, value, 1))


def _may_hold(value: Any) -> bool:
    """Whether it is a dict or list, or an object of a class that Python code made."""
    cls = type(value)
    if issubclass(cls, (type, nn.Module, torch.Tensor, torch.optim.Optimizer)):
        return False
    return (
        cls in (list, tuple, SimpleNamespace) or issubclass(cls, dict) or bool(_flags(cls) & _MADE_BY_PYTHON)
    )


def _flags(cls: type) -> int:
    return int(type.__getattribute__(cls, "__flags__"))


def _members(holder: Any) -> Iterator[tuple[str, Any]]:
    """(how it is written behind the holder, member)."""
    cls = type(holder)
    if issubclass(cls, dict):
        for key, value in list(islice(dict.items(holder), MANY_MEMBERS)):
            if type(key) is int or (type(key) is str and _KEY.fullmatch(key)):
                yield f"[{key}]" if type(key) is int else f'["{key}"]', value
    elif cls in (list, tuple):
        for index, value in enumerate(holder[:MANY_MEMBERS]):
            yield f"[{index}]", value
    else:
        for name, value in _attributes(holder):
            yield f".{name}", value


def _attributes(holder: Any) -> Iterator[tuple[str, Any]]:
    """What stands in an object's `__dict__` and in its slots, read past the class's own `__getattr__`."""
    for cls in type.__getattribute__(type(holder), "__mro__"):
        for name, entry in list(type.__getattribute__(cls, "__dict__").items()):
            if name == "__dict__" and type(entry) in (GetSetDescriptorType, MemberDescriptorType):
                found = entry.__get__(holder)
                yield from list(found.items()) if type(found) is dict else ()
            elif type(entry) is MemberDescriptorType:
                try:
                    yield name, entry.__get__(holder)
                except AttributeError:  # a slot that is not set yet
                    continue


def tensor_variables(frame: FrameType, wanted: dict[int, Any]) -> dict[int, str]:
    """id → variable name for tensors in `wanted` (id → tensor) held by this frame."""
    found: dict[int, str] = {}
    for name, v in variables(frame).items():
        if issubclass(type(v), torch.Tensor) and wanted.get(id(v)) is v:
            found.setdefault(id(v), name)
    return found
