import math

import torch
import torch.nn as nn
import torch.nn.functional as F

NEAR, FAR, SAMPLES = 0.0, 2.0, 32


class TinyNeRF(nn.Module):
    def __init__(self, frequencies=4, width=64):
        super().__init__()
        self.frequencies = frequencies
        self.layers = nn.Sequential(
            nn.Linear(2 * (1 + 2 * frequencies), width),
            nn.ReLU(),
            nn.Linear(width, width),
            nn.ReLU(),
            nn.Linear(width, 4),
        )

    def positional_encoding(self, x):
        waves = [f(2.0**i * math.pi * x) for i in range(self.frequencies) for f in (torch.sin, torch.cos)]
        return torch.cat([x, *waves], dim=-1)

    def forward(self, x):
        raw = self.layers(self.positional_encoding(x))
        return torch.sigmoid(raw[..., :3]), F.relu(raw[..., 3])


def get_rays(n):
    angle = 2 * math.pi * torch.rand(n)
    origin = torch.stack([torch.cos(angle), torch.sin(angle)], dim=1)
    toward = 0.5 * (2 * torch.rand(n, 2) - 1)
    return origin, F.normalize(toward - origin, dim=1)


def scene(origin, direction):
    centers = torch.tensor([[0.0, 0.1], [0.35, -0.3], [-0.4, -0.2]])
    radii = torch.tensor([0.3, 0.2, 0.15])
    colours = torch.tensor([[0.95, 0.2, 0.1], [0.1, 0.9, 0.3], [0.2, 0.3, 1.0]])
    offset = centers[None] - origin[:, None]
    along = (offset * direction[:, None]).sum(-1)
    inside = radii**2 - (offset**2).sum(-1) + along**2
    depth = torch.where(inside > 0, along - inside.clamp(min=0).sqrt(), torch.tensor(float("inf")))
    nearest, which = depth.min(dim=1)
    return torch.where(nearest.isfinite()[:, None], colours[which], torch.zeros(1, 3))


def render_rays(model, origin, direction, rand=True):
    step = (FAR - NEAR) / SAMPLES
    place = torch.rand(len(origin), SAMPLES) if rand else torch.full((len(origin), SAMPLES), 0.5)
    z = torch.linspace(NEAR, FAR - step, SAMPLES) + step * place
    points = origin[:, None] + z[..., None] * direction[:, None]
    rgb, sigma = model(points)
    dists = torch.cat([z[:, 1:] - z[:, :-1], torch.full((len(z), 1), 1e10)], dim=1)
    alpha = 1.0 - torch.exp(-sigma * dists)
    transmittance = torch.cumprod(1.0 - alpha + 1e-10, dim=-1)
    weights = alpha * transmittance
    return (weights[..., None] * rgb).sum(dim=1), weights


def main():
    torch.manual_seed(0)
    model = TinyNeRF()
    optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
    test = get_rays(512)
    target = scene(*test)
    for i in range(1, 401):
        origin, direction = get_rays(128)
        rgb, _ = render_rays(model, origin, direction)
        loss = F.mse_loss(rgb, scene(origin, direction))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if i % 80 == 0:
            with torch.no_grad():
                rgb, weights = render_rays(model, *test, rand=False)
            psnr = -10 * math.log10(F.mse_loss(rgb, target).item())
            print(
                f"iteration {i}: loss {loss.item():.4f}  test PSNR {psnr:.2f}  "
                f"largest weight of a sample {weights.max().item():.3f}  of a ray {weights.sum(1).max().item():.3f}"
            )


if __name__ == "__main__":
    main()
