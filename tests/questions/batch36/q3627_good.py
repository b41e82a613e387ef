import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(6)
SLOTS, DIM = 12, 16


def make(count):
    buffer = torch.randn(count, SLOTS, DIM)
    lengths = torch.randint(2, 6, (count,))
    valid = torch.arange(SLOTS)[None, :] < lengths[:, None]
    score = (buffer[..., 0] * valid).sum(1)
    return TensorDataset(buffer, valid, (score > 0).long())


class CrossAttention(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.query = nn.Parameter(torch.randn(4, dim) * 0.1)
        self.to_k = nn.Linear(dim, dim)
        self.to_v = nn.Linear(dim, dim)

    def forward(self, media, valid):
        k, v = self.to_k(media), self.to_v(media)
        sim = torch.einsum("qd,bnd->bqn", self.query, k) / DIM ** 0.5
        attn = sim.softmax(dim=-1)
        attn = attn.masked_fill(~valid[:, None, :], 0.0)
        return torch.einsum("bqn,bnd->bqd", attn, v)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.attend = CrossAttention(DIM)
        self.head = nn.Sequential(nn.Linear(4 * DIM, 64), nn.ReLU(), nn.Linear(64, 2))

    def forward(self, media, valid):
        return self.head(self.attend(media, valid).flatten(1))


train_loader = DataLoader(make(2000), batch_size=64, shuffle=True)
test_loader = DataLoader(make(500), batch_size=100)
model = Model()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
criterion = nn.CrossEntropyLoss()
for epoch in range(1, 11):
    model.train()
    running = 0.0
    for media, valid, label in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(media, valid), label)
        loss.backward()
        optimizer.step()
        running += loss.item()
    model.eval()
    hits = 0
    with torch.no_grad():
        for media, valid, label in test_loader:
            hits += (model(media, valid).argmax(1) == label).sum().item()
    print(f"epoch {epoch} loss {running / len(train_loader):.4f} test accuracy {hits / 500:.3f}")
