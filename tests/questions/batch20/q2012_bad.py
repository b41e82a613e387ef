import math

import torch
import torch.nn as nn

torch.manual_seed(15)
FRAMES, MELS, TEXT = 32, 10, 12


def utterances(n):
    text = torch.randint(0, TEXT, (n, FRAMES // 4)).repeat_interleave(4, dim=1)
    speaker = torch.randn(n, 1, 3)
    mel = voices[text] + speaker @ timbre + 0.05 * torch.randn(n, FRAMES, MELS)
    return text, mel


def known_frames(n):
    hidden = 0.7 + 0.3 * torch.rand(n)
    length = (hidden * FRAMES).round().clamp(max=FRAMES).long()
    start = (torch.rand(n) * (FRAMES - length + 1)).long()
    t = torch.arange(FRAMES)
    span = (t[None] >= start[:, None]) & (t[None] < (start + length)[:, None])
    return ~span


voices = torch.randn(TEXT, MELS)
timbre = torch.randn(3, MELS) * 0.7


class Infill(nn.Module):
    def __init__(self, dim=64):
        super().__init__()
        self.token = nn.Embedding(TEXT, 24)
        self.inp = nn.Linear(24 + MELS + MELS + 1, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True, bidirectional=True)
        self.out = nn.Linear(2 * dim, MELS)

    def forward(self, text, noisy, cond, times):
        times = times.view(-1, 1, 1).expand(-1, FRAMES, 1)
        h = torch.cat([self.token(text), noisy, cond, times], dim=-1)
        return self.out(self.rnn(torch.relu(self.inp(h)))[0])


def flow_loss(model, text, mel, mask):
    noise = torch.randn_like(mel)
    times = torch.rand(len(mel))
    t = times.view(-1, 1, 1)
    noisy = (1 - t) * noise + t * mel
    cond = mel * mask.unsqueeze(-1)
    flow = mel - noise
    pred = model(text, noisy, cond, times)
    loss = (pred - flow).pow(2).mean(dim=-1)
    loss = loss.masked_fill(mask, 0.0)
    num = loss.sum(dim=-1)
    den = mask.sum(dim=-1).clamp(min=1e-5)
    return (num / den).mean()


model = Infill()
opt = torch.optim.Adam(model.parameters(), lr=2e-3)
for step in range(500):
    text, mel = utterances(32)
    mask = known_frames(32)
    loss = flow_loss(model, text, mel, mask)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 100 == 99:
        print(f"step {step + 1} loss {loss.item():.4f}")

with torch.no_grad():
    text, mel = utterances(512)
    mask = known_frames(512)
    x = torch.randn_like(mel)
    for k in range(20):
        times = torch.full((512,), k / 20)
        x = x + model(text, x, mel * mask.unsqueeze(-1), times) / 20
    err = (x - mel).pow(2).mean(-1)[~mask].mean().item()
print(f"mse of the filled frames {err:.4f}  rms {math.sqrt(err):.3f}")
