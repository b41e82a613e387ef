import torch
import torch.distributed as dist
import torch.distributed.nn.functional as distF
import torch.nn as nn
import torch.nn.functional as F


class Encoder(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(n, 64), nn.ReLU(), nn.Linear(64, 4))

    def forward(self, x):
        return F.normalize(self.net(x), dim=1)


def gather_all(t, world):
    return torch.cat(distF.all_gather(t))


def pairs(g, n, ma, mb):
    z = torch.randn(n, 8, generator=g)
    return (torch.tanh(z @ ma) + 0.1 * torch.randn(n, 20, generator=g),
            torch.tanh(z @ mb) + 0.1 * torch.randn(n, 30, generator=g))


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(0)
    image, text = Encoder(20), Encoder(30)
    params = list(image.parameters()) + list(text.parameters())
    opt = torch.optim.Adam(params, lr=2e-3)
    shared = torch.Generator().manual_seed(12)
    ma, mb = torch.randn(8, 20, generator=shared), torch.randn(8, 30, generator=shared)
    g = torch.Generator().manual_seed(60 + rank)
    for step in range(300):
        a, b = pairs(g, 32, ma, mb)
        u, v = image(a), text(b)
        every = gather_all(v, world)
        logits = u @ every.t() / 0.1
        target = torch.arange(32) + 32 * rank
        loss = F.cross_entropy(logits, target)
        opt.zero_grad()
        loss.backward()
        for p in params:
            if p.grad is not None:
                dist.all_reduce(p.grad)
                p.grad /= world
        opt.step()
    a, b = pairs(shared, 400, ma, mb)
    with torch.no_grad():
        sim = image(a) @ text(b).t()
        top = sim.argsort(1, descending=True)[:, :10]
        hit = (top == torch.arange(400)[:, None]).any(1).float().mean()
    if rank == 0:
        print(f"loss {loss.item():.4f} recall at 10 {hit.item():.4f}")
        print("weights", repr(sum(p.double().sum().item() for p in params)))
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
