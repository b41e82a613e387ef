import contextlib

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP

ACCUM = 4


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(0)
    model = DDP(nn.Sequential(nn.Linear(12, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 4)))
    opt = torch.optim.Adam(model.parameters(), lr=2e-3)
    shared = torch.Generator().manual_seed(2)
    proj = torch.randn(12, 4, generator=shared)
    g = torch.Generator().manual_seed(50 + rank)
    shift = torch.zeros(12)
    shift[rank] = 1.5
    for step in range(800):
        x = torch.randn(16, 12, generator=g) + shift
        y = (x @ proj).argmax(1)
        syncing = (step + 1) % ACCUM == 0
        with contextlib.nullcontext() if syncing else model.no_sync():
            loss = F.cross_entropy(model(x), y) / ACCUM
            loss.backward()
        if (step + 1) % ACCUM == 0:
            opt.step()
            opt.zero_grad()
    x = torch.randn(2000, 12, generator=shared)
    with torch.no_grad():
        logits = model.module(x)
        test = F.cross_entropy(logits, (x @ proj).argmax(1))
    flat = torch.cat([p.detach().reshape(-1) for p in model.parameters()])
    every = [torch.zeros_like(flat) for _ in range(world)]
    dist.all_gather(every, flat)
    if rank == 0:
        print(f"test loss {test.item():.4f}")
        print(f"largest difference between ranks {(every[0] - every[-1]).abs().max().item():.6f}")
        print("weights", [repr(t.double().sum().item()) for t in every])
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
