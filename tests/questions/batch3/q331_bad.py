import torch
from torch import nn
from torch.distributions import MultivariateNormal

torch.manual_seed(44)


class Resample(nn.Module):
    def __init__(self, n_draws=8):
        super().__init__()
        self.n_draws = n_draws

    def forward(self, rets, matrix):
        dist = MultivariateNormal(loc=rets, scale_tril=matrix)
        return dist.sample((self.n_draws,)).mean(0)


class PortfolioNet(nn.Module):
    def __init__(self, n_features, n_assets):
        super().__init__()
        self.norm = nn.LayerNorm(n_features)
        self.returns = nn.Sequential(nn.Linear(n_features, 32), nn.ReLU(), nn.Linear(32, n_assets))
        self.log_vol = nn.Parameter(torch.full((n_assets,), -2.0))
        self.resample = Resample()
        self.gain = nn.Parameter(torch.ones(n_assets))

    def forward(self, x):
        rets = self.returns(self.norm(x))
        matrix = torch.diag(self.log_vol.exp()).expand(len(x), -1, -1)
        drawn = self.resample(rets, matrix)
        return torch.softmax(drawn * self.gain, dim=1)


def make_market(size=64):
    x = torch.randn(size, 10)
    expected = torch.stack([x[:, 0], x[:, 1], -x[:, 0], x[:, 2] - x[:, 3], torch.zeros(size)], dim=1)
    return x, expected + 0.3 * torch.randn_like(expected)


network = PortfolioNet(10, 5)
optimizer = torch.optim.Adam(network.parameters(), lr=5e-3)
for step in range(400):
    x, y = make_market()
    weights = network(x)
    loss = -(weights * y).sum(1).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        print(f"step {step}: mean return {-loss.item():.4f}")
