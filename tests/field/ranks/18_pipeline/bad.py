import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F

STEPS, BATCH, WIDTH = 400, 32, 24


class First(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(6, 48), nn.Tanh(), nn.Linear(48, WIDTH))

    def forward(self, x):
        return self.net(x)


class Second(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Tanh(), nn.Linear(WIDTH, 48), nn.Tanh(), nn.Linear(48, 1))

    def forward(self, h):
        return self.net(h)


def batch(g, n=BATCH):
    x = torch.randn(n, 6, generator=g)
    return x, torch.sin(x[:, :1] * 2) * x[:, 1:2]


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(0)
    first, second = First(), Second()
    stage = first if rank == 0 else second
    opt = torch.optim.SGD(stage.parameters(), lr=0.05, momentum=0.9)
    g = torch.Generator().manual_seed(2)
    inbox = torch.zeros(BATCH, WIDTH, requires_grad=(rank == 1))
    for step in range(STEPS):
        x, y = batch(g)
        opt.zero_grad()
        if rank == 0:
            h = stage(x)
            dist.send(h.detach(), dst=1)
            grad = torch.empty_like(h)
            dist.recv(grad, src=1)
            h.backward(grad)
        else:
            dist.recv(inbox.data, src=0)
            loss = F.mse_loss(stage(inbox), y)
            loss.backward()
            dist.send(inbox.grad, dst=0)
        opt.step()
    x, y = batch(torch.Generator().manual_seed(9), 1000)
    for p in second.parameters():
        dist.broadcast(p.data, src=1)
    if rank == 0:
        with torch.no_grad():
            print(f"loss {F.mse_loss(second(first(x)), y).item():.4f} (variance {y.var().item():.4f})")
        print("weights", repr(sum(p.double().sum().item() for m in (first, second) for p in m.parameters())))
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
