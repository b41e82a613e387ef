import torch
from torch import nn, optim

torch.manual_seed(0)


class Generator(nn.Module):
    def __init__(self, latent_dims, lr):
        super().__init__()
        self.main = nn.Sequential(nn.Linear(latent_dims, 64), nn.LeakyReLU(0.2), nn.Linear(64, 2))
        self.optimizer = optim.Adam(self.parameters(), lr=lr, betas=(0.5, 0.999))

    def forward(self, x):
        return self.main(x)


class Discriminator(nn.Module):
    def __init__(self, lr):
        super().__init__()
        self.main = nn.Sequential(nn.Linear(2, 64), nn.LeakyReLU(0.2), nn.Linear(64, 1), nn.Sigmoid())
        self.optimizer = optim.Adam(self.parameters(), lr=lr, betas=(0.5, 0.999))

    def forward(self, x):
        return self.main(x)


class GAN:
    def __init__(self, latent_dims=4, lr=1e-3):
        self.latent_dims = latent_dims
        self.generator = Generator(latent_dims, lr)
        self.discriminator = Discriminator(lr)
        self.criterion = nn.BCELoss()

    def step(self, real):
        batch_size = real.shape[0]
        ones, zeros = torch.ones(batch_size), torch.zeros(batch_size)

        loss_real = self.criterion(self.discriminator(real).view(-1), ones)
        loss_real.backward()
        noise = torch.randn(batch_size, self.latent_dims)
        fake = self.generator(noise)
        loss_fake = self.criterion(self.discriminator(fake.detach()).view(-1), zeros)
        loss_fake.backward()
        self.discriminator.optimizer.step()

        self.generator.zero_grad()
        loss_g = self.criterion(self.discriminator(fake).view(-1), ones)
        loss_g.backward()
        self.generator.optimizer.step()
        return (loss_real + loss_fake).item(), loss_g.item()


def real_batch(n=128):
    return torch.randn(n, 2) * torch.tensor([0.4, 0.2]) + torch.tensor([1.5, -1.0])


gan = GAN()
for it in range(1200):
    loss_d, loss_g = gan.step(real_batch())
    if (it + 1) % 400 == 0:
        print(f"iter {it + 1}: loss D {loss_d:.3f}  loss G {loss_g:.3f}")

with torch.no_grad():
    samples = gan.generator(torch.randn(2000, 4))
mean, std = samples.mean(0), samples.std(0)
print(f"samples: mean ({mean[0]:.2f}, {mean[1]:.2f}) std ({std[0]:.2f}, {std[1]:.2f})")
print("data:    mean (1.50, -1.00) std (0.40, 0.20)")
