import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP


class Tower(nn.Module):
    def __init__(self, n, d):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(n, 48), nn.ReLU(), nn.Linear(48, d))

    def forward(self, x):
        return self.net(x)


class TwoTowers(nn.Module):
    def __init__(self):
        super().__init__()
        self.left = Tower(10, 4)
        self.right = Tower(14, 4)
        self.gate = nn.Linear(8, 8)
        self.out = nn.Linear(8, 2)

    def forward(self, a, b):
        u = self.left(a)
        v = self.right(b)
        stats = v.std(0, keepdim=True) + 1e-5
        v = v / stats
        h = torch.cat([u, v], 1)
        return self.out(h * torch.sigmoid(self.gate(h)))


def batch(g, pa, pb):
    a = torch.randn(32, 10, generator=g)
    b = torch.randn(32, 14, generator=g)
    score = torch.tanh(a @ pa) + 2 * torch.tanh(b @ pb)
    return a, b, (score > 0).long()


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(0)
    model = DDP(TwoTowers(), find_unused_parameters=True)
    opt = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.0)
    shared = torch.Generator().manual_seed(6)
    pa, pb = torch.randn(10, generator=shared), torch.randn(14, generator=shared)
    g = torch.Generator().manual_seed(70 + rank)
    for step in range(400):
        a, b, y = batch(g, pa, pb)
        opt.zero_grad()
        loss = F.cross_entropy(model(a, b), y)
        loss.backward()
        opt.step()
    hits = 0
    model.eval()
    with torch.no_grad():
        for _ in range(40):
            a, b, y = batch(shared, pa, pb)
            hits += (model(a, b).argmax(1) == y).sum().item()
    if rank == 0:
        print(f"accuracy {hits / (40 * 32):.4f}")
        print("weights", repr(sum(p.double().sum().item() for p in model.parameters())))
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
