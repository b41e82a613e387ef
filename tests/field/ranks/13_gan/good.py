import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP


def real_batch(n, g):
    return torch.randn(n, 2, generator=g) * torch.tensor([0.5, 0.2]) + torch.tensor([2.0, -1.0])


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(0)
    gen = DDP(nn.Sequential(nn.Linear(4, 32), nn.LeakyReLU(0.2), nn.Linear(32, 32), nn.LeakyReLU(0.2), nn.Linear(32, 2)))
    disc = DDP(nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(0.2), nn.Linear(32, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1)),
               broadcast_buffers=False)
    opt_g = torch.optim.Adam(gen.parameters(), lr=1e-3, betas=(0.5, 0.99))
    opt_d = torch.optim.Adam(disc.parameters(), lr=1e-3, betas=(0.5, 0.99))
    g = torch.Generator().manual_seed(40 + rank)
    one, zero = torch.ones(64, 1), torch.zeros(64, 1)
    for step in range(500):
        fake = gen(torch.randn(64, 4, generator=g))
        opt_d.zero_grad()
        loss_d = F.binary_cross_entropy_with_logits(disc(real_batch(64, g)), one)
        loss_d = loss_d + F.binary_cross_entropy_with_logits(disc(fake.detach()), zero)
        loss_d.backward()
        opt_d.step()

        opt_g.zero_grad()
        loss_g = F.binary_cross_entropy_with_logits(disc(fake), one)
        loss_g.backward()
        opt_g.step()
    shared = torch.Generator().manual_seed(8)
    with torch.no_grad():
        made = gen.module(torch.randn(2000, 4, generator=shared))
        real = real_batch(2000, shared)
    dm = (made.mean(0) - real.mean(0)).norm()
    ds = (made.std(0) - real.std(0)).norm()
    if rank == 0:
        print(f"discriminator loss {loss_d.item():.4f} generator loss {loss_g.item():.4f}")
        print(f"distance of means {dm.item():.4f} of spreads {ds.item():.4f}")
        print("weights", repr(sum(p.double().sum().item() for m in (gen, disc) for p in m.parameters())))
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
