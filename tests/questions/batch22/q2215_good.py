import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(3)
rng = np.random.default_rng(3)

VOCAB, LABELS, PAD = 80, 6, 0


def make_note():
    length = int(np.clip(rng.lognormal(3.0, 0.7), 6, 160))
    words = rng.integers(LABELS + 1, VOCAB, size=length)
    codes = np.zeros(LABELS, dtype=np.float32)
    for c in range(LABELS):
        share = rng.choice([0.02, 0.14])
        hits = rng.random(length) < share
        words[hits] = c + 1
    for c in range(LABELS):
        codes[c] = float((words == c + 1).mean() > 0.07)
    return words, codes


def collate(notes):
    longest = max(len(w) for w, _ in notes)
    x = torch.full((len(notes), longest), PAD, dtype=torch.long)
    for i, (w, _) in enumerate(notes):
        x[i, :len(w)] = torch.from_numpy(w)
    y = torch.from_numpy(np.stack([c for _, c in notes]))
    return x, y


class ConvAttn(nn.Module):
    def __init__(self, emb=32, maps=48, kernel=3):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, emb, padding_idx=PAD)
        self.conv = nn.Conv1d(emb, maps, kernel, padding=kernel // 2)
        self.U = nn.Linear(maps, LABELS, bias=False)
        self.final = nn.Linear(maps, LABELS)

    def forward(self, x):
        h = torch.tanh(self.conv(self.embed(x).transpose(1, 2))).transpose(1, 2)
        scores = self.U(h).transpose(1, 2)
        scores = scores.masked_fill((x == PAD).unsqueeze(1), float('-inf'))
        alpha = F.softmax(scores, dim=2)
        m = alpha.matmul(h)
        return self.final.weight.mul(m).sum(dim=2) + self.final.bias


def f1(logits, y):
    p = (logits > 0).float()
    tp = (p * y).sum()
    return (2 * tp / (p.sum() + y.sum())).item()


train = sorted((make_note() for _ in range(1600)), key=lambda n: len(n[0]))
test = [make_note() for _ in range(400)]

model = ConvAttn()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

for epoch in range(12):
    total = 0.0
    for i in rng.permutation(len(train) // 16) * 16:
        x, y = collate(train[i:i + 16])
        loss = F.binary_cross_entropy_with_logits(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(x)
    if epoch % 3 == 2:
        print(f"epoch {epoch + 1} loss {total / len(train):.4f}")

model.eval()
with torch.no_grad():
    alone = torch.cat([model(collate([n])[0]) for n in test])
    y = collate(test)[1]
    together = model(collate(test)[0])
print(f"F1 one note at a time {f1(alone, y):.4f}")
print(f"F1 all notes in one batch {f1(together, y):.4f}")
print(f"largest change of a logit {(alone - together).abs().max():.4f}")
