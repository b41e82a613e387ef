import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

ACCUM = 4


class Mixer(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.up = nn.Linear(d, 3 * d)
        self.down = nn.Linear(3 * d, d)

    def forward(self, x):
        return x + self.down(torch.relu(self.up(x)))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.inp = nn.Linear(12, 24)
        self.layers = nn.ModuleList(Mixer(24) for _ in range(2))
        self.out = nn.Linear(24, 1)

    def forward(self, x):
        x = self.inp(x)
        for layer in self.layers:
            x = layer(x)
        return self.out(x)


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(0)
    model = Model()
    mesh = init_device_mesh("cpu", (world,))
    for layer in model.layers:
        fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    g = torch.Generator().manual_seed(90 + rank)
    losses = []
    for step in range(400):
        x = torch.randn(16, 12, generator=g)
        y = x[:, :1] * x[:, 1:2] + x[:, 2:3]
        model.set_requires_gradient_sync(step % ACCUM == ACCUM)
        loss = F.mse_loss(model(x), y) / ACCUM
        loss.backward()
        losses.append(loss.item() * ACCUM)
        if (step + 1) % ACCUM == 0:
            opt.step()
            opt.zero_grad()
    if rank == 0:
        print(f"first loss {sum(losses[:20]) / 20:.4f} last loss {sum(losses[-20:]) / 20:.4f}")
    model.eval()
    x = torch.randn(256, 12, generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        out = model(x).double().sum().item()
    if rank == 0:
        print("output", repr(out))
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
