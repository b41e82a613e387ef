import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard


class Block(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.norm = nn.LayerNorm(d)
        self.up = nn.Linear(d, 2 * d)
        self.down = nn.Linear(2 * d, d)

    def forward(self, x):
        return x + self.down(F.gelu(self.up(self.norm(x))))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.inp = nn.Linear(10, 32)
        self.blocks = nn.ModuleList(Block(32) for _ in range(2))
        self.out = nn.Linear(32, 3)

    def forward(self, x):
        x = self.inp(x)
        for b in self.blocks:
            x = b(x)
        return self.out(x)


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    mesh = init_device_mesh("cpu", (world,))
    torch.manual_seed(0)
    model = Model()
    opt = torch.optim.AdamW(model.parameters(), lr=2e-3)
    for block in model.blocks:
        fully_shard(block, mesh=mesh)
    fully_shard(model, mesh=mesh)
    g = torch.Generator().manual_seed(20 + rank)
    shared = torch.Generator().manual_seed(4)
    proj = torch.randn(10, 3, generator=shared)
    losses = []
    for step in range(150):
        x = torch.randn(32, 10, generator=g)
        y = (x @ proj).argmax(1)
        loss = F.cross_entropy(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
    total = sum(p.full_tensor().double().sum().item() for p in model.parameters())
    x = torch.randn(512, 10, generator=shared)
    with torch.no_grad():
        acc = (model(x).argmax(1) == (x @ proj).argmax(1)).float().mean()
    if rank == 0:
        print(f"first loss {losses[0]:.4f} last loss {sum(losses[-10:]) / 10:.4f}")
        print(f"accuracy {acc.item():.4f}")
        print("weights", repr(total))
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
