"""Which parameters a load with `strict=False` has brought nothing for, where it brought something for others."""

from __future__ import annotations

import weakref
from typing import Any, NamedTuple

from torch import nn

from gradscope.hooks import Hook
from gradscope.hooks.recorder.parts import named_parts, own

MOST = 8  # loads
PARAMETERS = 200  # of a load, of each kind


class _Load(NamedTuple):
    site: int
    given: list[weakref.ref[Any]]
    missing: list[weakref.ref[Any]]


class PartlyLoaded(Hook):
    order = 87

    def install(self) -> None:
        self.loads: list[_Load] = []
        self.recorder.signals.keys_loaded.connect(self._loaded)
        self.recorder.signals.before_end.connect(self._tell)

    def _loaded(self, module: Any, state: Any, result: Any, site: int) -> None:
        missing = set(getattr(result, "missing_keys", ()))
        if not missing or len(self.loads) == MOST or not issubclass(type(module), nn.Module):
            return
        named = {}
        for path, part in named_parts(module):
            named.update({f"{path}.{name}" if path else name: p for name, p in own(part, "_parameters")})
        gone = [weakref.ref(p) for name, p in named.items() if name in missing]
        given = [weakref.ref(p) for name, p in named.items() if name not in missing]
        if gone and given:
            self.loads.append(_Load(site, given[:PARAMETERS], gone[:PARAMETERS]))

    def _tell(self) -> None:
        for load in self.loads:
            given, missing = self._numbers(load.given), self._numbers(load.missing)
            if given and missing:
                self.recorder.emit("partly_loaded", load.site, {"given": given, "missing": missing})

    def _numbers(self, refs: list[weakref.ref[Any]]) -> list[int]:
        return [self.recorder.ledger.of(p).id for ref in refs if (p := ref()) is not None]
