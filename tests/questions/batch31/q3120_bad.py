import math

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_num_threads(1)
torch.manual_seed(0)


def ring(n):
    a = torch.rand(n) * 2 * math.pi
    return torch.stack([a.cos(), a.sin()], 1) + 0.03 * torch.randn(n, 2)


class Eps(nn.Module):
    def __init__(self, n_steps, hidden=96):
        super().__init__()
        self.time = nn.Embedding(n_steps, hidden)
        self.inp = nn.Linear(2, hidden)
        self.net = nn.Sequential(nn.SiLU(), nn.Linear(hidden, hidden), nn.SiLU(), nn.Linear(hidden, 2))

    def forward(self, x, t):
        return self.net(self.inp(x) + self.time(t))


class LatentDiffusion:
    def __init__(self, n_steps=100):
        self.n_steps = n_steps
        self.beta = torch.linspace(1e-3, 0.08, n_steps)
        self.alpha_bar = torch.cumprod(1 - self.beta, 0)
        self.eps_model = Eps(n_steps)

    def loss(self, x0):
        t = torch.randint(0, self.n_steps, (len(x0),))
        noise = torch.randn_like(x0)
        ab = self.alpha_bar[t].unsqueeze(1)
        return F.mse_loss(self.eps_model(ab.sqrt() * x0 + (1 - ab).sqrt() * noise, t), noise)


class DDPMSampler:
    def __init__(self, model):
        self.model = model
        beta, alpha_bar = model.beta, model.alpha_bar
        alpha_bar_prev = torch.cat([alpha_bar.new_tensor([1.]), alpha_bar[:-1]])
        self.sqrt_alpha_bar = alpha_bar ** .5
        self.sqrt_1m_alpha_bar = alpha_bar ** .5
        self.sqrt_recip_alpha_bar = alpha_bar ** -.5
        self.sqrt_recip_m1_alpha_bar = (1 / alpha_bar - 1) ** .5
        variance = beta * (1. - alpha_bar_prev) / (1. - alpha_bar)
        self.log_var = torch.log(torch.clamp(variance, min=1e-20))
        self.mean_x0_coef = beta * (alpha_bar_prev ** .5) / (1. - alpha_bar)
        self.mean_xt_coef = (1. - alpha_bar_prev) * ((1 - beta) ** 0.5) / (1. - alpha_bar)

    @torch.no_grad()
    def p_sample(self, x, step):
        e_t = self.model.eps_model(x, x.new_full((len(x),), step, dtype=torch.long))
        x0 = self.sqrt_recip_alpha_bar[step] * x - self.sqrt_recip_m1_alpha_bar[step] * e_t
        mean = self.mean_x0_coef[step] * x0 + self.mean_xt_coef[step] * x
        noise = torch.randn_like(x) if step else 0.
        return mean + (0.5 * self.log_var[step]).exp() * noise

    @torch.no_grad()
    def sample(self, shape, x_last=None, skip_steps=0):
        x = x_last if x_last is not None else torch.randn(shape)
        for step in reversed(range(self.model.n_steps - skip_steps)):
            x = self.p_sample(x, step)
        return x

    @torch.no_grad()
    def q_sample(self, x0, index):
        noise = torch.randn_like(x0)
        return self.sqrt_alpha_bar[index] * x0 + self.sqrt_1m_alpha_bar[index] * noise


model = LatentDiffusion()
optimizer = torch.optim.Adam(model.eps_model.parameters(), lr=2e-3)
for i in range(1, 1501):
    loss = model.loss(ring(256))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if i % 500 == 0:
        print(f"step {i}  loss {loss.item():.4f}")

sampler = DDPMSampler(model)
off = lambda x: (x.norm(dim=1) - 1).abs().mean().item()
print(f"from noise: distance to the ring {off(sampler.sample((1000, 2))):.3f}")
orig = ring(1000)
for strength in (0.05, 0.1, 0.2, 0.4):
    t_index = int(strength * model.n_steps)
    x = sampler.q_sample(orig, t_index - 1)
    x = sampler.sample(None, x_last=x, skip_steps=model.n_steps - t_index)
    print(f"img2img strength {strength}: moved by {(x - orig).norm(dim=1).mean():.3f}, distance to the ring {off(x):.3f}")
