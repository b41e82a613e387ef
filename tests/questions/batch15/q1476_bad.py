import torch
from torch import nn

NEAR, FAR, N_SAMPLES = 1.0, 3.0, 12


def positional_encoding(x, bands=4):
    return torch.cat([x] + [fn(2.0**i * x) for i in range(bands) for fn in (torch.sin, torch.cos)], -1)


class TinyNeRF(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(18, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 4))

    def forward(self, points):
        out = self.net(positional_encoding(points))
        return out[..., :3].sigmoid(), nn.functional.softplus(out[..., 3])


def render_volume(rgb, sigma, depths):
    delta = torch.full_like(depths, (FAR - NEAR) / N_SAMPLES)
    delta[..., -1] = 1e3
    alpha = 1.0 - torch.exp(-sigma * delta)
    transmittance = torch.cumprod(1.0 - alpha + 1e-10, -1)
    weights = alpha * transmittance
    return (weights[..., None] * rgb).sum(-2), (weights * depths).sum(-1), weights.sum(-1)


def make_rays(count, generator):
    angle = 2 * torch.pi * torch.rand(count, generator=generator)
    origin = 2 * torch.stack([angle.cos(), angle.sin()], -1)
    aim = 0.5 * torch.randn(count, 2, generator=generator)
    direction = nn.functional.normalize(aim - origin, dim=-1)
    return origin, direction


def scene(origin, direction):
    along = -(origin * direction).sum(-1)
    closest = (origin + along[:, None] * direction).norm(dim=-1)
    hit = closest < 0.6
    depth = along - (0.36 - closest**2).clamp(min=0).sqrt()
    point = origin + depth[:, None] * direction
    color = torch.stack([0.5 + 0.8 * point[:, 0], 0.5 + 0.8 * point[:, 1], torch.full_like(depth, 0.9)], -1)
    return torch.where(hit[:, None], color.clamp(0, 1), torch.full_like(color, 0.8)), hit, depth


def main():
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(1)
    model = TinyNeRF()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    edges = torch.linspace(NEAR, FAR, N_SAMPLES + 1)
    test_rays = make_rays(1000, torch.Generator().manual_seed(2))
    for step in range(500):
        origin, direction = make_rays(192, generator)
        depths = edges[:-1] + torch.rand(192, N_SAMPLES, generator=generator) * (FAR - NEAR) / N_SAMPLES
        points = origin[:, None] + depths[..., None] * direction[:, None]
        color, _, _ = render_volume(*model(points), depths)
        loss = (color - scene(origin, direction)[0]).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 100 == 99:
            origin, direction = test_rays
            depths = ((edges[:-1] + edges[1:]) / 2).expand(1000, N_SAMPLES)
            with torch.no_grad():
                color, depth, opacity = render_volume(
                    *model(origin[:, None] + depths[..., None] * direction[:, None]), depths
                )
            truth, hit, true_depth = scene(origin, direction)
            psnr = -10 * (color - truth).pow(2).mean().log10().item()
            error = (depth - true_depth)[hit].abs().mean().item()
            print(
                f"step {step + 1}: loss {loss.item():.4f}  PSNR {psnr:.2f}"
                f"  depth error {error:.3f}  accumulated weights {opacity.mean().item():.3f}"
            )


if __name__ == "__main__":
    main()
