import torch
from torch import nn

torch.manual_seed(0)

EPS = 1e-8


def frames(x, size=32):
    return x.reshape(x.size(0), -1, size)


def row_normalize(x):
    x = x - x.mean(-1, keepdim=True)
    x_norm = torch.sqrt(torch.sum(x**2, dim=-1, keepdim=True) + EPS)
    return x / x_norm


class NegSTOILoss(nn.Module):
    def forward(self, est, target):
        est, target = row_normalize(frames(est)), row_normalize(frames(target))
        correlation = (est * target).sum(-1)
        return 1 - correlation.mean()


class Masker(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Conv1d(1, 16, 9, padding=4)
        self.mid = nn.Conv1d(16, 16, 9, padding=4)
        self.dec = nn.Conv1d(16, 1, 9, padding=4)

    def forward(self, noisy):
        h = torch.relu(self.enc(noisy.unsqueeze(1)))
        h = torch.relu(self.mid(h))
        mask = torch.relu(self.dec(h)).squeeze(1)
        return noisy * mask


def make_batch(n, silent):
    t = torch.linspace(0, 1, 256)
    freq = 5 + 25 * torch.rand(n, 1)
    clean = torch.sin(6.2832 * freq * t + 6.2832 * torch.rand(n, 1))
    noisy = clean + 0.5 * torch.randn(n, 256)
    if silent:
        clean[0, 64:160] = 0.0
        noisy[0, 64:160] = 0.0
    return noisy, clean


model = Masker()
criterion = NegSTOILoss()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for step in range(120):
    noisy, clean = make_batch(16, silent=step % 30 == 29)
    loss = criterion(model(noisy), clean)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 0:
        print(f"step {step}: loss {loss.item():.4f}")
