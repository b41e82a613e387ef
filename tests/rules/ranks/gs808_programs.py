from __future__ import annotations

import torch
import torch.distributed as dist
from torch import nn


def bad_one_buffer_for_all() -> None:
    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    flat = torch.zeros(5)
    model.weight.grad, model.bias.grad = flat[:4].view(1, 4), flat[4:]
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        opt.zero_grad(set_to_none=False)
        (model(torch.randn(8, 4) + dist.get_rank()).pow(2).mean() / 2).backward()
        handle = dist.all_reduce(flat, async_op=True)  # cause: GS808
        opt.step()  # effect: GS808
        handle.wait()


def bad_sync_left_off() -> None:
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    fully_shard(model, mesh=init_device_mesh("cpu", (2,)))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for turn in range(6):
        model.set_requires_gradient_sync(False)  # cause: GS808
        (model(torch.randn(8, 4)).pow(2).mean() / 2).backward()
        if turn % 2:
            opt.step()  # effect: GS808
            opt.zero_grad()


def good_synced_before_the_step() -> None:
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    fully_shard(model, mesh=init_device_mesh("cpu", (2,)))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for turn in range(6):
        model.set_requires_gradient_sync(turn % 2 == 1)
        (model(torch.randn(8, 4)).pow(2).mean() / 2).backward()
        if turn % 2:
            opt.step()
            opt.zero_grad()


def good_what_is_shown_is_on_its_way() -> None:
    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        opt.zero_grad()
        loss = model(torch.randn(8, 4)).pow(2).mean()
        loss.backward()
        for p in model.parameters():
            dist.all_reduce(p.grad, op=dist.ReduceOp.SUM)
            p.grad /= 2
        shown = loss.detach().clone()
        handle = dist.all_reduce(shown, async_op=True)
        opt.step()
        handle.wait()


def good_waited_for_as_a_future() -> None:
    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        opt.zero_grad()
        (model(torch.randn(8, 4) + dist.get_rank()).pow(2).mean() / 2).backward()
        futures = [dist.all_reduce(p.grad, async_op=True).get_future() for p in model.parameters()]
        torch.futures.wait_all(futures)
        opt.step()
