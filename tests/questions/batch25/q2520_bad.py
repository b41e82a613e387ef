import math

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
N_STEPS = 60
betas = torch.linspace(5e-3, 0.2, N_STEPS)
alphas = 1 - betas
alphas_bar = torch.cumprod(alphas, 0)


def swiss_roll(n, seed):
    g = torch.Generator().manual_seed(seed)
    u = 1.5 * math.pi * (1 + 2 * torch.rand(n, generator=g))
    pts = torch.stack([u * torch.cos(u), u * torch.sin(u)], 1) / 7.0
    return pts + 0.02 * torch.randn(n, 2, generator=g)


def forward_process(x_start, n_steps):
    x_seq = [x_start]
    for n in range(n_steps):
        noise = torch.randn_like(x_start)
        x_seq.append(torch.sqrt(1 - betas[n]) * x_seq[-1] + betas[n] * noise)
    return torch.stack(x_seq[1:])


class ConditionalModel(nn.Module):
    def __init__(self, hidden=128):
        super().__init__()
        self.step = nn.Embedding(N_STEPS, hidden)
        self.inp = nn.Linear(2, hidden)
        self.mid = nn.Linear(hidden, hidden)
        self.out = nn.Linear(hidden, 2)

    def forward(self, x, t):
        h = F.silu(self.inp(x) + self.step(t))
        h = h + F.silu(self.mid(h) + self.step(t))
        return self.out(h)


@torch.no_grad()
def sample(model, n):
    x = torch.randn(n, 2)
    for t in reversed(range(N_STEPS)):
        x0 = model(x, torch.full((n,), t))
        if t == 0:
            return x0
        prev = alphas_bar[t - 1]
        c0 = betas[t] * prev.sqrt() / (1 - alphas_bar[t])
        ct = (1 - prev) * alphas[t].sqrt() / (1 - alphas_bar[t])
        var = betas[t] * (1 - prev) / (1 - alphas_bar[t])
        x = c0 * x0 + ct * x + var.sqrt() * torch.randn_like(x)


data = swiss_roll(4000, seed=1)
model = ConditionalModel()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

for epoch in range(40):
    x_seq = forward_process(data, N_STEPS)
    total, batches = 0.0, 0
    for idx in torch.randperm(len(data)).split(128):
        t = torch.randint(0, N_STEPS, (len(idx),))
        x_t = x_seq[t, idx]
        loss = F.mse_loss(model(x_t, t), data[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
        batches += 1
    if epoch % 10 == 9:
        print(f"epoch {epoch + 1} loss {total / batches:.4f}")

real = swiss_roll(2000, seed=2)
fake = sample(model, 2000)
dist = torch.cdist(fake, real)
print(f"samples to nearest data {dist.min(1).values.mean():.4f} data to nearest sample {dist.min(0).values.mean():.4f}")
print(f"std of data {real.std(0).tolist()} std of samples {fake.std(0).tolist()}")
