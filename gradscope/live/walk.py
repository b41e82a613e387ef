"""The graph behind a tensor as it stands now: what `grad_fn` and `next_functions` show, read iteratively."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import FrameType, FunctionType, ModuleType
from typing import Any

from gradscope.hooks._torch import (
    Module,
    Optimizer,
    Tensor,
    accumulates,
    dtype_of,
    grad_fn_of,
    has_grad_fn,
    name_of,
    sequence_of,
    sizes_made,
)
from gradscope.hooks.variables import variables
from gradscope.model import GradscopeError

# A node that Python has looked at keeps its object, and a chain of such nodes is let go of recursively, on the C
# stack: torch 2.13 dies of some 40,000 (8 MB). So many at most are looked at, whatever lies behind them.
MOST = 10_000
ENTRIES = 100  # of a list or dict among the variables that is looked through


@dataclass
class GradNode:
    """One grad_fn node. `below`: the nodes that its gradients go to; `leaf`: the leaf that it adds up for
    (an AccumulateGrad node), `shape` and `dtype` those of the first tensor that it made; `number`: when it was made."""

    name: str
    shape: tuple[int, ...] | None
    dtype: str | None
    leaf: Tensor | None = None
    number: int = -1
    below: list[int] = field(default_factory=list)


@dataclass
class Walk:
    """The nodes behind some tensors. `roots`: those of the tensors themselves, None where one has no graph;
    `whole`: whether these are all, and not the nearest `MOST`."""

    nodes: list[GradNode]
    roots: list[int | None]
    whole: bool = True

    def leaves(self) -> list[Tensor]:
        return [node.leaf for node in self.nodes if node.leaf is not None]

    def reaches(self, leaf: Tensor) -> bool | None:
        """Whether a gradient comes to `leaf` from here; None where that can't be said."""
        return any(one is leaf for one in self.leaves()) or (False if self.whole else None)

    def way_to(self, leaf: Tensor) -> list[GradNode]:
        """The shortest way from a root to a leaf, without its own node; [] where there is none."""
        before: dict[int, int | None] = {root: None for root in self.roots if root is not None}
        queue = list(before)
        for number in queue:  # grows while it is read
            if self.nodes[number].leaf is leaf:
                return self._back(number, before)
            for below in self.nodes[number].below:
                if below not in before:
                    before[below] = number
                    queue.append(below)
        return []

    def _back(self, number: int, before: dict[int, int | None]) -> list[GradNode]:
        way = []
        at = before[number]
        while at is not None:
            way.append(self.nodes[at])
            at = before[at]
        return way[::-1]


def walk(tensors: Iterable[Tensor]) -> Walk:
    """The nodes behind `tensors`, each once, breadth first: nothing is called, nothing unpacked."""
    numbers: dict[Any, int] = {}
    found = Walk([], [])
    queue: list[Any] = []

    def number_of(node: Any) -> int:
        if node not in numbers:
            numbers[node] = len(queue)
            queue.append(node)
            found.nodes.append(_described(node))
        return numbers[node]

    for tensor in tensors:
        node = grad_fn_of(tensor)
        found.roots.append(None if node is None else number_of(node))
    for number, node in enumerate(queue):  # grows while it is read
        if len(queue) > MOST:
            found.whole = False
            break
        below = [number_of(other) for other, _ in node.next_functions if other is not None]
        found.nodes[number].below = below
    return found


def _described(node: Any) -> GradNode:
    if accumulates(node):
        leaf = node.variable
        return GradNode("AccumulateGrad", tuple(leaf.shape), dtype_of(leaf), leaf)
    shape, dtype = sizes_made(node)
    return GradNode(name_of(node), shape, dtype, number=sequence_of(node))


def variables_of(frame: FrameType | None) -> Iterator[tuple[str, Any]]:
    """The variables that a frame sees, then what is in them: attributes (`self.loss`), and entries of small lists and
    dicts. No property is asked, nothing is called."""
    near = (variables(frame), frame.f_globals) if frame is not None else ()
    everything = [entry for held in near for entry in list(held.items())]  # also `.0`, pytest's `@py_assert1`
    known = [(name, thing) for name, thing in everything if name.isidentifier() and not name.startswith("_")]
    yield from known
    for name, thing in known:
        for inner, held in _inside(thing):
            if isinstance(held, (Tensor, Module, Optimizer)):
                yield f"{name}{inner}", held


def _inside(thing: Any) -> Iterator[tuple[str, Any]]:
    """What an object holds, and how that is written behind its name."""
    if isinstance(thing, (list, tuple, dict)):
        if len(thing) <= ENTRIES:
            entries = list(thing.items()) if isinstance(thing, dict) else list(enumerate(thing))
            yield from ((f"[{key!r}]", held) for key, held in entries if isinstance(key, (str, int)))
    elif not isinstance(thing, (type, ModuleType, FunctionType, Tensor, Optimizer)):
        try:
            held = object.__getattribute__(thing, "__dict__")
        except AttributeError:
            return
        yield from ((f".{key}", held) for key, held in list(held.items()) if not key.startswith("_"))


class Names:
    """What tensors are called: by `params`, else by the variables of the frame that asks. A model's
    parameters go by its variable's name: `model.fc.weight`."""

    def __init__(self, params: Any = None, frame: FrameType | None = None):
        self._names: dict[int, str] = {}
        self._owned: set[int] = set()  # ids of the parameters of the caller's models
        self.tensors: dict[str, Tensor] = {}  # by name
        self.parameters: dict[str, Tensor] = {}  # those of `params`, or of the models among the variables
        self._add_params(params)
        for name, thing in variables_of(frame):
            self._add_variable(name, thing, own=params is None)

    def __call__(self, tensor: Tensor) -> str | None:
        return self._names.get(id(tensor))

    def _add_params(self, params: Any) -> None:
        for name, tensor in _pairs(params):
            self._keep(name, tensor)
            self.parameters[name] = tensor

    def _add_variable(self, name: str, thing: Any, own: bool) -> None:
        if isinstance(thing, Module):
            for inner, tensor in thing.named_parameters():
                self._keep(f"{name}.{inner}", tensor)
                if own and id(tensor) not in self._owned:
                    self._owned.add(id(tensor))
                    self.parameters[f"{name}.{inner}"] = tensor
        elif isinstance(thing, Tensor):
            self._keep(name, thing)

    def _keep(self, name: str, tensor: Any) -> None:
        if isinstance(tensor, Tensor):
            self._names.setdefault(id(tensor), name)
            self.tensors.setdefault(name, tensor)

    def losses(self) -> Iterator[tuple[str, Tensor]]:
        """The variables that a backward pass could start from: one number with a graph."""
        for name, tensor in self.tensors.items():
            if has_grad_fn(tensor) and tensor.numel() == 1:
                yield name, tensor


def _pairs(params: Any) -> Iterator[tuple[str, Tensor]]:
    """The (name, tensor) pairs of a model, of a dict or a list of models or tensors, or of such pairs.
    Raises GradscopeError for anything else."""
    if params is None:
        return
    if isinstance(params, Module):
        yield from params.named_parameters()
        return
    if isinstance(params, Tensor) or not isinstance(params, Iterable):
        raise GradscopeError(f"parameters of a model, or (name, tensor) pairs, not a {type(params).__name__}")
    entries = params.items() if isinstance(params, Mapping) else enumerate(params)
    for key, entry in entries:
        name, thing = (
            (key, entry) if not (isinstance(entry, tuple) and len(entry) == 2) else (entry[0], entry[1])
        )
        if isinstance(thing, Module):
            yield from ((f"{name}.{inner}", tensor) for inner, tensor in thing.named_parameters())
        elif isinstance(thing, Tensor):
            yield str(name), thing
        else:
            raise GradscopeError(f"`{name}` is no tensor and no model, but a {type(thing).__name__}")
