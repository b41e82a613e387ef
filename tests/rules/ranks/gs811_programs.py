"""More programs of GS811: each bad one is reported at its marks, each good one by no rule."""

from __future__ import annotations

import torch
import torch.distributed as dist
from torch import nn
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


def net() -> nn.Module:
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

    torch.manual_seed(0)
    plan = {"1": ColwiseParallel(), "3": RowwiseParallel()}
    layers = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    return parallelize_module(layers, init_device_mesh("cpu", (2,)), plan)


def bad_sampler_of_all_ranks() -> None:
    model = net()
    data = TensorDataset(torch.randn(40, 4))
    sampler = DistributedSampler(data)  # cause: GS811
    opt = torch.optim.SGD(model.parameters(), lr=0.01)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for (x,) in DataLoader(data, 4, sampler=sampler):
            opt.zero_grad()
            model(x).pow(2).mean().backward()  # effect: GS811
            opt.step()


def good_sampler_of_one_group() -> None:
    model = net()
    data = TensorDataset(torch.randn(40, 4))
    sampler = DistributedSampler(data, num_replicas=1, rank=0)
    opt = torch.optim.SGD(model.parameters(), lr=0.01)
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for (x,) in DataLoader(data, 4, sampler=sampler):
            opt.zero_grad()
            model(x).pow(2).mean().backward()
            opt.step()


def good_split_along_the_sequence() -> None:
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import Shard
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

    torch.manual_seed(0)
    layers = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 4))
    plan = {"0": ColwiseParallel(input_layouts=Shard(1)), "2": RowwiseParallel(output_layouts=Shard(1))}
    model = parallelize_module(layers, init_device_mesh("cpu", (2,)), plan)
    opt = torch.optim.SGD(model.parameters(), lr=0.01)
    torch.manual_seed(dist.get_rank())  # each has its part of the sequence
    for _ in range(5):
        opt.zero_grad()
        model(torch.randn(3, 6, 4)).pow(2).mean().backward()
        opt.step()
