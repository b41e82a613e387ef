import torch
from torch import nn

torch.manual_seed(0)


class Trajectory(nn.Module):
    def __init__(self, start, width=48):
        super().__init__()
        self.register_buffer("start", start)
        self.net = nn.Sequential(
            nn.Linear(1, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 2)
        )

    def forward(self, t):
        return self.start + t * self.net(t)


def right_side(y):
    return torch.stack([-y[:, 1], y[:, 0]], 1)


def ode_residual(model, t):
    t = t.clone().requires_grad_(True)
    y = model(t)
    dy_dt = torch.autograd.grad(y, t, torch.ones_like(y), create_graph=True)[0]
    return dy_dt - right_side(y)


def main():
    model = Trajectory(torch.tensor([1.0, 0.0]))
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    points = torch.linspace(0, 3, 60).unsqueeze(1)
    truth = torch.cat([torch.cos(points), torch.sin(points)], 1)
    for step in range(1, 1501):
        loss = ode_residual(model, points).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 300 == 0:
            with torch.no_grad():
                error = (model(points) - truth).abs().max().item()
            print(f"step {step}: residual {loss.item():.5f} largest error {error:.4f}")


main()
