import math
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(3)
NAMES = ["sphere", "cube", "cylinder", "cone", "plane", "ring"]


def sample_shape(kind, n=96):
    u, v, w = torch.rand(n), torch.rand(n), torch.rand(n)
    a = 2 * math.pi * u
    if kind == "sphere":
        z = 2 * v - 1
        r = (1 - z * z).sqrt()
        p = torch.stack([r * a.cos(), r * a.sin(), z])
    elif kind == "cube":
        p = torch.stack([u, v, w]) * 2 - 1
        face = torch.randint(0, 3, (n,))
        p[face, torch.arange(n)] = p[face, torch.arange(n)].sign()
    elif kind == "cylinder":
        p = torch.stack([a.cos(), a.sin(), 2 * v - 1])
    elif kind == "cone":
        p = torch.stack([v * a.cos(), v * a.sin(), 1 - 2 * v])
    elif kind == "plane":
        p = torch.stack([2 * u - 1, 2 * v - 1, 0.05 * torch.randn(n)])
    else:
        p = torch.stack([a.cos(), a.sin(), 0.05 * torch.randn(n)])
    return p * (0.8 + 0.4 * torch.rand(1)) + 0.08 * torch.randn(3, n)


def make_split(n):
    y = torch.randint(0, len(NAMES), (n,))
    x = torch.stack([sample_shape(NAMES[i]) for i in y])
    return TensorDataset(x, y)


class PointNetCls(nn.Module):
    def __init__(self, k):
        super().__init__()
        self.feat = nn.Sequential(
            nn.Conv1d(3, 32, 1), nn.BatchNorm1d(32), nn.ReLU(),
            nn.Conv1d(32, 64, 1), nn.BatchNorm1d(64), nn.ReLU(),
            nn.Conv1d(64, 128, 1), nn.BatchNorm1d(128))
        self.fc1 = nn.Linear(128, 64)
        self.bn1 = nn.BatchNorm1d(64)
        self.fc2 = nn.Linear(64, k)

    def forward(self, x):
        g = self.feat(x).max(dim=2)[0]
        g = F.relu(self.bn1(self.fc1(g)))
        return F.log_softmax(self.fc2(g), dim=-1)


train_loader = DataLoader(make_split(960), batch_size=32, shuffle=True)
test_set = make_split(240)
model = PointNetCls(len(NAMES))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

for epoch in range(12):
    model.train()
    total = 0.0
    for points, target in train_loader:
        optimizer.zero_grad()
        pred = model(points)
        loss = F.nll_loss(pred, target)
        loss.backward()
        optimizer.step()
        total += loss.item()
    print("epoch %2d  train loss %.4f" % (epoch, total / len(train_loader)))


@torch.no_grad()
def accuracy(batch_size):
    model.eval()
    right = 0
    for points, target in DataLoader(test_set, batch_size=batch_size):
        right += (model(points).argmax(1) == target).sum().item()
    return right / len(test_set)


print("test accuracy, batches of 32: %.3f" % accuracy(32))
print("test accuracy, one by one:    %.3f" % accuracy(1))
