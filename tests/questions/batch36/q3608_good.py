import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(7)


class Composer(nn.Module):
    def __init__(self, dim=32, classes=6, hca_weight=0.5):
        super().__init__()
        self.hca_weight = hca_weight
        self.image = nn.Sequential(nn.Linear(24, 64), nn.ReLU(), nn.Linear(64, dim))
        self.text = nn.Sequential(nn.Linear(12, 64), nn.ReLU(), nn.Linear(64, dim))
        self.reason = nn.Sequential(nn.Linear(2 * dim, 64), nn.ReLU(), nn.Linear(64, classes))
        self.temp = nn.Parameter(torch.tensor(0.07))

    def encode(self, ref, text, target):
        query = F.normalize(self.image(ref) + self.text(text), dim=-1)
        key = F.normalize(self.image(target), dim=-1)
        return query, key

    def forward(self, ref, text, target, relation):
        query, key = self.encode(ref, text, target)
        sim = query @ key.t() / self.temp
        labels = torch.arange(ref.shape[0])
        contrastive_loss = F.cross_entropy(sim, labels)
        if self.hca_weight > 0:
            logits = self.reason(torch.cat([query, key], dim=-1))
            reasoning_loss = F.cross_entropy(logits, relation)
            loss = contrastive_loss + self.hca_weight * reasoning_loss
        else:
            loss = contrastive_loss
        return loss


def make(n):
    relation = torch.randint(0, 6, (n,))
    ref = torch.randn(n, 24)
    shift = SHIFTS[relation]
    text = torch.cat([F.one_hot(relation, 6).float(), torch.randn(n, 6)], dim=1)
    return ref, text, ref + shift + 0.1 * torch.randn(n, 24), relation


SHIFTS = torch.randn(6, 24)
model = Composer()
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
for step in range(300):
    loss = model(*make(64))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0 or step == 299:
        with torch.no_grad():
            ref, text, target, relation = make(400)
            q, k = model.encode(ref, text, target)
            recall = ((q @ k.t()).argmax(1) == torch.arange(400)).float().mean().item()
            rel = (model.reason(torch.cat([q, k], -1)).argmax(1) == relation).float().mean().item()
        print(f"step {step} loss {loss.item():.4f} recall@1 {recall:.3f} relation acc {rel:.3f}")
