import os
import tempfile
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

EPOCHS = 12
CKPT = os.path.join(tempfile.mkdtemp(), "last.pt")


def build_data():
    g = torch.Generator().manual_seed(2)
    base = torch.randn(8, 3, 8, 8, generator=g)
    def split(n):
        y = torch.randint(0, 8, (n,), generator=g)
        clip = base[y] + 5.5 * torch.randn(n, 3, 8, 8, generator=g)
        return TensorDataset(clip, y)
    return split(1600), split(800)


def build_model():
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Conv2d(3, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 3, padding=1), nn.BatchNorm2d(64), nn.ReLU(), nn.Flatten(), nn.Linear(64 * 16, 8))


def build_optimizer(model):
    return torch.optim.Adam(model.parameters(), lr=5e-3)


def build_scheduler(optimizer):
    return torch.optim.lr_scheduler.MultiStepLR(optimizer, milestones=[3, 5], gamma=0.1)


class Trainer:
    def __init__(self, train_set, valid_set):
        self.train_set, self.valid_set = train_set, valid_set
        self.model = build_model()
        self.start_epoch = 0

    def save(self, epoch):
        torch.save({"epoch": epoch + 1, "state_dict": self.model.state_dict(),
                    "optimizer": self.optimizer.state_dict(),
                    "scheduler": self.scheduler.state_dict()}, CKPT)

    def load(self, path):
        ckpt = torch.load(path)
        self.model.load_state_dict(ckpt["state_dict"])
        self.start_epoch = ckpt["epoch"]
        return ckpt

    def train(self, last_epoch, resume_from=None):
        if resume_from:
            ckpt = self.load(resume_from)
        self.optimizer = build_optimizer(self.model)
        self.scheduler = build_scheduler(self.optimizer)
        for epoch in range(self.start_epoch, last_epoch):
            gen = torch.Generator().manual_seed(100 + epoch)
            loader = DataLoader(self.train_set, batch_size=32, shuffle=True, generator=gen)
            lr = self.optimizer.param_groups[0]["lr"]
            self.model.train()
            total = 0.0
            for x, y in loader:
                self.optimizer.zero_grad()
                loss = F.cross_entropy(self.model(x), y)
                loss.backward()
                self.optimizer.step()
                total += loss.item()
            self.scheduler.step()
            self.save(epoch)
            print("epoch %2d  lr %.0e  train loss %.4f  valid loss %.4f" % (epoch, lr, total / len(loader), self.validate()))
        return self.validate()

    @torch.no_grad()
    def validate(self):
        self.model.eval()
        x, y = self.valid_set.tensors
        return F.cross_entropy(self.model(x), y).item()


train_set, valid_set = build_data()
print("one run")
whole = Trainer(train_set, valid_set).train(EPOCHS)
print("stopped after 6 epochs and resumed")
Trainer(train_set, valid_set).train(6)
resumed = Trainer(train_set, valid_set).train(EPOCHS, resume_from=CKPT)
print("final valid loss: one run %.4f, resumed %.4f" % (whole, resumed))
