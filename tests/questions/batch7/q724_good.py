import math

import torch
from torch import nn

torch.manual_seed(0)


class AffineCoupling(nn.Module):
    def __init__(self, flip, hidden=24):
        super().__init__()
        self.flip = flip
        self.net = nn.Sequential(nn.Linear(1, hidden), nn.Tanh(), nn.Linear(hidden, 2))

    def forward(self, z):
        z1, z2 = z.chunk(2, dim=1)
        if self.flip:
            z1, z2 = z2, z1
        log_scale, shift = self.net(z1).chunk(2, dim=1)
        z2 = z2 * torch.exp(log_scale) + shift
        pair = (z2, z1) if self.flip else (z1, z2)
        return torch.cat(pair, dim=1), log_scale.squeeze(1)


class NormalizingFlow(nn.Module):
    def __init__(self, flows):
        super().__init__()
        self.flows = nn.ModuleList(flows)

    def forward_and_log_det(self, z):
        log_det = torch.zeros(len(z))
        for flow in self.flows:
            z, log_d = flow(z)
            log_det += log_d
        return z, log_det

    def reverse_kld(self, target, num_samples=128):
        z = torch.randn(num_samples, 2)
        log_q = -0.5 * z.pow(2).sum(1) - math.log(2 * math.pi)
        x, log_det = self.forward_and_log_det(z)
        return (log_q - log_det - target.log_prob(x)).mean()


class TwoGaussians:
    def __init__(self):
        self.mean = torch.tensor([2.0, -1.0])
        self.std = torch.tensor([0.5, 2.0])

    def log_prob(self, x):
        scaled = (x - self.mean) / self.std
        return -0.5 * scaled.pow(2).sum(1) - self.std.log().sum() - math.log(2 * math.pi)


def main():
    target = TwoGaussians()
    model = NormalizingFlow([AffineCoupling(k % 2 == 1) for k in range(4)])
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for it in range(1, 301):
        loss = model.reverse_kld(target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if it % 75 == 0:
            with torch.no_grad():
                x, _ = model.forward_and_log_det(torch.randn(2000, 2))
            print(f"iter {it}: loss {loss.item():.4f} std of the samples {x.std(0)[0]:.3f} {x.std(0)[1]:.3f}")


if __name__ == "__main__":
    main()
