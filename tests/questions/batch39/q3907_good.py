import torch
import torch.nn as nn


class VariancePreserving:
    def __init__(self, denoiser, beta_min=0.1, beta_max=12.0, alpha=0.0):
        self.denoiser = denoiser
        self.beta_min, self.beta_d = beta_min, beta_max - beta_min
        self.alpha = alpha

    def beta_t(self, t):
        return self.beta_min + t * self.beta_d

    def integral(self, t):
        return torch.exp(0.5 * t ** 2 * self.beta_d + t * self.beta_min)

    def scale_t(self, t):
        return self.integral(t).rsqrt()

    def scale_prime_t(self, t):
        return -0.5 * self.beta_t(t) * self.scale_t(t)

    def sigma_t(self, t):
        return (self.integral(t) - 1.0).sqrt()

    def sigma_prime_t(self, t):
        return self.beta_t(t) * self.integral(t) / (2 * self.sigma_t(t))

    def score(self, x, t):
        scale, sigma = self.scale_t(t), self.sigma_t(t)
        return (scale * self.denoiser(x / scale, sigma.expand(len(x), 1)) - x) / (scale * sigma) ** 2

    def forward_drift(self, x, t):
        return self.scale_prime_t(t) / self.scale_t(t) * x

    def forward_diffusion(self, t):
        return self.scale_t(t) * (2 * self.sigma_prime_t(t) * self.sigma_t(t)).sqrt()

    @torch.no_grad()
    def sample(self, shape, num_steps=200):
        x = torch.randn(shape)
        times = torch.linspace(1.0, 1e-3, num_steps + 1)
        for t, t_next in zip(times[:-1], times[1:]):
            g, dt = self.forward_diffusion(t), t - t_next
            drift = -self.forward_drift(x, t) + (1 + self.alpha) / 2 * g ** 2 * self.score(x, t)
            x = x + drift * dt + self.alpha ** 0.5 * g * dt.sqrt() * torch.randn_like(x)
        return x


class Denoiser(nn.Module):
    def __init__(self, dim=16, width=128):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(dim + 1, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU(), nn.Linear(width, dim))

    def forward(self, x, sigma):
        c_in = 1 / (1 + sigma ** 2).sqrt()
        c_skip = 1 / (1 + sigma ** 2)
        out = self.net(torch.cat([c_in * x, sigma.log() / 4], dim=1))
        return c_skip * x + sigma * c_in * out


def images(n):
    row = torch.arange(16).float()
    waves = torch.stack([torch.cos(k * torch.pi * (row + 0.5) / 16) / k for k in range(1, 6)])
    return torch.tanh(torch.randn(n, 5) @ waves)


torch.manual_seed(0)
model = Denoiser()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for step in range(1601):
    x = images(256)
    sigma = torch.exp(1.6 * torch.randn(256, 1) - 0.5)
    weight = (1 + sigma ** 2) / sigma ** 2
    loss = (weight * (model(x + sigma * torch.randn_like(x), sigma) - x) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 400 == 0:
        print(f"step {step} loss {loss.item():.4f}")

data = images(2000)
print(f"data, contrast {data.std(dim=1).mean():.3f}")
for alpha in (0.0, 0.1):
    out = VariancePreserving(model, alpha=alpha).sample((2000, 16))
    print(f"samples with alpha {alpha:.1f}, contrast {out.std(dim=1).mean():.3f}")
