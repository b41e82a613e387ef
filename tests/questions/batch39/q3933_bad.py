import torch
import torch.nn as nn
import torch.nn.functional as F


def linear_beta_schedule(timesteps):
    scale = 1000 / timesteps
    return torch.linspace(scale * 0.0001, scale * 0.02, timesteps)


def extract(a, t, x):
    return a[t].view(-1, *([1] * (x.dim() - 1)))


class GaussianDiffusion(nn.Module):
    def __init__(self, denoise_fn, timesteps=100):
        super().__init__()
        self.denoise_fn, self.num_timesteps = denoise_fn, timesteps
        betas = linear_beta_schedule(timesteps)
        alphas = 1. - betas
        alphas_cumprod = torch.cumprod(alphas, dim=0)
        alphas_cumprod_prev = F.pad(alphas_cumprod[:-1], (0, 1), value=1.)
        self.register_buffer("sqrt_alphas_cumprod", alphas_cumprod.sqrt())
        self.register_buffer("sqrt_one_minus_alphas_cumprod", (1. - alphas_cumprod).sqrt())
        self.register_buffer("sqrt_recip_alphas_cumprod", (1. / alphas_cumprod).sqrt())
        self.register_buffer("sqrt_recipm1_alphas_cumprod", (1. / alphas_cumprod - 1).sqrt())
        posterior_variance = betas * (1. - alphas_cumprod_prev) / (1. - alphas_cumprod)
        self.register_buffer("posterior_log_variance_clipped", torch.log(posterior_variance.clamp(min=1e-20)))
        self.register_buffer("posterior_mean_coef1", betas * alphas_cumprod_prev.sqrt() / (1. - alphas_cumprod))
        self.register_buffer("posterior_mean_coef2", (1. - alphas_cumprod_prev) * alphas.sqrt() / (1. - alphas_cumprod))

    @torch.no_grad()
    def p_sample(self, x, t):
        noise = self.denoise_fn(x, t)
        x_start = extract(self.sqrt_recip_alphas_cumprod, t, x) * x - extract(self.sqrt_recipm1_alphas_cumprod, t, x) * noise
        x_start.clamp_(-1.5, 1.5)
        mean = extract(self.posterior_mean_coef1, t, x) * x_start + extract(self.posterior_mean_coef2, t, x) * x
        log_var = extract(self.posterior_log_variance_clipped, t, x)
        nonzero = (t > 0).float()[:, None]
        return mean + nonzero * (0.5 * log_var).exp() * torch.randn_like(x)

    def sample(self, n):
        x = torch.randn(n, 2)
        for i in reversed(range(self.num_timesteps)):
            x = self.p_sample(x, torch.full((n,), i))
        return x

    def forward(self, x_start):
        t = torch.randint(self.num_timesteps, (len(x_start),))
        noise = torch.randn_like(x_start)
        x = extract(self.sqrt_alphas_cumprod, t, x_start) * x_start + extract(self.sqrt_one_minus_alphas_cumprod, t, x_start) * noise
        return F.mse_loss(self.denoise_fn(x, t), noise)


class Denoiser(nn.Module):
    def __init__(self, timesteps=100, dim=96):
        super().__init__()
        self.time = nn.Embedding(timesteps, dim)
        self.inp, self.mid, self.out = nn.Linear(2, dim), nn.Linear(dim, dim), nn.Linear(dim, 2)

    def forward(self, x, t):
        h = F.silu(self.inp(x) + self.time(t))
        return self.out(F.silu(self.mid(h)))


def ring(n):
    phi = torch.rand(n) * 6.2832
    return torch.stack([phi.cos(), phi.sin()], dim=1) + torch.randn(n, 2) * 0.03


torch.manual_seed(0)
diffusion = GaussianDiffusion(Denoiser())
optimizer = torch.optim.Adam(diffusion.parameters(), lr=2e-3)
for step in range(2000):
    loss = diffusion(ring(256))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 500 == 499:
        print(f"step {step + 1} loss {loss.item():.4f}")
radius = diffusion.sample(2000).norm(dim=1)
print(f"radius of the samples {radius.mean():.3f} +- {radius.std():.3f} (data 1.000 +- 0.030)")
