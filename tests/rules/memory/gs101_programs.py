"""More programs of GS101: each bad one is reported at its marks, each good one by no rule."""


def bad_in_forward() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)

    class Clamped(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = nn.Linear(4, 4)
            self.outer = nn.Linear(4, 1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            h = torch.tanh(self.inner(x))
            y: torch.Tensor = self.outer(h)
            h.data.mul_(0.5)  # cause: GS101
            return y

    model = Clamped()
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        model(torch.randn(8, 4)).mean().backward()  # effect: GS101
        opt.step()


def good_update_after_backward() -> None:
    import torch

    w = torch.ones(3, requires_grad=True)
    for _ in range(3):
        loss = (w * w).sum()
        loss.backward()
        w.data.sub_(w.grad, alpha=0.1)  # type: ignore[arg-type]  # the graph is done: nothing reads the old values again
        w.grad = None


def good_write_before_use() -> None:
    import torch
    from torch import nn

    layer = nn.Linear(3, 1)
    layer.weight.data.normal_(0.0, 0.02)
    layer.bias.data.fill_(0.0)
    opt = torch.optim.SGD(layer.parameters(), lr=0.1)
    for _ in range(2):
        opt.zero_grad()
        layer(torch.randn(4, 3)).sum().backward()
        opt.step()


def good_not_read_by_backward() -> None:
    import torch

    a = torch.ones(3, requires_grad=True)
    b = a + 2
    loss = (b + 1).sum()  # an addition saves nothing
    b.data.zero_()
    loss.backward()


def good_gradcheck() -> None:
    from typing import Any

    import torch

    class Exp(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            ctx.save_for_backward(x)
            return x.exp()

        @staticmethod
        def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
            (x,) = ctx.saved_tensors
            return grad * x.exp()

    x = torch.randn(3, dtype=torch.double, requires_grad=True)
    assert torch.autograd.gradcheck(Exp.apply, (x,))
    assert torch.autograd.gradgradcheck(Exp.apply, (x,))


def good_written_where_backward_needs_nothing() -> None:
    import torch
    from torch import nn

    torch.manual_seed(0)
    first, second = nn.Linear(4, 4), nn.Linear(4, 4)
    opt = torch.optim.SGD([*first.parameters(), *second.parameters()], lr=0.1)
    wanted = torch.randn(8, 4)
    wanted[4:] = 0
    for _ in range(3):
        opt.zero_grad()
        inner = first(torch.randn(8, 4))
        outer = inner + second(inner)
        inner.data[4:] = 0
        outer.data[4:] = 0
        (nn.functional.mse_loss(inner, wanted) + nn.functional.mse_loss(outer, wanted)).backward()
        opt.step()
