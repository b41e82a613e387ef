import os
import tempfile

import torch
import torch.nn as nn
import torch.nn.functional as F


def make_data(n, seed):
    g = torch.Generator().manual_seed(seed)
    x = torch.rand(n, 6, generator=g) * 2 - 1
    y = torch.sin(3 * x[:, :1]) * x[:, 1:2] + x[:, 2:3] ** 2 - x[:, 3:4] * x[:, 4:5]
    return x, y + 0.05 * torch.randn(n, 1, generator=g)


class Trainer:
    def __init__(self, model, lr=0.02, decay=0.75):
        self.model = model
        self.base_lr = lr
        self.decay = decay
        self.optimizer = None
        self.start_epoch = 0
        self.last_loss = float("nan")

    def setup(self):
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=self.base_lr)

    def save(self, path, epoch):
        torch.save({"model": self.model.state_dict(),
                    "optimizer": self.optimizer.state_dict(),
                    "epoch": epoch}, path)

    def resume(self, path):
        checkpoint = torch.load(path)
        self.model.load_state_dict(checkpoint["model"])
        if self.optimizer is not None and "optimizer" in checkpoint:
            self.optimizer.load_state_dict(checkpoint["optimizer"])
        self.start_epoch = checkpoint["epoch"] + 1

    def train(self, data, val, until, path):
        self.setup()
        x, y = data
        for epoch in range(self.start_epoch, until):
            g = torch.Generator().manual_seed(epoch)
            order = torch.randperm(len(x), generator=g)
            total = 0.0
            for k in range(0, len(x), 32):
                b = order[k:k + 32]
                loss = F.mse_loss(self.model(x[b]), y[b])
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
                total += loss.item() * len(b)
            for group in self.optimizer.param_groups:
                group["lr"] *= self.decay
            self.last_loss = total / len(x)
            with torch.no_grad():
                v = F.mse_loss(self.model(val[0]), val[1]).item()
            print(f"epoch {epoch:2d} train {self.last_loss:.5f} val {v:.5f}")
            self.save(path, epoch)


def build():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(6, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1))


data, val = make_data(3000, 1), make_data(1000, 2)
path = os.path.join(tempfile.mkdtemp(), "last.pt")

first = Trainer(build())
first.train(data, val, 14, path)

second = Trainer(build())
second.resume(path)
second.train(data, val, 18, path)
print(f"loss before the interruption {first.last_loss:.5f}, at the end {second.last_loss:.5f}")
print("learning rate at the end:", second.optimizer.param_groups[0]["lr"])
