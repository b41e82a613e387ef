import random

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
random.seed(0)

WORDS = 60
TOPICS = [list(range(i * 12, i * 12 + 12)) for i in range(5)]


class SentenceEncoder(nn.Module):
    def __init__(self, dim=24):
        super().__init__()
        self.words = nn.EmbeddingBag(WORDS, dim, mode="mean")
        self.dense = nn.Sequential(nn.Linear(dim, dim), nn.Tanh())

    def forward(self, tokens):
        return self.dense(self.words(tokens))


def pairwise_euclidean_sim(a, b):
    return -torch.sqrt(torch.sum((a - b) ** 2, dim=-1))


class TripletLoss(nn.Module):
    def __init__(self, margin=1.0):
        super().__init__()
        self.margin = margin

    def forward(self, anchor, positive, negative):
        d_pos = -pairwise_euclidean_sim(anchor, positive)
        d_neg = -pairwise_euclidean_sim(anchor, negative)
        return F.relu(d_pos - d_neg + self.margin).mean()


def sentence(topic):
    return [random.choice(TOPICS[topic]) for _ in range(5)]


def triplet():
    t, other = random.sample(range(5), 2)
    anchor = sentence(t)
    positive = list(anchor) if random.random() < 0.02 else sentence(t)
    return anchor, positive, sentence(other)


data = [triplet() for _ in range(640)]
encoder, criterion = SentenceEncoder(), TripletLoss()
optimizer = torch.optim.AdamW(encoder.parameters(), lr=5e-3)
for epoch in range(4):
    random.shuffle(data)
    total = 0.0
    for i in range(0, len(data), 16):
        a, p, n = (torch.tensor(x) for x in zip(*data[i:i + 16]))
        loss = criterion(encoder(a), encoder(p), encoder(n))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(f"epoch {epoch}  triplet loss {total / (len(data) // 16):.4f}")

with torch.no_grad():
    a, p, n = (torch.tensor(x) for x in zip(*data))
    ea, ep, en = encoder(a), encoder(p), encoder(n)
    acc = (pairwise_euclidean_sim(ea, ep) > pairwise_euclidean_sim(ea, en)).float().mean()
print(f"triplet accuracy {acc.item():.3f}")
