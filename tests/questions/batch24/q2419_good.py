import torch
from torch import nn

torch.manual_seed(2)

n_items, n_tags, n_words, dim = 600, 30, 80, 64
profile = torch.rand(n_tags, n_words) ** 6
item_tag = torch.randint(0, n_tags, (n_items,))
counts = torch.poisson(profile[item_tag] * 10.0)


class TagModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.encode = nn.Sequential(nn.Linear(n_words, 128), nn.ReLU(), nn.Linear(128, dim))
        self.tags = nn.Embedding(n_tags, dim)

    def forward(self, words, tag):
        return (self.encode(words) * self.tags(tag)).sum(dim=1)


def pair_loss(score_pos, score_neg):
    eps = 1e-4
    p = torch.sigmoid(score_pos).clamp(eps, 1 - eps)
    n = torch.sigmoid(score_neg).clamp(eps, 1 - eps)
    loss_pos = -torch.log(p)
    loss_neg = -torch.log(1 - n)
    return (loss_pos + loss_neg).mean()


model = TagModel()
optimizer = torch.optim.SGD(model.parameters(), lr=0.02)


def hits():
    with torch.no_grad():
        scores = model.encode(counts) @ model.tags.weight.t()
        return (scores.argmax(dim=1) == item_tag).float().mean().item()


batch = 50
for epoch in range(60):
    order = torch.randperm(n_items)
    total = 0.0
    for start in range(0, n_items, batch):
        idx = order[start:start + batch]
        pos = item_tag[idx]
        neg = (pos + torch.randint(1, n_tags, pos.shape)) % n_tags
        loss = pair_loss(model(counts[idx], pos), model(counts[idx], neg))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    if epoch % 10 == 9:
        print(f"epoch {epoch + 1:2d}  loss {total / (n_items // batch):.4f}  top-1 {hits():.3f}")
print(f"last loss {loss.item():.4f}")
print(f"top-1 tag accuracy {hits():.3f}")
