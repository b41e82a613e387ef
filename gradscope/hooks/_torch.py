"""Every private name of torch that gradscope uses, checked when it starts.

Tested with torch 2.13. If a release moves one, this file says which.
"""

from __future__ import annotations

import os
import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import torch
import torch.autograd.graph as autograd_graph
from torch import _C, Tensor
from torch.nn import Parameter
from torch.nn.utils import clip_grad as clip_grad_module
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
    run_backward = autograd_graph._engine_run_backward
    set_grad_enabled = _C._set_grad_enabled
    DisableTorchFunction = _C.DisableTorchFunction
    transforms = _C._functorch.peek_interpreter_stack  # None outside torch.func
    profiling = _C._autograd._profiler_enabled  # kernels of ours would stand in the user's profile
    is_legacy_batched = _C._functorch.is_legacy_batchedtensor  # gradcheck's and is_grads_batched's
    is_functional: Any = torch._is_functional_tensor  # its writes wait: reading it would carry them out
    saved_hooks = _C._autograd._top_saved_tensors_default_hooks
    thread_number = threading.get_ident
    kernel_modes = _C._len_torch_dispatch_stack
    memory_of: Any = _C._data_address  # type: ignore[attr-defined]  # where its storage begins: makes no object
    _without_kernel_modes = python_dispatch._disable_current_modes
    script_module: Any = torch.jit._script.RecursiveScriptModule
    clip_grad: Any = clip_grad_module
    worker_module: Any = torch.utils.data._utils.worker
    WorkerIterator: Any = dataloader_module._MultiProcessingDataLoaderIter
    _ = worker_module._worker_loop
    _ = clip_grad._clip_grads_with_norm_, clip_grad._group_tensors_by_device_and_dtype
except AttributeError as missing:
    raise GradscopeError(f"this torch ({torch.__version__}) lacks what gradscope needs: {missing}") from None

_TRANSFORMS = os.path.join("_functorch", "eager_transforms.py")


def cudnn_setting(name: str) -> Any:
    """The property behind `torch.backends.cudnn.<name>`: its `setter` is called for every change."""
    return vars(type(torch.backends.cudnn))[name]


# AccumulateGrad nodes carry this instead of a number of their own.
LEAF_SEQUENCE = (1 << 64) - 1


def aside() -> AbstractContextManager[Any]:
    """For kernels of our own: no mode of the user's sees them, neither of functions nor of kernels."""
    return _aside() if kernel_modes() else DisableTorchFunction()


@contextmanager
def _aside() -> Iterator[None]:
    with DisableTorchFunction(), _without_kernel_modes():
        yield


# In torch's compiler, called as (callback) around everything it runs; absent until it is loaded.
FRAME_DOOR = "_maybe_set_eval_frame"


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


def backward_doors() -> list[Any]:
    """The modules in which the name of the one way into the engine is bound."""
    return [
        m for m in (autograd_graph, torch.autograd) if getattr(m, "_engine_run_backward", None) is not None
    ]


def sequence_of(node: Any) -> int:
    """The creation number of a grad_fn; -1 for leaves; below that for others without one
    (what `set_` leaves behind), as long as they live."""
    number = int(node._sequence_nr())
    if number != LEAF_SEQUENCE:
        return number
    return -1 if hasattr(node, "variable") else -2 - id(node)


def name_of(node: Any) -> str:
    """The grad_fn's name as its repr shows it: "MulBackward0", "AccumulateGrad"."""
    return str(node.name()).rpartition("::")[2]


def grad_fn_of(t: Any) -> Any:
    """The tensor's grad_fn; None also where torch refuses to say (a view made without
    gradients whose base was written to since)."""
    try:
        return t.grad_fn
    except RuntimeError:
        return None


def shard_of(t: Any) -> Any:
    """What this process holds of a distributed tensor, as FSDP makes of parameters; None for others."""
    kind = getattr(sys.modules.get("torch.distributed.tensor"), "DTensor", None)
    return t._local_tensor if kind is not None and isinstance(t, kind) else None


def version_of(t: Any) -> int:
    """How often the tensor was written to, or this process's shard of it; -1 for inference tensors,
    which do not count."""
    if type(t) is not Tensor and type(t) is not Parameter and (local := shard_of(t)) is not None:
        t = local
    try:
        return int(t._version)
    except RuntimeError:
        return -1


def saved_by(node: Any, name: str) -> Any:
    """What the node saved under this name ("_saved_self"); None where to look would run a hook of
    the user's (a checkpoint computes its stretch again). Raises RuntimeError as torch does where it
    was freed or written to."""
    raw = getattr(node, f"_raw{name}", None)
    for one in raw if isinstance(raw, (tuple, list)) else (raw,):
        if one is not None and one.unpack_hook is not None:
            return None
    with aside():  # to look is a `detach` of the tensor
        return getattr(node, name)


def grad_of(t: Any) -> Any:
    """`t.grad`, without torch's warning for those that are no leaf and have none."""
    return t.grad if is_leaf(t) or t.retains_grad else None


def is_leaf(t: Any) -> bool:
    """`t.is_leaf`, False where torch refuses to say."""
    try:
        return bool(t.is_leaf)
    except RuntimeError:
        return False
