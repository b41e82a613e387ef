import torch
import torch.nn as nn
import torch.nn.functional as F


class TripletDistance(nn.Module):
    def forward(self, emb):
        dot = emb @ emb.t()
        sq = dot.diagonal()
        dist = (sq.unsqueeze(0) - 2 * dot + sq.unsqueeze(1)).clamp(min=0)
        zero = (dist == 0).float()
        return torch.sqrt(dist + zero * 1e-12) * (1 - zero)


class HardNegativeTripletMiner(nn.Module):
    def __init__(self, margin=0.3):
        super().__init__()
        self.margin = margin
        self.distance = TripletDistance()

    def forward(self, ids, emb):
        same = ids.unsqueeze(0) == ids.unsqueeze(1)
        eye = torch.eye(len(ids), dtype=torch.bool)
        dist = self.distance(emb)
        pos = (dist * (same & ~eye).float()).max(dim=1)[0]
        others = dist[~same].view(len(ids), -1)
        neg = others.min(dim=1)[0]
        return F.relu(pos - neg + self.margin).mean(), pos.mean(), neg.mean()


class Encoder(nn.Module):
    def __init__(self, in_dim=24, latent=16):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(in_dim, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, latent)
        )

    def forward(self, x):
        return F.normalize(self.net(x), dim=1)


class Identities:
    """Many persons, some pairs of whom look much alike."""

    def __init__(self, n_id=24, dim=24):
        half = torch.randn(n_id // 2, dim)
        self.faces = torch.cat([half, half + 0.5 * torch.randn_like(half)])
        self.style = torch.randn(6, dim)

    def sample(self, n_id, per_id):
        ids = torch.randperm(len(self.faces))[:n_id].repeat_interleave(per_id)
        return self.faces[ids] + torch.randn(len(ids), 6) @ self.style * 0.35, ids


def recall_at_1(model, data):
    with torch.no_grad():
        x, ids = data.sample(24, 10)
        dist = torch.cdist(model(x), model(x))
        dist.fill_diagonal_(float("inf"))
        return (ids[dist.argmin(1)] == ids).float().mean().item()


torch.manual_seed(38)
data, model, miner = Identities(), Encoder(), HardNegativeTripletMiner()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for step in range(1, 401):
    x, ids = data.sample(n_id=16, per_id=4)
    loss, pos, neg = miner(ids, model(x))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 80 == 0:
        print(
            f"step {step}: loss {loss:.4f}  pos {pos:.3f}  neg {neg:.3f}  recall@1 {recall_at_1(model, data):.3f}"
        )
