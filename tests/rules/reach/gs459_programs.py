"""Programs for GS459."""

from __future__ import annotations


def bad_saved() -> None:
    from typing import Any

    import torch
    from torch import nn

    class Softened(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            gate = torch.sigmoid(x)  # cause: GS459
            ctx.save_for_backward(gate)
            return nn.functional.softplus(x)

        @staticmethod
        def backward(ctx: Any, given: torch.Tensor) -> Any:
            (gate,) = ctx.saved_tensors
            return given * gate

    critic = nn.ModuleList([nn.Linear(2, 16), nn.Linear(16, 1)])
    opt = torch.optim.Adam(critic.parameters())
    for _ in range(3):
        x = torch.randn(32, 2, requires_grad=True)
        score = critic[1](Softened.apply(critic[0](x)))
        (slope,) = torch.autograd.grad(score.sum(), x, create_graph=True)  # effect: GS459
        loss = score.mean() + (slope.norm(dim=1) - 1).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_saved_result() -> None:
    from typing import Any

    import torch
    from torch import nn

    class Exponent(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            result = torch.exp(x)
            ctx.save_for_backward(result)
            return result

        @staticmethod
        def backward(ctx: Any, given: torch.Tensor) -> Any:
            (result,) = ctx.saved_tensors
            return given * result

    one, two = nn.Linear(2, 8), nn.Linear(8, 1)
    opt = torch.optim.Adam([*one.parameters(), *two.parameters()])
    for _ in range(3):
        x = torch.randn(32, 2, requires_grad=True)
        (force,) = torch.autograd.grad(two(Exponent.apply(-one(x).abs())).sum(), x, create_graph=True)
        opt.zero_grad()
        (force + x.detach()).pow(2).mean().backward()
        opt.step()


def good_mask() -> None:
    from typing import Any

    import torch
    from torch import nn

    class Positive(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            ctx.mask = x > 0
            return x.clamp(min=0)

        @staticmethod
        def backward(ctx: Any, given: torch.Tensor) -> Any:
            return given * ctx.mask

    one, two, three = nn.Linear(2, 8), nn.Linear(8, 8), nn.Linear(8, 1)
    opt = torch.optim.Adam([*one.parameters(), *two.parameters(), *three.parameters()])
    for _ in range(3):
        x = torch.randn(32, 2, requires_grad=True)
        score = three(torch.tanh(two(Positive.apply(one(x)))))
        (slope,) = torch.autograd.grad(score.sum(), x, create_graph=True)
        opt.zero_grad()
        (score.mean() + (slope.norm(dim=1) - 1).pow(2).mean()).backward()
        opt.step()


def good_first_derivative_alone() -> None:
    from typing import Any

    import torch
    from torch import nn

    class Sine(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            ctx.slope = torch.cos(x)
            return torch.sin(x)

        @staticmethod
        def backward(ctx: Any, given: torch.Tensor) -> Any:
            return given * ctx.slope

    one, two = nn.Linear(2, 16), nn.Linear(16, 1)
    opt = torch.optim.Adam([*one.parameters(), *two.parameters()])
    for _ in range(3):
        opt.zero_grad()
        (two(Sine.apply(one(torch.randn(32, 2)))) - 1).pow(2).mean().backward()
        opt.step()
