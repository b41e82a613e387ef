import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(3)

SERIES = 800
HISTORY = 24
HORIZON = 6


def make_series(n):
    phase = torch.rand(n, 1) * 6.28
    speed = torch.rand(n, 1) * 0.3 + 0.2
    t = torch.arange(HISTORY + HORIZON).float()
    values = torch.sin(phase + speed * t) + 0.05 * torch.randn(n, HISTORY + HORIZON)
    observed = (torch.rand(n, HORIZON) > 0.35).float()
    return values[:, :HISTORY], values[:, HISTORY:], observed


class Forecaster(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.gru = nn.GRU(1, hidden, batch_first=True)
        self.head = nn.Linear(hidden, HORIZON)

    def forward(self, x):
        _, h = self.gru(x.unsqueeze(-1))
        return self.head(h[-1])


def rmse_per_series(pred, target, observed):
    squared = (pred - target) ** 2 * observed
    count = observed.sum(dim=1).clamp(min=1.0)
    return torch.sqrt(squared.sum(dim=1) / count)


history, future, observed = make_series(SERIES)
loader = DataLoader(TensorDataset(history, future, observed), batch_size=50, shuffle=True)
test_history, test_future, _ = make_series(200)

model = Forecaster()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

for epoch in range(1, 16):
    running = 0.0
    for x, y, seen in loader:
        optimizer.zero_grad()
        loss = rmse_per_series(model(x), y, seen).mean()
        loss.backward()
        optimizer.step()
        running += loss.item()
    if epoch % 5 == 0:
        print(f"epoch {epoch:2d}  rmse {running / len(loader):.4f}")

model.eval()
with torch.no_grad():
    test = ((model(test_history) - test_future) ** 2).mean().sqrt().item()
print(f"final train rmse {running / len(loader):.4f}")
print(f"test rmse {test:.4f}")
