import math

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(42)
N_VERTEX, N_HIS = 12, 12


def traffic(days=6, steps_per_day=288):
    t = torch.arange(days * steps_per_day) / steps_per_day
    phase, depth = torch.rand(N_VERTEX) * 0.3, 0.5 + torch.rand(N_VERTEX)
    rush = torch.sin(2 * math.pi * (2 * t[:, None] + phase)) + 0.5 * torch.sin(
        2 * math.pi * (t[:, None] - phase)
    )
    speed = depth * rush + 0.05 * torch.randn(len(t), N_VERTEX)
    return (speed - speed.mean()) / speed.std()


def windows(v, n_pred=9):
    x = torch.stack([v[i : i + N_HIS] for i in range(len(v) - N_HIS - n_pred)])
    y = torch.stack([v[i + N_HIS + n_pred] for i in range(len(v) - N_HIS - n_pred)])
    return TensorDataset(x.unsqueeze(1), y)


class STGCNGraphConv(nn.Module):
    def __init__(self, gso, channels=12):
        super().__init__()
        self.register_buffer("gso", gso)
        self.temporal = nn.Conv2d(1, 2 * channels, (3, 1))
        self.weight = nn.Linear(channels, channels)
        self.output = nn.Conv2d(channels, channels, (N_HIS - 2, 1))
        self.fc = nn.Linear(channels, 1)

    def forward(self, x):
        p, q = self.temporal(x).chunk(2, dim=1)
        x = p * torch.sigmoid(q)
        graph = torch.einsum("hi,bcti->bthc", self.gso, x)
        x = torch.relu(self.weight(graph).permute(0, 3, 1, 2) + x)
        x = torch.relu(self.output(x)).squeeze(2)
        return self.fc(x.transpose(1, 2)).squeeze(-1)


ring = torch.eye(N_VERTEX) + torch.eye(N_VERTEX).roll(1, 0) + torch.eye(N_VERTEX).roll(-1, 0)
data = traffic()
train_iter = DataLoader(windows(data[:1200]), batch_size=32, shuffle=True)
test_iter = DataLoader(windows(data[1200:]), batch_size=256)

model = STGCNGraphConv(ring / 3)
loss = nn.MSELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=10, gamma=0.5)

for epoch in range(9):
    model.train()
    l_sum, n = 0.0, 0
    for x, y in train_iter:
        optimizer.zero_grad()
        l = loss(model(x), y)
        l.backward()
        optimizer.step()
        l_sum, n = l_sum + l.item() * len(y), n + len(y)
    scheduler.step()
    lr = optimizer.param_groups[0]["lr"]
    if (epoch + 1) % 3 == 0:
        print(f"Epoch: {epoch + 1:03d} | Lr: {lr:.20f} | Train loss: {l_sum / n:.6f}")

model.eval()
with torch.no_grad():
    mse = sum(loss(model(x), y).item() * len(y) for x, y in test_iter) / len(test_iter.dataset)
print(f"MSE {mse:.6f}")
