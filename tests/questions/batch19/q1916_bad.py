import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(5)

TAUS = torch.tensor([0.1, 0.5, 0.9])


def make_data(n):
    x = torch.rand(n, 4) * 2 - 1
    spread = 0.3 + 0.5 * (x[:, 2] + 1) / 2
    y = 2 * x[:, 0] - torch.sin(3 * x[:, 1]) + spread * torch.randn(n)
    return x, y.unsqueeze(1)


class QuantileNet(nn.Module):
    def __init__(self, n_in, hidden, n_quantiles):
        super().__init__()
        self.body = nn.Sequential(
            nn.Linear(n_in, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU()
        )
        self.head = nn.Linear(hidden, n_quantiles)

    def forward(self, x):
        return self.head(self.body(x))


def quantile_loss(outputs, value, taus):
    below = (outputs < value).float()
    return ((taus - below) * (outputs - value)).mean()


x_train, y_train = make_data(4000)
x_test, y_test = make_data(2000)
loader = DataLoader(TensorDataset(x_train, y_train), batch_size=100, shuffle=True)

model = QuantileNet(4, 48, len(TAUS))
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

for epoch in range(1, 26):
    total = 0.0
    for x, y in loader:
        loss = quantile_loss(model(x), y, TAUS)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    if epoch % 5 == 0:
        print(f"epoch {epoch:2d}  loss {total / len(loader):.4f}")

model.eval()
with torch.no_grad():
    pred = model(x_test)
share = (y_test <= pred).float().mean(dim=0)
for tau, s in zip(TAUS.tolist(), share.tolist()):
    print(f"tau {tau:.1f}  share of targets at or below the forecast {s:.3f}")
inside = ((y_test >= pred[:, :1]) & (y_test <= pred[:, 2:])).float().mean().item()
print(f"targets inside the 10-90 band {inside:.3f}")
