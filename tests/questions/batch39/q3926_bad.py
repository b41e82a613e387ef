import random
import torch
import torch.nn as nn
import torch.nn.functional as F


def global_add_pool(x, batch):
    out = x.new_zeros(int(batch.max()) + 1, x.size(1))
    return out.index_add(0, batch, x)


class GINELikeConv(nn.Module):
    def __init__(self, in_dim, out_dim, edge_dim):
        super().__init__()
        self.lin_edge = nn.Linear(edge_dim, in_dim)
        self.mlp = nn.Sequential(nn.Linear(in_dim, out_dim), nn.ReLU(), nn.Linear(out_dim, out_dim))

    def forward(self, x, edge_index, edge_attr):
        src, dst = edge_index
        message = F.relu(x[src] + self.lin_edge(edge_attr))
        aggr = torch.zeros_like(x).index_add(0, dst, message)
        return F.relu(self.mlp(x + aggr))


class GraphNet(nn.Module):
    def __init__(self, in_dim=4, hidden=32, edge_dim=2):
        super().__init__()
        self.conv1 = GINELikeConv(in_dim, hidden, edge_dim)
        self.conv2 = GINELikeConv(hidden, hidden, edge_dim)
        self.conv3 = GINELikeConv(hidden, hidden, edge_dim)
        self.lin = nn.Linear(3 * hidden, 1)

    def forward(self, x, edge_index, edge_attr, batch):
        h1 = self.conv1(x, edge_index, edge_attr)
        h1 = global_add_pool(h1, batch)
        h2 = self.conv2(h1, edge_index, edge_attr)
        h2 = global_add_pool(h2, batch)
        h3 = self.conv3(h2, edge_index, edge_attr)
        h3 = global_add_pool(h3, batch)
        h = torch.cat((h1, h2, h3), dim=1)
        return self.lin(h).squeeze(1)


def make_graph(rng):
    n = rng.randint(5, 12)
    x = F.one_hot(torch.tensor([rng.randrange(4) for _ in range(n)]), 4).float()
    edges = [(i, j) for i in range(n) for j in range(n) if i != j and rng.random() < 0.25] or [(0, 1)]
    edge_index = torch.tensor(edges).t()
    edge_attr = F.one_hot(torch.tensor([rng.randrange(2) for _ in edges]), 2).float()
    y = (x[edge_index[0], 0] * edge_attr[:, 1]).sum() - 0.5 * x[:, 1].sum()
    return x, edge_index, edge_attr, y


def collate(graphs):
    xs, eis, eas, ys, batch, offset = [], [], [], [], [], 0
    for i, (x, ei, ea, y) in enumerate(graphs):
        xs.append(x), eis.append(ei + offset), eas.append(ea), ys.append(y)
        batch += [i] * len(x)
        offset += len(x)
    return torch.cat(xs), torch.cat(eis, 1), torch.cat(eas), torch.tensor(batch), torch.stack(ys)


rng = random.Random(0)
torch.manual_seed(0)
train = [make_graph(rng) for _ in range(600)]
model = GraphNet()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(15):
    rng.shuffle(train)
    total = 0.0
    for k in range(0, len(train), 30):
        x, edge_index, edge_attr, batch, y = collate(train[k:k + 30])
        loss = F.mse_loss(model(x, edge_index, edge_attr, batch), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(f"epoch {epoch} mse {total / 20:.4f}")
