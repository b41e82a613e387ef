import torch
import torch.nn as nn

torch.manual_seed(0)


def mass_profile(x):
    """h(x) of the projected NFW profile, x = r / scale radius."""
    a = torch.where(x < 1, x, torch.full_like(x, 0.5))
    b = torch.where(x < 1, torch.full_like(x, 2.0), x)
    inner = torch.arctanh(torch.sqrt((1 - a) / (1 + a))) * 2 / torch.sqrt(1 - a**2)
    outer = torch.arctan(torch.sqrt((b - 1) / (1 + b))) * 2 / torch.sqrt(b**2 - 1)
    return torch.log(x / 2) + torch.where(x < 1, inner, outer)


class NFW(nn.Module):
    def __init__(self, x0=0.1, y0=-0.1, log_scale=-0.3, log_kappa=-0.5):
        super().__init__()
        self.centre = nn.Parameter(torch.tensor([x0, y0]))
        self.log_scale = nn.Parameter(torch.tensor(log_scale))
        self.log_kappa = nn.Parameter(torch.tensor(log_kappa))

    def deflection(self, grid):
        d = grid - self.centre
        r = d.norm(dim=-1) + 1e-6
        x = r / self.log_scale.exp()
        alpha = 4 * self.log_kappa.exp() * self.log_scale.exp() * mass_profile(x) / x
        return alpha.unsqueeze(-1) * d / r.unsqueeze(-1)


class Simulator(nn.Module):
    def __init__(self, lens, n=24, half=2.5):
        super().__init__()
        axis = torch.linspace(-half, half, n)
        self.register_buffer("grid", torch.stack(torch.meshgrid(axis, axis, indexing="xy"), dim=-1))
        self.lens = lens
        self.source = nn.Parameter(torch.tensor([0.2, 0.15]))
        self.log_size = nn.Parameter(torch.tensor(-0.7))

    def forward(self):
        beta = self.grid - self.lens.deflection(self.grid)
        r2 = (beta - self.source).pow(2).sum(-1)
        return torch.exp(-r2 / (2 * (2 * self.log_size).exp()))


with torch.no_grad():
    truth = Simulator(NFW(0.0, 0.05, 0.0, -0.8))
    image = truth() + 0.02 * torch.randn(24, 24)

model = Simulator(NFW())
optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
for it in range(1, 201):
    chi2 = ((model() - image) / 0.02).pow(2).mean()
    optimizer.zero_grad()
    chi2.backward()
    optimizer.step()
    if it % 40 == 0:
        scale = model.lens.log_scale.exp().item()
        print(f"iter {it}: chi2 {chi2.item():.3f}  scale radius {scale:.3f}")
