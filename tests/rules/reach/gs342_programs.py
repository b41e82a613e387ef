"""More programs of GS342: each bad one is reported at its marks, each good one by no rule."""

from __future__ import annotations


def bad_with_a_learned_step() -> None:
    from typing import Any

    import torch
    from torch import nn

    class Rounded(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor, step: torch.Tensor) -> torch.Tensor:
            ctx.save_for_backward(x, step)
            return (x / step).round().clamp(0, 15) * step

        @staticmethod
        def backward(ctx: Any, given: torch.Tensor) -> Any:
            x, step = ctx.saved_tensors
            wanted = (x / step).round().clamp(0, 15) - x / step
            return given, (given * wanted).sum().reshape(1)  # cause: GS342

    torch.manual_seed(1)
    first, last, step = nn.Linear(6, 32), nn.Linear(32, 1), nn.Parameter(torch.tensor([0.1]))
    opt = torch.optim.SGD([*first.parameters(), *last.parameters(), step], lr=0.01)
    for _ in range(5):
        x = torch.randn(64, 6)
        loss = (last(Rounded.apply(first(x), step)) - x[:, :1]).pow(2).mean()  # effect: GS342
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_nothing_is_clipped() -> None:
    from typing import Any

    import torch
    from torch import nn

    class Rounded(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            return (x * 8).round().clamp(-128, 127) / 8

        @staticmethod
        def backward(ctx: Any, given: torch.Tensor) -> torch.Tensor:
            return given

    torch.manual_seed(2)
    first, last = nn.Linear(6, 32), nn.Linear(32, 1)
    opt = torch.optim.SGD([*first.parameters(), *last.parameters()], lr=0.1)
    for _ in range(5):
        x = torch.randn(64, 6)
        loss = (last(Rounded.apply(first(x))) - x[:, :1]).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_rectifier_and_sign() -> None:
    from typing import Any

    import torch
    from torch import nn

    class Rectified(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            ctx.save_for_backward(x)
            return x.clamp(min=0)

        @staticmethod
        def backward(ctx: Any, given: torch.Tensor) -> torch.Tensor:
            (x,) = ctx.saved_tensors
            return given * (x > 0)

    class Sign(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            return x.sign()

        @staticmethod
        def backward(ctx: Any, given: torch.Tensor) -> torch.Tensor:
            return given

    torch.manual_seed(3)
    first, second, last = nn.Linear(6, 32), nn.Linear(32, 32), nn.Linear(32, 1)
    opt = torch.optim.SGD([*first.parameters(), *second.parameters(), *last.parameters()], lr=0.1)
    for _ in range(5):
        x = torch.randn(64, 6)
        hidden = Sign.apply(second(Rectified.apply(first(x))))
        loss = (last(hidden) - x[:, :1]).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
