import torch
import torch.nn as nn
from torch.autograd import grad

torch.manual_seed(0)


class Field(nn.Module):
    def __init__(self, hidden=40):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(1, hidden), nn.Tanh(), nn.Linear(hidden, hidden), nn.Tanh(), nn.Linear(hidden, 1)
        )

    def forward(self, x):
        return self.net(x)


def second_derivative(net, x):
    u = net(x)
    du = grad(u, x, grad_outputs=torch.ones_like(u), create_graph=True)[0]
    return grad(du.sum(), x, create_graph=True, allow_unused=True)[0]


def source(x):
    return -(torch.pi**2) * torch.sin(torch.pi * x)


def solve(steps=400):
    net = Field()
    optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
    ends = torch.tensor([[0.0], [1.0]])
    for step in range(steps):
        x = torch.rand(64, 1, requires_grad=True)
        curvature = second_derivative(net, x)
        residual = (curvature - source(x)).pow(2).mean()
        boundary = net(ends).pow(2).mean()
        loss = residual + 20 * boundary
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 100 == 0:
            print(step, f"residual {residual.item():.3f} boundary {boundary.item():.4f} d2u {curvature.abs().max().item():.3f}")
    with torch.no_grad():
        grid = torch.linspace(0, 1, 50).unsqueeze(1)
        error = (net(grid) - torch.sin(torch.pi * grid)).abs().mean()
    print("error", round(error.item(), 3))


solve()
