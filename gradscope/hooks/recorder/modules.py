"""Names of modules, parameters and buffers, learned when a root module is first called."""

from __future__ import annotations

import inspect
from types import FrameType
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from gradscope.hooks._torch import TensorRef, shard_of
from gradscope.hooks.recorder.module import ModuleRecord
from gradscope.hooks.recorder.parts import named_parts, own, parts
from gradscope.hooks.recorder.sites import kind_of

if TYPE_CHECKING:
    from gradscope.hooks.recorder.leaf import LeafRecord
    from gradscope.hooks.recorder.ledger import Ledger
    from gradscope.hooks.recorder.state import State

FEW_MODULES = 256


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

    def find(self, m: nn.Module) -> ModuleRecord | None:
        record = self.records.get(id(m))
        return record if record is not None and record.ref() is m else None

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
        top, name = self._top(m, frame)
        found = self.find(top)
        if found is None:
            self._register(top, name, site)
        elif top is not m and self.find(m) is None:  # a layer that was added since
            self._register(top, name, site, found)
        record = self.find(m)
        if record is None:  # not below its supposed top after all
            self._register(m, name if top is m else "", site)
            record = self.find(m)
        assert record is not None
        return record

    def _top(self, m: nn.Module, frame: FrameType | None) -> tuple[nn.Module, str]:
        """The largest module in the callers' variables that holds `m`, and its variable."""
        best, best_name, best_size = m, "", 0
        depth = 0
        while frame is not None and depth < 12:
            code = frame.f_code
            if kind_of(code.co_filename, self.state.sites.main) == "user":
                for name, candidate in module_variables(frame):
                    if candidate is m and not best_name:
                        best_name = name
                    if candidate is best and best is not m and not best_name:
                        best_name = name
                    if type(candidate).__name__ == "OptimizedModule":
                        continue  # the module that was compiled goes by its own names
                    size = 0
                    for size, sub in enumerate(parts(candidate), 1):  # noqa: B007
                        if size > 5000:
                            break
                    if size > best_size and candidate is not m and any(s is m for s in parts(candidate)):
                        best, best_name, best_size = candidate, name, size
            frame = frame.f_back
            depth += 1
        return best, best_name if best_name != "self" else ""

    def _register(self, top: nn.Module, name: str, site: int, above: ModuleRecord | None = None) -> None:
        """Names `top` and what is below it; where it is known already, only what is new."""
        state = self.state
        if len(self.records) > self.limit:
            self._sweep()
        root_id = self.count if above is None else above.root
        by_path: dict[str, int] = {}
        for path, m in named_parts(top, above.path if above is not None else ""):
            known = self.find(m)
            if known is not None and (path or above is not None):
                by_path[path] = known.id
                continue
            record = ModuleRecord(
                self.count, m, path, root_id, by_path.get(path.rpartition(".")[0]) if path else None
            )
            self.count += 1
            by_path[path] = record.id
            state.writer.add(
                "module",
                record.id,
                path,
                record.cls,
                root_id,
                record.parent,
                name if not path else "",
                site or None,
            )
            self.records.pop(id(m), None)  # of a dead one: the newest stand last
            self.records[id(m)] = record
            for name, p in own(m, "_parameters"):
                leaf = self.ledger.of(p)
                self.owned[record.id, name] = leaf
                if not leaf.registered:
                    leaf.registered = True
                    leaf.module = record.id
                    leaf.name = f"{path}.{name}" if path else name
            for _, b in own(m, "_buffers"):
                self.keep(b, record.id)

    def _sweep(self) -> None:
        """Forgets modules that died, and their buffers: a program may make new ones every step."""
        for key in [key for key, record in self.records.items() if record.ref() is None]:
            del self.records[key]
        known = {record.id for record in self.records.values()}
        self.owned = {key: leaf for key, leaf in self.owned.items() if key[0] in known}
        for key in [key for key, (ref, _) in self._buffers.items() if ref() is None]:
            del self._buffers[key]
        self.limit = max(FEW_MODULES, 2 * len(self.records))


def module_variables(frame: FrameType) -> list[tuple[str, nn.Module]]:
    """Variables of a frame that hold modules. Leaves the frame as it was: reading
    `f_locals` of a function makes a copy that would keep the user's tensors alive."""
    local = frame.f_locals
    found = [(k, v) for k, v in list(local.items()) if issubclass(type(v), nn.Module)]
    if frame.f_code.co_flags & inspect.CO_OPTIMIZED and type(local) is dict:
        local.clear()
    if frame.f_globals is not local:
        found += [(k, v) for k, v in list(frame.f_globals.items()) if issubclass(type(v), nn.Module)]
    return found


def tensor_variables(frame: FrameType, wanted: dict[int, Any]) -> dict[int, str]:
    """id → variable name for tensors in `wanted` (id → tensor) held by this frame."""
    found: dict[int, str] = {}
    local = frame.f_locals
    for name, v in list(local.items()):
        if issubclass(type(v), torch.Tensor) and wanted.get(id(v)) is v:
            found.setdefault(id(v), name)
    if frame.f_code.co_flags & inspect.CO_OPTIMIZED and type(local) is dict:
        local.clear()
    return found
