"""Prints of tensors: a few numbers each, by which two ranks can tell whether they hold the same."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import torch

from gradscope.hooks._torch import float_norms, grad_of, shard_of
from gradscope.hooks.recorder.arrivals import Arriving, send
from gradscope.hooks.recorder.leaf import LeafRecord
from gradscope.hooks.recorder.values import measurable

MOST = 2_000  # parameters
TENSORS = 8  # of the inputs of a call
ELEMENTS = 1 << 16  # looked at of an input


@dataclass(frozen=True)
class Printed:
    """Numbers on their way. `names`: what each stands for."""

    names: list[str]
    parts: list[Arriving]
    kind: str = ""
    of: int = -1
    number: int = 0
    site: int = 0

    def told(self, kind: str, of: int, number: int, site: int) -> Printed:
        return replace(self, kind=kind, of=of, number=number, site=site)

    def here(self) -> bool:
        return all(part.here() for part in self.parts)

    def read(self) -> dict[str, float]:
        numbers = [number for part in self.parts for number in part.read()]
        return {name: float(f"{n:.12g}") for name, n in zip(self.names, numbers, strict=True)}


def print_of_parameters(records: list[LeafRecord]) -> Printed | None:
    """The norm of each parameter that has one here, by its number. None where none can be measured."""
    held = [(str(record.id), record.ref()) for record in records[:MOST]]
    return _print([(name, t) for name, t in held if t is not None])


def print_of_gradients(records: list[LeafRecord]) -> Printed | None:
    """The same of their gradients."""
    held = [(str(record.id), record.ref()) for record in records[:MOST]]
    return _print([(name, grad) for name, t in held if t is not None and (grad := grad_of(t)) is not None])


def print_of_shards(records: list[LeafRecord]) -> Printed | None:
    """The norm of this process's part of each distributed gradient, by the parameter's number."""
    held = [(str(record.id), record.ref()) for record in records[:MOST] if record.sharded]
    grads = [(name, grad_of(t)) for name, t in held if t is not None]
    return _print(
        [(name, part) for name, grad in grads if grad is not None and (part := shard_of(grad)) is not None]
    )


def print_of_buffers(named: Iterable[tuple[str, torch.Tensor]]) -> Printed | None:
    """The norm of each of these, by its name."""
    return _print(list(named)[:MOST])


def _print(named: list[tuple[str, Any]]) -> Printed | None:
    alike: dict[tuple[torch.device, torch.dtype], tuple[list[str], list[torch.Tensor]]] = {}
    for name, t in named:
        if not measurable(t) or t.layout is not torch.strided or not t.is_floating_point():
            continue
        names, tensors = alike.setdefault((t.device, t.dtype), ([], []))
        names.append(name)
        tensors.append(t.detach())
    if not alike:
        return None
    parts = [send(torch.stack(_norms(tensors))) for _, tensors in alike.values()]
    return Printed([name for names, _ in alike.values() for name in names], parts)


def _norms(tensors: list[torch.Tensor]) -> list[torch.Tensor]:
    """Of tensors of one type."""
    if tensors[0].dtype.itemsize > 4:
        return [torch.linalg.vector_norm(t) for t in tensors]
    return [n.float() for n in float_norms(tensors)]


def print_of_inputs(given: list[Any]) -> Printed | None:
    """Of each input two numbers: a sum with weights, and how much its elements differ from its first."""
    names: list[str] = []
    parts = []
    for place, t in enumerate(given[:TENSORS]):
        if not measurable(t) or t.layout is not torch.strided or t.is_complex() or t.numel() < 2:
            continue
        flat = t.detach().reshape(-1)[:: 1 + t.numel() // ELEMENTS].double()
        weights = (
            torch.arange(len(flat), device=flat.device, dtype=torch.float64).mul_(0.618033988749895).frac_()
        )
        parts.append(send(torch.stack([flat.dot(weights), (flat - flat[0]).abs().sum()])))
        names += [f"{place}", f"{place} varies"]
    return Printed(names, parts) if names else None
