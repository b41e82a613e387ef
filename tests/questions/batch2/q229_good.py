import torch
import torch.nn as nn
from torch import autograd


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Sequential(
            nn.ConvTranspose2d(16, 16, 4),
            nn.ReLU(),
            nn.ConvTranspose2d(16, 8, 4, 2, 1),
            nn.ReLU(),
            nn.ConvTranspose2d(8, 1, 4, 2, 1),
        )

    def forward(self, z):
        return torch.tanh(self.main(z))


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Sequential(
            nn.Conv2d(1, 8, 4, 2, 1), nn.LeakyReLU(0.2), nn.Conv2d(8, 16, 4, 2, 1), nn.LeakyReLU(0.2)
        )
        self.output = nn.Conv2d(16, 1, 4)

    def forward(self, x):
        return self.output(self.main(x)).view(-1)


class WGAN_GP:
    def __init__(self, batch_size=16, critic_iter=3, lambda_term=10):
        self.G, self.D = Generator(), Discriminator()
        self.d_optimizer = torch.optim.Adam(self.D.parameters(), lr=1e-3, betas=(0.5, 0.9))
        self.g_optimizer = torch.optim.Adam(self.G.parameters(), lr=1e-3, betas=(0.5, 0.9))
        self.batch_size, self.critic_iter, self.lambda_term = batch_size, critic_iter, lambda_term

    def calculate_gradient_penalty(self, real_images, fake_images):
        eta = torch.rand(self.batch_size, 1, 1, 1).expand_as(real_images)
        interpolated = (eta * real_images + (1 - eta) * fake_images).requires_grad_()
        prob_interpolated = self.D(interpolated)
        gradients = autograd.grad(
            outputs=prob_interpolated,
            inputs=interpolated,
            grad_outputs=torch.ones_like(prob_interpolated),
            create_graph=True,
        )[0]
        grad_penalty = ((gradients.flatten(1).norm(2, dim=1) - 1) ** 2).mean() * self.lambda_term
        return grad_penalty, gradients.detach().flatten(1).norm(dim=1).mean()

    def noise(self):
        return torch.randn(self.batch_size, 16, 1, 1)

    def train(self, iterations):
        for it in range(iterations):
            for _ in range(self.critic_iter):
                images = real_batch(self.batch_size)
                fake = self.G(self.noise()).detach()
                penalty, norm = self.calculate_gradient_penalty(images, fake)
                d_loss = self.D(fake).mean() - self.D(images).mean() + penalty
                self.d_optimizer.zero_grad()
                d_loss.backward()
                self.d_optimizer.step()
            g_loss = -self.D(self.G(self.noise())).mean()
            self.g_optimizer.zero_grad()
            g_loss.backward()
            self.g_optimizer.step()
            if it % 10 == 9:
                print(
                    f"it {it} d_loss {d_loss.item():.3f} g_loss {g_loss.item():.3f} gradient norm {norm:.3f}"
                )


def real_batch(n):
    t = torch.linspace(-1, 1, 16)
    radius = 0.4 + 0.4 * torch.rand(n, 1, 1)
    d = (t.view(1, 16, 1) ** 2 + t.view(1, 1, 16) ** 2).sqrt() - radius
    return torch.tanh(-8 * d).unsqueeze(1)


torch.manual_seed(0)
WGAN_GP().train(80)
