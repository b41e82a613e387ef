import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(5)
torch.set_num_threads(1)

N, CLASSES = 900, 4
y = torch.randint(0, CLASSES, (N,))
x = torch.randn(N, 16)
x[torch.arange(N), y] += 2.0
same = (y[:, None] == y[None]).float()
activity = torch.where(torch.rand(N) < 0.25, 0.05, 1.0)
p = (0.012 * same + 0.0015 * (1 - same)) * activity[:, None] * activity[None]
adj = torch.triu((torch.rand(N, N) < p).float(), 1)
edge_index = (adj + adj.t()).nonzero().t()

perm = torch.randperm(N)
train_mask = torch.zeros(N, dtype=torch.bool)
train_mask[perm[:200]] = True
test_mask = ~train_mask


class GCNConv(nn.Module):
    def __init__(self, in_channels, out_channels):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(in_channels, out_channels))
        self.bias = nn.Parameter(torch.zeros(out_channels))
        nn.init.xavier_uniform_(self.weight)

    def forward(self, x, edge_index):
        n = x.shape[0]
        loops = torch.arange(n).expand(2, n)
        row, col = torch.cat([edge_index, loops], dim=1)
        deg = torch.zeros(n).index_add(0, row, torch.ones(row.shape[0]))
        inv = deg.pow(-0.5)
        inv[inv == float("inf")] = 0
        norm = inv[row] * inv[col]
        x = x @ self.weight
        out = torch.zeros(n, x.shape[1]).index_add(0, row, norm[:, None] * x[col])
        return out + self.bias


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = GCNConv(16, 16)
        self.conv2 = GCNConv(16, CLASSES)

    def forward(self, x):
        x = F.relu(self.conv1(x, edge_index))
        x = F.dropout(x, 0.5, self.training)
        return F.log_softmax(self.conv2(x, edge_index), dim=1)


model = Net()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
for epoch in range(200):
    model.train()
    loss = F.nll_loss(model(x)[train_mask], y[train_mask])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if epoch % 40 == 39:
        model.eval()
        with torch.no_grad():
            pred = model(x).argmax(1)
        print(f"epoch {epoch + 1} loss {loss.item():.4f} train {(pred == y)[train_mask].float().mean():.3f} "
              f"test {(pred == y)[test_mask].float().mean():.3f}")
