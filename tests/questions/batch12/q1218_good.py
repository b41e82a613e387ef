import torch
import torch.nn as nn
import torch.nn.functional as F


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU(), nn.Linear(48, 2))

    def forward(self, z):
        return self.net(z)


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 48), nn.LeakyReLU(0.2), nn.Linear(48, 48), nn.LeakyReLU(0.2), nn.Linear(48, 1))

    def forward(self, x):
        return self.net(x)


class GAN(nn.Module):
    def __init__(self):
        super().__init__()
        self.generator, self.discriminator = Generator(), Discriminator()

    def adversarial_loss(self, logits, value):
        return F.binary_cross_entropy_with_logits(logits, torch.full_like(logits, value))

    def training_step(self, real, optimizer_idx):
        z = torch.randn(len(real), 4)
        if optimizer_idx == 0:
            return self.adversarial_loss(self.discriminator(self.generator(z)), 1.0)
        real_loss = self.adversarial_loss(self.discriminator(real), 1.0)
        fake_loss = self.adversarial_loss(self.discriminator(self.generator(z).detach()), 0.0)
        return (real_loss + fake_loss) / 2

    def configure_optimizers(self):
        opt_g = torch.optim.Adam(self.generator.parameters(), lr=1e-3, betas=(0.5, 0.99))
        opt_d = torch.optim.Adam(self.discriminator.parameters(), lr=1e-3, betas=(0.5, 0.99))
        return [opt_g, opt_d]


def two_blobs(n):
    centres = torch.tensor([[2.0, 1.0], [-2.0, -1.0]])
    return centres[torch.randint(2, (n,))] + 0.3 * torch.randn(n, 2)


def fit(model, steps):
    optimizers = model.configure_optimizers()
    for step in range(steps):
        real = two_blobs(128)
        losses = []
        for idx, optimizer in enumerate(optimizers):
            optimizer.zero_grad()
            loss = model.training_step(real, idx)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        if step % 250 == 0:
            with torch.no_grad():
                fake = model.generator(torch.randn(512, 4))
                far = torch.cdist(fake, torch.tensor([[2.0, 1.0], [-2.0, -1.0]])).min(1).values.mean()
                told = (model.discriminator(two_blobs(512)) > 0).float().mean() / 2
                told += (model.discriminator(fake) < 0).float().mean() / 2
            print(f"{step}: g {losses[0]:.3f}  d {losses[1]:.3f}  distance to the blobs {far:.2f}  told apart {told:.2f}")


if __name__ == "__main__":
    torch.manual_seed(0)
    fit(GAN(), 1501)
