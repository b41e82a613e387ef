import math

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(1)
torch.set_num_threads(1)

VOCAB, SEQ, MASK = 40, 24, 0


def make_text(n):
    table = torch.rand(VOCAB, VOCAB, generator=torch.Generator().manual_seed(9)) ** 20
    table[:, MASK] = 0
    out = torch.empty(n, SEQ, dtype=torch.long)
    out[:, 0] = torch.randint(1, VOCAB, (n,))
    for t in range(1, SEQ):
        out[:, t] = torch.multinomial(table[out[:, t - 1]], 1).squeeze(1)
    return out


class MaskedLM(nn.Module):
    def __init__(self, dim=48):
        super().__init__()
        self.tok = nn.Embedding(VOCAB, dim)
        self.body = nn.GRU(dim, dim, batch_first=True, bidirectional=True)
        self.norm = nn.LayerNorm(2 * dim)
        self.head = nn.Linear(2 * dim, VOCAB)

    def forward(self, ids):
        return self.head(self.norm(self.body(self.tok(ids))[0]))


def mask_tokens(ids):
    labels = ids.clone()
    chosen = torch.rand(ids.shape) < 0.2
    labels[~chosen] = -100
    return ids.masked_fill(chosen, MASK), labels


def lm_loss(model, ids):
    inputs, labels = mask_tokens(ids)
    return F.cross_entropy(model(inputs).transpose(1, 2), labels, ignore_index=-100)


def evaluate(model, loader):
    model.eval()
    eval_loss, perplexity = 0.0, 0.0
    with torch.no_grad():
        for (ids,) in loader:
            loss = lm_loss(model, ids)
            eval_loss += loss.item()
            perplexity += math.exp(loss.item())
            eval_loss /= len(loader)
            perplexity /= len(loader)
    model.train()
    return eval_loss, perplexity


train_loader = DataLoader(TensorDataset(make_text(1600)), batch_size=32, shuffle=True)
eval_loader = DataLoader(TensorDataset(make_text(320)), batch_size=32)
model = MaskedLM()
optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)

for epoch in range(6):
    running = 0.0
    for (ids,) in train_loader:
        loss = lm_loss(model, ids)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        running += loss.item()
    eval_loss, ppl = evaluate(model, eval_loader)
    print(f"epoch {epoch} train loss {running / len(train_loader):.3f} eval loss {eval_loss:.3f} ppl {ppl:.3f}")
