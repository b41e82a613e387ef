from __future__ import annotations

import torch
import torch.distributed as dist
from torch import nn


class SummedForward(torch.autograd.Function):
    @staticmethod
    def forward(ctx: torch.autograd.function.FunctionCtx, x: torch.Tensor) -> torch.Tensor:
        y = x.clone()
        dist.all_reduce(y)
        return y

    @staticmethod
    def backward(ctx: torch.autograd.function.FunctionCtx, gradient: torch.Tensor) -> torch.Tensor:
        return gradient


class SummedBackward(torch.autograd.Function):
    @staticmethod
    def forward(ctx: torch.autograd.function.FunctionCtx, x: torch.Tensor) -> torch.Tensor:
        return x.view_as(x)

    @staticmethod
    def backward(ctx: torch.autograd.function.FunctionCtx, gradient: torch.Tensor) -> torch.Tensor:
        total = gradient.clone()
        dist.all_reduce(total)
        return total


def split_block() -> tuple[nn.Linear, nn.Parameter, nn.Parameter, nn.Linear, torch.optim.Optimizer]:
    """A layer of which each rank has half of the hidden features, between two that all ranks have whole."""
    torch.manual_seed(0)
    stem, head = nn.Linear(4, 8), nn.Linear(8, 1)
    torch.manual_seed(10 + dist.get_rank())
    rows, columns = nn.Parameter(torch.randn(8, 8) / 3), nn.Parameter(torch.randn(8, 8) / 3)
    torch.manual_seed(1)
    opt = torch.optim.SGD([*stem.parameters(), *head.parameters(), rows, columns], lr=0.05)
    return stem, rows, columns, head, opt


def bad_gradient_of_a_split_layers_input_not_summed() -> None:
    stem, rows, columns, head, opt = split_block()
    for _ in range(6):
        opt.zero_grad()
        hidden = stem(torch.randn(16, 4)).relu()
        part = hidden.matmul(rows).relu().matmul(columns)  # cause: GS810
        head(hidden + SummedForward.apply(part)).sub(1).pow(2).mean().backward()
        opt.step()  # effect: GS810


def good_gradient_of_a_split_layers_input_summed() -> None:
    stem, rows, columns, head, opt = split_block()
    for _ in range(6):
        opt.zero_grad()
        hidden = stem(torch.randn(16, 4)).relu()
        part = SummedBackward.apply(hidden).matmul(rows).relu().matmul(columns)
        head(hidden + SummedForward.apply(part)).sub(1).pow(2).mean().backward()
        opt.step()
