import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
KEYS, VALUES, SLOTS = 8, 6, 6


class RecallNet(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.key_emb = nn.Embedding(KEYS, dim)
        self.val_emb = nn.Embedding(VALUES + 1, dim)
        self.mhsa = nn.MultiheadAttention(dim, num_heads=2)
        self.norm = nn.LayerNorm(dim)
        self.out = nn.Linear(dim, VALUES)

    def forward(self, keys, vals):
        y = self.key_emb(keys) + self.val_emb(vals)
        b, s, d = y.shape
        z = y.transpose(0, 1)
        z, _ = self.mhsa(z, z, z)
        y = self.norm(y + z.transpose(0, 1))
        return self.out(y[:, 0])


def make_split(n):
    order = torch.stack([torch.randperm(KEYS)[:SLOTS] for _ in range(n)])
    vals = torch.randint(0, VALUES, (n, SLOTS))
    pick = torch.randint(0, SLOTS, (n,))
    rows = torch.arange(n)
    keys = torch.cat([order[rows, pick].unsqueeze(1), order], dim=1)
    vals_in = torch.cat([torch.full((n, 1), VALUES), vals], dim=1)
    return keys, vals_in, vals[rows, pick]


train_loader = DataLoader(TensorDataset(*make_split(2500)), batch_size=50, shuffle=True)
test_keys, test_vals, test_y = make_split(800)

model = RecallNet()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

for epoch in range(12):
    model.train()
    total = 0.0
    for keys, vals, target in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(keys, vals), target)
        loss.backward()
        optimizer.step()
        total += loss.item()
    model.eval()
    with torch.no_grad():
        acc = (model(test_keys, test_vals).argmax(1) == test_y).float().mean().item()
    print(f"epoch {epoch}: loss {total / len(train_loader):.3f} test acc {acc:.3f}")
