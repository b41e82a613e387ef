import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
torch.set_num_threads(1)
HARD_NEGATIVES = 5
TEMPERATURE = 0.1


def make_examples(n, n_topics=40, dim=32):
    g = torch.Generator().manual_seed(3)
    topics = torch.randn(n_topics, dim, generator=g)
    groups = []
    for _ in range(n):
        k = torch.randint(0, n_topics, (1,)).item()
        anchor = topics[k] + 1.2 * torch.randn(dim)
        positive = topics[k] + 1.2 * torch.randn(dim)
        n_neg = torch.randint(1, 3, (1,)).item()
        others = [j for j in torch.randperm(n_topics).tolist() if j != k][:n_neg]
        negatives = [0.5 * topics[k] + topics[j] + 1.2 * torch.randn(dim) for j in others]
        groups.append(torch.stack([anchor, positive] + negatives))
    return groups


class Encoder(nn.Module):
    def __init__(self, dim=32, out=16):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(dim, 64), nn.ReLU(), nn.Linear(64, out))

    def forward(self, x):
        return F.normalize(self.net(x), dim=-1)


def parse_multi_negative(sentences, hard_negatives):
    n_neg = len(sentences) - 2
    if n_neg > hard_negatives:
        sentences = sentences[:2 + hard_negatives]
    elif n_neg < hard_negatives:
        idx = torch.randint(2, n_neg + 2, (hard_negatives - n_neg,))
        sentences = torch.cat([sentences, sentences[idx]])
    return sentences


def infonce(sentences):
    anchor, rest = sentences[0], sentences[1:]
    logits = rest @ anchor / TEMPERATURE
    return F.cross_entropy(logits.unsqueeze(0), torch.zeros(1, dtype=torch.long))


train, test = make_examples(160), make_examples(100)
model = Encoder()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

for epoch in range(6):
    model.train()
    total = 0.0
    for i in range(0, len(train), 16):
        loss = 0.0
        for group in train[i:i + 16]:
            emb = parse_multi_negative(model(group), HARD_NEGATIVES)
            loss = loss + infonce(emb)
        loss = loss / 16
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    model.eval()
    with torch.no_grad():
        hits, margin = 0, 0.0
        for group in test:
            e = model(group)
            s = e[1:] @ e[0]
            hits += int(s.argmax().item() == 0)
            margin += (s[0] - s[1:].max()).item()
    print(f"epoch {epoch + 1}: loss {total / 10:.4f} top1 {hits / len(test):.2f} margin {margin / len(test):.3f}")
