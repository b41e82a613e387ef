import math

import torch
import torch.nn as nn


class Encoder(nn.Module):
    def __init__(self, feats=16, hidden=32, vocab=8):
        super().__init__()
        self.rnn = nn.GRU(feats, hidden, batch_first=True)
        self.out = nn.Linear(hidden, vocab)

    def forward(self, x):
        h, _ = self.rnn(x)
        return self.out(h.mean(1))


def make_batches(n=60):
    proj = torch.randn(16, 8)
    batches = []
    for i in range(n):
        x = torch.randn(16, 12, 16)
        y = (x.mean(1) @ proj).argmax(-1)
        if i == 9:
            x[3, 5] = float("inf")
        batches.append((x, y))
    return batches


def train_one_epoch(model, optimizer, batches, accum_grad=2, grad_clip=5.0):
    model.train()
    losses, updates = [], 0
    for iiter, (x, y) in enumerate(batches, 1):
        loss = nn.functional.cross_entropy(model(x), y)
        if torch.isfinite(loss):
            losses.append(loss.item())
        loss = loss / accum_grad
        loss.backward()
        if iiter % accum_grad == 0:
            grad_norm = nn.utils.clip_grad_norm_(model.parameters(), max_norm=grad_clip)
            if not math.isfinite(grad_norm):
                print(f"  iter {iiter}: the grad norm is {grad_norm}, skipping the update")
            else:
                optimizer.step()
                updates += 1
            optimizer.zero_grad()
    return sum(losses) / len(losses), updates


torch.manual_seed(1)
model = Encoder()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
batches = make_batches()
for epoch in range(4):
    loss, updates = train_one_epoch(model, optimizer, batches)
    print(f"epoch {epoch}: loss {loss:.4f}, {updates} updates")
