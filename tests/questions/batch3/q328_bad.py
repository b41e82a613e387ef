import copy

import torch
from torch import nn

torch.manual_seed(15)


class Regressor(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 1))

    def forward(self, x):
        return self.net(x).squeeze(-1)


class EmaModelAveraging:
    def __init__(self, model, beta=0.995):
        self.beta = beta
        self.model = copy.deepcopy(model).requires_grad_(False)

    @torch.no_grad()
    def update(self, model):
        for averaged, param in zip(self.model.parameters(), model.parameters()):
            averaged.mul_(1 - self.beta).add_(param, alpha=self.beta)


def make_data(count, noise=1.5):
    x = torch.randn(count, 8)
    clean = torch.sin(x[:, 0]) + x[:, 1] * 0.5
    return x, clean + noise * torch.randn(count)


x_valid, y_valid = make_data(2000, noise=0.0)
model = Regressor()
ema = EmaModelAveraging(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
for step in range(1200):
    x, y = make_data(16)
    loss = (model(x) - y).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    ema.update(model)
    if (step + 1) % 200 == 0:
        with torch.no_grad():
            raw = (model(x_valid) - y_valid).pow(2).mean().item()
            averaged = (ema.model(x_valid) - y_valid).pow(2).mean().item()
        print(f"step {step + 1}: valid loss {raw:.4f} ema {averaged:.4f}")
