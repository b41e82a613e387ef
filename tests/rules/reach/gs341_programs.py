"""More programs of GS341: each bad one is reported at its marks, each good one by no rule."""

from __future__ import annotations


def bad_swish_without_its_second_term() -> None:
    from typing import Any

    import torch
    from torch import nn

    class Swish(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            ctx.save_for_backward(x)
            return x * x.sigmoid()

        @staticmethod
        def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
            (x,) = ctx.saved_tensors
            gate = x.sigmoid()
            return grad * gate * (1 - gate)  # cause: GS341

    torch.manual_seed(1)
    first, last = nn.Linear(6, 32), nn.Linear(32, 1)
    opt = torch.optim.Adam([*first.parameters(), *last.parameters()], lr=0.01)
    for _ in range(6):
        x = torch.randn(32, 6)
        out = last(Swish.apply(first(x)))  # effect: GS341
        loss = (out - x[:, :1] * x[:, 1:2]).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_derivative_at_what_it_returned() -> None:  # fix: by hand
    from typing import Any

    import torch
    from torch import nn

    class Squared(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor, gain: torch.Tensor) -> torch.Tensor:
            result = gain * x**2
            ctx.save_for_backward(result)
            return result

        @staticmethod
        def backward(ctx: Any, grad: torch.Tensor) -> Any:
            (result,) = ctx.saved_tensors
            return 2 * result * grad, None  # cause: GS341

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.last = nn.Linear(6, 24), nn.Linear(24, 1)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.last(Squared.apply(self.first(x), torch.tensor(0.5)))  # effect: GS341

    torch.manual_seed(2)
    net = Net()
    opt = torch.optim.SGD(net.parameters(), lr=0.01)
    for _ in range(6):
        x = torch.randn(32, 6)
        loss = nn.functional.mse_loss(net(x), x[:, :1] ** 2)
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_straight_through_a_sigmoid() -> None:  # fix: by hand
    from typing import Any

    import torch
    from torch import nn

    class Gate(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            return torch.sigmoid(3 * x)

        @staticmethod
        def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
            return grad  # cause: GS341

    torch.manual_seed(3)
    first, last = nn.Linear(6, 32), nn.Linear(32, 1)
    opt = torch.optim.SGD([*first.parameters(), *last.parameters()], lr=0.1)
    for _ in range(6):
        x = torch.randn(32, 6)
        loss = (last(Gate.apply(first(x))) - x[:, :1]).pow(2).mean()  # effect: GS341
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_right_derivatives() -> None:
    from typing import Any

    import torch
    from torch import nn

    class Swish(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            ctx.save_for_backward(x)
            return x * x.sigmoid()

        @staticmethod
        def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
            (x,) = ctx.saved_tensors
            gate = x.sigmoid()
            return grad * gate * (1 + x * (1 - gate))

    class Leaky(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            ctx.save_for_backward(x)
            return torch.where(x > 0, x, 0.2 * x)

        @staticmethod
        def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
            (x,) = ctx.saved_tensors
            return torch.where(x > 0, grad, 0.2 * grad).clamp(-0.01, 0.01)

    class PerChannel(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
            ctx.save_for_backward(scale)
            return x * scale

        @staticmethod
        def backward(ctx: Any, grad: torch.Tensor) -> Any:
            return grad * ctx.saved_tensors[0], None

    torch.manual_seed(4)
    first, last = nn.Linear(6, 32), nn.Linear(32, 1)
    opt = torch.optim.SGD([*first.parameters(), *last.parameters()], lr=0.1)
    scale = torch.linspace(-2, 2, 32)
    for _ in range(6):
        x = torch.randn(32, 6)
        hidden = PerChannel.apply(Leaky.apply(Swish.apply(first(x))), scale)
        loss = (last(hidden) - x[:, :1]).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_surrogates_of_steps() -> None:
    from typing import Any

    import torch
    from torch import nn

    class Quantized(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            return (x.clamp(-1, 1) * 7).round() / 7

        @staticmethod
        def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
            return grad

    class Spike(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, v: torch.Tensor) -> torch.Tensor:
            ctx.save_for_backward(v)
            return (v > 0).float()

        @staticmethod
        def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
            (v,) = ctx.saved_tensors
            return grad / (1 + 10 * v.abs()) ** 2

    torch.manual_seed(5)
    first, second, last = nn.Linear(6, 32), nn.Linear(32, 32), nn.Linear(32, 1)
    opt = torch.optim.SGD([*first.parameters(), *second.parameters(), *last.parameters()], lr=0.1)
    for _ in range(6):
        x = torch.randn(64, 6)
        hidden = second(Quantized.apply(first(x) / 4))
        loss = (last(Spike.apply(hidden - 0.2)) - x[:, :1]).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_guided_and_scaled() -> None:
    from typing import Any

    import torch
    from torch import nn

    class Guided(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            result = x.clamp(min=0)
            ctx.save_for_backward(result)
            return result

        @staticmethod
        def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
            (result,) = ctx.saved_tensors
            return grad.clamp(min=0) * (result > 0)

    class Slower(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor, share: float) -> torch.Tensor:
            ctx.share = share
            return x.view_as(x)

        @staticmethod
        def backward(ctx: Any, grad: torch.Tensor) -> Any:
            return grad * ctx.share, None

    torch.manual_seed(6)
    first, last = nn.Linear(6, 32), nn.Linear(32, 1)
    opt = torch.optim.SGD([*first.parameters(), *last.parameters()], lr=0.1)
    for _ in range(6):
        x = torch.randn(64, 6)
        loss = (last(Guided.apply(Slower.apply(first(x), 0.1))) - x[:, :1]).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_channels_with_slopes_of_their_own() -> None:  # fix: by hand
    from typing import Any

    import torch
    from torch import nn

    class Snake(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, level: torch.Tensor, freq: torch.Tensor) -> torch.Tensor:
            ctx.save_for_backward(level, freq)
            return level + torch.sin(freq * level).square() / freq

        @staticmethod
        def backward(ctx: Any, up: torch.Tensor) -> Any:
            level, freq = ctx.saved_tensors
            return up * torch.sin(2 * freq * level), None  # cause: GS341

    torch.manual_seed(0)
    freq, body, head = torch.linspace(0.5, 2, 12), nn.Linear(6, 12), nn.Linear(12, 1)
    opt = torch.optim.Adam([*body.parameters(), *head.parameters()], lr=0.003)
    for _ in range(12):
        x = torch.randn(48, 6)
        loss = (head(Snake.apply(body(x), freq)) - x[:, :1].sin()).pow(2).mean()  # effect: GS341
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_channels_with_slopes_of_their_own() -> None:
    from typing import Any

    import torch
    from torch import nn

    class Snake(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, level: torch.Tensor, freq: torch.Tensor) -> torch.Tensor:
            ctx.save_for_backward(level, freq)
            return level + torch.sin(freq * level).square() / freq

        @staticmethod
        def backward(ctx: Any, up: torch.Tensor) -> Any:
            level, freq = ctx.saved_tensors
            return up * (1 + torch.sin(2 * freq * level)), None

    class Standard(torch.autograd.Function):
        """Each channel by the numbers of its batch: an element hangs on all of its column."""

        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            width = x.std(0, unbiased=False) + 1e-3
            made = (x - x.mean(0)) / width
            ctx.save_for_backward(made, width)
            return made

        @staticmethod
        def backward(ctx: Any, up: torch.Tensor) -> Any:
            made, width = ctx.saved_tensors
            return (up - up.mean(0) - made * (up * made).mean(0)) / width

    class Shares(torch.autograd.Function):
        """A softmax over the batch."""

        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            made = x.softmax(0)
            ctx.save_for_backward(made)
            return made

        @staticmethod
        def backward(ctx: Any, up: torch.Tensor) -> Any:
            (made,) = ctx.saved_tensors
            return made * (up - (up * made).sum(0))

    torch.manual_seed(0)
    freq, body, head = torch.linspace(0.5, 2, 12), nn.Linear(6, 12), nn.Linear(12, 1)
    opt = torch.optim.Adam([*body.parameters(), *head.parameters()], lr=0.003)
    for _ in range(24):
        x = torch.randn(48, 6)
        h = body(x)
        hidden = (
            Snake.apply(h, freq) + Standard.apply(h) + Standard.apply(2 + h * freq) + 10 * Shares.apply(h)
        )
        loss = (head(hidden) - x[:, :1].sin()).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_swish_without_its_factor() -> None:
    """Right where the input is 1, and nearly so above."""
    from typing import Any

    import torch
    from torch import nn

    class Swish(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            ctx.save_for_backward(x)
            gate = torch.sigmoid(x)
            return x * gate

        @staticmethod
        def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
            (x,) = ctx.saved_tensors
            gate = torch.sigmoid(x)
            return grad * (gate + gate * (1 - gate))  # cause: GS341

    torch.manual_seed(1)
    first, last = nn.Linear(6, 64), nn.Linear(64, 1)
    opt = torch.optim.Adam([*first.parameters(), *last.parameters()], lr=0.01)
    for _ in range(8):
        x = torch.randn(64, 6)
        out = last(Swish.apply(first(x) + 0.3))  # effect: GS341
        loss = (out - x[:, :1] * x[:, 1:2]).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_leaky_with_another_slope() -> None:  # fix: by hand
    """Right above 0."""
    from typing import Any

    import torch
    from torch import nn

    class Leaky(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            ctx.save_for_backward(x)
            return torch.where(x > 0, x, 0.1 * x)

        @staticmethod
        def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
            (x,) = ctx.saved_tensors
            grad = grad.clone()
            grad[x < 0] *= 0.01
            return grad  # cause: GS341

    torch.manual_seed(1)
    first, last = nn.Linear(6, 64), nn.Linear(64, 1)
    opt = torch.optim.Adam([*first.parameters(), *last.parameters()], lr=0.01)
    for _ in range(8):
        x = torch.randn(64, 6)
        loss = (last(Leaky.apply(first(x))) - x[:, :1]).pow(2).mean()  # effect: GS341
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_bounded_and_smoothed() -> None:
    """A derivative that is bounded on purpose, one that is smooth at a corner of the forward, and an approximation."""
    from typing import Any

    import torch
    from torch import nn

    class Exp(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            ctx.save_for_backward(x)
            return x.exp()

        @staticmethod
        def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
            (x,) = ctx.saved_tensors
            return grad * x.clamp(max=0).exp()

    class Corner(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            ctx.save_for_backward(x)
            return torch.where(x > 0, x, 0.2 * x)

        @staticmethod
        def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
            (x,) = ctx.saved_tensors
            return grad * (0.2 + 0.8 * torch.sigmoid(6 * x))

    class Gelu(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            ctx.save_for_backward(x)
            return nn.functional.gelu(x)

        @staticmethod
        def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
            (x,) = ctx.saved_tensors
            gate = torch.sigmoid(1.702 * x)
            return grad * (gate + 1.702 * x * gate * (1 - gate))

    torch.manual_seed(1)
    first, last = nn.Linear(6, 64), nn.Linear(64, 1)
    opt = torch.optim.Adam([*first.parameters(), *last.parameters()], lr=0.01)
    for _ in range(24):
        x = torch.randn(64, 6)
        hidden = Exp.apply(first(x) + 0.2) + Corner.apply(2 * first(x)) + Gelu.apply(3 * first(x))
        loss = (last(hidden) - x[:, :1]).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
