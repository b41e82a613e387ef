import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


class Generator(nn.Module):
    def __init__(self, latent=8, dim=2):
        super().__init__()
        self.latent = latent
        self.net = nn.Sequential(
            nn.Linear(latent, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, dim)
        )

    def sample(self, n):
        return self.net(torch.randn(n, self.latent))


class Discriminator(nn.Module):
    def __init__(self, dim=2):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(dim, 64), nn.LeakyReLU(0.2), nn.Linear(64, 64), nn.LeakyReLU(0.2), nn.Linear(64, 1)
        )

    def forward(self, x):
        return self.net(x)


class AdversarialLoss(nn.Module):
    def __init__(self, loss_type="non-saturating"):
        super().__init__()
        self.loss_type = loss_type

    def discriminator(self, logits_real, logits_fake):
        if self.loss_type == "hinge":
            return 0.5 * (F.relu(1.0 - logits_real).mean() + F.relu(1.0 + logits_fake).mean())
        real_loss = F.binary_cross_entropy_with_logits(logits_real, torch.ones_like(logits_real))
        fake_loss = F.binary_cross_entropy_with_logits(logits_fake, torch.ones_like(logits_fake))
        return 0.5 * (real_loss + fake_loss)

    def generator(self, logits_fake):
        if self.loss_type == "hinge":
            return -logits_fake.mean()
        return F.binary_cross_entropy_with_logits(logits_fake, torch.ones_like(logits_fake))


def real_batch(n):
    angle = 2 * torch.pi * torch.rand(n)
    ring = torch.stack([angle.cos(), angle.sin()], dim=1)
    return torch.tensor([3.0, -2.0]) + ring + 0.05 * torch.randn(n, 2)


def main():
    gen, disc, criterion = Generator(), Discriminator(), AdversarialLoss()
    opt_g = torch.optim.Adam(gen.parameters(), lr=1e-3, betas=(0.5, 0.9))
    opt_d = torch.optim.Adam(disc.parameters(), lr=1e-3, betas=(0.5, 0.9))
    for it in range(1, 401):
        x = real_batch(128)
        with torch.no_grad():
            x_fake = gen.sample(128)
        d_loss = criterion.discriminator(disc(x), disc(x_fake))
        opt_d.zero_grad()
        d_loss.backward()
        opt_d.step()

        g_loss = criterion.generator(disc(gen.sample(128)))
        opt_g.zero_grad()
        g_loss.backward()
        opt_g.step()
        if it % 100 == 0:
            with torch.no_grad():
                gap = (gen.sample(2000).mean(0) - real_batch(2000).mean(0)).norm()
            print(
                f"iter {it}: d {d_loss.item():.4f} g {g_loss.item():.4f} distance of the means {gap.item():.3f}"
            )


if __name__ == "__main__":
    main()
