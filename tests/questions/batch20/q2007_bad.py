import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(7)

SUBJECTS, CHANNELS, LENGTH = 24, 6, 96

amp = 0.6 + 0.4 * torch.rand(SUBJECTS, CHANNELS, 3)
lag = 6.28 * torch.rand(SUBJECTS, CHANNELS, 3)


def record(subject):
    pace = 1.0 + 0.6 * torch.rand(1)
    t = torch.arange(LENGTH) / 25.0 + torch.rand(1) * 10
    k = torch.arange(1, 4).float()
    ph = 6.28 * pace * k[None, None] * t[:, None, None]
    sig = (amp[subject][None] * torch.sin(ph + lag[subject][None])).sum(-1)
    return sig + 0.4 * torch.randn(LENGTH, CHANNELS)


def prepare(per_subject):
    x, y = [], []
    for s in range(SUBJECTS):
        for _ in range(per_subject):
            x.append(record(s))
            y.append(s)
    x = torch.stack(x)
    x = (x - x.mean()) / x.std()
    return x, torch.tensor(y)


class GaitEncoder(nn.Module):
    def __init__(self, channels, dim=32):
        super().__init__()
        self.c1 = nn.Conv1d(channels, 48, 5, padding=2)
        self.c2 = nn.Conv1d(48, 48, 5, padding=2)
        self.c3 = nn.Conv1d(48, 48, 5, padding=2)
        self.fc = nn.Linear(48, dim)

    def forward(self, x):
        x = F.relu(self.c1(x))
        x = F.relu(self.c2(x))
        x = F.relu(self.c3(x)).mean(dim=2)
        return F.normalize(self.fc(x), dim=1)


def batch_hard(emb, y, margin=0.5):
    dist = (2 - 2 * emb @ emb.t()).clamp_min(1e-8).sqrt()
    same = y[:, None] == y[None, :]
    pos = (dist * same).max(dim=1).values
    neg = (dist + 10.0 * same).min(dim=1).values
    return F.relu(pos - neg + margin).mean()


xtr, ytr = prepare(30)
xte, yte = prepare(10)

enc = GaitEncoder(xtr.shape[1])
opt = torch.optim.Adam(enc.parameters(), lr=1e-3)

for it in range(400):
    subj = torch.randperm(SUBJECTS)[:12]
    idx = torch.cat([(ytr == s).nonzero().flatten()[torch.randperm(30)[:6]] for s in subj])
    loss = batch_hard(enc(xtr[idx]), ytr[idx])
    opt.zero_grad()
    loss.backward()
    opt.step()
    if it % 100 == 99:
        print("iteration %d triplet loss %.4f" % (it + 1, loss.item()))

enc.eval()
with torch.no_grad():
    ref, probe = enc(xtr), enc(xte)
nearest = ytr[(probe @ ref.t()).argmax(dim=1)]
print("rank-1 accuracy on new recordings %.3f" % (nearest == yte).float().mean().item())
