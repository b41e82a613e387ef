import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(5)
torch.set_num_threads(1)


class PowerPool(nn.Module):
    def __init__(self, p=3.0):
        super().__init__()
        self.p = p

    def forward(self, x):
        p = self.p
        return (torch.mean(x.clamp(min=1e-6) ** p, dim=-1) + 1e-12) ** (1 / p)


class Encoder(nn.Module):
    def __init__(self, in_dim=10, hidden=32, classes=4):
        super().__init__()
        self.conv1 = nn.Conv1d(in_dim, hidden, 3, padding=1)
        self.bn = nn.BatchNorm1d(hidden)
        self.conv2 = nn.Conv1d(hidden, hidden, 3, padding=1)
        self.pool = PowerPool()
        self.fc = nn.Linear(hidden, classes)

    def forward(self, x):
        x = torch.relu(self.bn(self.conv1(x)))
        x_i = self.conv2(x)
        x_i = self.pool(x_i)
        return self.fc(x_i)


def make_set(n):
    y = torch.randint(0, 4, (n,))
    x = torch.randn(n, 10, 20)
    x[torch.arange(n), y] += 0.8
    x[torch.arange(n), y + 4] -= 0.5
    return TensorDataset(x, y)


train_loader = DataLoader(make_set(512), batch_size=32, shuffle=True)
test_x, test_y = make_set(300).tensors

model = Encoder()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
criterion = nn.CrossEntropyLoss()

for epoch in range(5):
    model.train()
    total = 0.0
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        total += loss.item()
    model.eval()
    with torch.no_grad():
        acc = (model(test_x).argmax(1) == test_y).float().mean().item()
    print(f"epoch {epoch}  loss {total / len(train_loader):.4f}  test acc {acc:.3f}")
