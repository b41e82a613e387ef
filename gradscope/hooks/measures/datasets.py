"""What a dataset holds, as a print by which two can be told to be the same, its number, which rows a subset takes, and
what a loader gives of it. Nothing of the program's runs: only attributes are read."""

from __future__ import annotations

import hashlib
import sys
import weakref
from typing import Any

import torch

from gradscope.hooks.recorder.values import measurable

_DEEP = 3
_MOST = 64  # attributes
_ENTRIES = 8  # of a batch
_ELEMENTS = 4096  # looked at of each
_PLAIN = (str, int, float, bool, bytes, type(None))


class Numbered:
    """Datasets by number: the same object has the same one."""

    def __init__(self) -> None:
        self._known: list[weakref.ref[Any]] = []

    def number(self, dataset: Any) -> int | None:
        """None for what can't be told again without being kept alive: a list."""
        for number, known in enumerate(self._known):
            if known() is dataset:
                return number
        try:
            self._known.append(weakref.ref(dataset))
        except TypeError:
            return None
        return len(self._known) - 1


def print_of_dataset(dataset: Any, *, settings: bool = True) -> str:
    """Its class, and a digest that is the same for the same content; "" where nothing is found that tells it. Without
    `settings`, whatever words and flags it has as attributes."""
    found: list[str] = []
    told = _tell(dataset, found, _DEEP, settings=settings)
    digest = hashlib.sha1("\n".join(found).encode("utf-8", "replace")).hexdigest()[:16]
    return f"{type(dataset).__name__} {digest}" if told else ""


def row_numbers(chosen: Any, most: int = sys.maxsize) -> list[Any] | tuple[Any, ...] | range | None:
    """The rows of a subset, as its indices have them, where they are plain numbers and no more than `most`."""
    if type(chosen).__module__ == "numpy":
        chosen = chosen.tolist()
    if (
        type(chosen) not in (list, tuple, range) or len(chosen) > most
    ):  # another's may run code of the program
        return None
    plain = all(type(number) is int or type(number).__module__ == "numpy" for number in chosen)
    return chosen if plain else None


def tensors_of(batch: Any) -> list[torch.Tensor]:
    """The tensors of a batch that a loader gave, by sample."""
    things = batch.values() if type(batch) is dict else batch if type(batch) in (list, tuple) else [batch]
    return [t for t in list(things)[:_ENTRIES] if _is_plain(t) and t.dim() and t.numel()]


def _is_plain(thing: Any) -> bool:
    return (
        isinstance(thing, torch.Tensor)
        and measurable(thing)
        and thing.layout is torch.strided
        and thing.device.type == "cpu"
    )


def _tell(thing: Any, found: list[str], deep: int, *, settings: bool = True) -> bool:
    """Adds what a value holds. Whether that was content, not settings alone."""
    kind = type(thing)
    if kind in _PLAIN:
        found.append(repr(thing)[:1000])
        return False
    if issubclass(kind, torch.Tensor):
        return _numbers(thing, found)
    if kind.__module__ == "numpy":
        data = thing.reshape(-1)[:: 1 + thing.size // _ELEMENTS] if hasattr(thing, "reshape") else thing
        found.append(f"{getattr(thing, 'shape', '')} {data.tolist()!r}" if hasattr(data, "tolist") else "")
        return bool(getattr(thing, "size", 0) > 1)
    if kind is range:
        found.append(repr(thing))
        return len(thing) > 1
    if kind in (list, tuple):
        found.append(f"{len(thing)}")
        kept = thing[:: 1 + len(thing) // _MOST]
        told = [_tell(one, found, deep - 1) for one in kept] if deep else []
        return any(told) or (len(thing) > 1 and all(type(one) in _PLAIN for one in kept))
    try:
        attributes = object.__getattribute__(thing, "__dict__") if deep else None
    except (AttributeError, TypeError):
        attributes = None
    if type(attributes) is not dict:
        return False
    found.append(kind.__qualname__)
    told = []
    for name, value in list(attributes.items())[:_MOST]:
        if not settings and type(value) in (str, bool, type(None)):
            continue
        found.append(str(name))
        told.append(_tell(value, found, deep - 1))
    return any(told)


def _numbers(t: torch.Tensor, found: list[str]) -> bool:
    if not _is_plain(t) or t.is_complex():
        return False
    flat = t.detach().reshape(-1)[:: 1 + t.numel() // _ELEMENTS]
    found.append(f"{tuple(t.shape)} {flat.double().sum().item():.9g} {flat[:64].tolist()!r}")
    return t.numel() > 1
