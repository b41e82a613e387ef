"""Which tensor is which value: live tensors by id, checked through a weak reference.

Nothing here keeps a tensor alive.
"""

from __future__ import annotations

import itertools
import math
import sys
from typing import Any, NamedTuple, TypeGuard

import torch
from torch import Tensor

from gradscope.hooks._torch import (
    TensorRef,
    capturing,
    dtype_of,
    is_functional,
    memory_of,
    profiling,
    transforms,
)

FEW = 16  # elements

_KNOWN_TYPES: dict[type, bool] = {
    Tensor: True, torch.nn.Parameter: True, int: False, float: False, bool: False, str: False,
    type(None): False, tuple: False, list: False, dict: False, torch.dtype: False, torch.device: False,
}  # fmt: skip


def is_tensor_type(cls: type) -> bool:
    known = _KNOWN_TYPES.get(cls)
    if known is None:
        known = _KNOWN_TYPES[cls] = issubclass(cls, Tensor)
    return known


# Types whose values are remembered as they are: no code of the user's compares them.
PLAIN_TYPES = {
    int, float, bool, str, complex, type(None), type(...), torch.dtype, torch.device, torch.layout, torch.memory_format,
}  # fmt: skip


def plain(argument: Any) -> Any:
    """An argument that is no tensor, as something to compare: its value, or only its type."""
    cls = type(argument)
    if cls in PLAIN_TYPES:
        return argument
    if cls is slice:
        return plain(argument.start), plain(argument.stop), plain(argument.step)
    return cls.__name__


def find_tensors(arguments: Any, found: list[Any], depth: int = 0, others: list[Any] | None = None) -> None:
    """Appends every tensor in nested lists, tuples and dicts; to `others` what is none."""
    if isinstance(arguments, dict):
        if others is not None:
            others += [plain(key) for key in arguments]
        arguments = arguments.values()
    for item in arguments:
        cls = type(item)
        if is_tensor_type(cls):
            found.append(item)
        elif (cls is tuple or cls is list or isinstance(item, (tuple, list, dict))) and depth < 4 and item:
            find_tensors(item, found, depth + 1, others)
        else:
            if cls is slice:
                found += bounds_of(item)
            if others is not None:
                others.append(item if cls in PLAIN_TYPES else plain(item))


def bounds_of(part: slice) -> list[Any]:
    """The tensors that bound a slice: `x[:, low:high]`."""
    return [bound for bound in (part.start, part.stop, part.step) if is_tensor_type(type(bound))]


def are_ids(t: Any, most: int, few: int) -> TypeGuard[torch.Tensor]:
    """Whether it holds numbers of tokens or classes, at least `few` of them, that may be read."""
    return can_be_asked(t, most) and t.dtype == torch.int64 and t.numel() >= few


def is_whole(part: slice) -> bool:
    """Whether it is `:`; its bounds may be tensors, which are not compared."""
    return part.start is None and part.stop is None and part.step is None


def sizes(t: Any) -> tuple[int, ...]:
    """The tensor's shape, -1 for a size that is no number (symbolic: asking would bind it; or
    it differs from row to row); empty where there is none yet (a lazy module's parameter)."""
    try:
        return tuple([n if type(n) is int else _number(n) for n in t.shape])
    except RuntimeError:  # a nested tensor has a size only where its rows agree
        return tuple([_size_at(t, i) for i in range(t.dim())]) if t.is_nested else ()


def strides(t: Any) -> Any:
    """The steps between elements; the layout's name where there are none."""
    try:
        return tuple([n if type(n) is int else -1 for n in t.stride()])
    except (RuntimeError, TypeError, ValueError):
        return str(t.layout)


def dense_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The strides of a contiguous tensor of this shape."""
    found: list[int] = []
    step = 1
    for size in reversed(shape):
        found.append(step)
        step *= max(size, 1)
    return tuple(reversed(found))


def _size_at(t: Any, dim: int) -> int:
    try:
        return int(t.size(dim))
    except RuntimeError:
        return -1


def bytes_of(t: Any) -> int:
    """Bytes of the elements; 0 where their number is a symbol."""
    number = t.numel()
    return number * int(t.element_size()) if type(number) is int else 0


def _number(size: Any) -> int:
    try:
        known = size.node.maybe_as_int()
    except (AttributeError, NotImplementedError):
        known = None
    return -1 if known is None else int(known)


def has_values(t: Any) -> bool:
    """Whether kernels of ours can run on it: a subclass would see them, and may refuse; under
    torch.func a tensor stands for many, or for one that is not written yet. Floats of 8 bits have
    hardly any kernels."""
    if type(t) not in (Tensor, torch.nn.Parameter) or t.is_meta or transforms() is not None:
        return False
    dtype = t.dtype
    return not is_functional(t) and not (dtype.itemsize == 1 and dtype.is_floating_point) and _has_memory(t)


def can_be_asked(t: Any, most: int) -> TypeGuard[torch.Tensor]:
    """Whether its numbers can be had, at once or once they have arrived (`Arrivals`): a plain tensor of 1 to `most`
    elements, on the CPU or on a GPU."""
    return (
        measurable(t)
        and t.device.type in ("cpu", "cuda")
        and t.layout is torch.strided
        and 0 < t.numel() <= most
    )


def readable(t: Any, most: int) -> bool:
    """Whether they can be read at once: it is on the CPU."""
    return can_be_asked(t, most) and t.is_cpu


def few_of(t: Any, most: int = 0) -> Any:
    """Copies of some elements of a tensor, from all over it (the first row of an embedding may be the padding's, which
    never moves), `most` of them; None where they can't be read."""
    if t is None or not readable(t, sys.maxsize):
        return None
    most = most or FEW
    apart = max(1, t.numel() // most)
    apart += apart > 1 and not apart % 2  # seldom a divisor of the width: else all are of one column
    return (
        t.detach().flatten()[::apart][:most].clone()
    )  # no `with`: Ctrl-C before its end would leave its mode on


def are_same(one: Any, other: Any) -> bool:
    """Whether two such copies are equal; False where one could not be read."""
    return one is not None and other is not None and one.dtype == other.dtype and torch.equal(one, other)


def _has_memory(t: Any) -> bool:
    """False where the program has given the memory back for now, as sharding does with
    `untyped_storage().resize_(0)`: a kernel that reads it would end the process. Nor may the storage be
    asked itself: a gradient that has one in Python is no longer added to in place."""
    if t.layout is not torch.strided:
        return True
    try:
        return bool(memory_of(t) or t.numel() == 0)
    except (RuntimeError, NotImplementedError):  # has no storage: a batch of `is_grads_batched`
        return True


def measurable(t: Any) -> bool:
    """Whether kernels of ours may run on it without being felt: a profile of the user's would
    show them, and a CUDA graph that is being captured would hold them."""
    return has_values(t) and not profiling() and not (t.is_cuda and capturing())


def norm_of(t: Tensor) -> float:
    """The 2-norm, also where a half or a float cannot hold the squares; see `measurable`."""
    norm = float(t.norm())
    return norm if math.isfinite(norm) else float(norm_on_device(t))


def norm_on_device(t: Tensor) -> Tensor:
    """The same as a tensor, which waits for nothing."""
    wide = torch.float64 if t.dtype.is_floating_point else torch.complex128
    norm: Tensor = torch.linalg.vector_norm(t, dtype=wide)
    return norm


def first_of(t: Any) -> Tensor:
    """A copy of the first three elements, as running statistics are told; see `measurable`."""
    first: Tensor = t.detach().flatten()[:3].clone()
    return first


def rounded(numbers: Tensor) -> list[float]:
    return [round(number, 6) for number in numbers.tolist()]


def change(before: Tensor, after: Tensor) -> dict[str, list[float]]:
    """Two such copies, rounded; empty where they are equal."""
    numbers = {"before": rounded(before), "after": rounded(after)}
    return numbers if numbers["before"] != numbers["after"] else {}


class Meta(NamedTuple):
    """What is shown of a tensor: interned, so that an op notes one number."""

    dtype: str
    shape: tuple[int, ...]
    requires_grad: bool
    is_leaf: bool
    device: str


class Metas:
    def __init__(self) -> None:
        self.table: list[Meta] = []
        self.structs: list[int] = []  # meta → number of the same without sizes
        self.classes: list[Any] = []  # meta → where it is 0 or 1 wide, and whether it is contiguous
        self._ids: dict[tuple[Any, ...], int] = {}
        self._struct_ids: dict[tuple[Any, ...], int] = {}

    def of(self, t: Any, is_leaf: bool) -> int:
        try:
            key = (t.dtype, t.shape, t.requires_grad, t.device, is_leaf, t.stride())
            found = self._ids.get(key)
        except (RuntimeError, TypeError):  # no sizes or strides, or symbols
            found = None
        if found is None:
            shape = sizes(t)
            key = (t.dtype, shape, t.requires_grad, t.device, is_leaf, strides(t))
            found = self._ids.get(key)
        if found is None:
            struct = (key[0], len(shape), key[2], key[3], is_leaf)
            dense = key[5] == dense_strides(shape)
            found = len(self.table)  # of all three, also where Ctrl-C has come between
            self.classes[found:] = [(tuple([n if n in (0, 1) else 2 for n in shape]), dense)]
            self.structs[found:] = [self._struct_ids.setdefault(struct, len(self._struct_ids))]
            self.table.append(Meta(dtype_of(t), shape, bool(t.requires_grad), is_leaf, str(t.device)))
            self._ids[key] = found
        return found


_roots = itertools.count(1)


class Live(TensorRef):
    """One live tensor as the current segment knows it, and a weak reference to it: two objects
    for each tensor would make Python's collector run almost twice as often."""

    __slots__ = (
        "hidden", "index", "leaf", "meta", "output_nr", "root", "serial", "shared", "site", "written",
    )  # fmt: skip

    __eq__ = object.__eq__
    __hash__ = object.__hash__

    def __init__(self, t: Any):
        self.index = -1  # value index in segment `serial`
        self.serial = -1
        self.meta = -1
        self.output_nr = t.output_nr  # which output of its node it is
        self.site = 0  # where it was made or first seen
        self.written = 0  # where a write has given it its node
        self.leaf: Any = None  # LeafRecord of a leaf that requires grad
        self.root = next(_roots)  # names the memory: views and aliases share it
        self.shared = False  # has views or is one
        self.hidden = False  # shares memory, not the version counter


class LiveTable(dict[int, Live]):
    """id(tensor) → Live. Entries of dead tensors go when the table has doubled."""

    _limit = 4096

    def find(self, t: Any) -> Live | None:
        entry = self.get(id(t))
        return entry if entry is not None and entry() is t else None

    def make(self, t: Any) -> Live:
        entry = self[id(t)] = Live(t)
        return entry

    def sweep(self) -> None:
        if len(self) > self._limit:
            for key in [key for key, entry in self.items() if entry() is None]:
                del self[key]
            self._limit = max(4096, 2 * len(self))


def repeats(entries: list[Live]) -> tuple[int, ...]:
    """Which of a call's inputs are the same tensor: for each, the place where it is first."""
    places: dict[Live, int] = {}
    return tuple([places.setdefault(entry, i) for i, entry in enumerate(entries)])
