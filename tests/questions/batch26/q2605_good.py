from collections import OrderedDict
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(4)


class SelectiveKernel(nn.Module):
    def __init__(self, channels, kernels=(1, 3, 5), reduction=4, min_dim=8):
        super().__init__()
        d = max(min_dim, channels // reduction)
        self.branches = nn.ModuleList([
            nn.Sequential(OrderedDict([
                ("conv", nn.Conv2d(channels, channels, k, padding=k // 2)),
                ("bn", nn.BatchNorm2d(channels)),
                ("relu", nn.ReLU()),
            ])) for k in kernels
        ])
        self.squeeze = nn.Linear(channels, d)
        self.excite = nn.ModuleList([nn.Linear(d, channels) for _ in kernels])
        self.softmax = nn.Softmax(dim=0)

    def forward(self, x):
        bs, c = x.shape[:2]
        outs = [branch(x) for branch in self.branches]
        feats = torch.stack(outs, 0)
        fused = sum(outs)
        z = self.squeeze(fused.mean((-1, -2)))
        weights = torch.stack([fc(z).view(bs, c, 1, 1) for fc in self.excite], 0)
        weights = self.softmax(weights)
        return (weights * feats).sum(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(1, 12, 3, padding=1), nn.ReLU())
        self.sk = SelectiveKernel(12)
        self.fc1 = nn.Linear(12, 24)
        self.fc2 = nn.Linear(24, 1)

    def forward(self, x):
        x = self.sk(self.stem(x))
        x = x.mean((-1, -2))
        return self.fc2(F.relu(self.fc1(x))).squeeze(1)


def make_data(n, size=12):
    x = 0.05 * torch.randn(n, 1, size, size)
    y = torch.randint(1, 7, (n,))
    for i in range(n):
        cells = torch.randperm(size * size)[: y[i]]
        x[i, 0].view(-1)[cells] += 1.0
    return TensorDataset(x, y.float())


def error(model, loader):
    model.eval()
    total, n = 0.0, 0
    with torch.no_grad():
        for x, y in loader:
            total += F.mse_loss(model(x), y, reduction="sum").item()
            n += len(y)
    model.train()
    return total / n


train_set, test_set = make_data(1600), make_data(400)
model = Net()
opt = torch.optim.Adam(model.parameters(), lr=4e-3)
for epoch in range(6):
    running, steps = 0.0, 0
    for x, y in DataLoader(train_set, batch_size=32, shuffle=True):
        loss = F.mse_loss(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        running, steps = running + loss.item(), steps + 1
    print(f"epoch {epoch + 1} train mse {running / steps:.4f} test mse {error(model, DataLoader(test_set, batch_size=32)):.4f}")
print(f"one image at a time: test mse {error(model, DataLoader(test_set, batch_size=1)):.4f}")
