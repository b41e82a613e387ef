import warnings

import torch
from torch import nn, optim
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
warnings.filterwarnings("ignore")


def houses(n):
    area = torch.rand(n) * 2
    rooms = torch.randint(1, 6, (n,)).float() / 5
    age = torch.rand(n)
    price = 1.5 * area + 0.8 * rooms - 0.7 * age + 0.1 * torch.randn(n)
    return torch.stack([area, rooms, age], dim=1), price


def train_epoch(model: nn.Module, dl: DataLoader, opt: optim.Optimizer, loss_func) -> float:
    model.train()
    total = 0.0
    for xb, yb in dl:
        loss = loss_func(model(xb), yb)
        loss.backward()
        opt.step()
        opt.zero_grad()
        total += loss.item()
    return total / len(dl)


class Tabular(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, x):
        return self.layers(x)


def main():
    dl = DataLoader(TensorDataset(*houses(800)), batch_size=32, shuffle=True)
    model = Tabular()
    opt = optim.Adam(model.parameters(), lr=5e-3)
    for epoch in range(12):
        loss = train_epoch(model, dl, opt, nn.MSELoss())
        if epoch % 3 == 2:
            print(epoch, f"train loss {loss:.4f}")
    model.eval()
    with torch.no_grad():
        x, y = houses(1000)
        pred = model(x)[:, 0]
    print(f"std of predictions {pred.std().item():.3f} of targets {y.std().item():.3f}")
    print(f"test error {(pred - y).abs().mean().item():.3f}")


main()
