import resource

import torch
from torch import nn

torch.manual_seed(0)

DIM = 24


class Potential(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(DIM, 48), nn.Softplus(), nn.Linear(48, 1))

    def forward(self, x):
        return self.net(x).squeeze(-1)


CENTER = torch.linspace(-1, 1, DIM)


def forces_of(model, x):
    energy = model(x)
    energy.backward(torch.ones_like(energy), create_graph=True)
    forces = -x.grad
    x.grad = None
    return forces


def step(model, opt, n):
    x = torch.randn(n, DIM, requires_grad=True)
    forces = forces_of(model, x)
    target = (CENTER - x.detach()) / (1 + (CENTER - x.detach()).pow(2).sum(1, keepdim=True) / DIM)
    loss = nn.functional.mse_loss(forces, target)
    opt.zero_grad()
    loss.backward()
    opt.step()
    return loss.item()


def memory_mb():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main():
    model = Potential()
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(5):
        step(model, opt, 2048)
    start = memory_mb()
    for it in range(100):
        loss = step(model, opt, 2048)
        if it % 25 == 24:
            print(f"step {it + 1} loss {loss:.4f} memory +{memory_mb() - start:.0f} MB")


main()
