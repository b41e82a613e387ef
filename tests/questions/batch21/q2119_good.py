import math
import torch
import torch.nn as nn

torch.manual_seed(1)
N_GRID, T = 32, 100
betas = torch.linspace(1e-4, 0.06, T)
alpha_bar = torch.cumprod(1 - betas, 0)
grid = torch.linspace(0, 2 * math.pi, N_GRID + 1)[:-1]


def vorticity(n, gen):
    k = torch.randint(1, 4, (n, 1), generator=gen).float()
    phase = 2 * math.pi * torch.rand(n, 1, generator=gen)
    amp = 3.0 + torch.rand(n, 1, generator=gen)
    return amp * torch.sin(k * grid + phase)


def residual_gradient(w, scale, offset):
    field = (w * scale + offset).detach().requires_grad_(True)
    second = field.roll(1, -1) - 2 * field + field.roll(-1, -1)
    residual = second / (grid[1] ** 2) + field - 0.05 * field ** 2
    loss = residual.pow(2).mean(-1).sum()
    return torch.autograd.grad(loss, field)[0] / 100


class Denoiser(nn.Module):
    def __init__(self, width=128):
        super().__init__()
        self.time = nn.Embedding(T, 32)
        self.net = nn.Sequential(
            nn.Linear(2 * N_GRID + 32, width), nn.SiLU(),
            nn.Linear(width, width), nn.SiLU(),
            nn.Linear(width, N_GRID),
        )

    def forward(self, x, t, dx):
        return self.net(torch.cat([x, dx, self.time(t)], -1))


def conditional_noise_loss(model, x0, t, e, x_scale, x_offset, p=0.1):
    a = alpha_bar[t].unsqueeze(-1)
    x = a.sqrt() * x0 + (1 - a).sqrt() * e
    dx = residual_gradient(x, x_scale, x_offset)
    if p > 0:
        dx = dx * (torch.rand(len(x), 1) > p).float()
    return (e - model(x, t, dx)).pow(2).mean()


@torch.no_grad()
def denoise(model, x0, t_value, x_scale, x_offset, gen):
    a = alpha_bar[t_value]
    e = torch.randn(x0.shape, generator=gen)
    x = a.sqrt() * x0 + (1 - a).sqrt() * e
    for i in reversed(range(t_value + 1)):
        t = torch.full((len(x),), i)
        with torch.enable_grad():
            dx = residual_gradient(x, x_scale, x_offset)
        noise = model(x, t, dx)
        x0_hat = (x - (1 - alpha_bar[i]).sqrt() * noise) / alpha_bar[i].sqrt()
        last = alpha_bar[i - 1] if i > 0 else torch.tensor(1.0)
        x = last.sqrt() * x0_hat + (1 - last).sqrt() * noise
    return (x - x0).pow(2).mean().sqrt().item() * x_scale


gen = torch.Generator().manual_seed(8)
train, test = vorticity(4000, gen), vorticity(300, gen)
x_offset, x_scale = train.mean(), train.std()
train, test = (train - x_offset) / x_scale, (test - x_offset) / x_scale

model = Denoiser()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

for epoch in range(60):
    total = 0.0
    for idx in torch.randperm(len(train)).split(200):
        x0 = train[idx]
        t = torch.randint(0, T, (len(idx),))
        e = torch.randn_like(x0)
        loss = conditional_noise_loss(model, x0, t, e, x_scale.item(), x_offset.item())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    if epoch % 20 == 19:
        print(f"epoch {epoch + 1}: noise loss {total / 20:.4f}")

for start in (10, 30):
    print(f"start {start}: rmse of the denoised field {denoise(model, test, start, x_scale.item(), x_offset.item(), gen):.4f}")
