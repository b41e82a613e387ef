import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(16, 48)
        self.b = nn.Linear(48, 32)

    def forward(self, x):
        return torch.relu(self.b(torch.relu(self.a(x))))


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = Encoder()
        self.head = nn.Linear(32, 4)

    def forward(self, x):
        return self.head(self.encoder(x))


def sync(params, world):
    params = [p for p in params if p.grad is not None]
    flat = torch.cat([p.grad.reshape(-1) for p in params])
    dist.all_reduce(flat)
    flat /= world
    pos = 0
    for p in params:
        n = p.numel()
        p.grad.copy_(flat[pos:pos + n].view_as(p))
        pos += n


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(0)
    g = torch.Generator().manual_seed(5)
    centers = torch.randn(4, 16, generator=g) * 0.8
    label = torch.arange(4).repeat_interleave(300)
    data = centers[label] + torch.randn(1200, 16, generator=g)
    half = 1200 // world
    x, y = data[rank * half:(rank + 1) * half], label[rank * half:(rank + 1) * half]
    model = Classifier()
    opt = torch.optim.Adam([
        {"params": model.encoder.parameters(), "lr": 1e-3},
        {"params": model.head.parameters(), "lr": 3e-3},
    ])
    for step in range(300):
        idx = torch.randint(len(x), (32,), generator=g)
        opt.zero_grad()
        loss = F.cross_entropy(model(x[idx]), y[idx])
        loss.backward()
        sync(model.parameters(), world)
        opt.step()
    with torch.no_grad():
        acc = (model(data).argmax(1) == label).float().mean()
        total = torch.tensor(sum(p.double().sum().item() for p in model.parameters()), dtype=torch.float64)
    every = [torch.zeros_like(total) for _ in range(world)]
    dist.all_gather(every, total)
    if rank == 0:
        print(f"accuracy {acc.item():.4f}")
        print("weights", [repr(t.item()) for t in every])
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
