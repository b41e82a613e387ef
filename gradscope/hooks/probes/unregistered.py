"""Finds what a module holds without owning it: modules and trained tensors in plain lists,
dicts and attributes, and in functions that it keeps. Each module is looked at once, at the first
backward after its first call. And the parameters that have taken the place of those it had then."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from functools import partial
from itertools import takewhile
from types import FunctionType
from typing import Any

import torch
from torch import nn

from gradscope.hooks import Hook
from gradscope.hooks import _torch as private
from gradscope.hooks._torch import is_leaf as leafness
from gradscope.hooks.recorder.module import ModuleRecord
from gradscope.hooks.recorder.parts import TORCHS_OWN, parameters

SEARCHES = 50  # for new parameters, among all modules
MAX_ITEMS = 200  # of one list or dict
FUNCTIONS = (FunctionType, partial)


class Unregistered(Hook):
    order = 41

    def install(self) -> None:
        self.seen = 0  # modules with lower numbers were looked at
        self.leaves = 0  # so were leaves
        self.searches = 0
        self.recorder.signals.before_pass.connect(self._before_pass)

    def _before_pass(self, roots: Any, args: Any, site: int, accumulate: bool, frame: Any) -> None:
        try:
            self._look_for_replaced()
        except BaseException as error:
            self.recorder.fault("looking for parameters in the place of others", error)
        owned: dict[int, set[int]] = {}
        for record, module in self.recorder.modules.since(self.seen):
            try:
                self._look(record, module, site, owned)
            except BaseException as error:
                self.recorder.fault("looking at a module's attributes", error)
        self.seen = self.recorder.modules.count

    def _look_for_replaced(self) -> None:
        """Looks once for each new parameter of no module among those that modules have by now."""
        ledger = self.recorder.ledger
        if self.leaves == ledger.count or self.searches == SEARCHES:
            return
        new = takewhile(lambda r: r.id >= self.leaves, reversed(ledger.all))
        late = {id(p): r for r in new if not r.registered and type(p := r.ref()) is nn.Parameter}
        self.leaves = ledger.count
        if not late:
            return
        self.searches += 1
        for before, now in self.recorder.modules.replaced_by(late):
            self.recorder.emit("replaced_parameter", now.site, {"before": before.id, "parameter": now.id})

    def _look(self, record: ModuleRecord, module: Any, site: int, owned: dict[int, set[int]]) -> None:
        for name, value in list(vars(module).items()):
            if name in TORCHS_OWN or not isinstance(
                value, (torch.Tensor, list, tuple, dict, set, *FUNCTIONS)
            ):
                continue
            found = list(_trained(_within(value) if isinstance(value, FUNCTIONS) else value))
            if not found:
                continue
            if record.root not in owned:
                owned[record.root] = self._parameters(record.root)
            ids = [self.recorder.ledger.of(t).id for t in found if id(t) not in owned[record.root]]
            if ids:
                kind = "tensor" if isinstance(value, torch.Tensor) else type(value).__name__
                kind = "function" if isinstance(value, FUNCTIONS) else kind
                if kind == "tensor" and not leafness(value):
                    kind = "computed"
                data = {
                    "module": record.id, "name": name, "kind": kind, "parameters": list(dict.fromkeys(ids)),
                    "texts": all(type(key) is str for key in value) if type(value) is dict else True,
                }  # fmt: skip
                self.recorder.emit("unregistered", site, data)

    def _parameters(self, root: int) -> set[int]:
        for record in self.recorder.modules.records.values():
            module = record.ref() if record.id == root else None
            if module is not None:
                return {id(p) for p in parameters(module)}
        return set()


def _within(function: Any) -> list[Any]:
    """What a function keeps: names of the function around it, or the arguments it was given beforehand."""
    if isinstance(function, partial):
        return [function.func, *function.args, *function.keywords.values()]
    found = []
    for cell in function.__closure__ or ():
        try:
            found.append(cell.cell_contents)
        except ValueError:  # still without a value
            continue
    return found


def _trained(value: Any, depth: int = 0) -> Iterator[Any]:
    """Leaves that require grad in `value`: itself, what it was computed from in one go
    (`nn.Parameter(…).to(device)`), or what its items hold."""
    if isinstance(value, torch.Tensor):
        if value.requires_grad and leafness(value):
            yield value
        elif value.requires_grad and not depth and (node := private.grad_fn_of(value)) is not None:
            sources = [target for target, _ in node.next_functions if target is not None]
            leaves = [getattr(target, "variable", None) for target in sources]
            if all(leaf is not None for leaf in leaves):
                yield from leaves
    elif isinstance(value, nn.Module):
        yield from (p for p in parameters(value) if p.requires_grad)
    elif isinstance(value, (list, tuple, dict, set)) and depth < 2:
        items = list(value.values() if isinstance(value, dict) else value)
        for item in items[:MAX_ITEMS]:
            if not isinstance(item, weakref.ReferenceType):
                yield from _trained(item, depth + 1)
