"""Every private name of torch that gradscope uses, and every one that has moved.

What all of torch 2.2 to 2.15 have is checked when this is loaded: if a release moves one, it is
named. What only some have stands in `FEATURES`, or below with the versions that its ways hold for.
"""

from __future__ import annotations

import os
import sys
import threading
import weakref
from bisect import bisect_right
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from types import CodeType, ModuleType
from typing import TYPE_CHECKING, Any

import torch
import torch.autograd.graph as autograd_graph
from torch import _C
from torch import Tensor as Tensor
from torch import is_grad_enabled as is_grad_enabled
from torch import isfinite as isfinite
from torch import no_grad as no_grad
from torch.autograd.function import BackwardCFunction
from torch.nn import Module as Module
from torch.nn import Parameter as Parameter
from torch.nn.utils import clip_grad as clip_grad_module
from torch.optim import Optimizer as Optimizer
from torch.optim import optimizer as optimizer_module
from torch.utils import _python_dispatch as python_dispatch
from torch.utils.data import dataloader as dataloader_module

from gradscope.model import GradscopeError
from gradscope.tracebacks import is_of_torch

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager
    from types import FrameType

try:
    sequence_number = _C._autograd._get_sequence_nr  # next number of this thread's new nodes
    push_mode = _C._push_on_torch_function_stack
    pop_mode = _C._pop_torch_function_stack
    mode_at = _C._get_function_stack_at
    mode_count = _C._len_torch_function_stack
    set_grad_enabled = _C._set_grad_enabled
    DisableTorchFunction = _C.DisableTorchFunction
    transforms = _C._functorch.peek_interpreter_stack  # None outside torch.func
    profiling = _C._autograd._profiler_enabled  # kernels of ours would stand in the user's profile
    is_functional: Any = torch._is_functional_tensor  # its writes wait: reading it would carry them out
    thread_number = threading.get_ident
    kernel_modes = _C._len_torch_dispatch_stack
    _without_kernel_modes = python_dispatch._disable_current_modes
    script_module: Any = torch.jit._script.RecursiveScriptModule
    clip_grad: Any = clip_grad_module
    worker_module: Any = torch.utils.data._utils.worker
    LoaderIterator: Any = dataloader_module._BaseDataLoaderIter
    Fetcher: Any = torch.utils.data._utils.fetch._MapDatasetFetcher
    after_every_step = optimizer_module.register_optimizer_step_post_hook
    _ = worker_module._worker_loop, clip_grad._group_tensors_by_device_and_dtype, LoaderIterator._next_index
    _function_apply = vars(torch.autograd.Function)["apply"]
except (AttributeError, KeyError) as missing:
    raise GradscopeError(f"this torch ({torch.__version__}) lacks what gradscope needs: {missing}") from None


VERSION = tuple(int(n) for n in str(torch.__version__).split(".")[:2])


@dataclass(frozen=True)
class Feature:
    """A name that not every torch has, or what not every one does: from which on, and what gradscope lacks without
    it (nothing, where it is only one thing more to be watched)."""

    name: str
    since: str
    without: str = ""

    @property
    def here(self) -> bool:
        if self.name.startswith("torch."):
            return _found(self.name) is not None
        return tuple(map(int, self.since.split("."))) <= VERSION


def is_of_device(error: BaseException) -> bool:
    """Whether a device has failed: its errors come at whatever call is next (torch 2.8 has a class for them)."""
    return type(error).__name__ == "AcceleratorError" or (
        isinstance(error, RuntimeError) and str(error).startswith("CUDA error")
    )


def capturing() -> bool:
    """Whether a CUDA graph is being captured, or the device has failed: nothing may be asked of it then."""
    try:
        return torch.cuda.is_current_stream_capturing()
    except RuntimeError:
        return True


def _found(name: str) -> Any:
    """What a dotted name stands for; None where this torch has no such thing."""
    thing: Any = torch
    for part in name.split(".")[1:]:
        inner = getattr(thing, part, None)
        if inner is None and isinstance(thing, ModuleType):
            try:
                inner = import_module(f"{thing.__name__}.{part}")
            except ImportError:
                return None
        thing = inner
    return thing


FEATURES = {
    feature.name: feature
    for feature in (
        Feature(
            "torch._C._autograd.SavedTensor.unpack_hook",
            "2.9",
            "what a node saved under saved-tensor hooks is known by the node's number: that of nodes older "
            "than the watch is not looked at, nor hooks found that were put on a single saved value",
        ),
        Feature("torch.utils.swap_tensors", "2.3"),
        Feature(
            "x[…]",
            "2.4",
            "indexing is not seen (function modes are not shown it, and to stand in for it would make a sequence of "
            "each tensor): what it gave looks like data, and findings that hang on it are missing",
        ),
        Feature("torch.autograd.graph._engine_run_backward", "2.3"),
        Feature("torch.amp.GradScaler", "2.3"),
        Feature("torch.utils.checkpoint.CheckpointPolicy", "2.4"),
        Feature("torch.optim.Adafactor", "2.5"),
        Feature("torch.distributed.fsdp.fully_shard", "2.6"),
        Feature("torch.optim.Muon", "2.9"),
    )
}


def has(name: str) -> bool:
    """Whether this torch has what a row of `FEATURES` names."""
    return FEATURES[name].here


def about() -> Iterator[str]:
    """This torch, for `gradscope doctor`."""
    kind = f"CUDA {torch.version.cuda}" if torch.version.cuda else "no CUDA"
    yield f"{torch.__version__}, {kind}, in {os.path.dirname(torch.__file__)}"


def small_step() -> None:
    """A step of training, to see whether it can be watched."""
    weight = torch.ones(2, requires_grad=True)
    optimizer = torch.optim.SGD([weight], lr=0.1)
    (weight * weight).sum().backward()
    optimizer.step()


def hand_to_numpy() -> None:
    """Raises RuntimeError where this torch was built for another NumPy than there is."""
    torch.ones(1).numpy()


class _FixedRef(weakref.ref[Any]):
    """A weak reference to a tensor that gives it back to Python when asked for it: up to 2.9 the object
    may belong to C++ alone (what a node has saved), and would go with it while it is looked at."""

    __slots__ = ()

    def __call__(self) -> Any:
        t = super().__call__()
        if t is not None:
            t._fix_weakref()
        return t


TensorRef: Any = _FixedRef if VERSION < (2, 10) else weakref.ref


def gone() -> None:
    """Stands for a weak reference that was let go of."""


# What has moved, or has another way to be asked. ------------------------------------------

GradScaler: Any = _found("torch.amp.GradScaler") or _found("torch.cuda.amp.GradScaler")  # amp's since 2.3


def _legacy_batched(t: Any) -> bool:
    return bool(_C._dispatch_keys(t).has(_C._dispatch_key_parse("Batched")))


def _address(t: Any) -> int:
    return int(t.data_ptr() - t.storage_offset() * t.element_size())


def _hooks_on_saving(_: bool) -> Any:
    """True where hooks on what nodes save are on. Torch before 2.7 does not say: it refuses to forbid
    them then."""
    switches: Any = _C._autograd
    if switches._saved_tensors_hooks_get_disabled_error_message() is not None:
        return None
    try:
        switches._saved_tensors_hooks_disable("asked")
    except RuntimeError:
        return True
    finally:
        switches._saved_tensors_hooks_enable()
    return None


# gradcheck's and is_grads_batched's
is_legacy_batched: Callable[[Any], bool] = getattr(_C._functorch, "is_legacy_batchedtensor", _legacy_batched)
# where its storage begins: makes no object
memory_of: Callable[[Any], int] = getattr(_C, "_data_address", _address)
# the innermost hooks on what nodes save (called with True), None where there are none
saved_hooks: Callable[[bool], Any] = getattr(
    _C._autograd, "_top_saved_tensors_default_hooks", _hooks_on_saving
)
# (class, arguments): a classmethod up to 2.14, one of C's own from then on
apply_function: Any = getattr(_function_apply, "__func__", _function_apply)
# below the public `clip_grad_norm_`, since 2.6
CLIPS_BELOW = hasattr(clip_grad, "_clip_grads_with_norm_")

_CONTEXTS = os.path.join("torch", "utils", "_contextlib.py")
_GENERATOR = 0x20  # flag of a code object


def is_decorator(code: CodeType) -> bool:
    """Whether this is what a grad mode makes of a function that it decorates. It is called
    `decorate_context`, and since 2.15 after the mode."""
    inside = code.co_filename.endswith(_CONTEXTS) and "func" in code.co_freevars
    return inside and not code.co_flags & _GENERATOR


_TRANSFORMS = os.path.join("_functorch", "eager_transforms.py")


def cudnn_setting(name: str) -> Any:
    """The property behind `torch.backends.cudnn.<name>`: its `setter` is called for every change."""
    return vars(type(torch.backends.cudnn))[name]


# AccumulateGrad nodes carry this instead of a number of their own.
LEAF_SEQUENCE = (1 << 64) - 1


def compiles() -> bool:
    """Whether the program has made anything with torch.compile: a second backend is known then."""
    dynamo: Any = sys.modules.get("torch._dynamo.eval_frame")
    if dynamo is None:
        return False
    here = getattr(dynamo, "guarded_backend_cache", None)  # 2.2 keeps them there, each thread its own
    unknown: Any = (0, 1) if here is None else getattr(here, "cached_backends", ())
    return len(getattr(dynamo, "cached_backends", unknown)) > 1


def aside() -> AbstractContextManager[Any]:
    """For kernels of our own: no mode of the user's sees them, neither of functions nor of kernels."""
    return _aside() if kernel_modes() else DisableTorchFunction()


@contextmanager
def _aside() -> Iterator[None]:
    with DisableTorchFunction(), _without_kernel_modes():
        yield


# In torch's compiler, called as (callback) around everything it runs; absent until it is loaded.
FRAME_DOOR = "_maybe_set_eval_frame"
# Beside it, called as (code): the compiler leaves frames of that code to Python.
SKIP_CODE = "skip_code"


def tracing_doors() -> list[tuple[Any, str]]:
    """(owner, name) of the functions that run a program only to write it down."""
    trace: Any = torch.jit._trace
    found = [(trace, name) for name in ("_trace_impl", "trace_module", "_get_trace_graph")]
    found += [(torch.jit, "trace_module"), (torch.export, "export")]
    return [(owner, name) for owner, name in found if hasattr(owner, name)]


def in_transform(frame: FrameType) -> bool:
    """Whether the pass that `frame` asks for is a step of torch.func's own (grad, vjp, jacrev):
    it fills no `.grad`, and how it keeps its graph is not the user's choice."""
    caller: FrameType | None = frame
    for _ in range(8):  # torch's detour through the function modes lies between
        if caller is None:
            return False
        if is_of_torch(caller.f_code.co_filename, _TRANSFORMS):
            return True
        caller = caller.f_back
    return False


def backward_doors() -> list[tuple[Any, str, Any, Callable[[Any], Any]]]:
    """The one way into the engine, wherever its name is bound: (owner, name, the function, how its
    stand-in is put there)."""
    name = "_engine_run_backward"
    owners: list[Any] = [m for m in (autograd_graph, torch.autograd) if hasattr(m, name)]
    doors: list[tuple[Any, str, Any, Callable[[Any], Any]]]
    doors = [(owner, name, getattr(owner, name), _as_it_is) for owner in owners]
    if not doors:  # before 2.3: a method of the engine
        variable: Any = torch.autograd.Variable
        engine = variable._execution_engine
        doors = [(variable, "_execution_engine", engine.run_backward, _engine_with)]
    return doors


def _as_it_is(function: Any) -> Any:
    return function


def _engine_with(run_backward: Any) -> Any:
    cls = type(torch.autograd.Variable._execution_engine)
    engine: Any = type(cls.__name__, (cls,), {"__module__": cls.__module__})()
    engine.run_backward = run_backward
    return engine


def sequence_of(node: Any) -> int:
    """The creation number of a grad_fn; -1 for leaves; below that for others without one
    (what `set_` leaves behind), as long as they live."""
    number = int(node._sequence_nr())
    if number != LEAF_SEQUENCE:
        return number
    return -1 if hasattr(node, "variable") else -2 - id(node)


def accumulates(node: Any) -> bool:
    """Whether it is the AccumulateGrad node of a leaf: a custom Function's may have any attribute."""
    return int(node._sequence_nr()) == LEAF_SEQUENCE and hasattr(node, "variable")


def dtype_of(t: Any) -> str:
    """ "float32"."""
    return str(t.dtype).removeprefix("torch.")


def name_of(node: Any) -> str:
    """The grad_fn's name as its repr shows it: "MulBackward0", "AccumulateGrad"."""
    return str(node.name()).rpartition("::")[2]


def function_of(node: Any) -> Any:
    """The `autograd.Function` of the program's or of a library's whose node this is; None for torch's own."""
    cls = getattr(node, "_forward_cls", None) if isinstance(node, BackwardCFunction) else None
    own = isinstance(cls, type) and not cls.__module__.startswith("torch.")
    return cls if own else None


def full_name_of(node: Any) -> str:
    """The same, with the mode of a division that rounds: "DivBackward2[floor]" gives a gradient of zero."""
    name = name_of(node)
    mode = getattr(node, "_saved_rounding_mode", None) if name.startswith("DivBackward") else None
    return f"{name}[{mode}]" if isinstance(mode, str) else name


def grad_fn_of(t: Any) -> Any:
    """The tensor's grad_fn; None also where torch refuses to say (a view made without
    gradients whose base was written to since)."""
    try:
        return t.grad_fn
    except RuntimeError:
        return None


def has_grad_fn(t: Any) -> bool:
    """Whether it has a grad_fn, without looking at that: a node that was looked at keeps its Python object
    (hooks/behind.py)."""
    return bool(t.requires_grad) and not is_leaf(t)


def distributed_tensor() -> Any:
    """torch's class; None where nobody has imported it."""
    return getattr(sys.modules.get("torch.distributed.tensor"), "DTensor", None)


def shard_of(t: Any) -> Any:
    """What this process holds of a distributed tensor, as FSDP makes of parameters; None for others."""
    kind = distributed_tensor()
    return t._local_tensor if kind is not None and isinstance(t, kind) else None


def held_here(t: Any) -> Any:
    """What this process holds of a distributed tensor; of any other the tensor itself."""
    held = shard_of(t) if type(t) is not Tensor and type(t) is not Parameter else None
    return t if held is None else held


def in_own_memory(t: Any) -> bool:
    """Whether a tensor lies in memory that no other process has been given."""
    try:
        return t.device.type == "cpu" and not t.untyped_storage().is_shared()
    except (AttributeError, NotImplementedError, RuntimeError):  # no storage, or none of its own
        return False


def unreduced_of(module: Any) -> list[Any]:
    """The parameters of a model in `fully_shard` whose gradients wait for a pass that reduces them
    (`set_requires_gradient_sync`); none for other models."""
    found: list[Any] = []
    for part in module.modules():
        state = getattr(part, "_get_fsdp_state", None)
        if state is None:
            continue
        held = state()
        for group in getattr(held, "_fsdp_param_groups", None) or (getattr(held, "_fsdp_param_group", None),):
            for one in getattr(group, "fsdp_params", ()):
                whole = getattr(one, "_unsharded_param", None)
                kept = getattr(one, "unsharded_accumulated_grad", None)  # in the type that it is reduced in
                if kept is not None or (whole is not None and whole.grad is not None):
                    found.append(one.sharded_param)
    return found


def has_lost_hooks(optimizer: type) -> bool:
    """Whether the hooks of its steps never run: it says that they do, and torch's function that runs them is gone."""
    step: Any = vars(optimizer).get("step")
    runs = "profile_hook_step" in getattr(getattr(step, "__code__", None), "co_qualname", "")
    return bool(getattr(step, "hooked", False)) and not runs


_has_names: Any = getattr(Tensor, "has_names", None)  # until 2.12 at the latest axes may have some


def without_names(t: Any) -> Any:
    """The same numbers, with no names of the axes, which most operators refuse."""
    return t.rename(None) if _has_names is not None and _has_names(t) else t


def version_of(t: Any) -> int:
    """How often the tensor was written to, or this process's shard of it: FSDP writes to that, operators on the
    distributed tensor count there. -1 for inference tensors, which do not count."""
    written = 0
    try:
        if type(t) is not Tensor and type(t) is not Parameter and (local := shard_of(t)) is not None:
            written = int(local._version)
        return written + int(t._version)
    except RuntimeError:
        return -1


class UnderHooks:
    """The numbers of the nodes that were made while saved-tensor hooks were on, for a torch that does
    not tell them by what was saved. Those below `floor` are not known any more, and count as such."""

    MOST = 4096

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        """From here on, in this thread."""
        self.floor = int(sequence_number())
        self.firsts: list[int] = []
        self.ends: list[int] = []
        self.depth = 1 if saved_hooks(True) is not None else 0
        self.first = self.floor

    def enter(self) -> None:
        if not self.depth:
            self.first = int(sequence_number())
        self.depth += 1

    def leave(self) -> None:
        self.depth -= 1
        if self.depth == 0:
            self.firsts.append(self.first)
            self.ends.append(int(sequence_number()))
        if len(self.ends) > self.MOST:
            half = self.MOST // 2
            self.floor = self.ends[half]
            del self.firsts[: half + 1], self.ends[: half + 1]

    def covers(self, node: Any) -> bool:
        number = int(node._sequence_nr())
        if number < self.floor or (self.depth > 0 and number >= self.first):
            return True
        place = bisect_right(self.firsts, number) - 1
        return place >= 0 and number < self.ends[place]


under_hooks = UnderHooks()
_tells_hooks = has("torch._C._autograd.SavedTensor.unpack_hook")


def saved_by(node: Any, name: str) -> Any:
    """What the node saved under this name ("_saved_self"); None where to look would run a hook of
    the user's (a checkpoint computes its stretch again). Raises RuntimeError as torch does where it
    was freed or written to."""
    if _unpacked_by_hook(node, f"_raw{name}"):
        return None
    with aside():  # to look is a `detach` of the tensor
        return getattr(node, name)


def _unpacked_by_hook(node: Any, raw: str) -> bool:
    """Whether a hook of the user's gives back what a node has saved under this name ("_raw_saved_self")."""
    if not _tells_hooks:
        return under_hooks.covers(node)
    saved = getattr(node, raw, None)
    several = saved if isinstance(saved, (tuple, list)) else (saved,)
    return any(one is not None and one.unpack_hook is not None for one in several)


def saved_tensors(node: Any) -> tuple[list[Any], int]:
    """(the tensors that a node keeps for its backward, how many names under which it keeps something behind a
    hook of the user's). Raises RuntimeError as torch does where they were freed or written to."""
    kept: list[Any] = []
    hidden = 0
    for raw in dir(type(node)):
        if not raw.startswith("_raw_saved_"):
            continue
        if _unpacked_by_hook(node, raw):
            hidden += 1
            continue
        name = raw.removeprefix("_raw")
        with aside():
            found = getattr(
                node, name if name != "_saved_tensors" else "saved_tensors"
            )  # of a custom Function
        several = found if isinstance(found, (tuple, list)) else (found,)
        kept += [one for one in several if isinstance(one, torch.Tensor)]
    return kept, hidden


_FOREACH_NORM: Any = torch.ops.aten._foreach_norm.Scalar
_NORM_HAS_DTYPE = any(argument.name == "dtype" for argument in _FOREACH_NORM._schema.arguments)  # since 2.4


def float_norms(tensors: list[Any]) -> list[Any]:
    """The 2-norms of tensors of one type, of at most 32 bits, as floats."""
    if _NORM_HAS_DTYPE:
        return list(torch._foreach_norm(tensors, 2, torch.float32))
    if tensors[0].dtype == torch.float32:
        return list(torch._foreach_norm(tensors, 2))
    return [torch.linalg.vector_norm(t, dtype=torch.float32) for t in tensors]


def grad_of(t: Any) -> Any:
    """`t.grad`, without torch's warning for those that are no leaf and have none."""
    return t.grad if is_leaf(t) or t.retains_grad else None


def sizes_made(node: Any) -> tuple[tuple[int, ...] | None, str | None]:
    """Sizes and dtype of the first tensor that a node made; (None, None) where this torch does not tell
    (`_input_metadata` came with 2.3)."""
    for made in getattr(node, "_input_metadata", ())[:1]:
        return tuple(int(size) for size in made.shape), dtype_of(made)
    return None, None


def is_leaf(t: Any) -> bool:
    """`t.is_leaf`, False where torch refuses to say."""
    try:
        return bool(t.is_leaf)
    except RuntimeError:
        return False
