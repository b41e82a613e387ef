import io
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

EPOCHS, STOP_AT, BATCH = 14, 11, 32


class PointNet(nn.Module):
    def __init__(self, n_class=5):
        super().__init__()
        self.local = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 64))
        self.head = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, n_class))

    def forward(self, pts):
        return self.head(self.local(pts).max(dim=1).values)


def clouds(n, gen, n_class=5):
    label = torch.randint(0, n_class, (n,), generator=gen)
    pts = torch.randn(n, 64, 3, generator=gen)
    pts = pts / pts.norm(dim=-1, keepdim=True)
    stretch = torch.ones(n, 1, 3)
    stretch[:, 0, 0] += 0.35 * label
    stretch[:, 0, 1] -= 0.12 * label
    return pts * stretch + 0.15 * torch.randn(n, 64, 3, generator=gen), label


def lr_at(epoch):
    return 0.5 * (1 + math.cos(math.pi * min(epoch, EPOCHS) / EPOCHS)) * 0.98 + 0.02


class Trainer:
    def __init__(self, checkpoint=None):
        torch.manual_seed(0)
        self.model = PointNet()
        self.start = 0
        if checkpoint is not None:
            self.model.load_state_dict(checkpoint["model"])
            self.start = checkpoint["epoch"]
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.15, momentum=0.9)
        self.scheduler = torch.optim.lr_scheduler.LambdaLR(self.optimizer, lr_at)
        if checkpoint is not None:
            self.scheduler.load_state_dict(checkpoint["scheduler"])
            self.optimizer.load_state_dict(checkpoint["optimizer"])

    def state(self, epoch):
        return {"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict(),
                "scheduler": self.scheduler.state_dict(), "epoch": epoch}

    def fit(self, data, label, until):
        history = []
        for epoch in range(self.start, until):
            order = torch.randperm(len(data), generator=torch.Generator().manual_seed(epoch))
            lr, total = self.optimizer.param_groups[0]["lr"], 0.0
            for i in range(0, len(order), BATCH):
                idx = order[i:i + BATCH]
                loss = F.cross_entropy(self.model(data[idx]), label[idx])
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
                total += loss.item() * len(idx)
            self.scheduler.step()
            history.append((epoch, lr, total / len(data)))
        return history


gen = torch.Generator().manual_seed(1)
data, label = clouds(1600, gen)
straight = Trainer().fit(data, label, EPOCHS)

first = Trainer()
first.fit(data, label, STOP_AT)
buffer = io.BytesIO()
torch.save(first.state(STOP_AT), buffer)
buffer.seek(0)
resumed = Trainer(torch.load(buffer)).fit(data, label, EPOCHS)

for (e, lr_a, a), (_, lr_b, b) in zip(straight[STOP_AT:], resumed):
    print(f"epoch {e}: one run lr {lr_a:.4f} loss {a:.4f}   resumed lr {lr_b:.4f} loss {b:.4f}")
