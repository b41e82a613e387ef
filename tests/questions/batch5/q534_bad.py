import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


class GAN(nn.Module):
    def __init__(self, latent_dim=4):
        super().__init__()
        self.latent_dim = latent_dim
        self.generator = nn.Sequential(nn.Linear(latent_dim, 32), nn.ReLU(), nn.Linear(32, 2))
        self.discriminator = nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))

    def adversarial_loss(self, score, real):
        wanted = torch.ones_like(score) if real else torch.zeros_like(score)
        return F.binary_cross_entropy_with_logits(score, wanted)

    def training_step(self, points, optimizer_i):
        z = torch.randn(len(points), self.latent_dim)
        if optimizer_i == 0:
            return self.adversarial_loss(self.discriminator(self.generator(z)), True)
        real_loss = self.adversarial_loss(self.discriminator(points), True)
        fake = self.generator(z).detach()
        return (real_loss + self.adversarial_loss(self.discriminator(fake), False)) / 2

    def configure_optimizers(self):
        opt_g = torch.optim.Adam(self.generator.parameters(), lr=1e-3, betas=(0.5, 0.999))
        opt_d = torch.optim.Adam(self.discriminator.parameters(), lr=1e-3, betas=(0.5, 0.999))
        return [opt_g, opt_d]


def real_points(n):
    return torch.randn(n, 2) * torch.tensor([0.3, 0.6]) + torch.tensor([2.0, -1.0])


gan = GAN()
optimizers = gan.configure_optimizers()
for batch_nb in range(1, 1501):
    points = real_points(64)
    losses = []
    for optimizer_i, optimizer in enumerate(optimizers):
        loss = gan.training_step(points, optimizer_i)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    if batch_nb % 300 == 0:
        with torch.no_grad():
            centre = gan.generator(torch.randn(500, 4)).mean(0)
        off = (centre - torch.tensor([2.0, -1.0])).norm().item()
        print(f"batch {batch_nb}: g {losses[0]:.3f}, d {losses[1]:.3f}, centre off by {off:.3f}")
