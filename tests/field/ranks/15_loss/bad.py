import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F


class GRUTagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(20, 16)
        self.rnn = nn.GRU(16, 32, batch_first=True)
        self.out = nn.Linear(32, 3)

    def forward(self, x):
        return self.out(self.rnn(self.emb(x))[0])


def batch(g, value, low, high, n=16):
    x = torch.randint(low, high, (n, 10), generator=g)
    return x, value[x].cumsum(1) % 3


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(0)
    model = GRUTagger()
    opt = torch.optim.Adam(model.parameters(), lr=5e-3)
    shared = torch.Generator().manual_seed(3)
    value = torch.randint(0, 3, (20,), generator=shared)
    g = torch.Generator().manual_seed(80 + rank)
    span = 20 // world
    for step in range(250):
        x, y = batch(g, value, rank * span, (rank + 1) * span)
        loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
        opt.zero_grad()
        dist.all_reduce(loss)
        loss = loss / world
        loss.backward()
        opt.step()
    x, y = batch(shared, value, 0, 20, 500)
    with torch.no_grad():
        acc = (model(x).argmax(-1) == y).float().mean()
    total = torch.tensor(sum(p.double().sum().item() for p in model.parameters()), dtype=torch.float64)
    every = [torch.zeros_like(total) for _ in range(world)]
    dist.all_gather(every, total)
    if rank == 0:
        print(f"training loss {loss.item():.4f} accuracy {acc.item():.4f}")
        print("weights", [repr(t.item()) for t in every])
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
