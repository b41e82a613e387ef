import torch
from torch import nn

torch.manual_seed(0)


class PositiveActivation(nn.Module):
    def forward(self, a):
        return torch.where(a <= 0, torch.exp(a.clamp(max=0)), 1 + a)


class CountModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, 32), nn.Tanh(), nn.Linear(32, 1))
        self.act = PositiveActivation()

    def forward(self, x, exposure):
        return self.act(self.net(x).squeeze(-1) * exposure)


def counts(n):
    x = torch.randn(n, 3)
    exposure = torch.rand(n) * 40 + 1
    if n > 16:
        exposure[:: n // 8] = 400.0
    rate = exposure * torch.exp(0.3 * x[:, 0])
    return x, exposure, torch.poisson(rate)


def main():
    model = CountModel()
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    loss_fn = nn.PoissonNLLLoss(log_input=False)
    for step in range(300):
        x, exposure, y = counts(64)
        loss = loss_fn(model(x, exposure), y) / 100
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 50 == 0:
            print(step, f"loss {loss.item():.4f}")
    bad = sum(torch.isnan(p).sum().item() for p in model.parameters())
    print(f"loss {loss.item():.4f}, NaN in weights: {bad}")


main()
