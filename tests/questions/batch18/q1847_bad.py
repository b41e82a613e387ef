import torch
from torch import nn

torch.manual_seed(4)
DIM = 4


class MLP(nn.Module):
    def __init__(self, nin, nout, nh):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(nin, nh), nn.LeakyReLU(0.2), nn.Linear(nh, nh), nn.LeakyReLU(0.2), nn.Linear(nh, nout)
        )

    def forward(self, x):
        return self.net(x)


class AffineHalfFlow(nn.Module):
    def __init__(self, dim, parity, nh=24):
        super().__init__()
        self.parity = parity
        self.s_cond, self.t_cond = MLP(dim // 2, dim // 2, nh), MLP(dim // 2, dim // 2, nh)

    def forward(self, x):
        x0, x1 = x[:, ::2], x[:, 1::2]
        if self.parity:
            x0, x1 = x1, x0
        s, t = self.s_cond(x0), self.t_cond(x0)
        z0, z1 = x0, torch.exp(s) * x1 + t
        if self.parity:
            z0, z1 = z1, z0
        return torch.cat([z0, z1], dim=1), s.sum(dim=1)

    def backward(self, z):
        z0, z1 = z[:, ::2], z[:, 1::2]
        if self.parity:
            z0, z1 = z1, z0
        s, t = self.s_cond(z0), self.t_cond(z0)
        x0, x1 = z0, (z1 - t) * torch.exp(-s)
        if self.parity:
            x0, x1 = x1, x0
        return torch.cat([x0, x1], dim=1), -s.sum(dim=1)


class NormalizingFlowModel(nn.Module):
    def __init__(self, flows):
        super().__init__()
        self.prior = torch.distributions.Normal(torch.zeros(DIM), torch.ones(DIM))
        self.flows = nn.ModuleList(flows)

    def forward(self, x):
        log_det = torch.zeros(len(x))
        for flow in self.flows:
            x, ld = flow.forward(x)
            log_det = log_det + ld
        return x, self.prior.log_prob(x).sum(dim=1), log_det

    def sample(self, n):
        z = self.prior.sample((n,))
        for flow in reversed(self.flows):
            z, _ = flow.backward(z)
        return z


def data(n):
    angle = torch.rand(n) * 3.1416
    upper = torch.stack([angle.cos(), angle.sin()], dim=1) * 2
    lower = torch.stack([upper[:, 0] * 0.5 + 1, torch.randn(n) * 0.2 - 1], dim=1)
    return torch.cat([upper, lower], dim=1) + 0.1 * torch.randn(n, DIM)


model = NormalizingFlowModel([AffineHalfFlow(DIM, parity=i % 2) for i in range(4)])
optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
for k in range(260):
    zs, prior_logprob, log_det = model(data(128))
    loss = -(prior_logprob + log_det).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if (k + 1) % 65 == 0:
        print(f"step {k + 1}: negative log likelihood {loss.item():.3f}")

with torch.no_grad():
    samples, real = model.sample(2000), data(2000)
for name, x in (("data", real), ("samples", samples)):
    means, stds = x.mean(dim=0).tolist(), x.std(dim=0).tolist()
    print(f"{name}: mean {[round(m, 2) for m in means]} std {[round(s, 2) for s in stds]}")
