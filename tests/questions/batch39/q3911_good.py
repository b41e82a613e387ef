import os
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class MVNetwork(nn.Module):
    def __init__(self, views=6, feats=16, width=192, classes=5):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(feats, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU())
        self.fc = nn.Linear(width, classes)

    def forward(self, rendered):
        feat = self.backbone(rendered).max(dim=1).values
        return self.fc(feat), feat


class MVTN(nn.Module):
    def __init__(self, points=32, views=6):
        super().__init__()
        self.views = views
        self.regressor = nn.Sequential(nn.Linear(points * 2, 64), nn.Tanh(), nn.Linear(64, views))

    def forward(self, shape):
        angle = 3.14 * torch.tanh(self.regressor(shape.flatten(1)))
        c, s = torch.cos(angle), torch.sin(angle)
        proj = shape[:, None, :16, 0] * c[..., None] + shape[:, None, :16, 1] * s[..., None]
        return proj


def memory():
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2 ** 20


def train(data_loader, mvtn, mvnetwork, optimizer, criterion, setup):
    mvnetwork.train()
    for epoch in range(setup["epochs"]):
        total, correct = 0.0, 0.0
        for i, (points, targets) in enumerate(data_loader):
            optimizer.zero_grad()
            outputs, feat = mvnetwork(mvtn(points))
            loss = criterion(outputs, targets)
            loss.backward()
            optimizer.step()
            setup["total_loss"] += loss.item()
            setup["n"] += 1
            _, predicted = torch.max(outputs.data, dim=1)
            total += targets.size(0)
            correct += predicted.eq(targets).sum().item()
        print(f"epoch {epoch} loss {setup['total_loss'] / setup['n']:.4f} "
              f"acc {100 * correct / total:.1f} memory {memory():.0f} MB")


torch.manual_seed(0)
y = torch.arange(2000) % 5
t = torch.linspace(0, 6.28, 32)
radius = 1 + 0.4 * torch.sin((y[:, None] + 1) * t) + 0.1 * torch.randn(2000, 32)
points = torch.stack([radius * torch.cos(t), radius * torch.sin(t)], dim=-1)
loader = DataLoader(TensorDataset(points, y), batch_size=10, shuffle=True)
mvtn, mvnetwork = MVTN(), MVNetwork()
optimizer = torch.optim.Adam(list(mvtn.parameters()) + list(mvnetwork.parameters()), lr=1e-3)
setup = {"epochs": 8, "total_loss": 0.0, "n": 0}
train(loader, mvtn, mvnetwork, optimizer, nn.CrossEntropyLoss(), setup)
