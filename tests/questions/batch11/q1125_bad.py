import numpy as np
import torch
import torch.nn as nn

IMG_SHAPE = (1, 8, 8)
LATENT, LAMBDA_GP, N_CRITIC = 8, 10, 3


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.model = nn.Sequential(
            nn.Linear(LATENT, 64),
            nn.LeakyReLU(0.2),
            nn.Linear(64, 128),
            nn.LeakyReLU(0.2),
            nn.Linear(128, int(np.prod(IMG_SHAPE))),
            nn.Tanh(),
        )

    def forward(self, z):
        return self.model(z).view(z.shape[0], *IMG_SHAPE)


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.model = nn.Sequential(
            nn.Linear(int(np.prod(IMG_SHAPE)), 96),
            nn.LeakyReLU(0.2),
            nn.Linear(96, 48),
            nn.LeakyReLU(0.2),
            nn.Linear(48, 1),
        )

    def forward(self, img):
        return self.model(img.view(img.shape[0], -1))


def compute_gradient_penalty(critic, real_samples, fake_samples):
    alpha = torch.rand(real_samples.size(0), 1, 1, 1)
    interpolates = (alpha * real_samples + (1 - alpha) * fake_samples).requires_grad_(True)
    d_interpolates = critic(interpolates)
    gradients = torch.autograd.grad(
        outputs=d_interpolates,
        inputs=interpolates,
        grad_outputs=torch.ones_like(d_interpolates),
        create_graph=True,
        retain_graph=True,
        only_inputs=True,
    )[0]
    return ((gradients.norm(2, dim=1) - 1) ** 2).mean()


def real_images(n):
    pos = torch.randint(0, 6, (n, 2))
    img = -torch.ones(n, *IMG_SHAPE)
    for i, (r, c) in enumerate(pos.tolist()):
        img[i, 0, r : r + 3, c : c + 3] = 1.0
    return img


torch.manual_seed(0)
generator, discriminator = Generator(), Discriminator()
optimizer_g = torch.optim.Adam(generator.parameters(), lr=1e-3, betas=(0.5, 0.9))
optimizer_d = torch.optim.Adam(discriminator.parameters(), lr=1e-3, betas=(0.5, 0.9))

for i in range(1, 301):
    imgs = real_images(64)
    z = torch.randn(64, LATENT)
    fake = generator(z).detach()
    penalty = compute_gradient_penalty(discriminator, imgs, fake)
    d_loss = -discriminator(imgs).mean() + discriminator(fake).mean() + LAMBDA_GP * penalty
    optimizer_d.zero_grad()
    d_loss.backward()
    optimizer_d.step()
    if i % N_CRITIC == 0:
        g_loss = -discriminator(generator(torch.randn(64, LATENT))).mean()
        optimizer_g.zero_grad()
        g_loss.backward()
        optimizer_g.step()
    if i % 60 == 0:
        print(
            f"[Batch {i}] [D loss: {d_loss.item():.4f}] [G loss: {g_loss.item():.4f}] [gp: {penalty.item():.4f}]"
        )
