import math

import torch
import torch.nn as nn
import torch.nn.functional as F

N = 64


class SpectralConv(nn.Module):
    def __init__(self, channels, modes):
        super().__init__()
        self.modes = modes
        self.weight = nn.Parameter(torch.randn(channels, channels, modes, 2) / channels)

    def forward(self, x):
        spectrum = torch.fft.rfft(x, dim=-1)
        kept = torch.einsum("bim,iom->bom", spectrum[..., : self.modes], torch.view_as_complex(self.weight))
        out = F.pad(kept, (0, spectrum.shape[-1] - self.modes))
        return torch.fft.irfft(out, n=x.shape[-1], dim=-1)


class Operator(nn.Module):
    def __init__(self, channels=20, modes=12):
        super().__init__()
        self.lift = nn.Conv1d(2, channels, 1)
        self.spectral = nn.ModuleList(SpectralConv(channels, modes) for _ in range(2))
        self.local = nn.ModuleList(nn.Conv1d(channels, channels, 1) for _ in range(2))
        self.project = nn.Conv1d(channels, 1, 1)

    def forward(self, forcing, grid):
        x = self.lift(torch.stack([forcing, grid], dim=1))
        for spectral, local in zip(self.spectral, self.local):
            x = torch.tanh(spectral(x) + local(x))
        u = self.project(x).squeeze(1)
        return u - u[:, :1]


def forcings(n, generator):
    x = torch.arange(N) * 2 * math.pi / N
    a, b = torch.randn(n, 3, 1, generator=generator), torch.randn(n, 3, 1, generator=generator)
    k = torch.arange(1, 4)[None, :, None]
    return x.expand(n, N), (a * torch.sin(k * x) + b * torch.cos(k * x)).sum(1) / 2


def fourier_derivative(u):
    k = 1j * torch.arange(N // 2 + 1)
    return torch.fft.irfft(k * torch.fft.rfft(u, dim=-1), n=N, dim=-1)


def derivative(u, grid):
    return torch.autograd.grad(u.sum(), grid, create_graph=True)[0]


def main():
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(0)
    model = Operator()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for step in range(401):
        grid, forcing = forcings(32, generator)
        grid = grid.clone().requires_grad_()
        u = model(forcing, grid)
        residual = derivative(u, grid) - forcing
        loss = residual.pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 80 == 0:
            with torch.no_grad():
                true = (fourier_derivative(model(forcing, grid)) - forcing).pow(2).mean()
            print(f"{step}: equation loss {loss.item():.4f}  residual of the solution {true.item():.4f}")


if __name__ == "__main__":
    main()
