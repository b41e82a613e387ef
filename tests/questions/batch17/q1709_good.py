import torch
from torch import nn

torch.manual_seed(0)
num_samples, near, far = 48, 0.0, 4.0


class Field(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(13, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))

    def forward(self, t, u):
        x = torch.stack([t / far, u.unsqueeze(1).expand_as(t)], dim=-1)
        freq = [torch.sin(3.0 * k * x) for k in (1, 2, 3)] + [torch.cos(3.0 * k * x) for k in (1, 2)]
        bands = torch.cat([x, *freq], dim=-1)
        out = self.net(torch.cat([bands, torch.ones_like(bands[..., :1])], dim=-1))
        return nn.functional.softplus(out[..., 0]), torch.sigmoid(out[..., 1])


def get_weights(density, deltas):
    alpha = 1 - torch.exp(-density * deltas)
    transmittance = torch.cumprod(torch.cat([torch.ones_like(alpha[:, :1]), 1 - alpha + 1e-10], 1), 1)
    return alpha * transmittance[:, :-1]


class DepthRenderer:
    def __init__(self, method):
        self.method = method

    def __call__(self, weights, steps):
        if self.method == "median":
            cumulative = torch.cumsum(weights, dim=-1)
            split = torch.full_like(cumulative[:, :1], 0.5)
            index = torch.searchsorted(cumulative, split).clamp(max=steps.shape[1] - 1)
            return torch.gather(steps, 1, index).squeeze(1)
        return (weights * steps).sum(-1) / (weights.sum(-1) + 1e-10)


def load_rays(n):
    u = torch.rand(n)
    surface = 1.5 + torch.sin(3 * u)
    return u, surface, torch.full((n,), 0.6)


def render(model, u, renderer):
    steps = torch.linspace(near, far, num_samples).repeat(len(u), 1)
    density, rgb = model(steps, u)
    weights = get_weights(density, (far - near) / num_samples)
    return (weights * rgb).sum(-1), renderer(weights, steps)


model = Field()
renderer = DepthRenderer(method="expected")
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for step in range(400):
    u, surface, color = load_rays(64)
    rgb, depth = render(model, u, renderer)
    rgb_loss = ((rgb - color) ** 2).mean()
    depth_loss = 0.1 * (depth - surface).abs().mean()
    loss = rgb_loss + depth_loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if (step + 1) % 100 == 0:
        print(f"step {step + 1}: rgb loss {rgb_loss.item():.5f}  depth loss {depth_loss.item():.4f}")

with torch.no_grad():
    u, surface, _ = load_rays(500)
    error = (render(model, u, renderer)[1] - surface).abs().mean().item()
print(f"mean absolute depth error: {error:.3f}")
