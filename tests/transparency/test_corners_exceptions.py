"""Exceptions at every place, and recursion: unchanged when watched."""

from __future__ import annotations

import inspect
import sys
import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch
from corners import alike
from torch import nn
from torch.autograd import Variable

import gradscope


def net() -> nn.Sequential:
    return nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))


def gradients(model: nn.Module) -> list[Any]:
    return [p.grad for p in model.parameters()]


class Refusing(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x.clone()

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        raise RuntimeError("no backward today")


def exception_in_forward_and_on() -> Any:
    model = net()
    seen = []
    for width in (3, 4, 3):
        try:
            out = model(torch.randn(5, width))
            out.sum().backward()
        except RuntimeError as error:
            seen.append(str(error))
    return seen, gradients(model)


def exception_in_a_hook() -> Any:
    def hook(grad: torch.Tensor) -> None:
        raise KeyError("hook")

    seen = []
    w = torch.randn(3, requires_grad=True)
    handle = w.register_hook(hook)
    try:
        (w * 2).sum().backward()
    except KeyError as error:
        seen.append(str(error))
    handle.remove()
    (w * 2).sum().backward()
    return seen, w.grad


def exception_in_a_module_hook() -> Any:
    def hook(module: Any, args: Any) -> None:
        raise KeyError("pre")

    model = net()
    handle = model[1].register_forward_pre_hook(hook)
    seen = []
    try:
        model(torch.randn(5, 3))
    except KeyError as error:
        seen.append(str(error))
    handle.remove()
    model(torch.randn(5, 3)).sum().backward()
    return seen, gradients(model)


def exception_in_a_backward_and_on() -> Any:
    w = torch.randn(3, requires_grad=True)
    seen = []
    try:
        Refusing.apply(w).sum().backward()
    except RuntimeError as error:
        seen.append(str(error))
    (w * 2).sum().backward()
    return seen, w.grad


def exception_through_no_grad() -> Any:
    try:
        with torch.no_grad():
            raise ValueError("inside")
    except ValueError:
        pass
    w = torch.randn(3, requires_grad=True)
    (w * 2).sum().backward()
    return w.grad


def recursion() -> Any:
    class Tree(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.join = nn.Linear(6, 3)

        def forward(self, depth: int) -> torch.Tensor:
            if depth == 0:
                return torch.randn(3)
            return self.join(torch.cat([self(depth - 1), self(depth - 1)])).tanh()  # type: ignore[no-any-return]

    tree = Tree()
    tree(4).sum().backward()
    return gradients(tree)


def endless_recursion() -> Any:
    def down(x: torch.Tensor) -> torch.Tensor:
        return down(x + 1)

    try:
        down(torch.zeros(1))
    except RecursionError as error:
        return str(error)
    return None


def deep_recursion() -> Any:
    """Comes close to Python's limit, with calls and with modules."""

    class Outer(nn.Module):
        def __init__(self, inner: nn.Module) -> None:
            super().__init__()
            self.inner = inner

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.inner(x) + 1  # type: ignore[no-any-return]

    def down(n: int) -> torch.Tensor:
        return torch.ones(1, requires_grad=True) if n == 0 else down(n - 1) + 1

    here = len(inspect.stack())
    down(sys.getrecursionlimit() - here - 20).backward()
    model: nn.Module = nn.Linear(1, 1)
    for _ in range((sys.getrecursionlimit() - here - 20) // 4):
        model = Outer(model)
    return model(torch.ones(1)), sys.getrecursionlimit()


PROGRAMS: list[Callable[[], Any]] = [
    exception_in_forward_and_on, exception_in_a_hook, exception_in_a_module_hook,
    exception_in_a_backward_and_on, exception_through_no_grad, recursion, endless_recursion,
    deep_recursion,
]  # fmt: skip


@pytest.mark.drawn(0.5)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_same_when_watched(program: Callable[[], Any]) -> None:
    alike(program)


def test_what_was_warned_of_once_is_not_warned_of_again(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[tuple[str, str]] = []

    def old() -> None:
        warnings.warn("an old way", stacklevel=1)

    def program() -> None:
        shown.clear()
        globals().pop("__warningregistry__", None)
        for _ in range(3):
            Variable(torch.ones(1), volatile=True)
            old()

    with warnings.catch_warnings():
        warnings.simplefilter("default")
        monkeypatch.setattr(
            warnings, "showwarning", lambda message, category, path, *_: shown.append((str(message), path))
        )
        program()
        plain = list(shown)
        with gradscope.watch():
            program()
    assert shown == plain and len(plain) == 2
