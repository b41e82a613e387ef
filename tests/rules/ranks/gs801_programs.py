from __future__ import annotations

import contextlib

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def net() -> nn.Module:
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))


def bad_no_sync_before_a_step() -> None:
    model = DistributedDataParallel(net())
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        opt.zero_grad()
        with model.no_sync():
            loss = model(torch.randn(8, 4)).pow(2).mean()  # cause: GS801
            loss.backward()
        opt.step()  # effect: GS801


def bad_weights_set_after_wrapping() -> None:
    model = DistributedDataParallel(net())
    nn.init.normal_(model.module[0].weight)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        opt.zero_grad()
        model(torch.randn(8, 4)).pow(2).mean().backward()
        opt.step()  # cause: GS801


def bad_another_rate() -> None:
    model = DistributedDataParallel(net())
    opt = torch.optim.SGD(model.parameters(), lr=0.1 * (1 + dist.get_rank()))
    for _ in range(4):
        opt.zero_grad()
        model(torch.randn(8, 4)).pow(2).mean().backward()
        opt.step()  # cause: GS801


def bad_step_left_out() -> None:
    model = DistributedDataParallel(net())
    opt = torch.optim.Adam(model.parameters(), lr=0.1)
    for turn in range(6):
        model(torch.randn(8, 4)).pow(2).mean().backward()
        if turn != 2 or dist.get_rank() == 0:
            opt.step()  # cause: GS801
        opt.zero_grad()


def bad_layer_outside() -> None:
    torch.manual_seed(5)
    scale = nn.Linear(1, 1)  # cause: GS801
    model = DistributedDataParallel(net())
    torch.manual_seed(dist.get_rank())
    opt = torch.optim.SGD([*model.parameters(), *scale.parameters()], lr=0.1)
    for _ in range(4):
        opt.zero_grad()
        scale(model(torch.randn(8, 4))).pow(2).mean().backward()
        opt.step()  # effect: GS801


def good_accumulation() -> None:
    model = DistributedDataParallel(net())
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for turn in range(8):
        last = turn % 2 == 1
        with contextlib.nullcontext() if last else model.no_sync():
            (model(torch.randn(8, 4)).pow(2).mean() / 2).backward()
        if last:
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
            opt.zero_grad()


def good_model_of_one_rank() -> None:
    """A part of its own on each rank, another one from the beginning (experts)."""
    model = DistributedDataParallel(net())
    expert = nn.Linear(4, 4)
    opt = torch.optim.SGD([*model.parameters(), *expert.parameters()], lr=0.1)
    for _ in range(4):
        opt.zero_grad()
        model(expert(torch.randn(8, 4))).pow(2).mean().backward()
        opt.step()


def good_static_graph_and_buckets() -> None:
    model = DistributedDataParallel(net(), static_graph=True, gradient_as_bucket_view=True)
    opt = torch.optim.AdamW(model.parameters(), lr=0.01)
    schedule = torch.optim.lr_scheduler.StepLR(opt, 2)
    for turn in range(6):
        opt.zero_grad()
        loss = model(torch.randn(8, 4)).pow(2).mean()
        loss.backward()
        opt.step()
        schedule.step()
        if dist.get_rank() == 0 and turn == 3:
            with torch.no_grad():
                model.module.eval()(torch.randn(2, 4))
            model.module.train()


def good_averaged_in_half_precision() -> None:
    from torch.distributed.algorithms.ddp_comm_hooks import default_hooks

    model = DistributedDataParallel(net())
    model.register_comm_hook(None, default_hooks.fp16_compress_hook)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        opt.zero_grad()
        model(torch.randn(8, 4)).pow(2).mean().backward()
        opt.step()
