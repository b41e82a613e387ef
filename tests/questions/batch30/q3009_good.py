import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_num_threads(1)
torch.manual_seed(0)

NODES, FEATS, CLASSES = 120, 8, 3
edge_index = torch.stack([torch.randint(0, NODES, (500,)), torch.randint(0, NODES, (500,))])
speed = torch.rand(NODES)
limit = torch.rand(NODES)


def day():
    """Car counts at the nodes, congestion class of every edge."""
    x = torch.randn(NODES, FEATS)
    load = x[:, 0] + 0.5 * speed
    src, dst = edge_index
    gap = load[src] * (0.5 + limit[dst]) + load[dst]
    y = (gap > -0.6).long() + (gap > 0.8).long()
    return torch.cat([x, speed[:, None], limit[:, None]], 1), y


class GNN(nn.Module):
    def __init__(self, in_ch, hidden, out_ch):
        super().__init__()
        self.self1, self.nb1 = nn.Linear(in_ch, hidden), nn.Linear(in_ch, hidden)
        self.self2, self.nb2 = nn.Linear(hidden, out_ch), nn.Linear(hidden, out_ch)

    def aggregate(self, x):
        src, dst = edge_index
        total = torch.zeros_like(x).index_add(0, dst, x[src])
        deg = torch.zeros(NODES).index_add(0, dst, torch.ones(edge_index.size(1)))
        return total / deg.clamp(min=1)[:, None]

    def forward(self, x):
        x = torch.relu(self.self1(x) + self.nb1(self.aggregate(x)))
        return self.self2(x) + self.nb2(self.aggregate(x))


class LinkPredictor(nn.Module):
    def __init__(self, in_ch, hidden, out_ch):
        super().__init__()
        self.lin1, self.lin2, self.lin3 = nn.Linear(2 * in_ch, hidden), nn.Linear(hidden, hidden), nn.Linear(hidden, out_ch)

    def forward(self, a, b):
        h = torch.relu(self.lin1(torch.cat([a, b], 1)))
        h = torch.relu(self.lin2(h))
        return self.lin3(h)


model = GNN(FEATS + 2, 32, 16)
predictor = LinkPredictor(16, 32, CLASSES)
optimizer = torch.optim.AdamW(list(model.parameters()) + list(predictor.parameters()), lr=3e-3, weight_decay=1e-3)

for epoch in range(6):
    model.train()
    predictor.train()
    total = 0.0
    for _ in range(60):
        x, y = day()
        optimizer.zero_grad()
        h = model(x)
        out = predictor(h[edge_index[0]], h[edge_index[1]])
        loss = F.cross_entropy(out, y)
        loss.backward()
        optimizer.step()
        total += loss.item()
    model.eval()
    predictor.eval()
    with torch.no_grad():
        x, y = day()
        h = model(x)
        acc = (predictor(h[edge_index[0]], h[edge_index[1]]).argmax(1) == y).float().mean().item()
    print(f"epoch {epoch}: loss {total / 60:.4f} accuracy {acc:.3f}")
