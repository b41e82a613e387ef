import torch
import torch.nn as nn
from torch import autograd

torch.manual_seed(0)
torch.set_num_threads(1)

BATCH = 32
LAMBDA = 10
CRITIC_ITERS = 3
DIM = 8


def real_images(n):
    images = -torch.ones(n, 1, 12, 12)
    top = torch.randint(1, 6, (n,))
    left = torch.randint(1, 6, (n,))
    for i in range(n):
        images[i, 0, top[i]:top[i] + 5, left[i]:left[i] + 5] = 1
    return images


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(16, 4 * DIM * 9)
        self.up = nn.Sequential(
            nn.ReLU(), nn.ConvTranspose2d(4 * DIM, 2 * DIM, 4, 2, 1),
            nn.ReLU(), nn.ConvTranspose2d(2 * DIM, 1, 4, 2, 1), nn.Tanh(),
        )

    def forward(self, z):
        return self.up(self.fc(z).view(-1, 4 * DIM, 3, 3))


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Sequential(
            nn.Conv2d(1, DIM, 4, 2, 1), nn.LeakyReLU(0.2),
            nn.Conv2d(DIM, 2 * DIM, 4, 2, 1), nn.LeakyReLU(0.2),
        )
        self.out = nn.Linear(2 * DIM * 9, 1)

    def forward(self, x):
        return self.out(self.main(x).flatten(1)).view(-1)


def calc_gradient_penalty(netD, real_data, fake_data):
    alpha = torch.rand(real_data.size(0), 1, 1, 1)
    interpolates = (alpha * real_data + (1 - alpha) * fake_data).requires_grad_(True)
    disc_interpolates = netD(interpolates)
    gradients = autograd.grad(
        outputs=disc_interpolates, inputs=interpolates,
        grad_outputs=torch.ones_like(disc_interpolates),
        create_graph=True, retain_graph=True,
    )[0]
    gradient_penalty = ((gradients.norm(2, dim=1) - 1) ** 2).mean() * LAMBDA
    return gradient_penalty


netG, netD = Generator(), Discriminator()
optimizerD = torch.optim.Adam(netD.parameters(), lr=1e-3, betas=(0.5, 0.9))
optimizerG = torch.optim.Adam(netG.parameters(), lr=1e-3, betas=(0.5, 0.9))

for iteration in range(120):
    for _ in range(CRITIC_ITERS):
        real = real_images(BATCH)
        with torch.no_grad():
            fake = netG(torch.randn(BATCH, 16))
        D_real, D_fake = netD(real).mean(), netD(fake).mean()
        gradient_penalty = calc_gradient_penalty(netD, real, fake)
        D_cost = D_fake - D_real + gradient_penalty
        optimizerD.zero_grad()
        D_cost.backward()
        optimizerD.step()

    G_cost = -netD(netG(torch.randn(BATCH, 16))).mean()
    optimizerG.zero_grad()
    G_cost.backward()
    optimizerG.step()

    if iteration % 20 == 19:
        print(f"iter {iteration + 1}: wasserstein {(D_real - D_fake).item():.3f} "
              f"penalty {gradient_penalty.item():.3f} G {G_cost.item():.3f}")

probe = real_images(BATCH).requires_grad_(True)
slope = autograd.grad(netD(probe).sum(), probe)[0]
print("mean norm of the critic's gradient per image:", slope.flatten(1).norm(dim=1).mean().item())
