import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(5)
rng = np.random.default_rng(5)
N, HIDDEN = 25, 20


def ba_graph(n):
    a = np.zeros((n, n), dtype=np.float32)
    for v in range(1, n):
        deg = a[:v, :v].sum(1) + 1e-3
        u = rng.choice(v, p=deg / deg.sum())
        a[u, v] = a[v, u] = 1
    return a


def sample(label):
    a = np.zeros((N, N), dtype=np.float32)
    a[:20, :20] = ba_graph(20)
    ring = [20, 21, 22, 23, 24]
    for i in range(5):
        u, v = ring[i], ring[(i + 1) % 5]
        a[u, v] = a[v, u] = 1
    if label == 1:
        a[20, 22] = a[22, 20] = 1
    u = rng.integers(20)
    a[u, 20] = a[20, u] = 1
    perm = rng.permutation(N)
    return a[perm][:, perm]


def dataset(count):
    y = torch.arange(count) % 2
    adj = torch.from_numpy(np.stack([sample(int(c)) for c in y]))
    x = torch.cat([torch.ones(count, N, 1), adj.sum(2, keepdim=True) / 4], dim=2)
    return x, adj, y


class GraphConv(nn.Module):
    def __init__(self, fin, fout):
        super().__init__()
        self.lin = nn.Linear(fin, fout)
        self.root = nn.Linear(fin, fout, bias=False)

    def forward(self, x, adj):
        return F.relu(self.lin(adj.bmm(x) / 2) + self.root(x))


class GraphGCN(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = GraphConv(2, HIDDEN)
        self.conv2 = GraphConv(HIDDEN, HIDDEN)
        self.conv3 = GraphConv(HIDDEN, HIDDEN)
        self.out = nn.LazyLinear(2)

    def forward(self, x, adj):
        h = self.conv1(x, adj)
        h = self.conv2(h, adj)
        h = self.conv3(h, adj)
        pooled = torch.cat([h.max(dim=1).values, h.mean(dim=1)], dim=-1)
        return self.out(pooled)


xs, adjs, ys = dataset(120)
xt, adjt, yt = dataset(400)
model = GraphGCN()
model(xs[:2], adjs[:2])
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

for epoch in range(300):
    perm = torch.randperm(len(ys))
    total = 0.0
    for idx in perm.split(20):
        loss = F.cross_entropy(model(xs[idx], adjs[idx]), ys[idx])
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 2.0)
        optimizer.step()
        total += loss.item() * len(idx)
    if epoch % 100 == 99:
        print(f"epoch {epoch + 1} loss {total / len(ys):.4f}")

model.eval()
with torch.no_grad():
    acc_train = (model(xs, adjs).argmax(1) == ys).float().mean().item()
    acc_test = (model(xt, adjt).argmax(1) == yt).float().mean().item()
print(f"train accuracy {acc_train:.4f} test accuracy {acc_test:.4f}")
