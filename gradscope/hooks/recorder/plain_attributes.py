"""Tensors of a failed call that a module keeps in plain attributes, where `module.to(…)` does not reach them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import torch

from gradscope.hooks._torch import aside, dtype_of
from gradscope.hooks.recorder.parts import TORCHS_OWN, attributes, named_tensors, own
from gradscope.hooks.recorder.values import measurable

if TYPE_CHECKING:
    from gradscope.hooks.recorder.modules import ModuleTable

MANY_ITEMS = 200  # of one list or dict
MUCH = 10_000_000  # elements of a tensor that is compared


def plainly_held(modules: ModuleTable, given: Iterable[tuple[int, Any]]) -> list[dict[str, Any]]:
    """Of those of the tensors, given with their values, that differ from others in dtype or device: what holds them
    beside the tensors that its module owns."""
    wanted = {id(t): (value, t) for value, t in given}
    if len({(dtype_of(t), str(t.device)) for _, t in wanted.values()}) < 2:
        return []
    found = []
    for record in list(modules.records.values()):
        module = record.ref()
        for name, kept in list(attributes(module).items()) if module is not None else ():
            items = [] if name in TORCHS_OWN else list(_tensors(kept))
            here = [wanted[id(t)] for t in items if id(t) in wanted and wanted[id(t)][1] is t]
            owned = named_tensors(module) if here else []
            for value, t in here:
                if any(t is other for _, other in owned):
                    continue
                mine = [
                    (key, other) for table in ("_parameters", "_buffers") for key, other in own(module, table)
                ]
                found.append({
                    "value": value, "module": record.id, "name": name, "kind": _kind(kept),
                    "copies": [_copy_in(one, mine) for one in items],
                    "owned": sorted({(dtype_of(o), str(o.device)) for _, o in owned if o.is_floating_point()}),
                })  # fmt: skip
    return found


def _kind(kept: Any) -> str:
    return "tensor" if isinstance(kept, torch.Tensor) else type(kept).__name__


def _tensors(kept: Any) -> Iterator[Any]:
    items = [kept] if isinstance(kept, torch.Tensor) else kept
    items = list(items.values()) if type(items) is dict else items
    if type(items) in (list, tuple):
        yield from (one for one in items[:MANY_ITEMS] if isinstance(one, torch.Tensor))


def _copy_in(t: Any, owned: list[tuple[str, Any]]) -> str:
    """The name of the module's own tensor that this one became when the module was converted; "" where none has its
    values."""
    for name, other in owned:
        if other.shape != t.shape or t.numel() > MUCH or t.is_meta or other.is_meta or not measurable(t):
            continue
        with aside():
            if torch.equal(t.detach().cpu().to(other.dtype), other.detach().cpu()):
                return name
    return ""
