import math
from itertools import permutations

import torch
import torch.nn as nn

torch.manual_seed(11)
T = 256


def make_batch(n):
    t = torch.arange(T) / T
    lo = 4 + 6 * torch.rand(n, 1)
    hi = 20 + 20 * torch.rand(n, 1)
    f = torch.stack([lo, hi], 1)
    order = (torch.rand(n) < 0.5).long()
    f = torch.where(order.view(-1, 1, 1).bool(), f.flip(1), f)
    phase = 2 * math.pi * torch.rand(n, 2, 1)
    amp = 0.5 + torch.rand(n, 2, 1)
    src = amp * torch.sin(2 * math.pi * f * t + phase)
    return src.sum(1, keepdim=True), src


def si_snr(est, ref, eps=1e-8):
    est = est - est.mean(-1, keepdim=True)
    ref = ref - ref.mean(-1, keepdim=True)
    scale = (est * ref).sum(-1, keepdim=True) / (ref.pow(2).sum(-1, keepdim=True) + eps)
    target = scale * ref
    noise = est - target
    ratio = target.pow(2).sum(-1) / (noise.pow(2).sum(-1) + eps)
    return 10 * torch.log10(ratio + eps)


def pit_loss(est, ref):
    candidates = []
    for perm in permutations(range(ref.shape[1])):
        value = -si_snr(est, ref[:, list(perm)]).mean()
        candidates.append(value)
    return torch.stack(candidates).min()


class Separator(nn.Module):
    def __init__(self, ch=48):
        super().__init__()
        self.encoder = nn.Conv1d(1, ch, 16, stride=8, padding=4)
        self.body = nn.Sequential(
            nn.Conv1d(ch, ch, 3, padding=1), nn.PReLU(),
            nn.Conv1d(ch, ch, 3, padding=2, dilation=2), nn.PReLU(),
            nn.Conv1d(ch, ch, 3, padding=4, dilation=4), nn.PReLU(),
        )
        self.mask = nn.Conv1d(ch, 2 * ch, 1)
        self.decoder = nn.ConvTranspose1d(ch, 1, 16, stride=8, padding=4)

    def forward(self, mix):
        enc = torch.relu(self.encoder(mix))
        m = torch.sigmoid(self.mask(self.body(enc)))
        m1, m2 = m.chunk(2, dim=1)
        return torch.cat([self.decoder(enc * m1), self.decoder(enc * m2)], dim=1)


model = Separator()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

for step in range(700):
    mix, src = make_batch(32)
    loss = pit_loss(model(mix), src)
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 5.0)
    optimizer.step()
    if step % 140 == 0:
        print(f"step {step} loss {loss.item():.3f}")

model.eval()
with torch.no_grad():
    mix, src = make_batch(256)
    est = model(mix)
    best = torch.stack([si_snr(est, src).mean(1), si_snr(est, src.flip(1)).mean(1)]).max(0).values
    base = si_snr(mix.expand(-1, 2, -1), src).mean(1)
print(f"final train loss {loss.item():.3f}")
print(f"SI-SNR of the best assignment {best.mean().item():.2f} dB, improvement over the mixture {(best - base).mean().item():.2f} dB")
