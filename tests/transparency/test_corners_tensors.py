"""Tensors of every kind as inputs, the user's own subclasses among them: unchanged when watched."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
import torch.utils._pytree as pytree
from corners import alike, names
from torch import nn
from torch.nested import nested_tensor
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

import gradscope
from gradscope.hooks._torch import VERSION


def net() -> nn.Sequential:
    return nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))


# -- layouts and dtypes --------------------------------------------------------------------


def nested_strided() -> Any:
    leaf = [torch.randn(2, 3, requires_grad=True), torch.randn(1, 3, requires_grad=True)]
    layer = nn.Linear(3, 2)
    out = layer(torch.nested.as_nested_tensor(leaf))
    out.to_padded_tensor(0.0).sum().backward()
    return out, [t.grad for t in leaf], layer.weight.grad


def nested_jagged() -> Any:
    x = nested_tensor([torch.randn(2, 3), torch.randn(1, 3)], layout=torch.jagged, requires_grad=True)
    layer = nn.Linear(3, 2)
    out = layer(x).tanh()
    _values(out).square().sum().backward()
    return out.values(), layer.weight.grad, x.grad.values()


def _values(jagged: torch.Tensor) -> torch.Tensor:
    if VERSION >= (2, 3):
        return jagged.values()
    from torch.nested._internal.nested_tensor import buffer_from_jagged

    return buffer_from_jagged(jagged)  # `values()` has no graph there


def sparse_coo() -> Any:
    s = torch.eye(3).to_sparse().requires_grad_()
    dense = torch.randn(3, 2, requires_grad=True)
    torch.sparse.mm(s, dense).square().sum().backward()
    return s.grad, dense.grad


def sparse_csr() -> Any:
    s = torch.eye(3).to_sparse_csr().requires_grad_()
    dense = torch.randn(3, 2, requires_grad=True)
    (s @ dense).square().sum().backward()
    return s.grad, dense.grad


def sparse_embedding() -> Any:
    table = nn.Embedding(5, 2, sparse=True)
    bag = nn.EmbeddingBag(5, 2, sparse=True, mode="sum")
    picked = torch.tensor([1, 2, 2])
    (table(picked).sum() + bag(picked, torch.tensor([0, 2])).sum()).backward()
    return table.weight.grad, bag.weight.grad


def complex_numbers() -> Any:
    w = torch.randn(3, dtype=torch.complex64, requires_grad=True)
    spectrum = torch.fft.fft(w) * w.conj()
    (spectrum.real.square().sum() + spectrum.imag.sum() + spectrum.abs().sum() + w.angle().sum()).backward()
    view = torch.view_as_real(w.detach())
    return w.grad, view, w.H, w.resolve_conj()


def quantized() -> Any:
    x = torch.quantize_per_tensor(torch.randn(3), 0.1, 0, torch.quint8)
    fake = torch.fake_quantize_per_tensor_affine(torch.randn(3, requires_grad=True), 0.1, 0, 0, 255)
    fake.sum().backward()
    return x.int_repr(), x.dequantize(), fake


def named_dimensions() -> Any:
    x = torch.randn(2, 3, names=("rows", "columns"))
    return x.sum("rows").rename(None), x.names


def half_and_double() -> Any:
    layer = nn.Linear(3, 2).to(torch.bfloat16)
    layer(torch.randn(4, 3, dtype=torch.bfloat16)).sum().backward()
    other = nn.Linear(3, 2).double()
    other(torch.randn(4, 3).double()).sum().backward()
    return layer.weight.grad, other.weight.grad


def packed_sequences() -> Any:
    lstm = nn.LSTM(3, 4, batch_first=True)
    packed = pack_padded_sequence(torch.randn(2, 5, 3), torch.tensor([5, 3]), batch_first=True)
    out, _ = pad_packed_sequence(lstm(packed)[0], batch_first=True)
    out.square().sum().backward()
    return out, [p.grad for p in lstm.parameters()]


def nothing_in_it() -> Any:
    w = torch.randn(0, 3, requires_grad=True)
    layer = nn.Linear(3, 2)
    layer(w).sum().backward()
    scalar = torch.tensor(2.0, requires_grad=True)
    (scalar**3).backward()
    return w.grad, layer.weight.grad, scalar.grad


def numpy_and_back() -> Any:
    w = torch.randn(3, requires_grad=True)
    array = w.detach().numpy()
    other = np.asarray(torch.arange(3.0)) + array
    (w * torch.from_numpy(other) * torch.as_tensor(np.ones(3, dtype=np.float32))).sum().backward()
    return w.grad, other.tolist(), np.add(w.detach(), 1).tolist(), float(w.detach().numpy().sum())


def dlpack() -> Any:
    w = torch.randn(3, requires_grad=True)
    (w * torch.from_dlpack(torch.ones(3))).sum().backward()
    return w.grad, np.from_dlpack(torch.ones(2)).tolist()


def shapes_with_meaning() -> Any:
    x = torch.randn(2, 3, 4, requires_grad=True)
    a, b = x.unbind(0)
    first, *rest = x
    out = torch.einsum("ij,kj->ik", a, b) + first.mT.T @ rest[0].T
    out.sum().backward()
    return x.grad, [len(x), list(x.shape), x.size(-1), x.T.shape if x.dim() == 2 else None]


# -- subclasses ------------------------------------------------------------------------------


class Tagged(torch.Tensor):
    """Carries a note along, and logs what is called on it."""

    tag: str
    calls: list[str] = []

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        cls.calls.append(getattr(func, "__name__", str(func)))
        result = super().__torch_function__(func, types, args, kwargs or {})
        if isinstance(result, cls):
            tags = [a.tag for a in args if isinstance(a, cls) and hasattr(a, "tag")]
            result.tag = "+".join(tags)
        return result


class Silent(torch.Tensor):
    """Opts out of function overrides."""

    __torch_function__ = torch._C._disabled_torch_function_impl


class Boxed(torch.Tensor):
    """A wrapper without memory of its own: kernels run on what it holds."""

    inner: torch.Tensor
    calls: list[str] = []

    @staticmethod
    def __new__(cls, inner: torch.Tensor) -> Any:
        return torch.Tensor._make_wrapper_subclass(
            cls, inner.shape, dtype=inner.dtype, device=inner.device, requires_grad=inner.requires_grad
        )

    def __init__(self, inner: torch.Tensor) -> None:
        self.inner = inner

    def __repr__(self) -> str:  # type: ignore[override]
        return f"Boxed({self.inner})"

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        cls.calls.append(str(func))
        open_args, open_kwargs = pytree.tree_map_only(cls, lambda t: t.inner, (args, kwargs or {}))
        result = func(*open_args, **open_kwargs)
        return pytree.tree_map_only(torch.Tensor, lambda t: t if isinstance(t, cls) else cls(t), result)


class Duck:
    """No tensor at all, but takes part in torch's functions."""

    def __init__(self, value: torch.Tensor) -> None:
        self.value = value

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        opened = [a.value if isinstance(a, cls) else a for a in args]
        return cls(func(*opened, **(kwargs or {})))


def function_subclass() -> Any:
    Tagged.calls = []
    x = torch.randn(4, 3).as_subclass(Tagged)
    x.tag = "x"
    model = net()
    out = model(x)
    loss = out.square().mean()
    loss.backward()
    return out, out.tag, loss.tag, Tagged.calls, [p.grad for p in model.parameters()]


def function_subclass_as_parameter() -> Any:
    Tagged.calls = []
    w = nn.Parameter(torch.randn(3).as_subclass(Tagged))
    optimizer = torch.optim.SGD([w], lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        (w * torch.randn(3)).square().sum().backward()
        optimizer.step()
    return w, Tagged.calls


def disabled_subclass() -> Any:
    w = torch.randn(3).as_subclass(Silent).requires_grad_()
    out = (w * 2).sum()
    out.backward()
    return out, w.grad


def dispatch_subclass() -> Any:
    Boxed.calls = []
    w = Boxed(torch.randn(4, 3)).requires_grad_()
    model = net()
    for p in model.parameters():
        p.requires_grad_(False)
    out = model(w).square().mean()
    out.backward()
    return out.inner, w.grad.inner, Boxed.calls


def dispatch_subclass_trains() -> Any:
    Boxed.calls = []
    w = nn.Parameter(Boxed(torch.randn(3)))
    optimizer = torch.optim.SGD([w], lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        (w * Boxed(torch.randn(3))).square().sum().backward()
        optimizer.step()
    return w.inner, Boxed.calls


def duck() -> Any:
    out = torch.add(Duck(torch.ones(2)), Duck(torch.ones(2)))  # type: ignore[call-overload]
    return type(out).__name__, out.value


def lazy_attribute_errors() -> Any:
    class Picky(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            if func is torch.exp:
                raise TypeError("no exp here")
            return super().__torch_function__(func, types, args, kwargs or {})

    x = torch.randn(3).as_subclass(Picky)
    seen = []
    try:
        torch.exp(x)
    except TypeError as error:
        seen.append(str(error))
    return seen, (x * 2).sum()


def stateful_repr() -> Any:
    class Loud(torch.Tensor):
        def __repr__(self) -> str:  # type: ignore[override]
            raise RuntimeError("never shown")

        def __bool__(self) -> bool:
            raise RuntimeError("no truth")

        def __eq__(self, other: Any) -> Any:
            raise RuntimeError("not comparable")

        __hash__ = torch.Tensor.__hash__

    w = torch.randn(3).as_subclass(Loud).requires_grad_()
    (w * 2).sum().backward()
    return w.grad


def swapped_parameters() -> Any:
    """`.to()` and `load_state_dict` put other tensors into the parameters, which torch refuses to
    do where something holds a weak reference."""
    layer = net()
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
    state = {name: t.clone() for name, t in layer.state_dict().items()}
    normed = nn.BatchNorm1d(2)
    torch.__future__.set_swap_module_params_on_conversion(True)
    try:
        normed(torch.randn(3, 2))
        normed.to(torch.float64)
        for _ in range(2):
            optimizer.zero_grad()
            layer(torch.randn(2, 3, dtype=layer[0].weight.dtype)).sum().backward()
            optimizer.step()
            layer.to(torch.float64)
        layer.load_state_dict(state)
    finally:
        torch.__future__.set_swap_module_params_on_conversion(False)
    fresh = net()
    fresh[0].weight.register_hook(lambda grad: grad)
    torch.__future__.set_swap_module_params_on_conversion(True)
    try:
        fresh.load_state_dict(state)  # of a model that was never stepped
        fresh.to(torch.float64)
    finally:
        torch.__future__.set_swap_module_params_on_conversion(False)
    a, b = torch.ones(3, requires_grad=True), torch.zeros(2)
    torch.utils.swap_tensors(a, b)
    (b * 2).sum().backward()
    return list(layer.parameters()), a, b, b.grad, normed.running_mean


def fused_transformer_layers() -> Any:
    """Evaluated without gradients they take a kernel of their own, which rounds otherwise and leaves
    padded places 0, unless a function mode is there."""
    layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True).eval()
    encoder, attention = (
        nn.TransformerEncoder(layer, 2).eval(),
        nn.MultiheadAttention(16, 2, batch_first=True).eval(),
    )
    x, padded = torch.randn(3, 7, 16), torch.zeros(3, 7, dtype=torch.bool)
    padded[:, 4:] = True
    with torch.no_grad():
        found = [encoder(x, src_key_padding_mask=padded), layer(x), *attention(x, x, x)]
        found.append(torch.jit.script(encoder)(x))
    return [*found, encoder(x), torch.overrides._get_current_function_mode_stack()]


PROGRAMS: list[Callable[[], Any]] = [
    nested_strided, nested_jagged, sparse_coo, sparse_csr, sparse_embedding, complex_numbers, quantized,
    named_dimensions, half_and_double, packed_sequences, nothing_in_it, numpy_and_back, dlpack, shapes_with_meaning,
    function_subclass, function_subclass_as_parameter, disabled_subclass, dispatch_subclass, dispatch_subclass_trains,
    duck, lazy_attribute_errors, stateful_repr, swapped_parameters,
    fused_transformer_layers,
]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
@pytest.mark.filterwarnings("ignore")
def test_same_when_watched(program: Callable[[], Any]) -> None:
    alike(program)


def test_ops_on_subclasses_are_captured() -> None:
    assert {"linear", "tanh", "square", "mean"} <= set(names(alike(function_subclass)))
    assert {"linear", "tanh", "square", "mean"} <= set(names(alike(dispatch_subclass)))


def test_results_that_are_swapped_are_each_others_from_then_on() -> None:
    a = torch.ones(3, requires_grad=True)
    with gradscope.watch(sample=False) as scope:
        b, c = a.exp(), a.sin()
        torch.utils.swap_tensors(b, c)
        (b * 2 + c.tanh()).sum().backward()
    nodes = scope.trace.graphs[-1].nodes
    below = {node.name: [nodes[edge.target].name for edge in node.edges] for node in nodes}
    assert (below["MulBackward0"], below["TanhBackward0"]) == (["SinBackward0"], ["ExpBackward0"])
