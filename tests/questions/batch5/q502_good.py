import math

import torch
from torch import nn

torch.manual_seed(1)
ALPHA = 0.1


class MLP(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(2, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 1)
        )

    def forward(self, X):
        return self.net(X)


def exact(X):
    x, t = X[:, 0:1], X[:, 1:2]
    return torch.exp(-ALPHA * math.pi**2 * t) * torch.sin(math.pi * x)


def residual(model, X):
    X = X.clone().requires_grad_(True)
    u = model(X)
    first = torch.autograd.grad(u, X, grad_outputs=torch.ones_like(u), create_graph=True)[0]
    second = torch.autograd.grad(first[:, 0:1], X, grad_outputs=torch.ones_like(u), create_graph=True)[0]
    u_t = first[:, 1:2]
    u_xx = second[:, 0:1]
    return u_t - ALPHA * u_xx


def edge_points(n):
    start = torch.stack([torch.rand(n), torch.zeros(n)], 1)
    left = torch.stack([torch.zeros(n), torch.rand(n)], 1)
    right = torch.stack([torch.ones(n), torch.rand(n)], 1)
    return torch.cat([start, left, right])


model = MLP()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
grid = torch.cartesian_prod(torch.linspace(0, 1, 21), torch.linspace(0, 1, 21))
for step in range(1, 1201):
    inside = torch.rand(128, 2)
    edge = edge_points(32)
    pde_loss = residual(model, inside).pow(2).mean()
    edge_loss = (model(edge) - exact(edge)).pow(2).mean()
    loss = pde_loss + 10 * edge_loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 300 == 0:
        with torch.no_grad():
            error = (model(grid) - exact(grid)).abs().max().item()
        print(f"step {step}: pde {pde_loss.item():.5f} edge {edge_loss.item():.5f} largest error {error:.4f}")
