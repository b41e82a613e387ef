import math

import torch
from torch import nn

torch.manual_seed(0)


class PartCapsules(nn.Module):
    def __init__(self, n_in=6, parts=8, hidden=64):
        super().__init__()
        self.parts, self.n_in = parts, n_in
        self.net = nn.Sequential(nn.Linear(n_in, hidden), nn.ReLU(), nn.Linear(hidden, parts * (n_in + 1)))
        self.log_scale = nn.Parameter(torch.zeros(parts))

    def forward(self, view):
        out = self.net(view).view(-1, self.parts, self.n_in + 1)
        return out[..., :-1], out[..., -1]

    def log_prob(self, view, points):
        means, presence = self(view)
        scale = self.log_scale.exp()
        squared = ((points.unsqueeze(1) - means) / scale.unsqueeze(-1)).pow(2).sum(-1)
        log_density = -0.5 * squared - self.n_in * (self.log_scale + 0.5 * math.log(2 * math.pi))
        mixing = torch.log_softmax(presence, -1)
        return torch.log(torch.exp(mixing + log_density).sum(-1))


def make_points(n=1024):
    view = torch.randn(n, 6)
    points = torch.sin(2 * view) + 0.02 * torch.randn(n, 6)
    outliers = torch.rand(n) < 0.01
    points[outliers] += 3 * torch.randn(int(outliers.sum()), 6)
    return view, points


view, points = make_points()
model = PartCapsules()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(1, 41):
    total = 0.0
    for index in torch.randperm(1024).split(64):
        loss = -model.log_prob(view[index], points[index]).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    if epoch % 5 == 0:
        print(f"epoch {epoch}: loss {total / 16:.4f}")
