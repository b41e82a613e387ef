import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
N_ID, DIM = 20, 16
centers = torch.randn(N_ID, DIM)


class FaceNet(nn.Module):
    def __init__(self, emb=12):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(DIM, 64), nn.ReLU(), nn.Linear(64, emb))
        self.cls = nn.Linear(emb, N_ID)

    def embed(self, x):
        return F.normalize(self.body(x), dim=1)

    def forward(self, x):
        return self.cls(self.body(x))


def sample(ids):
    return centers[ids] + 0.5 * torch.randn(len(ids), DIM)


train_ids = torch.randint(0, N_ID, (1600,))
train_loader = DataLoader(TensorDataset(sample(train_ids), train_ids), batch_size=64, shuffle=True)

left = torch.randint(0, N_ID, (400,))
same = torch.rand(400) < 0.5
right = torch.where(same, left, (left + torch.randint(1, N_ID, (400,))) % N_ID)
pair_ids = torch.stack([left, right], 1).flatten()
pair_loader = DataLoader(TensorDataset(sample(pair_ids), pair_ids), batch_size=40, shuffle=False)

model = FaceNet()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)


@torch.no_grad()
def verify(loader, batch_size=40):
    model.eval()
    embeddings = torch.zeros(len(loader.dataset), 12)
    idx = 0
    while idx + batch_size <= len(loader.dataset):
        batch, _ = next(iter(loader))
        embeddings[idx:idx + batch_size] = model.embed(batch)
        idx += batch_size
    sims = (embeddings[0::2] * embeddings[1::2]).sum(1)
    return max(((sims > t) == same).float().mean().item() for t in torch.linspace(-1, 1, 81))


for epoch in range(8):
    model.train()
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
    model.eval()
    print(f"epoch {epoch}: loss {loss.item():.4f} verification acc {verify(pair_loader):.3f}")

with torch.no_grad():
    emb = model.embed(pair_loader.dataset.tensors[0])
print(f"distinct rows expected {len(emb)}, mean pair similarity {(emb[0::2] * emb[1::2]).sum(1).mean():.3f}")
