import math
import torch
from torch import nn

torch.manual_seed(5)

DIM = 6


def batch(n):
    a = torch.rand(n) * 2 * math.pi
    u = torch.randn(n)
    x = torch.stack([
        a.cos() + 0.1 * torch.randn(n),
        a.sin() + 0.1 * torch.randn(n),
        u,
        0.5 * u * u - 0.5 + 0.1 * torch.randn(n),
        0.8 * u + 0.3 * torch.randn(n),
        a.cos() * a.sin() + 0.1 * torch.randn(n),
    ], dim=1)
    return x


def mlp(nin, nout, hidden=48):
    return nn.Sequential(
        nn.Linear(nin, hidden), nn.LeakyReLU(0.2),
        nn.Linear(hidden, hidden), nn.LeakyReLU(0.2),
        nn.Linear(hidden, nout),
    )


class HalfCoupling(nn.Module):
    def __init__(self, dim, parity):
        super().__init__()
        self.parity = parity
        self.scale = mlp(dim // 2, dim // 2)
        self.shift = mlp(dim // 2, dim // 2)

    def forward(self, x):
        x0, x1 = x.chunk(2, dim=1)
        if self.parity:
            x0, x1 = x1, x0
        s, t = torch.tanh(self.scale(x0)), self.shift(x0)
        z0, z1 = x0, torch.exp(s) * x1 + t
        if self.parity:
            z0, z1 = z1, z0
        return torch.cat([z0, z1], dim=1), s.sum(1)

    def backward(self, z):
        z0, z1 = z.chunk(2, dim=1)
        if self.parity:
            z0, z1 = z1, z0
        s, t = torch.tanh(self.scale(z0)), self.shift(z0)
        x0, x1 = z0, (z1 - t) * torch.exp(-s)
        if self.parity:
            x0, x1 = x1, x0
        return torch.cat([x0, x1], dim=1)


class Flow(nn.Module):
    def __init__(self, layers=6):
        super().__init__()
        self.layers = nn.ModuleList([HalfCoupling(DIM, i % 2) for i in range(layers)])

    def forward(self, x):
        total = torch.zeros(x.shape[0])
        for layer in self.layers:
            x, logdet = layer(x)
            total = total + logdet
        return x, total

    def backward(self, z):
        for layer in reversed(self.layers):
            z = layer.backward(z)
        return z

    def log_prob(self, x):
        z, logdet = self(x)
        return -0.5 * (z.pow(2).sum(1) + DIM * math.log(2 * math.pi)) + logdet


flow = Flow()
optimizer = torch.optim.Adam(flow.parameters(), lr=2e-3)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 1500)
for step in range(1500):
    loss = -flow.log_prob(batch(256)).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    scheduler.step()
    if step % 300 == 0:
        print(f"step {step} nll {loss.item():.3f}")

with torch.no_grad():
    x = batch(4000)
    nll = -flow.log_prob(x).mean()
    recon = (flow.backward(flow(x)[0]) - x).abs().mean()
    fake = flow.backward(torch.randn(4000, DIM))
    radius = fake[:, :2].norm(dim=1)
    cov = (torch.cov(fake.T) - torch.cov(x.T)).abs().mean()
print(f"nll {nll:.3f} reconstruction error {recon:.4f} sample radius std {radius.std():.3f} "
      f"data {x[:, :2].norm(dim=1).std():.3f} covariance gap {cov:.3f}")
