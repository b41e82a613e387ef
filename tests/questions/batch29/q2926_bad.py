import os
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(16, 32), nn.ReLU())
        self.head = nn.Linear(32, 3)

    def forward(self, x):
        h = self.backbone(x)
        return self.head(h), h


class Adapter(nn.Module):
    def __init__(self):
        super().__init__()
        self.classifier = Classifier()
        self.discriminator = nn.Sequential(nn.Linear(32, 16), nn.ReLU(), nn.Linear(16, 1))

    def forward(self, source, target):
        logits, hs = self.classifier(source)
        _, ht = self.classifier(target)
        return logits, self.discriminator(hs), self.discriminator(ht)


def main(rank, world_size, port):
    os.environ["MASTER_ADDR"], os.environ["MASTER_PORT"] = "127.0.0.1", str(port)
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=rank, world_size=world_size)
    torch.manual_seed(0)
    centers = torch.randn(3, 16)
    model = DDP(Adapter())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    torch.manual_seed(100 + rank)

    for epoch in range(4):
        total = 0.0
        for _ in range(15):
            y = torch.randint(0, 3, (24,))
            source = centers[y] + torch.randn(24, 16)
            target = centers[torch.randint(0, 3, (24,))] + 0.5 + torch.randn(24, 16)
            net = model.module
            logits, hs = net.classifier(source)
            _, ht = net.classifier(target)
            ds, dt = net.discriminator(hs), net.discriminator(ht)
            loss_cls = F.cross_entropy(logits, y)
            loss_dom = F.binary_cross_entropy_with_logits(ds, torch.ones_like(ds)) + \
                F.binary_cross_entropy_with_logits(dt, torch.zeros_like(dt))
            loss = loss_cls + 0.1 * loss_dom
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        weight = torch.stack([p.detach().norm() for p in model.parameters()]).sum()
        print(f"rank {rank}  epoch {epoch}  loss {total / 15:.4f}  weight norm {weight.item():.5f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    mp.spawn(main, args=(2, 29531), nprocs=2, join=True)
