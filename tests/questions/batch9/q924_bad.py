import torch
import torch.nn as nn
import torch.nn.functional as F


def knn_fast(X, k, b):
    X = F.normalize(X, dim=1, p=2)
    index, n = 0, X.shape[0]
    values = torch.zeros(n * (k + 1))
    rows = torch.zeros(n * (k + 1), dtype=torch.long)
    cols = torch.zeros(n * (k + 1), dtype=torch.long)
    norm_row, norm_col = torch.zeros(n), torch.zeros(n)
    while index < n:
        end = min(index + b, n)
        similarities = X[index:end] @ X.t()
        vals, inds = similarities.topk(k=k + 1, dim=-1)
        values[index * (k + 1) : end * (k + 1)] = vals.reshape(-1)
        cols[index * (k + 1) : end * (k + 1)] = inds.reshape(-1)
        rows[index * (k + 1) : end * (k + 1)] = torch.arange(index, end).repeat_interleave(k + 1)
        norm_row[index:end] = vals.sum(dim=1)
        norm_col.index_add_(0, inds.reshape(-1), vals.reshape(-1))
        index += b
    norm = norm_row + norm_col
    values = values * (torch.pow(norm[rows], -0.5) * torch.pow(norm[cols], -0.5))
    return rows, cols, values


class GCN(nn.Module):
    def __init__(self, in_dim, hidden, classes):
        super().__init__()
        self.lin1 = nn.Linear(in_dim, hidden)
        self.lin2 = nn.Linear(hidden, classes)

    def propagate(self, edges, x):
        rows, cols, values = edges
        return torch.zeros_like(x).index_add(0, rows, values.unsqueeze(1) * x[cols])

    def forward(self, edges, x):
        h = F.relu(self.propagate(edges, self.lin1(x)))
        return self.propagate(edges, self.lin2(h))


torch.manual_seed(0)
n, d, classes = 200, 60, 4
labels = torch.randint(0, classes, (n,))
topics = (torch.rand(classes, d) < 0.2).float()
features = (torch.rand(n, d) < 0.05 + 0.5 * topics[labels]).float()
features[[17, 80, 142]] = 0.0

edges = knn_fast(features, k=8, b=50)
model = GCN(d, 32, classes)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
train = torch.arange(120)
for epoch in range(1, 41):
    model.train()
    logits = model(edges, features)
    loss = F.cross_entropy(logits[train], labels[train])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if epoch % 10 == 0:
        acc = (logits[120:].argmax(-1) == labels[120:]).float().mean()
        print(f"epoch {epoch}: loss {loss.item():.4f}, test acc {acc.item():.3f}")
