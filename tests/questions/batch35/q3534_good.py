import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.func import jacrev, vmap

torch.manual_seed(13)


class DirectionField(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(2, hidden), nn.Tanh(), nn.Linear(hidden, hidden), nn.Tanh(), nn.Linear(hidden, 2)
        )

    def forward(self, points):
        return F.normalize(self.net(points), dim=-1)


def divergence(field, points):
    jacobian = vmap(jacrev(field))(points)
    return jacobian.diagonal(dim1=-2, dim2=-1).sum(-1)


def wanted(points):
    radius = points.norm(dim=1, keepdim=True)
    return points / radius, 1 / radius.squeeze(1)


def main():
    field = DirectionField()
    optimizer = torch.optim.Adam(field.parameters(), lr=1e-2)
    for step in range(200):
        angle, radius = torch.rand(128) * 6.2832, torch.rand(128) * 1.5 + 0.5
        points = torch.stack([radius * angle.cos(), radius * angle.sin()], 1)
        direction, div = wanted(points)
        loss = (field(points) - direction).pow(2).sum(1).mean()
        loss = loss + 0.02 * (divergence(field, points) - div).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 50 == 0:
            print(f"step {step}: loss {loss.item():.4f}")
    print(f"loss {loss.item():.4f}")


main()
