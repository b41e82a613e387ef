import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(5)
rng = np.random.default_rng(5)


def records(n, shift):
    y = rng.integers(0, 4, n)
    base = np.eye(4)[y] * 1.8
    x = np.concatenate([base + rng.normal(0, 1.0, (n, 4)), rng.normal(0, 1.0, (n, 12))], axis=1)
    return torch.tensor(x + shift, dtype=torch.float32), torch.tensor(y)


train_x, train_y = records(3000, 0.0)
old_x, old_y = records(640, 0.0)
new_x, new_y = records(7, 2.5)
val_x, val_y = torch.cat([old_x, new_x]), torch.cat([old_y, new_y])

train_loader = DataLoader(TensorDataset(train_x, train_y), batch_size=64, shuffle=True)
val_loader = DataLoader(TensorDataset(val_x, val_y), batch_size=128)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(16, 48), nn.ReLU(), nn.Linear(48, 4))

    def forward(self, x):
        return self.layers(x)


net = Net()
loss_fn = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)


def validate():
    net.eval()
    accs = []
    right = 0
    with torch.no_grad():
        for x, y in val_loader:
            hit = net(x).argmax(dim=1) == y
            accs.append(hit.float().mean().item())
            right += hit.sum().item()
    return sum(accs) / len(accs), right


for epoch in range(20):
    net.train()
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = loss_fn(net(x), y)
        loss.backward()
        optimizer.step()
    acc, right = validate()
    if epoch % 5 == 4:
        print(f"epoch {epoch + 1:2d}  loss {loss.item():.4f}  val acc {acc:.4f}")
print(f"val acc {acc:.4f}   right {right} of {len(val_x)} = {right / len(val_x):.4f}")
