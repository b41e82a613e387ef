"""Grad modes, dispatch and function modes, devices and functional transforms: unchanged when watched."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch
from corners import alike, fingerprint, names
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.autograd import forward_ad
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

import gradscope


def net() -> nn.Sequential:
    return nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))


def trained(model: nn.Module | None = None) -> list[Any]:
    """Three steps of training; losses and what became of the parameters."""
    model = model if model is not None else net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    losses = []
    for _ in range(3):
        optimizer.zero_grad()
        loss = model(torch.randn(5, 3)).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return [losses, *model.parameters()]


# -- grad modes ----------------------------------------------------------------------------


def forward_mode() -> Any:
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(torch.randn(2), torch.ones(2))
        out = forward_ad.unpack_dual((dual * 3).sin())
        return out.primal, out.tangent


def forward_over_reverse() -> Any:
    w = torch.randn(3, requires_grad=True)
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(w, torch.ones(3))
        (grad,) = torch.autograd.grad((dual**3).sum(), w)
        return forward_ad.unpack_dual(grad)


def functional_api() -> Any:
    x = torch.randn(3)
    api = torch.autograd.functional
    return [
        api.jacobian(torch.exp, x), api.hessian(lambda v: v.exp().sum(), x), api.vjp(torch.exp, x, torch.ones(3)),
        api.jvp(torch.exp, x, torch.ones(3)), api.hvp(lambda v: v.exp().sum(), x, torch.ones(3)),
        api.jacobian(torch.exp, x, vectorize=True, strategy="forward-mode"),
    ]  # fmt: skip


def inference() -> Any:
    model = net().eval()
    with torch.inference_mode():
        out = model(torch.randn(2, 3))
        out.add_(1)
    with torch.inference_mode(False):
        more = torch.ones(2)
    return out, out.is_inference(), more.is_inference(), (out.clone() + 1).is_inference()


def inference_tensor_in_training() -> Any:
    with torch.inference_mode():
        x = torch.ones(2, 3)
    model = net()
    model(x).sum().backward()


@torch.inference_mode()
def _decorated(model: nn.Module, x: torch.Tensor) -> torch.Tensor:
    return model(x) * 2  # type: ignore[no-any-return]


def decorated_modes() -> Any:
    @torch.no_grad()
    def counted(n: int) -> Iterator[Any]:
        for _ in range(n):
            yield torch.ones(1, requires_grad=True) * 2, torch.is_grad_enabled()

    @torch.set_grad_enabled(False)
    def off() -> bool:
        return torch.is_grad_enabled()

    return _decorated(net().eval(), torch.randn(2, 3)), list(counted(3)), off(), torch.is_grad_enabled()


def generator_holds_no_grad() -> Any:
    def batches() -> Iterator[torch.Tensor]:
        with torch.no_grad():
            yield torch.randn(2, 3)
            yield torch.randn(2, 3)

    seen = []
    source = batches()
    model = net().eval()
    for x in source:
        seen.append((torch.is_grad_enabled(), model(x)))
    other = batches()
    next(other)
    seen.append(torch.is_grad_enabled())
    other.close()
    seen.append(torch.is_grad_enabled())
    out = model(torch.randn(2, 3))
    return seen, out


def crossed_modes() -> Any:
    """Regions that do not nest: the one opened first is closed first."""
    first, second = torch.no_grad(), torch.enable_grad()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    between = torch.is_grad_enabled()
    second.__exit__(None, None, None)
    after = torch.is_grad_enabled()
    torch.set_grad_enabled(True)
    return between, after


def one_mode_used_twice() -> Any:
    off = torch.no_grad()
    seen = []
    with off:
        with off:
            seen.append(torch.is_grad_enabled())
        seen.append(torch.is_grad_enabled())
    seen.append(torch.is_grad_enabled())
    torch.set_grad_enabled(True)
    return seen


# -- autocast ------------------------------------------------------------------------------


def autocast() -> Any:
    model = net()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        out = model(torch.randn(2, 3))
    out.float().square().sum().backward()
    return out, [p.grad for p in model.parameters()]


def grad_scaler() -> Any:
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cpu")
    for _ in range(3):
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.float16):
            loss = model(torch.randn(5, 3)).float().square().mean()
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
    return scaler.get_scale(), list(model.parameters())


def grad_scaler_overflows() -> Any:
    """Steps are left out and the scale is halved until the gradients are finite."""
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**112)
    scales = []
    for _ in range(8):
        optimizer.zero_grad()
        loss = (model(torch.randn(5, 3)) * 1e3).square().mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        scales.append(scaler.get_scale())
    return scales, scaler.state_dict(), list(model.parameters())


# -- devices -------------------------------------------------------------------------------


def meta_device() -> Any:
    model = nn.Linear(3, 2, device="meta")
    out = model(torch.ones(4, 3, device="meta"))
    out.sum().backward()
    return out, model.weight.grad


def device_context() -> Any:
    with torch.device("meta"):
        model = net()
        out = model(torch.ones(2, 3))
    return out, torch.ones(2)


def default_device() -> Any:
    torch.set_default_device("meta")
    try:
        out = torch.ones(2, requires_grad=True) * 2
    finally:
        torch.set_default_device(None)  # type: ignore[arg-type]
    return out, torch.ones(2)


def default_device_left_on() -> Any:
    """What is set in the middle of the watch stays until the program takes it back, in any order with
    modes of its own."""
    first = net()
    with Logging() as mode:
        torch.set_default_device("meta")
        second = net()
    third = torch.ones(2, 3)
    torch.set_default_device("cpu")
    out = trained(first)
    torch.set_default_device(None)  # type: ignore[arg-type]
    return mode.calls, second[0].weight.device, third.device, torch.get_default_device(), out


def fake_tensors() -> Any:
    with FakeTensorMode():
        model = net()
        x = torch.ones(2, 3)
        loss = model(x).sum()
        loss.backward()
        other = torch.ones(2, device="cuda") + 1
        return loss, other, [p.grad for p in model.parameters()]


def fake_real_mixed() -> Any:
    mode = FakeTensorMode(allow_non_fake_inputs=True)
    x = mode.from_tensor(torch.randn(2, 3))
    model = net()
    with mode:
        return model(x)


PROGRAMS: list[Callable[[], Any]] = [
    forward_mode, forward_over_reverse, functional_api, inference, decorated_modes, generator_holds_no_grad,
    crossed_modes, one_mode_used_twice, autocast, grad_scaler, meta_device, device_context, default_device,
    grad_scaler_overflows, default_device_left_on, fake_tensors, fake_real_mixed,
]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_same_when_watched(program: Callable[[], Any]) -> None:
    alike(program)


def test_an_inference_tensor_in_training_still_fails() -> None:
    alike(inference_tensor_in_training, expected=("GS310",))


# -- the user's own modes --------------------------------------------------------------------


class Logging(TorchFunctionMode):
    """Notes the name of every call."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[str] = []

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.calls.append(getattr(func, "__name__", str(func)))
        return func(*args, **(kwargs or {}))


class Counting(TorchDispatchMode):
    """Notes the name of every kernel."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.calls.append(str(func))
        return func(*args, **(kwargs or {}))


class Doubling(TorchFunctionMode):
    """Changes what a call does."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        return result * 2 if func is torch.sin else result


def sines() -> Any:
    w = torch.randn(3, requires_grad=True)
    out = torch.sin(w) + torch.cos(w)
    out.sum().backward()
    return out, w.grad


@pytest.mark.parametrize("make", [Logging, Counting])
def test_a_mode_inside_the_watch_sees_the_same_calls(make: Any) -> None:
    def program() -> Any:
        with make() as mode:
            result = trained()
        return result, mode.calls

    scope = alike(program)
    assert {"linear", "tanh", "square"} <= set(names(scope))


@pytest.mark.parametrize("make", [Logging, Counting])
def test_a_mode_around_the_watch_sees_the_same_calls(make: Any) -> None:
    mode = make()

    @contextmanager
    def around() -> Iterator[None]:
        with mode:
            yield

    def program() -> Any:
        mode.calls.clear()
        result = trained()
        return result, list(mode.calls)

    scope = alike(program, around=around)
    assert {"linear", "tanh", "square"} <= set(names(scope))


def test_a_mode_that_changes_results_does_so_in_either_order() -> None:
    def program() -> Any:
        with Doubling():
            return sines()

    alike(program)
    alike(sines, around=Doubling)


@pytest.mark.parametrize("make", [Logging, Counting])
def test_a_mode_entered_before_and_left_after_the_watch(make: Any) -> None:
    def run(watch: bool) -> Any:
        torch.manual_seed(0)
        mode = make()
        mode.__enter__()
        scope = gradscope.watch(sample=False) if watch else None
        if scope is not None:
            scope.__enter__()
        first = sines(), trained()[0]
        if scope is not None:
            scope.__exit__(None, None, None)
            assert scope.faults == []
        mode.__exit__(None, None, None)
        return fingerprint(first), mode.calls

    assert run(True) == run(False)
    assert torch._C._len_torch_function_stack() == 0


def test_watching_inside_a_device_context() -> None:
    alike(trained, around=lambda: torch.device("cpu"))
    alike(lambda: net()(torch.ones(2, 3)), around=lambda: torch.device("meta"))
    alike(lambda: net()(torch.ones(2, 3)).sum().backward(), around=FakeTensorMode)
