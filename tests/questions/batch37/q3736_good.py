import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
KEYS, VALUES, SLOTS = 8, 6, 6


class DotAttention(nn.Module):
    def __init__(self, key_size):
        super().__init__()
        self.scale = key_size ** 0.5
        self.softmax = nn.Softmax(dim=-1)

    def forward(self, Q, K, V):
        scores = torch.matmul(Q, K.transpose(-1, -2)) / self.scale
        return torch.matmul(self.softmax(scores), V)


class MultiHead(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads, self.size = heads, dim // heads
        self.q_in, self.k_in, self.v_in = (nn.Linear(dim, dim) for _ in range(3))
        self.attention = DotAttention(self.size)
        self.out = nn.Linear(dim, dim)

    def split(self, x):
        return x.view(x.shape[0], x.shape[1], self.heads, self.size).transpose(1, 2)

    def forward(self, query, x):
        att = self.attention(self.split(self.q_in(query)), self.split(self.k_in(x)), self.split(self.v_in(x)))
        return self.out(att.transpose(1, 2).reshape(query.shape))


class RecallNet(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.key_emb = nn.Embedding(KEYS, dim)
        self.val_emb = nn.Embedding(VALUES + 1, dim)
        self.att = MultiHead(dim, 2)
        self.cls = nn.Linear(dim, VALUES)

    def forward(self, keys, vals):
        x = self.key_emb(keys) + self.val_emb(vals)
        return self.cls((x[:, :1] + self.att(x[:, :1], x))[:, 0])


def make_split(n):
    order = torch.rand(n, KEYS).argsort(1)[:, :SLOTS]
    vals = torch.randint(0, VALUES, (n, SLOTS))
    pick, rows = torch.randint(0, SLOTS, (n,)), torch.arange(n)
    keys = torch.cat([order[rows, pick].unsqueeze(1), order], dim=1)
    return keys, torch.cat([torch.full((n, 1), VALUES), vals], dim=1), vals[rows, pick]


loader = DataLoader(TensorDataset(*make_split(2000)), batch_size=50, shuffle=True)
test_keys, test_vals, test_y = make_split(600)
model = RecallNet()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(10):
    total = 0.0
    for keys, vals, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(keys, vals), y)
        loss.backward()
        optimizer.step()
        total += loss.item()
    with torch.no_grad():
        acc = (model(test_keys, test_vals).argmax(1) == test_y).float().mean().item()
    print(f"epoch {epoch}: loss {total / len(loader):.3f} test acc {acc:.3f}")
