import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(9)
torch.set_num_threads(1)


class Swish(nn.Module):
    def forward(self, x):
        return x * torch.sigmoid(x)


class FuseFeature(nn.Module):
    def __init__(self, e=1e-4):
        super().__init__()
        self.e = e
        self.weight = nn.Parameter(torch.ones(2, dtype=torch.float32), requires_grad=True)
        self.weight_relu = nn.ReLU(inplace=True)
        self.swish = Swish()

    def forward(self, x):
        weight = self.weight_relu(self.weight.clone())
        weight = weight / (torch.sum(weight, dim=0) + self.e)
        return self.swish(weight[0] * x[0] + weight[1] * x[1])


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.low = nn.Conv2d(3, 12, 3, padding=1)
        self.down = nn.Conv2d(12, 12, 3, stride=2, padding=1)
        self.up = nn.Upsample(scale_factor=2, mode="nearest")
        self.fuse = FuseFeature()
        self.head = nn.Linear(12, 4)

    def forward(self, x):
        p3 = torch.relu(self.low(x))
        p4 = torch.relu(self.down(p3))
        f = self.fuse([p3, self.up(p4)])
        return self.head(f.mean(dim=(2, 3)))


def make_set(n):
    y = torch.randint(0, 4, (n,))
    x = torch.randn(n, 3, 12, 12)
    for k in range(4):
        x[y == k, k % 3, (k // 2) * 6:(k // 2) * 6 + 6] += 1.0
    return TensorDataset(x, y)


train_loader = DataLoader(make_set(480), batch_size=32, shuffle=True)
test_x, test_y = make_set(200).tensors
model = Net()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
criterion = nn.CrossEntropyLoss()

for epoch in range(6):
    total = 0.0
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        total += loss.item()
    with torch.no_grad():
        acc = (model(test_x).argmax(1) == test_y).float().mean().item()
    print(f"epoch {epoch}  loss {total / len(train_loader):.4f}  test acc {acc:.3f}")
