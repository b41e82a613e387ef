import math

import torch
from torch import autograd, nn
from torch.nn import functional as F

torch.manual_seed(41)


class Generator(nn.Module):
    def __init__(self, style_dim=16):
        super().__init__()
        self.mapping = nn.Sequential(nn.Linear(style_dim, 32), nn.LeakyReLU(0.2), nn.Linear(32, 32))
        self.synthesis = nn.Sequential(nn.Linear(32, 64), nn.LeakyReLU(0.2), nn.Linear(64, 64), nn.Tanh())

    def forward(self, z):
        latents = self.mapping(z)
        return self.synthesis(latents).view(-1, 1, 8, 8), latents


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Flatten(), nn.Linear(64, 64), nn.LeakyReLU(0.2), nn.Linear(64, 1))

    def forward(self, x):
        return self.net(x)


def g_path_regularize(fake_img, latents, mean_path_length, decay=0.01):
    noise = torch.randn_like(fake_img) / math.sqrt(fake_img.shape[2] * fake_img.shape[3])
    (grad,) = autograd.grad(outputs=(fake_img * noise).sum(), inputs=latents, create_graph=True)
    path_lengths = torch.sqrt(grad.pow(2).sum(1) + 1e-8)
    path_mean = mean_path_length + decay * (path_lengths.mean() - mean_path_length)
    path_penalty = (path_lengths - path_mean).pow(2).mean()
    return path_penalty, path_mean.detach()


def real_images(count):
    grid = torch.linspace(0, 3.14, 8)
    phase = torch.rand(count, 1, 1, 1) * 3
    return torch.sin(grid[:, None] + phase) * torch.cos(grid[None, :] + phase)


generator, discriminator = Generator(), Discriminator()
g_optim = torch.optim.Adam(generator.parameters(), lr=2e-3, betas=(0.0, 0.99))
d_optim = torch.optim.Adam(discriminator.parameters(), lr=2e-3, betas=(0.0, 0.99))
mean_path_length = torch.zeros(())

for i in range(200):
    real = real_images(32)
    with torch.no_grad():
        fake, _ = generator(torch.randn(32, 16))
    d_loss = F.softplus(discriminator(fake)).mean() + F.softplus(-discriminator(real)).mean()
    d_optim.zero_grad()
    d_loss.backward()
    d_optim.step()

    fake, _ = generator(torch.randn(32, 16))
    g_loss = F.softplus(-discriminator(fake)).mean()
    g_optim.zero_grad()
    g_loss.backward()
    g_optim.step()

    if i % 4 == 0:
        fake, latents = generator(torch.randn(16, 16))
        path_loss, mean_path_length = g_path_regularize(fake, latents, mean_path_length)
        g_optim.zero_grad()
        (2 * 4 * path_loss).backward()
        g_optim.step()
    if i % 40 == 0:
        print(f"{i}: d {d_loss.item():.4f} g {g_loss.item():.4f} path {path_loss.item():.4f}")
