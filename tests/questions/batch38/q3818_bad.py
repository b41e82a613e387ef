import math
import torch
import torch.nn as nn


class PINN(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 24), nn.Tanh(), nn.Linear(24, 24), nn.Tanh(), nn.Linear(24, 1))

    def forward(self, x):
        return self.net(x)


class InitialCondition:
    def __init__(self, n=128):
        pos = torch.rand(n) * 2 - 1
        self.x = torch.stack([pos, torch.zeros(n)], dim=1)
        self.u = torch.sin(math.pi * pos)

    def __call__(self, model):
        prediction = model(self.x)
        return nn.functional.mse_loss(prediction, self.u)


def heat_residual(model, n=64):
    p = torch.rand(n, 2)
    p[:, 0] = p[:, 0] * 2 - 1
    p.requires_grad_(True)
    u = model(p)
    du = torch.autograd.grad(u.sum(), p, create_graph=True)[0]
    u_xx = torch.autograd.grad(du[:, 0].sum(), p, create_graph=True)[0][:, 0]
    return ((du[:, 1] - 0.05 * u_xx) ** 2).mean()


torch.manual_seed(0)
model = PINN()
ic = InitialCondition()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for step in range(300):
    optimizer.zero_grad()
    loss_ic = ic(model)
    loss_pde = heat_residual(model)
    loss = loss_ic + 0.1 * loss_pde
    loss.backward()
    optimizer.step()
    if step % 60 == 0:
        print(f"step {step} initial {loss_ic.item():.4f} residual {loss_pde.item():.4f}")
grid = torch.linspace(-1, 1, 50)
with torch.no_grad():
    start = model(torch.stack([grid, torch.zeros(50)], dim=1)).squeeze(1)
print("error at t=0:", (start - torch.sin(math.pi * grid)).abs().mean().item())
