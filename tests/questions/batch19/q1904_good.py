import math

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
STEPS = 50


def make_points(n, gen):
    angle = 2 * math.pi * torch.rand(n, generator=gen)
    ring = torch.stack([angle.cos(), angle.sin()], 1)
    return ring + 0.04 * torch.randn(n, 2, generator=gen)


class Denoiser(nn.Module):
    def __init__(self, width=128):
        super().__init__()
        self.register_buffer("freqs", torch.exp(torch.linspace(0, -4, 16)))
        self.net = nn.Sequential(
            nn.Linear(2 + 32, width), nn.SiLU(),
            nn.Linear(width, width), nn.SiLU(),
            nn.Linear(width, width), nn.SiLU(),
            nn.Linear(width, 2),
        )

    def forward(self, x, t):
        phase = t.float()[:, None] * self.freqs
        return self.net(torch.cat([x, phase.sin(), phase.cos()], 1))


class Schedule:
    def __init__(self, steps):
        self.betas = torch.linspace(1e-3, 0.16, steps)
        self.alphas = 1 - self.betas
        self.alphas_bar = torch.cumprod(self.alphas, dim=0)
        self.alphas_bar_prev = F.pad(self.alphas_bar[:-1], (1, 0), value=1.0)
        self.posterior_variance = self.betas * (1 - self.alphas_bar_prev) / (1 - self.alphas_bar)

    def add_noise(self, x0, t, noise):
        a = self.alphas_bar[t][:, None]
        return a.sqrt() * x0 + (1 - a).sqrt() * noise


@torch.no_grad()
def sample(model, schedule, n, gen):
    x = torch.randn(n, 2, generator=gen)
    for i in reversed(range(STEPS)):
        t = torch.full((n,), i)
        eps = model(x, t)
        x = x - schedule.betas[i] / (1 - schedule.alphas_bar[i]).sqrt() * eps
        x = x / schedule.alphas[i].sqrt()
        if i > 0:
            x = x + schedule.posterior_variance[i].sqrt() * torch.randn(n, 2, generator=gen)
    return x


gen = torch.Generator().manual_seed(1)
data = make_points(4000, gen)
schedule = Schedule(STEPS)
model = Denoiser()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

for step in range(2500):
    x0 = data[torch.randint(0, len(data), (256,), generator=gen)]
    t = torch.randint(0, STEPS, (256,), generator=gen)
    noise = torch.randn(x0.shape, generator=gen)
    loss = F.mse_loss(model(schedule.add_noise(x0, t, noise), t), noise)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 500 == 499:
        print(f"step {step + 1} loss {loss.item():.4f}")

points = sample(model, schedule, 2000, gen)
radius = points.norm(dim=1)
print("data radius mean", round(data.norm(dim=1).mean().item(), 3), "std", round(data.norm(dim=1).std().item(), 3))
print("sample radius mean", round(radius.mean().item(), 3), "std", round(radius.std().item(), 3))
