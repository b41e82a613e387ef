import math

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)

STEPS, LENGTH = 100, 32


class Denoiser(nn.Module):
    def __init__(self, channels=8, width=32):
        super().__init__()
        self.time = nn.Embedding(STEPS, width)
        self.inp = nn.Conv1d(channels, width, 5, padding=2)
        self.mid = nn.Conv1d(width, width, 5, padding=2)
        self.out = nn.Conv1d(width, channels, 5, padding=2)

    def forward(self, x, t):
        h = F.silu(self.inp(x) + self.time(t).unsqueeze(-1))
        return self.out(F.silu(self.mid(h)) + h)


class Diffusion(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model
        self.register_buffer("alpha_bar", torch.cumprod(1 - torch.linspace(1e-4, 0.05, STEPS), dim=0))

    def forward(self, x):
        t = torch.randint(0, STEPS, (x.size(0),))
        a = self.alpha_bar[t].view(-1, 1, 1)
        noise = torch.randn_like(x)
        return F.mse_loss(self.model(a.sqrt() * x + (1 - a).sqrt() * noise, t), noise)


def make_series(n=256):
    phase = 2 * math.pi * torch.rand(n, 1, 1)
    return torch.sin(torch.linspace(0, 4 * math.pi, LENGTH).view(1, 1, -1) + phase)


def main():
    series = make_series()
    to_channels = nn.Conv1d(1, 8, 3, padding=1)
    diffusion = Diffusion(Denoiser())
    optimizer = torch.optim.Adam([*to_channels.parameters(), *diffusion.parameters()], lr=1e-3)
    for step in range(1, 301):
        batch = to_channels(series[torch.randint(0, 256, (64,))])
        loss = diffusion(batch)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 100 == 0:
            print(f"step {step}: loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
