import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(3)

N_TRACKS, HITS, MARGIN = 6, 40, 1.0
centres = torch.randn(N_TRACKS, 8)
hits = centres.repeat_interleave(HITS, 0) + 0.15 * torch.randn(N_TRACKS * HITS, 8)
track = torch.arange(N_TRACKS).repeat_interleave(HITS)


def make_pairs(n):
    a = torch.randint(len(hits), (n,))
    b = torch.randint(len(hits), (n,))
    same = torch.where(torch.rand(n) < 0.4)[0]
    b[same] = (a[same] // HITS) * HITS + torch.randint(HITS, (len(same),))
    return a, b, (track[a] == track[b]).float()


class Embedder(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(8, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh())
        self.out = nn.Linear(64, 4)
        nn.init.normal_(self.out.weight, std=1e-4)
        nn.init.zeros_(self.out.bias)

    def forward(self, x):
        return self.out(self.net(x))


def hinge(za, zb, same):
    d2 = (za - zb).pow(2).sum(1)
    positive = (same * d2).sum() / same.sum().clamp(min=1)
    other = 1 - same
    d = (d2 + 1e-12).sqrt()
    negative = (other * (MARGIN - d).clamp(min=0).pow(2)).sum() / other.sum().clamp(min=1)
    return positive, negative


a, b, same = make_pairs(4000)
loader = DataLoader(TensorDataset(a, b, same), batch_size=200, shuffle=True)
model = Embedder()
optimizer = torch.optim.SGD(model.parameters(), lr=0.004)

for epoch in range(10):
    pos_sum = neg_sum = 0.0
    for ia, ib, s in loader:
        positive, negative = hinge(model(hits[ia]), model(hits[ib]), s)
        loss = positive + negative
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        pos_sum += positive.item()
        neg_sum += negative.item()
    print(f"epoch {epoch}  positive {pos_sum / len(loader):.4f}  negative {neg_sum / len(loader):.4f}")

with torch.no_grad():
    z = model(hits)
    d = torch.cdist(z, z)
apart = d[track[:, None] != track[None, :]].mean().item()
print(f"mean distance between hits of different tracks: {apart:.4f}")
