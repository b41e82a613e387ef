"""Functions and classes that random programs call as their own: `T.Square`, `T.block` …

Run anew for each program, with the witness as `T`.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

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


class Twice(torch.autograd.Function):
    """Its backward can be differentiated again, through a Function of its own."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.exp()

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return Square.apply(x) * g


class Setup(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x, k):
        return x * k, x + k

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, ctx.k = inputs
        ctx.save_for_backward(x, output[0])

    @staticmethod
    def backward(ctx, a, b):
        T.watch(ctx.saved_tensors[0])
        return a * ctx.k + b, None


class Kept(torch.autograd.Function):
    """Keeps its output on `ctx`: a cycle that only the collector ends."""

    @staticmethod
    def forward(ctx, x):
        ctx.output = x * 2
        T.watch(ctx.output)
        return ctx.output

    @staticmethod
    def backward(ctx, g):
        return g * 2


class Shared(torch.nn.Module):
    """Calls one layer twice, and fails on its third input."""

    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(3, 3)

    def forward(self, x):
        inner = self.layer(x)
        T.watch(inner)
        return self.layer(inner.relu()) + x


class Dispatched(torch.Tensor):
    @staticmethod
    def __new__(cls, x):
        made = torch.Tensor._make_wrapper_subclass(cls, x.shape, dtype=x.dtype)
        made.inner = x
        return made

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        T.log(func)
        inner = [a.inner if isinstance(a, Dispatched) else a for a in args]
        return func(*inner, **(kwargs or {}))


class Dispatching(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        T.log(func)
        return func(*args, **(kwargs or {}))


def dispatching():
    return Dispatching()


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


def chain(x):
    """Memory that only the graph holds."""
    y = x.exp()
    T.watch(y)
    z = y * y.detach()
    T.watch(z)
    return (z / (y + 1)).sum()


def failing_block(x):
    T.times += 1
    y = x.sin()
    if T.times % 2:
        raise ValueError("every other time")
    return y * x


def broken_node(inputs, outputs):
    raise ValueError("a node's hook")


def broken_forward(module, args, output):
    raise ValueError("a forward hook")


def broken_pack(t):
    raise ValueError("can't pack")


def reset(module):
    if isinstance(module, torch.nn.Linear):
        torch.nn.init.constant_(module.weight, 0.5)


def two_losses(net, opt, x):
    x = x.detach().float()
    for step in range(3):
        hidden = net[0](x)
        first, second = hidden.square().mean(), net(x).abs().mean()
        T.watch(hidden)
        first.backward(retain_graph=True)
        (first + second).backward(retain_graph=step == 1)
        opt.step()
        opt.zero_grad()


def generator_sum(x):
    return sum(part * x for part in (x[i] for i in range(3)))


def throw_in(x):
    """An exception that is thrown into a block of a generator's."""
    held = held_open(x)
    y = next(held)
    try:
        held.throw(ValueError("thrown"))
    except ValueError as error:
        T.log(str(error), torch.is_grad_enabled())
    return y + x


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
    # What a backward that failed has left in the engine's queue dies with the system's thread, after the join.
    while os.path.exists(f"/proc/self/task/{thread.native_id}"):
        time.sleep(0.0001)
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
