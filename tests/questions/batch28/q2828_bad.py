import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.set_num_threads(1)
torch.manual_seed(3)


class AverageValueMeter:
    def __init__(self):
        self.reset()

    def reset(self):
        self.sum = 0.0
        self.n = 0

    def add(self, value, n=1):
        self.sum += value
        self.n += n

    def value(self):
        return self.sum / self.n


def make(n):
    y = torch.randint(0, 3, (n,))
    x = torch.randn(n, 1, 8, 8) + torch.eye(8)[:3].repeat(1, 8).view(3, 1, 8, 8)[y] * 0.8
    return TensorDataset(x, y)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Flatten(), nn.Linear(128, 3))

    def forward(self, x):
        return self.net(x)


class Trainer:
    def __init__(self, model, criterion, optimizer, train_loader, val_loader):
        self.model = model
        self.criterion = criterion
        self.optimizer = optimizer
        self.train_loader = train_loader
        self.val_loader = val_loader
        self.best = float("inf")

    def train_epoch(self, epoch):
        loss_meter = AverageValueMeter()
        self.model.train()
        for inp, lbl in self.train_loader:
            self.optimizer.zero_grad()
            out = self.model(inp)
            loss = self.criterion(out, lbl)
            loss.backward()
            self.optimizer.step()
            loss_meter.add(loss.item())
        return loss_meter.value()

    @torch.no_grad()
    def val_epoch(self, epoch):
        loss_meter = AverageValueMeter()
        correct = 0
        self.model.eval()
        for inp, lbl in self.val_loader:
            out = self.model(inp)
            loss = self.criterion(out, lbl)
            loss_meter.add(loss.item())
            correct += (out.argmax(1) == lbl).sum().item()
        return loss_meter.value(), correct / len(self.val_loader.dataset)

    def train(self, epochs):
        for epoch in range(epochs):
            tr = self.train_epoch(epoch)
            va, acc = self.val_epoch(epoch)
            note = ""
            if va < self.best:
                self.best = va
                note = " *"
            print(f"epoch {epoch} train loss {tr:.5f} val loss {va:.5f} val acc {acc:.4f}{note}")


train_loader = DataLoader(make(515), batch_size=64, shuffle=True)
val_loader = DataLoader(make(194), batch_size=64, shuffle=False)
model = Net()
trainer = Trainer(model, nn.CrossEntropyLoss(), torch.optim.Adam(model.parameters(), lr=3e-3),
                  train_loader, val_loader)
trainer.train(8)
