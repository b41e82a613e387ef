import math

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class MuReNNBank(nn.Module):
    """One learnable filter bank per octave on top of a fixed pyramid."""

    def __init__(self, octaves=4, q=6, taps=8):
        super().__init__()
        down, psis = [], []
        for j in range(octaves):
            down.append(nn.AvgPool1d(2 ** j) if j else nn.Identity())
            psis.append(nn.Conv1d(1, q, taps, padding="same", bias=False))
        self.down = down
        self.psis = psis

    def forward(self, x):
        bands = []
        for down, psi in zip(self.down, self.psis):
            y = psi(down(x))
            bands.append(torch.log1p(y.abs().mean(-1)))
        return torch.cat(bands, dim=1)


class PitchNet(nn.Module):
    def __init__(self, n_classes=8):
        super().__init__()
        self.bank = MuReNNBank()
        self.head = nn.Linear(24, n_classes)

    def forward(self, x):
        return self.head(self.bank(x))


def tones(n=64):
    y = torch.randint(8, (n,))
    t = torch.arange(256) / 256
    f = (12 + 4 * y).unsqueeze(1)
    x = torch.sin(2 * math.pi * (f * t + torch.rand(n, 1)))
    return (x + 0.5 * torch.randn(n, 256)).unsqueeze(1), y


model = PitchNet()
print("parameters:", sum(p.numel() for p in model.parameters()))
optimizer = torch.optim.Adam(model.parameters(), lr=2e-2)
for step in range(300):
    x, y = tones()
    loss = F.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 60 == 59:
        with torch.no_grad():
            x, y = tones(512)
            acc = (model(x).argmax(1) == y).float().mean().item()
        print(f"step {step + 1}  loss {loss.item():.3f}  accuracy {acc:.3f}")
