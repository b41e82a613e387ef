import math

import torch
import torch.nn as nn


class FCN(nn.Module):
    def __init__(self, layers):
        super().__init__()
        self.linears = nn.ModuleList(nn.Linear(a, b) for a, b in zip(layers, layers[1:]))
        for linear in self.linears:
            nn.init.xavier_normal_(linear.weight)
            nn.init.zeros_(linear.bias)

    def forward(self, g):
        for linear in self.linears[:-1]:
            g = torch.tanh(linear(g))
        return self.linears[-1](g)


def exact(g):
    return torch.sin(math.pi * g[:, [0]]) * torch.sin(math.pi * g[:, [1]])


class PINN:
    def __init__(self, k=1.0):
        self.net, self.k = FCN([2, 32, 32, 1]), k
        self.optimizer = torch.optim.Adam(self.net.parameters(), lr=3e-3)

    def loss_BC(self, n=64):
        t = 2 * torch.rand(n, 1) - 1
        sides = torch.ones(n, 1)
        edge = torch.cat(
            [
                torch.cat([t, sides], 1),
                torch.cat([t, -sides], 1),
                torch.cat([sides, t], 1),
                torch.cat([-sides, t], 1),
            ]
        )
        return self.net(edge).pow(2).mean()

    def loss_PDE(self, n=256):
        g = (2 * torch.rand(n, 2) - 1).requires_grad_()
        u = self.net(g)
        u_x_y = torch.autograd.grad(u, g, torch.ones_like(u), create_graph=True)[0]
        u_xx_yy = torch.autograd.grad(u_x_y, g, torch.ones_like(u_x_y), create_graph=True)[0]
        u_xx, u_yy = u_xx_yy[:, [0]], u_xx_yy[:, [1]]
        source = (self.k**2 - 2 * math.pi**2) * exact(g.detach())
        return (u_xx + u_yy + self.k**2 * u - source).pow(2).mean()

    def train(self, iterations):
        for it in range(iterations):
            loss = 10 * self.loss_BC() + 0.1 * self.loss_PDE()
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            if it % 200 == 0 or it == iterations - 1:
                print(f"it {it} loss {loss.item():.4f} error {self.error():.4f}")

    def error(self):
        axis = torch.linspace(-1, 1, 25)
        grid = torch.cartesian_prod(axis, axis)
        with torch.no_grad():
            return ((self.net(grid) - exact(grid)).norm() / exact(grid).norm()).item()


torch.manual_seed(0)
PINN().train(1200)
