import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(3)


def make_graphs(n, nodes=14, feats=10):
    y = torch.randint(0, 2, (n,))
    density = torch.where(y == 1, 0.30, 0.22).view(n, 1, 1)
    upper = torch.triu((torch.rand(n, nodes, nodes) < density).float(), 1)
    adj = upper + upper.transpose(1, 2) + torch.eye(nodes)
    x = torch.randn(n, nodes, feats)
    x[:, :, 0] += 0.25 * (2 * y.float() - 1).view(n, 1)
    return x, adj, y


class GraphConv(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.lin = nn.Linear(d_in, d_out)

    def forward(self, x, adj):
        norm = adj.sum(-1, keepdim=True).rsqrt()
        return norm * (adj @ (norm * self.lin(x)))


class GraphClassifier(nn.Module):
    def __init__(self, feats=10, hidden=64):
        super().__init__()
        self.conv1 = GraphConv(feats, hidden)
        self.conv2 = GraphConv(hidden, hidden)
        self.drop = nn.Dropout(0.2)
        self.head = nn.Linear(hidden, 2)

    def forward(self, x, adj):
        h = F.relu(self.conv1(x, adj))
        h = F.relu(self.conv2(h, adj))
        return self.head(self.drop(h.mean(1)))


train_loader = DataLoader(TensorDataset(*make_graphs(800)), batch_size=32, shuffle=True)
test_loader = DataLoader(TensorDataset(*make_graphs(200)), batch_size=20)

model = GraphClassifier()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
criterion = nn.CrossEntropyLoss()

model.train()
for epoch in range(20):
    total, hits = 0.0, 0
    for x, adj, y in train_loader:
        optimizer.zero_grad()
        output = model(x, adj)
        loss = criterion(output, y)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(y)
        hits += (output.argmax(1) == y).sum().item()
    if epoch % 5 == 4:
        print(f"epoch {epoch + 1} train loss {total / 800:.4f} train acc {hits / 800:.3f}")

model.eval()
total, hits = 0.0, 0
with torch.inference_mode():
    for x, adj, y in test_loader:
        output = model(x, adj)
        loss = criterion(output, y)
        total += loss.item() * len(y)
        hits += (output.argmax(1) == y).sum().item()

print(f"test loss {total / 200:.4f}")
print(f"test accuracy {hits / 200:.3f}")
