import torch
import torch.nn as nn

torch.manual_seed(0)


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 16, 3, padding=1), nn.ReLU(),
            nn.Conv2d(16, 1, 3, padding=1),
        )

    def forward(self, x):
        return self.net(x)


class PatchDiscriminator(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(1, width, 4, 2, 1), nn.LeakyReLU(0.2), nn.Conv2d(width, width, 4, 2, 1), nn.LeakyReLU(0.2),
            nn.Conv2d(width, 1, 3, padding=1),
        )

    def forward(self, x):
        return self.net(x)


def sharp_images(count):
    base = torch.rand(count, 1, 1, 16).expand(-1, -1, 16, -1)
    return (base > 0.5).float()


def blur(x):
    kernel = torch.ones(1, 1, 3, 3) / 9
    return nn.functional.conv2d(x, kernel, padding=1)


def train(steps=60):
    generator = Generator()
    discriminator = PatchDiscriminator()
    optimizer_g = torch.optim.Adam(generator.parameters(), lr=2e-3, betas=(0.5, 0.999))
    optimizer_d = torch.optim.Adam(discriminator.parameters(), lr=2e-3, betas=(0.5, 0.999))
    l1 = nn.L1Loss()
    for step in range(steps):
        sharp = sharp_images(16)
        blurred = blur(sharp)
        fake = generator(blurred)

        optimizer_d.zero_grad()
        fake_scalar = discriminator(fake.detach())
        true_scalar = discriminator(sharp)
        loss_d = torch.relu(1 + fake_scalar).mean() + torch.relu(1 - true_scalar).mean()
        loss_d.backward()

        optimizer_g.zero_grad()
        loss_l1 = l1(fake, sharp)
        loss_gan = -discriminator(fake).mean()
        loss = loss_l1 + 0.01 * loss_gan
        loss.backward()
        optimizer_g.step()
        if step % 20 == 19:
            print(f"step {step} l1 {loss_l1.item():.3f} gan {loss_gan.item():.3f} D {loss_d.item():.3f}")


train()
