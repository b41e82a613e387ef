import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F

STEPS = 250


def build():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(10, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU(), nn.Linear(48, 1))


def batch(g, n=64):
    x = torch.randn(n, 10, generator=g)
    return x, x[:, :1] * x[:, 1:2] + 0.5 * x[:, 2:3]


def serve(model):
    opt = torch.optim.SGD(model.parameters(), lr=0.03, momentum=0.9)
    for step in range(STEPS):
        opt.zero_grad()
        for p in model.parameters():
            p.grad = torch.zeros_like(p)
            dist.recv(p.grad, src=1)
        opt.step()
        for p in model.parameters():
            dist.send(p.detach(), dst=1)
    x, y = batch(torch.Generator().manual_seed(5), 2000)
    with torch.no_grad():
        print(f"server loss {F.mse_loss(model(x), y).item():.4f} (variance {y.var().item():.4f})")
        print("weights", repr(sum(p.double().sum().item() for p in model.parameters())))


def work(model):
    g = torch.Generator().manual_seed(4)
    for step in range(STEPS):
        x, y = batch(g)
        model.zero_grad()
        loss = F.mse_loss(model(x), y)
        loss.backward()
        for p in model.parameters():
            dist.send(p.grad, dst=0)
        for p in model.parameters():
            new = torch.empty_like(p)
            dist.recv(new, src=0)
            p.data.copy_(new)


def main():
    dist.init_process_group("gloo")
    model = build()
    if dist.get_rank() == 0:
        serve(model)
    else:
        work(model)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
