import math

import torch
import torch.nn as nn
import torch.nn.functional as F


def embed(x, freqs=4):
    out = [x]
    for k in range(freqs):
        out += [torch.sin(2**k * x), torch.cos(2**k * x)]
    return torch.cat(out, dim=-1)


class NeRF(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.xyz_encoding = nn.Sequential(
            nn.Linear(18, width),
            nn.ReLU(),
            nn.Linear(width, width),
            nn.ReLU(),
            nn.Linear(width, width),
            nn.ReLU(),
        )
        self.sigma = nn.Linear(width, 1)
        self.rgb = nn.Sequential(nn.Linear(width, 32), nn.ReLU(), nn.Linear(32, 3), nn.Sigmoid())

    def forward(self, x):
        h = self.xyz_encoding(embed(x))
        return F.softplus(self.sigma(h))[..., 0], self.rgb(h)


def volume_render(sigmas, rgbs, deltas):
    alphas = 1 - torch.exp(-deltas * sigmas)
    free = torch.cat([torch.ones_like(alphas[:, :1]), 1 - alphas[:, :-1] + 1e-10], dim=1)
    weights = alphas * torch.cumprod(free, dim=1)
    image = (weights[..., None] * rgbs).sum(dim=1)
    return image + 1 - weights.sum(dim=1, keepdim=True), weights


def sample_rays(n, samples=24):
    angle = 2 * math.pi * torch.rand(n)
    origin = 2.0 * torch.stack([angle.cos(), angle.sin()], dim=1)
    aim = 1.2 * (torch.rand(n, 2) - 0.5)
    direction = F.normalize(aim - origin, dim=1)
    z = torch.linspace(0.8, 3.2, samples)
    return origin[:, None] + z[:, None] * direction[:, None], 2.4 / samples


def scene(points):
    disc = (points - torch.tensor([0.3, 0.1])).norm(dim=-1) < 0.2
    box = ((points - torch.tensor([-0.3, -0.2])).abs() < 0.17).all(dim=-1)
    sigma = 25.0 * (disc | box).float()
    rgb = torch.where(disc[..., None], torch.tensor([0.9, 0.2, 0.1]), torch.tensor([0.1, 0.3, 0.8]))
    return sigma, rgb


def main():
    torch.manual_seed(6)
    nerf = NeRF()
    optimizer = torch.optim.Adam(nerf.parameters(), lr=5e-4)
    for step in range(1, 601):
        points, delta = sample_rays(96)
        with torch.no_grad():
            target, _ = volume_render(*scene(points), delta)
        sigmas, rgbs = nerf(points)
        image, weights = volume_render(sigmas, rgbs, delta)
        loss = F.mse_loss(image, target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step == 1 or step % 150 == 0:
            print(
                f"step {step:3d}: loss {loss.item():.4f}  PSNR {-10 * math.log10(loss.item()):5.2f}  "
                f"opacity {weights.sum(dim=1).mean():.3f}  target {1 - target.mean():.3f} off white"
            )


if __name__ == "__main__":
    main()
