import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


class FNN(nn.Module):
    def __init__(self, layers=(2, 40, 40, 1)):
        super().__init__()
        self.linears = nn.ModuleList(nn.Linear(a, b) for a, b in zip(layers[:-1], layers[1:], strict=True))

    def forward(self, x):
        for linear in self.linears[:-1]:
            x = F.relu(linear(x))
        return self.linears[-1](x)


def gradient(u, x):
    return torch.autograd.grad(u, x, torch.ones_like(u), create_graph=True)[0]


def pde(net, points):
    points = points.requires_grad_(True)
    u = net(points)
    du = gradient(u, points)
    u_xx = gradient(du[:, 0:1], points)[:, 0:1]
    u_yy = gradient(du[:, 1:2], points)[:, 1:2]
    source = 2 * torch.pi**2 * torch.sin(torch.pi * points[:, 0:1]) * torch.sin(torch.pi * points[:, 1:2])
    return 0.05 * (u_xx + u_yy + source)


def boundary(n):
    side = torch.randint(0, 4, (n,))
    points = torch.rand(n, 2)
    points[side == 0, 0] = 0.0
    points[side == 1, 0] = 1.0
    points[side == 2, 1] = 0.0
    points[side == 3, 1] = 1.0
    return points


net = FNN()
optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
grid = torch.rand(500, 2)
exact = torch.sin(torch.pi * grid[:, 0:1]) * torch.sin(torch.pi * grid[:, 1:2])
for step in range(1, 601):
    loss_pde = pde(net, torch.rand(128, 2)).pow(2).mean()
    loss_bc = net(boundary(64)).pow(2).mean()
    loss = loss_pde + loss_bc
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 100 == 0:
        with torch.no_grad():
            error = (net(grid) - exact).abs().max().item()
        print(f"step {step}: pde {loss_pde.item():.4f}, bc {loss_bc.item():.5f}, largest error {error:.3f}")
