import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

rng = np.random.default_rng(4)
torch.manual_seed(4)

FEATURES = 4


class GraphData:
    def __init__(self, node_features, edge_index, label):
        self.node_features = node_features
        self.edge_index = edge_index
        self.label = label
        self.num_nodes = len(node_features)


class BatchGraphData:
    def __init__(self, graphs):
        num_nodes_list = [g.num_nodes for g in graphs]
        self.x = torch.tensor(np.concatenate([g.node_features for g in graphs]), dtype=torch.float32)
        edge_index = [
            g.edge_index + offset
            for offset, g in zip(np.cumsum([0] + num_nodes_list[:-1]), graphs)
        ]
        self.edge_index = torch.tensor(np.concatenate(edge_index, axis=1), dtype=torch.long)
        self.graph_index = torch.repeat_interleave(torch.arange(len(graphs)), torch.tensor(num_nodes_list))
        self.y = torch.tensor([g.label for g in graphs])
        self.num_graphs = len(graphs)


def random_molecule():
    n = int(rng.integers(8, 16))
    kind = rng.integers(0, FEATURES, n)
    label = int(rng.integers(0, 2))
    edges = []
    while len(edges) < 2 * n:
        a, b = rng.integers(0, n, 2)
        same = kind[a] == kind[b]
        if a != b and rng.random() < (0.9 if same == bool(label) else 0.15):
            edges += [(a, b), (b, a)]
    return GraphData(np.eye(FEATURES)[kind], np.array(edges).T, label)


class MessageLayer(nn.Module):
    def __init__(self, inp, out):
        super().__init__()
        self.own = nn.Linear(inp, out)
        self.msg = nn.Linear(inp, out)

    def forward(self, x, edge_index):
        src, dst = edge_index
        agg = torch.zeros_like(x).index_add(0, dst, x[src])
        return F.relu(self.own(x) + self.msg(agg))


class GraphNet(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.l1 = MessageLayer(FEATURES, width)
        self.l2 = MessageLayer(width, width)
        self.out = nn.Linear(width, 2)

    def forward(self, batch):
        h = self.l2(self.l1(batch.x, batch.edge_index), batch.edge_index)
        pooled = torch.zeros(batch.num_graphs, h.shape[1]).index_add(0, batch.graph_index, h)
        return self.out(pooled)


graphs = [random_molecule() for _ in range(1200)]
train, test = graphs[:1000], graphs[1000:]
model = GraphNet()
opt = torch.optim.Adam(model.parameters(), lr=3e-3)

for epoch in range(20):
    order = rng.permutation(len(train))
    total = 0.0
    for k in range(0, len(train), 20):
        batch = BatchGraphData([train[i] for i in order[k:k + 20]])
        loss = F.cross_entropy(model(batch), batch.y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item()
    if epoch % 4 == 3:
        print(f"epoch {epoch:2d} loss {total / 50:.4f}")

with torch.no_grad():
    hits = 0
    for k in range(0, len(test), 20):
        batch = BatchGraphData(test[k:k + 20])
        hits += (model(batch).argmax(1) == batch.y).sum().item()
print("test accuracy", hits / len(test))
