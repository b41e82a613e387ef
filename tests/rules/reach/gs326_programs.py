"""More programs of GS326: each bad one is reported at its marks, each good one by no rule."""

from __future__ import annotations


def bad_schedule_that_falls_below_zero() -> None:
    import math
    from typing import Any

    import torch
    from torch import nn

    class Reverse(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor, alpha: float) -> torch.Tensor:
            ctx.alpha = alpha
            return x.clone()

        @staticmethod
        def backward(ctx: Any, grad: torch.Tensor) -> Any:
            turned = grad.neg()
            return turned * ctx.alpha, None  # cause: GS326

    body, head = nn.Linear(4, 8), nn.Linear(8, 2)
    opt = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=0.1)
    for step in range(6):
        alpha = 2 / (1 + math.exp(2 * step)) - 1
        x, domain = torch.randn(16, 4), torch.randint(0, 2, (16,))
        features = body(x)
        loss = nn.functional.cross_entropy(head(Reverse.apply(features, alpha)), domain)  # effect: GS326
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_scales_without_turning() -> None:
    from typing import Any

    import torch
    from torch import nn

    class Slower(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            return x.view_as(x)

        @staticmethod
        def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
            return grad * 0.1

    body, head = nn.Linear(4, 8), nn.Linear(8, 2)
    opt = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=0.1)
    for _ in range(3):
        loss = head(Slower.apply(body(torch.randn(16, 4)))).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_begins_at_zero() -> None:
    from typing import Any

    import torch
    from torch import nn

    class Reverse(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor, alpha: float) -> torch.Tensor:
            ctx.alpha = alpha
            return x.view_as(x)

        @staticmethod
        def backward(ctx: Any, grad: torch.Tensor) -> Any:
            return -ctx.alpha * grad, None

    body, head = nn.Linear(4, 8), nn.Linear(8, 2)
    opt = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=0.1)
    for step in range(6):
        loss = head(Reverse.apply(body(torch.randn(16, 4)), step / 10)).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_clipped_on_both_sides() -> None:
    from typing import Any

    import torch
    from torch import nn

    class Clipped(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            return x.view_as(x)

        @staticmethod
        def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
            return grad.clamp(-0.01, 0.01)

    body = nn.Linear(4, 1)
    opt = torch.optim.SGD(body.parameters(), lr=0.1)
    for _ in range(3):
        loss = Clipped.apply(body(torch.randn(16, 4))).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()


def bad_factor_in_a_tensor() -> None:
    from typing import Any

    import torch
    from torch import nn

    class Flip(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, features: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
            ctx.save_for_backward(weight)
            return features.clone()

        @staticmethod
        def backward(ctx: Any, grad: torch.Tensor) -> Any:
            (weight,) = ctx.saved_tensors
            return grad.neg().mul(weight), None  # cause: GS326

    body, head, weight = nn.Linear(4, 8), nn.Linear(8, 2), torch.tensor(-0.3)
    opt = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=0.1)
    for _ in range(4):
        x, season = torch.randn(16, 4), torch.randint(0, 2, (16,))
        loss = nn.functional.cross_entropy(head(Flip.apply(body(x), weight)), season)  # effect: GS326
        opt.zero_grad()
        loss.backward()
        opt.step()


def good_factor_in_a_tensor() -> None:
    from typing import Any

    import torch
    from torch import nn

    class Flip(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, features: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
            ctx.save_for_backward(weight)
            return features.clone()

        @staticmethod
        def backward(ctx: Any, grad: torch.Tensor) -> Any:
            (weight,) = ctx.saved_tensors
            return grad.neg().mul(weight), None

    body, head, weight = nn.Linear(4, 8), nn.Linear(8, 2), torch.tensor(0.3)
    opt = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=0.1)
    for _ in range(4):
        x, season = torch.randn(16, 4), torch.randint(0, 2, (16,))
        loss = nn.functional.cross_entropy(head(Flip.apply(body(x), weight)), season)
        opt.zero_grad()
        loss.backward()
        opt.step()
