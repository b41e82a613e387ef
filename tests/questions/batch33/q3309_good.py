import math

import torch
from torch import nn

torch.manual_seed(0)

PEAK, START, FLOOR = 3e-2, 1e-3, 1e-4


class TinyLM(nn.Module):
    def __init__(self, vocab=24, dim=24, ctx=4):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.norm = nn.LayerNorm(dim * ctx)
        self.ff = nn.Linear(dim * ctx, 64)
        self.head = nn.Linear(64, vocab)

    def forward(self, tok):
        h = self.norm(self.emb(tok).flatten(1))
        return self.head(torch.relu(self.ff(h)))


def make_batch(n):
    tok = torch.randint(0, 24, (n, 4))
    nxt = (tok[:, 0] + 2 * tok[:, 3]) % 24
    noise = torch.rand(n) < 0.1
    return tok, torch.where(noise, torch.randint(0, 24, (n,)), nxt)


def groups_of(model):
    decay = [p for p in model.parameters() if p.ndim >= 2]
    rest = [p for p in model.parameters() if p.ndim < 2]
    return [{"params": decay, "weight_decay": 0.05}, {"params": rest, "weight_decay": 0.0}]


def train_model(model, steps, warmup):
    optimizer = torch.optim.AdamW(groups_of(model), lr=START)
    track_lrs = []
    increment = (PEAK - START) / warmup
    for step in range(steps):
        tok, nxt = make_batch(64)
        optimizer.zero_grad()
        if step < warmup:
            lr = START + step * increment
        else:
            progress = (step - warmup) / (steps - warmup)
            lr = FLOOR + (PEAK - FLOOR) * 0.5 * (1 + math.cos(math.pi * progress))
        for param_group in optimizer.param_groups:
            param_group["lr"] = lr
        track_lrs.append(lr)
        loss = nn.functional.cross_entropy(model(tok), nxt)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if step % 100 == 0:
            print(f"step {step} lr {track_lrs[-1]:.5f} loss {loss.item():.3f}")
    return loss.item()


model = TinyLM()
train_model(model, 500, 40)
with torch.no_grad():
    tok, nxt = make_batch(4000)
    print(f"test loss {nn.functional.cross_entropy(model(tok), nxt).item():.3f}")
