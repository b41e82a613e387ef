import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F


def make_data(n, seed):
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(n, 20, generator=g)
    w = torch.randn(20, 1, generator=torch.Generator().manual_seed(7))
    y = torch.sin(x @ w * 0.4) + 0.05 * torch.randn(n, 1, generator=g)
    return x, y


def reduce_gradients(model, world):
    for p in model.parameters():
        if p.grad is None:
            continue
        dist.all_reduce(p.grad, op=dist.ReduceOp.SUM)
        p.grad.div_(world)


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(20, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.14)
    x, y = make_data(2048, 1)
    x, y = x[rank::world], y[rank::world]
    xt, yt = make_data(1024, 2)
    order = torch.Generator().manual_seed(3)
    for epoch in range(8):
        perm = torch.randperm(len(x), generator=order)
        for i in range(0, len(x), 32):
            idx = perm[i:i + 32]
            loss = F.mse_loss(model(x[idx]), y[idx])
            opt.zero_grad()
            loss.backward()
            reduce_gradients(model, world)
            opt.step()
    norm = sum(p.grad.pow(2).sum() for p in model.parameters()).sqrt()
    with torch.no_grad():
        test = F.mse_loss(model(xt), yt)
    if rank == 0:
        print(f"test loss {test.item():.4f}")
        print(f"last gradient norm {norm.item():.4f}")
        print("weights", repr(sum(p.double().sum().item() for p in model.parameters())))
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
