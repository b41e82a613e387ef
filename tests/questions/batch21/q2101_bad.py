import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
N_KIND, N_CLASS = 6, 4


def edge_softmax(score, index, num_nodes):
    top = torch.full((num_nodes, score.size(1)), -1e9)
    top = top.scatter_reduce(0, index.unsqueeze(1).expand_as(score), score.detach(), reduce="amax")
    out = (score - top[index]).exp()
    total = torch.zeros(num_nodes, score.size(1)).index_add(0, index, out)
    return out / (total[index] + 1e-16)


class GATConv(nn.Module):
    def __init__(self, dim_in, dim_out, heads=2, slope=0.2):
        super().__init__()
        self.heads, self.dim_out, self.slope = heads, dim_out, slope
        self.weight = nn.Linear(dim_in, heads * dim_out)
        self.att = nn.Parameter(torch.empty(1, heads, 2 * dim_out))
        self.root = nn.Linear(dim_in, heads * dim_out)
        nn.init.xavier_uniform_(self.att)

    def forward(self, x, edge_index):
        h = self.weight(x).view(-1, self.heads, self.dim_out)
        src, dst = edge_index
        x_j, x_i = h[src], h[dst]
        alpha = (torch.cat([x_i, x_j], dim=-1) * self.att).sum(-1)
        alpha = F.leaky_relu(alpha, self.slope)
        alpha = edge_softmax(alpha, edge_index[0], x.size(0))
        msg = x_j * alpha.unsqueeze(-1)
        out = torch.zeros_like(h).index_add(0, dst, msg)
        return out.flatten(1) + self.root(x)


class Net(nn.Module):
    def __init__(self, dim_in, hidden=16):
        super().__init__()
        self.conv = GATConv(dim_in, hidden)
        self.head = nn.Sequential(nn.ReLU(), nn.Linear(2 * hidden, 32), nn.ReLU(), nn.Linear(32, N_CLASS))

    def forward(self, x, edge_index):
        return self.head(self.conv(x, edge_index))


def sample_graph(n_hub, gen):
    feats, src, dst, label = [], [], [], []
    hub_feat = torch.zeros(n_hub, N_KIND + N_CLASS + 1)
    hub_feat[:, -1] = 1.0
    feats.append(hub_feat)
    node = n_hub
    for hub in range(n_hub):
        k = int(torch.randint(3, 10, (1,), generator=gen))
        kinds = torch.randperm(N_KIND * 2, generator=gen)[:k] % N_KIND
        classes = torch.randint(0, N_CLASS, (k,), generator=gen)
        f = torch.zeros(k, N_KIND + N_CLASS + 1)
        f[torch.arange(k), kinds] = 1.0
        f[torch.arange(k), N_KIND + classes] = 1.0
        feats.append(f)
        src += list(range(node, node + k))
        dst += [hub] * k
        best = kinds == kinds.max()
        label.append(int(classes[best][0]))
        node += k
    return torch.cat(feats), torch.tensor([src, dst]), torch.tensor(label)


gen = torch.Generator().manual_seed(1)
train_graphs = [sample_graph(64, gen) for _ in range(40)]
test_graphs = [sample_graph(64, gen) for _ in range(20)]
model = Net(N_KIND + N_CLASS + 1)
opt = torch.optim.Adam(model.parameters(), lr=5e-3)

for epoch in range(25):
    model.train()
    total = 0.0
    for x, edge_index, y in train_graphs:
        out = model(x, edge_index)[: y.size(0)]
        loss = F.cross_entropy(out, y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item()

model.eval()
with torch.no_grad():
    hit = [(model(x, e)[: y.size(0)].argmax(1) == y).float().mean() for x, e, y in test_graphs]
print(f"train loss {total / len(train_graphs):.4f}")
print(f"test accuracy {torch.stack(hit).mean():.4f}")
