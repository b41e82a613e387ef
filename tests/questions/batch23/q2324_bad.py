import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.optim.lr_scheduler import LambdaLR
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(11)

MAX_EPOCH = 24
WARMUP = 3


def render_targets(n):
    x = torch.rand(n, 2) * 2 - 1
    r = torch.sin(4 * x[:, 0]) * torch.cos(3 * x[:, 1])
    g = (x ** 2).sum(1)
    b = torch.tanh(5 * (x[:, 0] - x[:, 1]))
    return x, torch.stack([r, g, b], 1)


x, y = render_targets(3840)
x_test, y_test = render_targets(1000)
loader = DataLoader(TensorDataset(x, y + 0.3 * torch.randn_like(y)), batch_size=32, shuffle=True)


class Field(nn.Module):
    def __init__(self, width=96, bands=4):
        super().__init__()
        self.register_buffer("freq", 2.0 ** torch.arange(bands))
        self.mlp = nn.Sequential(nn.Linear(4 * bands, width), nn.ReLU(),
                                 nn.Linear(width, width), nn.ReLU(),
                                 nn.Linear(width, 3))

    def forward(self, p):
        a = (p.unsqueeze(-1) * self.freq).flatten(1)
        return self.mlp(torch.cat([a.sin(), a.cos()], 1))


model = Field()
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-2)
scheduler = LambdaLR(
    optimizer,
    lr_lambda=lambda step: min((step + 1) / WARMUP, 1.0) * 0.5 * (1 + math.cos(math.pi * step / MAX_EPOCH)),
)

for epoch in range(MAX_EPOCH):
    total = 0.0
    for px, py in loader:
        pred = model(px)
        l2 = F.mse_loss(pred, py)
        loss = l2 + 0.1 * (pred - py).abs().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        total += l2.item()
    print(f"epoch {epoch:2d} mse {total / len(loader):.4f}")

with torch.no_grad():
    test = F.mse_loss(model(x_test), y_test).item()
print(f"clean test mse {test:.4f}")
