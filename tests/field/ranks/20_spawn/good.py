import os

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn
import torch.nn.functional as F


def average(model, world):
    for p in model.parameters():
        grad = p.grad / world
        dist.all_reduce(grad)
        p.grad = grad


def train(rank, world, port, result):
    os.environ["MASTER_ADDR"], os.environ["MASTER_PORT"] = "127.0.0.1", str(port)
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=rank, world_size=world)
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 1))
    opt = torch.optim.Adam(model.parameters(), lr=5e-3)
    g = torch.Generator().manual_seed(50 + rank)
    low = -2.0 if rank == 0 else 0.0
    for step in range(300):
        x = torch.rand(64, 2, generator=g) * 2 + low
        y = torch.sin(2 * x[:, :1]) + x[:, 1:].cos()
        loss = F.mse_loss(model(x), y)
        opt.zero_grad()
        loss.backward()
        average(model, world)
        opt.step()
    x = torch.rand(2000, 2, generator=torch.Generator().manual_seed(7)) * 4 - 2
    with torch.no_grad():
        err = F.mse_loss(model(x), torch.sin(2 * x[:, :1]) + x[:, 1:].cos()).item()
    result.put((rank, err, sum(p.double().sum().item() for p in model.parameters())))
    dist.barrier()
    dist.destroy_process_group()


def main():
    ctx = mp.get_context("spawn")
    result = ctx.SimpleQueue()
    mp.spawn(train, args=(2, 29000 + os.getpid() % 2000, result), nprocs=2)
    for rank, err, total in sorted(result.get() for _ in range(2)):
        print(f"rank {rank}: error {err:.4f} weights {total!r}")


if __name__ == "__main__":
    main()
