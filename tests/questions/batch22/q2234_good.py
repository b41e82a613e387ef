from functools import lru_cache

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(2)

NODES, HIDDEN = 8, 48


@lru_cache(5)
def full_graph_edges(num_nodes):
    adj = torch.ones(num_nodes, num_nodes)
    adj.fill_diagonal_(0)
    return torch.nonzero(adj).t()


class GraphConv(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.own = nn.Linear(d_in, d_out)
        self.neigh = nn.Linear(d_in, d_out)

    def forward(self, x, edges):
        src, dst = edges
        msg = torch.zeros_like(x).index_add_(0, dst, x[src])
        deg = torch.zeros(x.size(0)).index_add_(0, dst, torch.ones(dst.numel()))
        return self.own(x) + self.neigh(msg / deg.clamp(min=1).unsqueeze(1))


class GraphEncoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Linear(2, HIDDEN)
        self.convs = nn.ModuleList([GraphConv(HIDDEN, HIDDEN) for _ in range(3)])
        self.score = nn.Linear(HIDDEN, 1)

    def forward(self, coords):
        batch, n, _ = coords.shape
        offset = torch.arange(batch).repeat_interleave(n * (n - 1)) * n
        edges = full_graph_edges(n).repeat(1, batch) + offset
        h = self.embed(coords).reshape(batch * n, HIDDEN)
        for conv in self.convs:
            h = h + F.relu(conv(h, edges))
        return self.score(h).view(batch, n)


def make_instances(n, gen):
    centre = torch.rand(n, 1, 2, generator=gen) * 6 - 3
    coords = centre + torch.randn(n, NODES, 2, generator=gen)
    far = (coords - coords.mean(dim=1, keepdim=True)).norm(dim=-1).argmax(dim=1)
    return coords, far


gen = torch.Generator().manual_seed(7)
train_x, train_y = make_instances(4000, gen)
test_x, test_y = make_instances(1000, gen)

model = GraphEncoder()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

for epoch in range(15):
    model.train()
    order = torch.randperm(len(train_x))
    total = 0.0
    for start in range(0, len(order), 64):
        idx = order[start:start + 64]
        loss = F.cross_entropy(model(train_x[idx]), train_y[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(idx)
    if epoch % 5 == 4:
        print(f"epoch {epoch + 1} loss {total / len(order):.3f}")

model.eval()
with torch.no_grad():
    acc = (model(test_x).argmax(1) == test_y).float().mean().item()
print(f"test accuracy {acc:.3f}")
