"""torch.func: gradients, Jacobians, vmap and functional calls: unchanged when watched."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from corners import alike
from torch import nn
from torch._ops import HigherOrderOperator


def net() -> nn.Sequential:
    return nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))


def grad() -> Any:
    return torch.func.grad(lambda w: (w**2).sin().sum())(torch.randn(3))


def grad_of_grad() -> Any:
    return torch.func.grad(lambda y: torch.func.grad(lambda x: (x**3).sum())(y).sum())(torch.randn(3))


def vmap() -> Any:
    return torch.func.vmap(lambda w, v: (w * v).sum())(torch.randn(4, 3), torch.randn(4, 3))


def vmap_random() -> Any:
    return torch.func.vmap(lambda w: w + torch.randn(3), randomness="different")(torch.randn(4, 3))


def jacobians() -> Any:
    x = torch.randn(3)
    return [
        f(lambda w: w.exp() * w.sum())(x) for f in (torch.func.jacrev, torch.func.jacfwd, torch.func.hessian)
    ]


def vjp_jvp() -> Any:
    x = torch.randn(3)
    out, pull = torch.func.vjp(torch.sin, x)
    return out, pull(torch.ones(3)), torch.func.jvp(torch.sin, (x,), (torch.ones(3),))


def per_sample_gradients() -> Any:
    model = net()
    params = {k: v.detach() for k, v in model.named_parameters()}

    def loss(params: Any, x: Any, y: Any) -> Any:
        out = torch.func.functional_call(model, params, (x.unsqueeze(0),))
        return (out.squeeze() - y).square()

    return torch.func.vmap(torch.func.grad(loss), (None, 0, 0))(params, torch.randn(5, 3), torch.randn(5))


def functional_call_trains() -> Any:
    model = net()
    fast = {k: v * 2 for k, v in model.named_parameters()}
    out = torch.func.functional_call(model, fast, (torch.randn(5, 3),))
    out.square().mean().backward()
    return [p.grad for p in model.parameters()]


def stacked_ensemble() -> Any:
    models = [net() for _ in range(3)]
    params, buffers = torch.func.stack_module_state(models)  # type: ignore[arg-type]
    skeleton = net().to("meta")

    def call(p: Any, b: Any, x: Any) -> Any:
        return torch.func.functional_call(skeleton, (p, b), (x,))

    out = torch.func.vmap(call, (0, 0, None))(params, buffers, torch.randn(5, 3))
    out.sum().backward()
    return out, [p.grad for p in params.values()]


def vmap_over_dropout_and_norms() -> Any:
    model = nn.Sequential(nn.Linear(3, 4), nn.LayerNorm(4), nn.Dropout(), nn.Linear(4, 1))
    return torch.func.vmap(lambda x: model(x).log().sum(), randomness="different")(torch.rand(5, 3))


def stacked_batch_norms() -> Any:
    """Their running statistics stand for several while they run."""
    models = [nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4)) for _ in range(3)]
    params, buffers = torch.func.stack_module_state(models)  # type: ignore[arg-type]

    def call(p: Any, b: Any, x: Any) -> Any:
        return torch.func.functional_call(models[0], (p, b), (x,))

    return torch.func.vmap(call, (0, 0, None))(params, buffers, torch.randn(5, 3)), buffers


class Sum(HigherOrderOperator):
    """An operator of the user's own, which reaches torch's modes through an inherited `__call__`."""

    def __init__(self) -> None:
        super().__init__("gradscope_test_sum")

    def __call__(self, *args: Any) -> Any:
        return super().__call__(*args)


total = Sum()
total.py_impl(torch._C.DispatchKey.Autograd)(lambda x: x.exp().sum())
total.py_impl(torch._C.DispatchKey.CPU)(lambda x: x.exp().sum())


def own_operator() -> Any:
    x = torch.randn(3, requires_grad=True)
    total(x).backward()
    return x.grad


def functionalize() -> Any:
    return torch.func.functionalize(lambda x: x.clone().add_(1).view(-1))(torch.randn(2, 2))


def functionalize_resized() -> Any:
    """A tensor whose memory was asked for may not grow any more there."""
    return torch.func.functionalize(lambda x: (x + 1).resize_(5, 5).fill_(1))(torch.ones(8, 2))


def linearize() -> Any:
    out, push = torch.func.linearize(lambda x: x.sin(), torch.randn(3))
    return out, push(torch.ones(3))


def within_training() -> Any:
    model = net()
    x = torch.randn(5, 3)
    slope = torch.func.vmap(torch.func.grad(lambda v: model(v).sum()))(x)
    slope.square().sum().backward()
    return slope, [p.grad for p in model.parameters()]


PROGRAMS: list[Callable[[], Any]] = [
    grad, grad_of_grad, vmap, vmap_random, jacobians, vjp_jvp, per_sample_gradients,
    functional_call_trains, stacked_ensemble, vmap_over_dropout_and_norms, functionalize,
    stacked_batch_norms, own_operator, functionalize_resized, linearize, within_training,
]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_same_when_watched(program: Callable[[], Any]) -> None:
    alike(program)
