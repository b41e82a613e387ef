import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset


class Regressor(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU())
        self.out = nn.Linear(64, 1)

    def forward(self, x):
        return self.out(self.net(x))

    def compute_loss(self, x, y):
        return F.smooth_l1_loss(self(x), y)


class Trainer:
    def __init__(self, model, lr):
        self.model = DDP(model)
        self.opt = torch.optim.Adam(model.parameters(), lr=lr)

    def unwrap(self):
        return self.model.module if isinstance(self.model, DDP) else self.model

    def step(self, x, y):
        loss = self.unwrap().compute_loss(x, y)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        return loss.item()


def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(0)
    g = torch.Generator().manual_seed(1)
    x = torch.randn(800, 10, generator=g)
    y = (x[:, :1] * x[:, 1:2] + x[:, 2:3].abs()) + 0.3 * torch.randn(800, 1, generator=g)
    xt = torch.randn(1000, 10, generator=g)
    yt = xt[:, :1] * xt[:, 1:2] + xt[:, 2:3].abs()
    data = TensorDataset(x, y)
    sampler = DistributedSampler(data, world, rank, seed=3)
    loader = DataLoader(data, batch_size=25, sampler=sampler)
    trainer = Trainer(Regressor(), 2e-3)
    for epoch in range(25):
        sampler.set_epoch(epoch)
        for bx, by in loader:
            trainer.step(bx, by)
    net = trainer.unwrap()
    with torch.no_grad():
        test = F.mse_loss(net(xt), yt)
    total = torch.tensor(sum(p.double().sum().item() for p in net.parameters()), dtype=torch.float64)
    every = [torch.zeros_like(total) for _ in range(world)]
    dist.all_gather(every, total)
    if rank == 0:
        print(f"test loss {test.item():.4f}")
        print("weights", [repr(t.item()) for t in every])
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
