from __future__ import annotations

import torch
import torch.distributed as dist
import torch.distributed.nn.functional as dist_fn
from torch import nn
from torch.nn.parallel import DistributedDataParallel


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


def bad_statistics_summed_in_place() -> None:
    class Norm(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            stats = torch.stack([x.mean(0), x.square().mean(0)])
            dist.all_reduce(stats)  # cause: GS810
            mean, square = (stats / dist.get_world_size()).unbind()
            return (x - mean) * torch.rsqrt(square - mean.square() + 1e-5)

    torch.manual_seed(0)
    model = DistributedDataParallel(nn.Sequential(nn.Linear(4, 8), Norm(), nn.ReLU(), nn.Linear(8, 1)))
    opt = torch.optim.SGD(model.parameters(), lr=0.05)
    torch.manual_seed(1 + dist.get_rank())
    for _ in range(4):
        opt.zero_grad()
        loss = (model(torch.randn(8, 4)) - 1).pow(2).mean()
        loss.backward()  # effect: GS810
        opt.step()


def good_statistics_summed_with_a_gradient() -> None:
    class Norm(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            stats = torch.stack([x.mean(0), x.square().mean(0)])
            stats = dist_fn.all_reduce(stats)  # type: ignore[no-untyped-call]
            mean, square = (stats / dist.get_world_size()).unbind()
            return (x - mean) * torch.rsqrt(square - mean.square() + 1e-5)

    torch.manual_seed(0)
    model = DistributedDataParallel(nn.Sequential(nn.Linear(4, 8), Norm(), nn.ReLU(), nn.Linear(8, 1)))
    opt = torch.optim.SGD(model.parameters(), lr=0.05)
    torch.manual_seed(1 + dist.get_rank())
    for _ in range(4):
        opt.zero_grad()
        loss = (model(torch.randn(8, 4)) - 1).pow(2).mean()
        loss.backward()
        opt.step()


def good_spread_of_the_features_is_shown() -> None:
    torch.manual_seed(0)
    inner = nn.Linear(4, 8)
    model = DistributedDataParallel(inner)
    opt = torch.optim.SGD(model.parameters(), lr=0.05)
    torch.manual_seed(1 + dist.get_rank())
    for _ in range(4):
        opt.zero_grad()
        out = model(torch.randn(8, 4))
        spread = out.mean(0)
        dist.all_reduce(spread)
        (out - 1).pow(2).mean().backward()
        opt.step()
