import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(5)
N_SHAPES, DIM, POINTS = 24, 6, 48


class AutoDecoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.latent_codes = nn.Embedding(N_SHAPES, DIM)
        nn.init.normal_(self.latent_codes.weight, 0.0, 0.5)
        self.net = nn.Sequential(nn.Linear(DIM + 1, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))

    def forward(self, idx, t):
        z = self.latent_codes(idx)
        z = z.unsqueeze(1).expand(-1, t.shape[1], -1)
        return self.net(torch.cat([z, t.unsqueeze(-1)], dim=-1)).squeeze(-1)

    def line_constraint(self, idx):
        embedding = self.latent_codes(idx)
        vecs = self.latent_codes.weight.data
        first, last = vecs[0], vecs[-1]
        d1 = (torch.sum((first.unsqueeze(0) - embedding) ** 2, dim=1) + 1e-8).sqrt()
        d2 = (torch.sum((last.unsqueeze(0) - embedding) ** 2, dim=1) + 1e-8).sqrt()
        span = torch.dist(first, last, p=2)
        return torch.abs(d1 + d2 - span).mean()


def profile(idx, t):
    w = idx.float().unsqueeze(1) / (N_SHAPES - 1)
    return torch.sin(3.0 * t + 2.0 * w) * (1.0 + w)


model = AutoDecoder()
opt = torch.optim.Adam(model.parameters(), lr=2e-3)
weight = 0.05

for step in range(1500):
    idx = torch.randint(0, N_SHAPES, (8,))
    t = torch.rand(8, POINTS) * 2 - 1
    target = profile(idx, t)
    opt.zero_grad()
    rec = F.mse_loss(model(idx, t), target)
    line = model.line_constraint(idx)
    loss = rec + weight * line
    loss.backward()
    opt.step()
    if step % 300 == 0:
        print(f"step {step} rec {rec.item():.4f} line {line.item():.4f}")

with torch.no_grad():
    every = torch.arange(N_SHAPES)
    t = torch.linspace(-1, 1, POINTS).expand(N_SHAPES, -1)
    err = F.mse_loss(model(every, t), profile(every, t)).item()
    bend = model.line_constraint(every).item()
print(f"final reconstruction error {err:.5f}, distance from the line {bend:.4f}")
