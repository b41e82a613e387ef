import torch
import torch.nn as nn
import torch.nn.functional as F

DEGREE = 3


def clamped_knots(inner):
    return torch.cat([torch.zeros(DEGREE), torch.linspace(0, 1, inner), torch.ones(DEGREE)])


def ramp(x, a, b):
    """(x - a) / (b - a), and one where both are zero."""
    width = torch.where(a == b, torch.ones_like(a), b - a)
    return torch.where(a == b, torch.ones_like(x), (x - a) / width)


def basis(x, knots):
    x = x[:, None]
    rows = ((knots[:-1] <= x) & (x < knots[1:])).float()
    for d in range(1, DEGREE + 1):
        left = ramp(x, knots[: -d - 1][None], knots[d:-1][None])
        right = ramp(x, knots[d + 1 :][None], knots[1:-d][None])
        rows = left * rows[:, :-1] + right * rows[:, 1:]
    return rows


class SplineFlow(nn.Module):
    """Features are squeezed to the unit interval by a small network and read by a spline."""

    def __init__(self, features=5, inner=8):
        super().__init__()
        self.squeeze = nn.Sequential(nn.Linear(features, 16), nn.Tanh(), nn.Linear(16, 1))
        self.register_buffer("knots", clamped_knots(inner))
        self.coef = nn.Parameter(0.1 * torch.randn(inner + DEGREE - 1))

    def forward(self, x):
        place = torch.sigmoid(self.squeeze(x)).squeeze(1)
        return basis(place, self.knots) @ self.coef


def main():
    torch.manual_seed(0)
    x = torch.randn(600, 5)
    direction = torch.randn(5)
    y = torch.sin(2 * torch.tanh(x @ direction / 2)) + 0.05 * torch.randn(600)
    model = SplineFlow()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for epoch in range(13):
        total = 0.0
        for rows in torch.randperm(600).split(50):
            loss = F.mse_loss(model(x[rows]), y[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() / 12
        if epoch % 3 == 0:
            print(f"epoch {epoch}: loss {total:.4f}  coefficients {model.coef.detach().abs().mean():.3f}")


if __name__ == "__main__":
    main()
