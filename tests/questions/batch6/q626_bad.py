import torch
from torch import nn

torch.manual_seed(0)


class Generator(nn.Module):
    def __init__(self, nz=8, length=16):
        super().__init__()
        self.main = nn.Sequential(
            nn.Linear(nz, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, length)
        )

    def forward(self, z):
        return self.main(z)


class Discriminator(nn.Module):
    def __init__(self, length=16):
        super().__init__()
        self.main = nn.Sequential(
            nn.Linear(length, 64), nn.LeakyReLU(0.2), nn.Linear(64, 64), nn.LeakyReLU(0.2)
        )
        self.out = nn.Linear(64, 1)

    def forward(self, x):
        return self.out(self.main(x))


def gradient_penalty(netD, real, fake):
    alpha = torch.rand(real.size(0), 1)
    interpolates = (alpha * real + (1 - alpha) * fake).requires_grad_(True)
    disc_interpolates = netD(interpolates)
    gradients = torch.autograd.grad(
        disc_interpolates, interpolates, torch.ones_like(disc_interpolates), create_graph=True
    )[0]
    return ((gradients.norm(2, dim=1) - 1) ** 2).mean()


def signals(n, length=16):
    t = torch.linspace(0, 6.28, length)
    return torch.sin(t + 6.28 * torch.rand(n, 1)) + 0.05 * torch.randn(n, length)


netG, netD = Generator(), Discriminator()
optimizerD = torch.optim.Adam(netD.parameters(), lr=1e-3, betas=(0.5, 0.9))
optimizerG = torch.optim.Adam(netG.parameters(), lr=5e-4, betas=(0.5, 0.9))
p_coeff, n_critic = 10, 3
for step in range(1, 301):
    for _ in range(n_critic):
        netD.zero_grad()
        real = signals(64)
        fake = netG(torch.randn(64, 8)).detach()
        grad_penalty = p_coeff * gradient_penalty(netD, real, fake)
        loss_D = torch.mean(netD(fake)) - torch.mean(netD(real))
        loss_D.backward()
        optimizerD.step()
    netG.zero_grad()
    loss_G = -torch.mean(netD(netG(torch.randn(64, 8))))
    loss_G.backward()
    optimizerG.step()
    if step % 60 == 0:
        print(
            f"step {step}: loss_D {loss_D.item():.3f}, loss_G {loss_G.item():.3f}, penalty {grad_penalty.item():.3f}"
        )
