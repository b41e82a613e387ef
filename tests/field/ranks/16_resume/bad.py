import os
import tempfile

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP


def build():
    return nn.Sequential(nn.Linear(8, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1))


def pretrain(path, x, y):
    torch.manual_seed(123)
    net = build()
    opt = torch.optim.Adam(net.parameters(), lr=3e-3)
    for _ in range(150):
        loss = F.mse_loss(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    torch.save({"model": net.state_dict()}, path)


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    g = torch.Generator().manual_seed(1)
    x = torch.randn(1024, 8, generator=g)
    y = torch.sin(x[:, :1] * 2) + x[:, 1:2] * x[:, 2:3]
    box = [tempfile.mkdtemp() if rank == 0 else None]
    dist.broadcast_object_list(box, src=0)
    path = os.path.join(box[0], "last.pt")
    if rank == 0:
        pretrain(path, x, y)
    dist.barrier()

    torch.manual_seed(0)
    model = DDP(build())
    if rank == 0:
        model.module.load_state_dict(torch.load(path)["model"])
    opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    mine = torch.arange(rank, 1024, world)
    for step in range(200):
        idx = mine[torch.randint(len(mine), (32,), generator=g)]
        loss = F.mse_loss(model(x[idx]), y[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
    with torch.no_grad():
        final = F.mse_loss(model.module(x), y)
    flat = torch.cat([p.detach().reshape(-1) for p in model.parameters()])
    every = [torch.zeros_like(flat) for _ in range(world)]
    dist.all_gather(every, flat)
    if rank == 0:
        print(f"loss {final.item():.4f}")
        print(f"largest difference between ranks {(every[0] - every[1]).abs().max().item():.4f}")
        print("weights", [repr(t.double().sum().item()) for t in every])
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
