"""Functions and classes that random programs call as their own: `T.Square`, `T.block` …

Run anew for each program, with the witness as `T`.
"""

from __future__ import annotations

import contextlib
import threading
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

T: Any = None  # set by the witness


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        T.watch(ctx)
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 2 * x * g


class Dirty(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(2)

    @staticmethod
    def backward(ctx, g):
        return g * 2


class Two(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        ctx.kept = x
        ctx.set_materialize_grads(False)
        return x + y, x - y

    @staticmethod
    def backward(ctx, a, b):
        T.log(a is None, b is None)
        a = 0 if a is None else a
        b = 0 if b is None else b
        return a + b, a - b


class Same(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x

    @staticmethod
    def backward(ctx, g):
        return g + 1


class ViewOf(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.view(-1)

    @staticmethod
    def backward(ctx, g):
        return g.view(3, 3)


class Broken(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.exp()

    @staticmethod
    def backward(ctx, g):
        raise ValueError("backward of the user's")


class Failing(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        raise KeyError("forward of the user's")

    @staticmethod
    def backward(ctx, g):
        return g


class Once(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = x.sin()
        ctx.save_for_backward(y)
        return y

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, g):
        return ctx.saved_tensors[0] * g


class NoGrad(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = x.round()
        ctx.mark_non_differentiable(y)
        return y

    @staticmethod
    def backward(ctx, g):
        return None


class Inner(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        with torch.enable_grad():
            inner = x.detach().requires_grad_()
            y = (inner**2).sum()
            ctx.save_for_backward(torch.autograd.grad(y, inner)[0])
        return y.detach()

    @staticmethod
    def backward(ctx, g):
        return ctx.saved_tensors[0] * g


class Tagged(torch.Tensor):
    @staticmethod
    def __new__(cls, x):
        return x.as_subclass(cls)


class Counting(TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        T.log(getattr(func, "__name__", ""))
        return func(*args, **(kwargs or {}))


def counting():
    return Counting()


def block(x, y):
    z = x * y
    T.watch(z)
    return torch.dropout(z.sin(), 0.5, True) + x


def plain(x):
    return (x * 2).sin()


@torch.no_grad()
def decorated(x):
    with torch.enable_grad():
        y = x * 2
    return y + x


def recursive(x, n):
    return x if n == 0 else recursive(x * 1.5, n - 1) + x


def in_thread(x, y):
    found = []

    def work():
        try:
            z = x * y
            z.sum().backward()
            found.append(z.detach() + x)
        except Exception as error:
            found.append(None)
            T.error(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    return found[0]


def held_open(x):
    with torch.no_grad():
        yield x * 2
    yield x * 3


def generator_mode_():
    with torch.no_grad():
        yield


generator_mode = contextlib.contextmanager(generator_mode_)


def caught(x, y):
    try:
        z = x * y
        return z @ torch.ones(7, 7)
    except RuntimeError:
        return x + 1
    finally:
        T.log("finally")


def in_hook(x, y):
    def hook(g):
        inner = (y.detach() * 2).requires_grad_()
        (inner * g.detach()).sum().backward()
        T.log(inner.grad)

    x.register_hook(hook)


def forward_hook(module, args, output):
    T.watch(output)
    T.log(output)


def pack(t):
    return t.detach().clone()


def unpack(t):
    return t


def closure(net, opt, x):
    def run():
        opt.zero_grad()
        loss = net(x.detach().float()).square().mean()
        loss.backward()
        return loss

    return run


def train(net, opt, x):
    x = x.detach().float()
    for _ in range(14):
        opt.zero_grad()
        loss = net(x).square().mean()
        loss.backward()
        opt.step()
        T.log(loss)
