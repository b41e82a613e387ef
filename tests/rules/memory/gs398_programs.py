"""More programs of GS398."""

from __future__ import annotations

from typing import Any


def bad_loop_over_rows() -> None:
    import torch
    from torch import nn

    class Keep(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor, rows: int) -> torch.Tensor:
            ctx.rows = rows
            return x * 1.0

        @staticmethod
        def backward(ctx: Any, g: torch.Tensor) -> Any:
            for row in range(ctx.rows):
                g[row] = 0.0  # cause: GS398
            return g, None

    torch.manual_seed(0)
    layer = nn.Linear(3, 1)
    opt = torch.optim.SGD(layer.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        out = layer(torch.randn(6, 3)).squeeze(-1)
        (Keep.apply(out, 2).sum() + out.pow(2).mean()).backward()  # effect: GS398
        opt.step()


def good_gradient_of_its_own() -> None:
    import torch
    from torch import nn

    class Keep(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            return x * 1.0

        @staticmethod
        def backward(ctx: Any, g: torch.Tensor) -> Any:
            g[0] = 0.0
            return g

    torch.manual_seed(0)
    layer = nn.Linear(3, 2)
    opt = torch.optim.SGD(layer.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        Keep.apply(layer(torch.randn(6, 3))).pow(2).mean().backward()
        opt.step()


def good_written_out_of_place() -> None:
    import torch
    from torch import nn

    class Halve(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            return x * 1.0

        @staticmethod
        def backward(ctx: Any, g: torch.Tensor) -> Any:
            return g * 1.0

    torch.manual_seed(0)
    layer = nn.Linear(3, 2)
    opt = torch.optim.SGD(layer.parameters(), lr=0.1)
    for _ in range(3):
        opt.zero_grad()
        Halve.apply(layer(torch.randn(6, 3))).sum().backward()
        opt.step()
