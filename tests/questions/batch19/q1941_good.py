import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
N_HUBS, N_LEAVES, CLASSES, DIM = 40, 600, 4, 16
N = N_HUBS + N_LEAVES


def make_graph(gen):
    y = torch.randint(0, CLASSES, (N,), generator=gen)
    key = torch.randn(CLASSES, DIM - 2, generator=torch.Generator().manual_seed(7))
    x = torch.zeros(N, DIM)
    reliable = (torch.rand(N, generator=gen) < 0.25).float()
    reliable[:N_HUBS] = 0
    shown = torch.where(reliable.bool(), y, torch.randint(0, CLASSES, (N,), generator=gen))
    x[:, :DIM - 2] = key[shown] + 0.3 * torch.randn(N, DIM - 2, generator=gen)
    x[:, DIM - 2] = reliable + 0.1 * torch.randn(N, generator=gen)
    x[:, DIM - 1] = 1.0
    src, dst = [], []
    for i in range(N):
        same = torch.nonzero(y == y[i]).squeeze(1)
        same = same[same >= N_HUBS]
        k = int(torch.randint(4, 24, (1,), generator=gen))
        picks = same[torch.randint(0, len(same), (k,), generator=gen)]
        src.append(picks)
        dst.append(torch.full((k,), i))
    loops = torch.arange(N)
    return x, y, torch.stack([torch.cat(src + [loops]), torch.cat(dst + [loops])])


def edge_softmax(score, index, num_nodes):
    top = torch.full((num_nodes, score.size(1)), float("-inf"))
    top = top.scatter_reduce(0, index[:, None].expand_as(score), score.detach(), reduce="amax")
    e = (score - top[index]).exp()
    total = torch.zeros(num_nodes, score.size(1)).index_add(0, index, e)
    return e / (total[index] + 1e-16)


class GATConv(nn.Module):
    def __init__(self, d_in, d_out, heads=4):
        super().__init__()
        self.heads, self.d = heads, d_out
        self.lin = nn.Linear(d_in, heads * d_out, bias=False)
        self.att_src = nn.Parameter(0.1 * torch.randn(heads, d_out))
        self.att_dst = nn.Parameter(0.1 * torch.randn(heads, d_out))
        self.bias = nn.Parameter(torch.zeros(heads * d_out))

    def forward(self, x, edge_index):
        h = self.lin(x).view(-1, self.heads, self.d)
        a_src, a_dst = (h * self.att_src).sum(-1), (h * self.att_dst).sum(-1)
        src, dst = edge_index[0], edge_index[1]
        alpha = F.leaky_relu(a_src[src] + a_dst[dst], 0.2)
        alpha = edge_softmax(alpha, edge_index[1], x.size(0))
        out = torch.zeros_like(h).index_add(0, dst, h[src] * alpha.unsqueeze(-1))
        return out.flatten(1) + self.bias


class GAT(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = GATConv(DIM, 8)
        self.out = nn.Linear(32, CLASSES)

    def forward(self, x, edge_index):
        return self.out(F.elu(self.conv1(x, edge_index)))


gen = torch.Generator().manual_seed(3)
x, y, edge_index = make_graph(gen)
order = torch.randperm(N, generator=gen)
train, test = order[:200], order[200:]
model = GAT()
opt = torch.optim.Adam(model.parameters(), lr=5e-3, weight_decay=5e-4)
for epoch in range(400):
    logits = model(x, edge_index)
    loss = F.cross_entropy(logits[train], y[train])
    opt.zero_grad()
    loss.backward()
    opt.step()
    if epoch % 80 == 0:
        print(f"epoch {epoch} loss {loss.item():.4f}")
with torch.no_grad():
    pred = model(x, edge_index).argmax(1)
print(f"final loss {loss.item():.4f} train accuracy {(pred[train] == y[train]).float().mean():.3f} test accuracy {(pred[test] == y[test]).float().mean():.3f}")
