import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F


class SumOutput(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        x = x.clone()
        dist.all_reduce(x)
        return x

    @staticmethod
    def backward(ctx, g):
        return g


class SplitInput(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, g):
        g = g.clone()
        dist.all_reduce(g)
        return g


class ParallelMLP(nn.Module):
    def __init__(self, dim, hidden, rank, world):
        super().__init__()
        up, down = nn.Linear(dim, hidden), nn.Linear(hidden, dim)
        part = slice(rank * hidden // world, (rank + 1) * hidden // world)
        self.w1 = nn.Parameter(up.weight.detach()[part].clone())
        self.b1 = nn.Parameter(up.bias.detach()[part].clone())
        self.w2 = nn.Parameter(down.weight.detach()[:, part].clone())
        self.b2 = nn.Parameter(down.bias.detach().clone())

    def forward(self, x):
        h = F.gelu(F.linear(SplitInput.apply(x), self.w1, self.b1))
        return SumOutput.apply(F.linear(h, self.w2)) + self.b2


class Net(nn.Module):
    def __init__(self, rank, world):
        super().__init__()
        self.embed = nn.Linear(12, 32)
        self.mlp = ParallelMLP(32, 64, rank, world)
        self.out = nn.Linear(32, 1)

    def forward(self, x):
        return self.out(self.mlp(torch.tanh(self.embed(x))))


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(0)
    net = Net(rank, world)
    opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
    g = torch.Generator().manual_seed(11)
    x = torch.randn(1024, 12, generator=g)
    y = (x[:, :1] * x[:, 1:2] + torch.sin(2 * x[:, 2:3]))
    for step in range(400):
        idx = torch.randint(1024, (64,), generator=g)
        loss = F.mse_loss(net(x[idx]), y[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
    with torch.no_grad():
        final = F.mse_loss(net(x), y)
    w = net.embed.weight.detach().double().sum()
    every = [torch.zeros_like(w) for _ in range(world)]
    dist.all_gather(every, w)
    if rank == 0:
        print(f"loss {final.item():.4f}")
        print("embed", [repr(t.item()) for t in every])
        print("weights", repr(sum(p.double().sum().item() for p in net.parameters())))
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
