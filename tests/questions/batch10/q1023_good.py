import math

import torch
import torch.nn as nn

torch.manual_seed(0)


class AffineCoupling(nn.Module):
    def __init__(self, flip, hidden=32):
        super().__init__()
        self.flip = flip
        self.net = nn.Sequential(nn.Linear(1, hidden), nn.ReLU(), nn.Linear(hidden, 2))
        nn.init.normal_(self.net[-1].weight, std=1e-2)
        nn.init.zeros_(self.net[-1].bias)

    def _params(self, cond):
        shift, log_scale = self.net(cond).chunk(2, dim=-1)
        return shift, 2.0 * torch.tanh(log_scale / 2.0)

    def forward(self, z):
        a, b = z.flip(-1).chunk(2, -1) if self.flip else z.chunk(2, -1)
        shift, log_scale = self._params(a)
        b = b * log_scale.exp() + shift
        out = torch.cat([a, b], -1)
        return (out.flip(-1) if self.flip else out), log_scale.sum(-1)

    def inverse(self, x):
        a, b = x.flip(-1).chunk(2, -1) if self.flip else x.chunk(2, -1)
        shift, log_scale = self._params(a)
        b = (b - shift) * torch.exp(-log_scale)
        out = torch.cat([a, b], -1)
        return (out.flip(-1) if self.flip else out), -log_scale.sum(-1)


class Flow(nn.Module):
    def __init__(self, n_layers=4):
        super().__init__()
        self.layers = nn.ModuleList(AffineCoupling(i % 2 == 1) for i in range(n_layers))

    def log_prob(self, x):
        log_det = x.new_zeros(x.shape[0])
        for layer in reversed(self.layers):
            x, ld = layer.inverse(x)
            log_det = log_det + ld
        base = -0.5 * (x ** 2).sum(-1) - math.log(2 * math.pi)
        return base + log_det

    @torch.no_grad()
    def sample(self, n):
        z = torch.randn(n, 2)
        for layer in self.layers:
            z, _ = layer(z)
        return z


def sample_target(n):
    x = 0.5 * torch.randn(n, 1) + 1.0
    return torch.cat([x, 0.3 * torch.randn(n, 1) + x ** 2 / 2], -1)


flow = Flow()
optimizer = torch.optim.Adam(flow.parameters(), lr=5e-3)
for step in range(301):
    x = sample_target(256)
    loss = -flow.log_prob(x).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        print(f"step {step:4d} nll {loss.item():9.3f}")

data, drawn = sample_target(2000), flow.sample(2000)
print("std of the data   ", [round(v, 2) for v in data.std(0).tolist()])
print("std of the samples", [round(v, 2) for v in drawn.std(0).tolist()])
