import random

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_num_threads(1)
random.seed(0)
torch.manual_seed(0)

N = 40
camp = torch.randint(0, 2, (N,))
community = torch.randint(0, 2, (N,))
positive, negative = [], []
for i in range(N):
    for j in range(i + 1, N):
        if community[i] == community[j] and random.random() < 0.6:
            (positive if camp[i] == camp[j] else negative).append((i, j))
random.shuffle(positive)
random.shuffle(negative)
n_pos, n_neg = len(positive) // 5, len(negative) // 5
test_edges = positive[:n_pos] + negative[:n_neg]
test_label = torch.tensor([0] * n_pos + [1] * n_neg)
positive, negative = positive[n_pos:], negative[n_neg:]
print(len(positive), "positive edges,", len(negative), "negative edges,", N, "nodes")


def adjacency(edges):
    a = torch.zeros(N, N)
    for i, j in edges:
        a[i, j] = a[j, i] = 1.0
    return a / a.sum(1, keepdim=True).clamp(min=1)


class SignedGCN(nn.Module):
    def __init__(self, dim=16):
        super().__init__()
        self.x = nn.Parameter(torch.randn(N, dim))
        self.pos = nn.Linear(2 * dim, dim)
        self.neg = nn.Linear(2 * dim, dim)
        self.regression = nn.Sequential(nn.Linear(4 * dim, 32), nn.ReLU(), nn.Linear(32, 3))

    def forward(self, a_pos, a_neg):
        hp = torch.tanh(self.pos(torch.cat([a_pos @ self.x, self.x], 1)))
        hn = torch.tanh(self.neg(torch.cat([a_neg @ self.x, self.x], 1)))
        return torch.cat([hp, hn], 1)

    def classify(self, z, i, j):
        return self.regression(torch.cat([z[i] * z[j], (z[i] - z[j]).abs()], 1))


def surrogates(edges):
    return [(i, random.randrange(N)) for i, _ in edges]


def sample_loss(z, edges, label):
    i, j = torch.tensor(edges).t()
    return F.cross_entropy(model.classify(z, i, j), torch.full((len(edges),), label))


a_pos, a_neg = adjacency(positive), adjacency(negative)
model = SignedGCN()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
ti, tj = torch.tensor(test_edges).t()

for epoch in range(301):
    z = model(a_pos, a_neg)
    none_pos, none_neg = surrogates(positive), surrogates(negative)
    loss = (sample_loss(z, positive, 0) + sample_loss(z, negative, 1)
            + sample_loss(z, none_pos, 2) + sample_loss(z, none_neg, 2))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if epoch % 50 == 0:
        with torch.no_grad():
            z = model(a_pos, a_neg)
            sign = (model.classify(z, ti, tj)[:, :2].argmax(1) == test_label).float().mean().item()
            i, j = torch.tensor(positive + negative).t()
            missed = (model.classify(z, i, j).argmax(1) == 2).float().mean().item()
        print(f"epoch {epoch}: loss {loss.item():.3f}  test sign accuracy {sign:.3f}  known edges called 'none' {missed:.3f}")
