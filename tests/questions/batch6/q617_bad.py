import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


class RetrievalModel(nn.Module):
    def __init__(self, vocab=100, dim=32):
        super().__init__()
        self.query = nn.Sequential(nn.Linear(vocab, 64), nn.ReLU(), nn.Linear(64, dim))
        self.passage = nn.Sequential(nn.Linear(vocab, 64), nn.ReLU(), nn.Linear(64, dim))
        self.log_temperature = nn.Parameter(torch.tensor(-1.0))

    def forward(self, query, positive, negatives):
        q = F.normalize(self.query(query), dim=-1)
        p = F.normalize(self.passage(positive), dim=-1)
        n = F.normalize(self.passage(negatives), dim=-1)
        return q, p, n


def infonce_loss(q, p, n, negative_mask, temperature):
    in_batch = q @ p.t()
    hard = torch.einsum("bd,bkd->bk", q, n)
    hard = hard.masked_fill(~negative_mask, float("-inf"))
    logits = torch.cat([in_batch, hard], dim=1) / temperature
    return F.cross_entropy(logits, torch.arange(q.size(0)))


topics = torch.rand(40, 100) ** 8


def sample_batch(size=32, negatives=4):
    topic = torch.randperm(40)[:size]
    query = topics[topic] + 0.1 * torch.rand(size, 100)
    positive = topics[topic] + 0.1 * torch.rand(size, 100)
    others = topics[torch.randint(0, 40, (size, negatives))] + 0.1 * torch.rand(size, negatives, 100)
    counts = torch.randint(1, negatives + 1, (size, 1))
    return query, positive, others, torch.arange(negatives) < counts


model = RetrievalModel()
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
for step in range(1, 121):
    query, positive, others, negative_mask = sample_batch()
    q, p, n = model(query, positive, others)
    loss = infonce_loss(q, p, n, negative_mask, model.log_temperature.exp())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step == 1 or step % 30 == 0:
        print(f"step {step}: loss {loss.item():.4f}, temperature {model.log_temperature.exp().item():.4f}")
