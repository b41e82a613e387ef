"""What a module or an optimizer consists of, read from where torch keeps it.

The methods for it (`named_modules`, `parameters`, `__getattr__`, `__hash__`) may be the user's:
calling them would be felt, by a count, a printed line or an exception.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import FunctionType, MethodType
from typing import Any

import torch
from torch import nn

TORCHS_OWN = frozenset(vars(nn.Module()))  # attributes that every module has


def attributes(module: Any) -> dict[str, Any]:
    """The `__dict__` of a module, or of what else has one."""
    try:
        found = object.__getattribute__(module, "__dict__")
    except AttributeError:  # slots
        return {}
    return found if isinstance(found, dict) else {}


def own(module: Any, table: str) -> Iterator[tuple[str, Any]]:
    """(name, member) of "_parameters", "_buffers" or "_modules", without those that are None; none
    where the class never called `super().__init__()`."""
    members: Any = attributes(module).get(table)
    for name, member in list(members.items()) if hasattr(members, "items") else ():
        if member is not None:
            yield name, member


def named_parts(module: Any, prefix: str = "") -> Iterator[tuple[str, nn.Module]]:
    """(path, module) of it and of what is below it, as `named_modules`: each once."""
    seen: set[int] = set()
    todo = [(prefix, module)]
    while todo:
        path, part = todo.pop()
        if id(part) in seen:
            continue
        seen.add(id(part))
        yield path, part
        below = [(f"{path}.{name}" if path else name, child) for name, child in own(part, "_modules")]
        todo += [pair for pair in reversed(below) if issubclass(type(pair[1]), nn.Module)]


def parts(module: Any) -> Iterator[nn.Module]:
    return (part for _, part in named_parts(module))


def named_tensors(module: Any) -> list[tuple[str, Any]]:
    """Its parameters and buffers, by their names in a state."""
    found = []
    for path, part in named_parts(module):
        for table in ("_parameters", "_buffers"):
            found += [(f"{path}.{name}" if path else name, t) for name, t in own(part, table)]
    return found


def parameters(module: Any) -> list[Any]:
    """Those of the module and of what is below it, each once."""
    found = {id(p): p for part in parts(module) for _, p in own(part, "_parameters")}
    return list(found.values())


def in_training(module: Any) -> bool:
    """Its mode; False where it has none (a frozen script) or refuses to say."""
    try:
        mode = attributes(module).get("training")
        return bool(module.training if mode is None else mode)
    except Exception:
        return False


def groups_of(optimizer: Any) -> list[Any]:
    """The optimizer's `param_groups`; none where the program has taken them away."""
    found = getattr(optimizer, "param_groups", None)
    return found if isinstance(found, list) else []


def rates_of(optimizer: Any) -> list[float]:
    """The learning rates of its groups, of those that have a plain number there."""
    return [rate for group in groups_of(optimizer) if type(rate := group.get("lr")) in (int, float)]


def all_rates_of(optimizer: Any) -> list[float] | None:
    """The same of every group; None where one has no plain number there."""
    rates = [group.get("lr") for group in groups_of(optimizer)]
    return rates if all(type(rate) in (int, float) for rate in rates) else None


def keeps_tensors(optimizer: Any) -> bool:
    """Whether the optimizer has a state with tensors for one of its parameters: the first that has any. An optimizer
    of the program's may keep other things there under other keys."""
    states = getattr(optimizer, "state", None) or {}
    first = next((state for of, state in states.items() if isinstance(of, torch.Tensor)), None)
    return isinstance(first, dict) and any(isinstance(value, torch.Tensor) for value in first.values())


def function_of(hook: Any) -> FunctionType | None:
    """The Python function that runs when a hook is called: also that of an object with `__call__`."""
    if isinstance(hook, MethodType):
        hook = hook.__func__
    elif not isinstance(hook, FunctionType):
        hook = next((vars(c)["__call__"] for c in type(hook).__mro__ if "__call__" in vars(c)), None)
    return hook if isinstance(hook, FunctionType) else None
