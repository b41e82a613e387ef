from __future__ import annotations

import torch
import torch.distributed as dist
from torch import nn


def good_squares_summed_over_the_ranks() -> None:
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    fully_shard(model, mesh=init_device_mesh("cpu", (2,)))
    opt = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(4):
        opt.zero_grad()
        model(torch.randn(8, 4) * 9).pow(2).mean().backward()
        shards = [p.grad.to_local() for p in model.parameters()]
        square = torch.cat([shard.flatten() for shard in shards]).pow(2).sum()
        dist.all_reduce(square)
        for shard in shards:
            shard.mul_(0.1 / square.sqrt())
        opt.step()


def good_each_element_bounded() -> None:
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    fully_shard(model, mesh=init_device_mesh("cpu", (2,)))
    opt = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(4):
        opt.zero_grad()
        model(torch.randn(8, 4) * 9).pow(2).mean().backward()
        for p in model.parameters():
            p.grad.to_local().clamp_(-0.5, 0.5)
        opt.step()


def good_scaled_in_a_function_of_its_own() -> None:
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    def clip(params: list[nn.Parameter], most: float) -> torch.Tensor:
        shards = [p.grad.to_local() for p in params if p.grad is not None]
        square = torch.stack([shard.pow(2).sum() for shard in shards]).sum()
        dist.all_reduce(square)
        factor = (most / (square.sqrt() + 1e-6)).clamp(max=1.0)
        for shard in shards:
            shard.mul_(factor)
        return square.sqrt()

    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    fully_shard(model, mesh=init_device_mesh("cpu", (2,)))
    opt = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(4):
        opt.zero_grad()
        model(torch.randn(8, 4) * 9).pow(2).mean().backward()
        clip(list(model.parameters()), 0.1)
        opt.step()
