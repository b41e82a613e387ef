import math

import torch
import torch.nn as nn


class ScoreNet(nn.Module):
    def __init__(self, hidden=96):
        super().__init__()
        self.body = nn.Sequential(
            nn.Linear(3, hidden),
            nn.BatchNorm1d(hidden),
            nn.SiLU(),
            nn.Linear(hidden, hidden),
            nn.BatchNorm1d(hidden),
            nn.SiLU(),
            nn.Linear(hidden, 2),
        )

    def forward(self, x, sigma):
        return self.body(torch.cat([x, sigma.log()], dim=1)) / sigma


def ring(n, generator):
    angle = 2 * math.pi * torch.rand(n, generator=generator)
    return torch.stack([4 * angle.cos(), 4 * angle.sin()], 1) + 0.1 * torch.randn(n, 2, generator=generator)


def anneal_dsm_loss(score, x, sigmas, generator):
    level = torch.randint(len(sigmas), (len(x),), generator=generator)
    sigma = sigmas[level][:, None]
    noise = torch.randn(x.shape, generator=generator)
    target = -noise / sigma
    found = score(x + sigma * noise, sigma)
    return 0.5 * ((found - target).pow(2).sum(1) * sigma[:, 0] ** 2).mean()


class Runner:
    def __init__(self):
        torch.manual_seed(0)
        self.generator = torch.Generator().manual_seed(0)
        self.sigmas = torch.logspace(math.log10(3.0), math.log10(0.1), 10)
        self.data = ring(4000, self.generator)
        self.test = ring(1000, self.generator)

    def train(self, steps=901):
        score = ScoreNet()
        optimizer = torch.optim.SGD(score.parameters(), lr=0.02, momentum=0.9)
        for step in range(steps):
            rows = torch.randint(len(self.data), (128,), generator=self.generator)
            loss = anneal_dsm_loss(score, self.data[rows], self.sigmas, self.generator)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if step % 150 == 0:
                score.eval()
                with torch.no_grad():
                    test_loss = anneal_dsm_loss(score, self.test, self.sigmas, self.generator)
                mean = score.body[1].running_mean.abs().mean().item()
                print(f"step {step}: loss {loss.item():.4f}  test {test_loss.item():.4f}  running mean {mean:.4f}")
                score.train()


if __name__ == "__main__":
    Runner().train()
