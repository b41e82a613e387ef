"""Watches what comes of `autograd.Function`s: gradients that the user's own backward does not
return, and reentrant checkpoints that cut the graph."""

from __future__ import annotations

import functools
import itertools
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn
from torch.autograd.function import BackwardCFunction
from torch.overrides import TorchFunctionMode
from torch.utils import checkpoint

from gradscope.hooks import Hook
from gradscope.hooks._torch import (
    DisableTorchFunction,
    aside,
    compiles,
    grad_fn_of,
    is_legacy_batched,
    transforms,
)
from gradscope.hooks.probes.functions import refused
from gradscope.hooks.recorder.learner import FACTORIES, writes_by_name
from gradscope.hooks.recorder.parts import parameters
from gradscope.hooks.recorder.sites import own_line
from gradscope.hooks.recorder.values import find_tensors, measurable

# New tensors that something unseen may fill: a kernel of an extension's.
BLANK = FACTORIES | {"empty", "zeros", "ones", "full", "empty_strided", "empty_permuted"}
SILENT = {
    "__get__",
    "size",
    "dim",
    "numel",
    "is_contiguous",
    "stride",
    "__len__",
    "is_floating_point",
    "ndimension",
}
AXES = 6  # of a result whose form is compared with that of a gradient
ROUNDING = 1e-4
LOOKS = 3  # backward calls looked at, per place of `apply`


@dataclass
class Returned:
    """What the backward of one place of `apply` returned, by position of the argument."""

    name: str
    line: int  # where its forward is defined
    tensors: list[int]  # positions of the tensors among the arguments
    watched: int = 0
    calls: int = 0
    none: dict[int, int] = field(default_factory=dict)
    zero: dict[int, int] = field(default_factory=dict)
    hidden: dict[int, int] = field(default_factory=dict)  # parameter → position of what holds it
    followed: int = 0  # calls of its backward whose results could be traced to what they were made of
    ignored: int = 0  # of these, without the gradient that had arrived, which was not 1
    alike: bool = True  # one result, of the form of that gradient, or that was a single number
    lacks: set[tuple[int, ...]] = field(default_factory=set)  # axes of the result that that gradient had not
    passes_on: bool = True  # forward gave a tensor argument back, number by number; others are single numbers
    factors: list[float] = field(default_factory=list)  # what each result was, in terms of that gradient
    alone: dict[int, int] = field(default_factory=dict)  # position → results made without it, beside others
    needed: set[int] = field(default_factory=set)  # positions of the arguments that need a gradient
    written: int = 0  # calls of its backward that wrote to a gradient of which several places are one number


class Applied(Hook):
    order = 71

    def install(self) -> None:
        self.places: dict[tuple[int, str], Returned] = {}
        self.nodes: dict[int, tuple[Returned, Any]] = {}  # id of a node whose backward is followed
        self.patch(BackwardCFunction, "apply", self._backward(BackwardCFunction.apply))
        self.recorder.signals.function_applied.connect(self._applied)
        self.recorder.signals.before_end.connect(self._tell)

    def _applied(self, cls: Any, args: Any, result: Any, frame: Any) -> None:
        if cls is checkpoint.CheckpointFunction:
            self._checkpointed(args, result, frame)
            return
        line = own_line(cls.forward, self.recorder.sites.main)
        if line is not None:
            self._watch(cls, line, args, result, frame)

    # -- what a custom backward returns ---------------------------------------------------

    def _watch(self, cls: Any, line: int, args: Any, result: Any, frame: Any) -> None:
        site = self.recorder.sites.current(frame)
        tensors = [p for p, a in enumerate(args) if isinstance(a, torch.Tensor)]
        place = self.places.setdefault((site, cls.__name__), Returned(cls.__name__, line, tensors))
        if place.watched < LOOKS:
            self._look_inside(place, args, frame, site)
        nested: list[Any] = []
        find_tensors([a for a in args if isinstance(a, (list, tuple, dict))], nested)
        if place.watched >= LOOKS or place.tensors != tensors or nested:
            return
        found: list[Any] = []
        find_tensors([result], found)
        node = grad_fn_of(found[0]) if found else None
        if not isinstance(node, BackwardCFunction):
            return
        place.watched += 1
        place.passes_on &= len(found) == 1 and _gives_back(found[0], [args[p] for p in tensors])
        # Edges lead to the tensors among the arguments, in their order; None where none is needed.
        needed = [
            (edge, position)
            for edge, (position, (target, _)) in enumerate(zip(tensors, node.next_functions, strict=False))
            if target is not None
        ]
        place.needed |= {position for _, position in needed}
        node.register_hook(self._hook(place, needed))
        self.nodes[id(node)] = place, cls

    # -- what it is made of -----------------------------------------------------------------

    def _backward(self, real: Any) -> Any:
        @functools.wraps(real)
        def apply(node: Any, *args: Any) -> Any:
            place, cls = self.nodes.pop(id(node), (None, None))
            here = threading.get_ident() == self.recorder.thread
            if place is None or getattr(node, "_forward_cls", None) is not cls or not here or transforms():
                return real(node, *args)
            if compiles():  # what is compiled can't run under a mode
                return real(node, *args)
            try:
                follow, spread = Follow(args), _spread(args)
            except BaseException as error:
                self.recorder.fault("following a custom backward", error)
                return real(node, *args)
            with follow:
                result = real(node, *args)
            try:
                with aside():
                    place.written += any(t._version != version for t, version in spread)
                    self._note(place, follow, args, result)
            except BaseException as error:
                self.recorder.fault("following a custom backward", error)
            return result

        return apply

    @staticmethod
    def _note(place: Returned, follow: Follow, args: Any, result: Any) -> None:
        found = [t for t in (result if isinstance(result, tuple) else (result,)) if t is not None]
        uses = follow.uses(found)
        if uses is None or not any(_not_one(g) for g in args):
            return
        place.followed += 1
        place.ignored += not uses
        for position, t in enumerate(result if isinstance(result, tuple) else (result,)):
            if isinstance(t, torch.Tensor) and t.numel() > 1 and follow.leaves_out(t):
                place.alone[position] = place.alone.get(position, 0) + 1
        given = [g for g in args if isinstance(g, torch.Tensor)]
        one = len(found) == len(given) == 1
        place.alike &= one and (given[0].shape == found[0].shape or given[0].numel() == 1)
        place.lacks.add(_lacking(given[0].shape, found[0].shape) if one else ())
        if one and place.passes_on:
            place.factors += _factor(given[0], found[0])

    def _look_inside(self, place: Returned, args: Any, frame: Any, site: int) -> None:
        """Notes what is trained inside arguments that autograd does not look into."""
        for position, given in enumerate(args):
            if isinstance(given, nn.Module):
                held: list[Any] = self._registered(given, frame, site)
            elif isinstance(given, (list, tuple, dict)):
                held = []
                find_tensors([given], held)
            else:
                continue
            for t in held:
                if isinstance(t, nn.Parameter) and t.requires_grad:
                    place.hidden[self.recorder.ledger.of(t).id] = position

    def _hook(self, place: Returned, needed: list[tuple[int, int]]) -> Any:
        thread = self.recorder.thread

        def returned(gradients: Any, given: Any) -> None:
            if threading.get_ident() != thread or transforms() is not None:
                return
            try:
                with aside():
                    if not any(_some(g) for g in given):
                        return
                    place.calls += 1
                    for edge, position in needed:
                        if gradients[edge] is None:
                            place.none[position] = place.none.get(position, 0) + 1
                        elif not _some(gradients[edge]):
                            place.zero[position] = place.zero.get(position, 0) + 1
            except BaseException as error:
                self.recorder.fault("looking at a custom backward", error)

        return returned

    def _tell(self) -> None:
        for (site, _), place in self.places.items():
            none = [p for p, count in place.none.items() if count == place.calls]
            zero = [p for p, count in place.zero.items() if count == place.calls]
            ignored = place.ignored if place.ignored == place.followed else 0
            alone = [p for p, n in place.alone.items() if n == place.followed and p in place.needed]
            if none or zero or place.hidden or ignored or alone:
                data = {
                    "function": place.name,
                    "line": place.line,
                    "calls": place.calls,
                    "tensors": place.tensors,
                    "none": none,
                    "zero": zero,
                    "hidden": [[p, position] for p, position in place.hidden.items()],
                    "ignored": ignored,
                    "alone": [] if ignored else alone,
                    "alike": place.alike,
                    "lacks": min(place.lacks) if len(place.lacks) == 1 else (),
                }
                self.recorder.emit("dropped_gradient", site, data)
            if place.written:
                data = {"function": place.name, "line": place.line, "calls": place.written}
                self.recorder.emit("spread_written", site, data)
            if place.factors:
                factors = {"function": place.name, "line": place.line, "factors": place.factors}
                self.recorder.emit("passed_on", site, factors)

    # -- reentrant checkpoints ----------------------------------------------------------------

    def _checkpointed(self, args: Any, result: Any, frame: Any) -> None:
        """No argument requires a gradient: then the result has none, whatever is trained inside."""
        given: list[Any] = []
        find_tensors(list(args[2:]), given)
        if not torch.is_grad_enabled() or any(t.requires_grad for t in given):
            return
        recorder = self.recorder
        site = recorder.sites.current(frame)
        trained = [
            recorder.ledger.of(p).id
            for module in _modules(args[0])
            for p in self._registered(module, frame, site)
            if p.requires_grad
        ]
        outputs: list[Any] = []
        find_tensors([result], outputs)
        if trained:
            values = [recorder.value(t, site).index for t in outputs]
            recorder.emit("checkpoint_cut", site, {"parameters": trained, "outputs": values})

    def _registered(self, module: nn.Module, frame: Any, site: int) -> list[Any]:
        if self.recorder.modules.find(module) is None:
            self.recorder.modules.register_root(module, frame, site)
        return parameters(module)


class Follow(TorchFunctionMode):
    """What the calls of one backward make of the gradients that it was given, as far as torch is called."""

    def __init__(self, given: tuple[Any, ...]):
        super().__init__()
        self.given = {id(t) for t in given if isinstance(t, torch.Tensor)}
        self.made: set[int] = set()
        self.left = False  # it was handed to something that torch knows nothing of
        self.kept: list[Any] = list(given)  # so that no other tensor gets their ids
        self.derived = set(self.given)  # what was computed from them, without all that met them in a call
        self.blank = False  # memory that something unseen may fill

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **kwargs) if kwargs else func(*args)
        if result is NotImplemented:
            refused()
        try:
            with DisableTorchFunction():
                self._follow(func, args, kwargs, result)
        except Exception:
            self.left = True  # what is not followed may be a use of anything
        return result

    def _follow(self, func: Any, args: Any, kwargs: Any, result: Any) -> None:
        name = getattr(func, "__name__", "")
        taken: list[Any] = []
        find_tensors([args, kwargs], taken)
        results: list[Any] = []
        find_tensors([result], results)
        self.kept += [*taken, *results]
        touched = any(id(t) in self.given for t in taken)
        if touched and not results and name not in SILENT:
            self.left = True
        written = taken[:1] if writes_by_name(name, kwargs) else []
        self._derive(func, name, taken, results, [*written, *_outs(kwargs)])
        if touched:
            self.given |= {id(t) for t in [*results, *taken]}
        if name not in BLANK:
            self.made |= {id(t) for t in [*results, *written]}

    def _derive(self, func: Any, name: str, taken: list[Any], results: list[Any], written: list[Any]) -> None:
        """Only what a call gives, or writes to, is computed from what it was given; of a call that is not torch's own
        nobody knows what it writes to."""
        self.blank |= name.startswith(("empty", "zeros", "new_empty", "new_zeros", "resize", "set_"))
        if not any(id(t) in self.derived for t in taken):
            return
        unknown = not hasattr(func, "__name__") or "Overload" in type(func).__name__
        reached = [*results, *(taken if unknown else written)]
        memory = {t.untyped_storage().data_ptr() for t in written}
        same = [t for t in self.kept if isinstance(t, torch.Tensor) and memory and _memory(t) in memory]
        self.derived |= {id(t) for t in [*reached, *same]}

    def leaves_out(self, result: Any) -> bool:
        """Whether torch's calls have made a result of other tensors alone."""
        if self.left or self.blank or id(result) in self.derived or id(result) not in self.made:
            return False
        return all(isinstance(t, torch.Tensor) and type(t) in (torch.Tensor, nn.Parameter) for t in self.kept)

    def uses(self, results: list[Any]) -> bool | None:
        """Whether any of the results comes of what was given; None where that cannot be told."""
        if self.left or any(id(t) in self.given for t in results):
            return True
        return False if results and all(id(t) in self.made for t in results) else None


def _outs(kwargs: Any) -> list[Any]:
    """What a call was told to write its result to."""
    found: list[Any] = []
    find_tensors([kwargs.get("out")] if kwargs else [], found)
    return found


def _spread(given: tuple[Any, ...]) -> list[tuple[torch.Tensor, int]]:
    """Those of the tensors of which several places are one number in memory, as `expand` makes them, with their
    versions."""
    with DisableTorchFunction():
        return [
            (t, t._version)
            for t in given
            if isinstance(t, torch.Tensor)
            and t.layout is torch.strided
            and not t.is_inference()
            and any(size > 1 and stride == 0 for size, stride in zip(t.shape, t.stride(), strict=True))
        ]


def _memory(t: Any) -> int:
    return int(t.untyped_storage().data_ptr()) if t.layout is torch.strided else -1


def _lacking(given: Sequence[int], whole: Sequence[int]) -> tuple[int, ...]:
    """The axes of `whole` without which it is `given`, where only one choice of them is so."""
    axes = range(len(whole)) if 0 < len(given) < len(whole) <= AXES else ()
    found = [
        left
        for left in itertools.combinations(axes, len(whole) - len(given))
        if tuple(n for axis, n in enumerate(whole) if axis not in left) == tuple(given)
    ]
    return found[0] if len(found) == 1 else ()


def _alike(a: Any, b: Any) -> bool:
    """Whether two tensors hold the same numbers."""
    if not measurable(a) or not measurable(b) or a.device.type != "cpu" or b.device.type != "cpu":
        return False
    with torch.no_grad(), aside():
        return a.shape == b.shape and a.dtype == b.dtype and bool((a == b).all())


def _gives_back(made: Any, given: list[Any]) -> bool:
    """Whether it has the numbers of one of these tensors, and all others are single numbers, as a factor is."""
    large = [t for t in given if len(given) == 1 or t.numel() > 1]
    return len(large) == 1 and _alike(made, large[0])


def _factor(given: torch.Tensor, made: torch.Tensor) -> list[float]:
    """What `given` was multiplied with, where that is one number."""
    if given.shape != made.shape or not measurable(given) or not measurable(made) or not given.is_cpu:
        return []
    if not given.is_floating_point() or given.layout is not torch.strided or is_legacy_batched(given):
        return []
    a, b = given.detach().double(), made.detach().double()
    whole = float((a * a).sum())
    factor = float((a * b).sum()) / whole if whole else 0.0
    far = float((b - factor * a).norm())
    return [factor] if whole and far <= ROUNDING * abs(factor) * whole**0.5 else []


def _not_one(t: Any) -> bool:
    """Whether a gradient has other elements than 1."""
    if not isinstance(t, torch.Tensor) or not measurable(t) or t.device.type != "cpu":
        return False
    return t.layout is torch.strided and not is_legacy_batched(t) and bool((t != 1).any())


def _some(t: Any) -> bool:
    """Whether any element is not zero. Not asked of a GPU: the answer would wait for it."""
    if t is None or not measurable(t) or t.device.type != "cpu" or t.layout is not torch.strided:
        return t is not None
    return is_legacy_batched(t) or bool(t.any())


def _modules(function: Any) -> list[nn.Module]:
    """The modules that a checkpointed function is, belongs to or closes over."""
    if isinstance(function, nn.Module):
        return [function]
    owner = getattr(function, "__self__", None)
    held = [owner] if owner is not None else []
    for cell in getattr(function, "__closure__", None) or ():
        try:
            content = cell.cell_contents
            held += content if isinstance(content, (list, tuple)) else [content]
        except ValueError:  # not filled yet
            continue
    return [m for m in held if isinstance(m, nn.Module)]
