import torch
import torch.nn as nn
import torch.nn.functional as F


class Discriminator(nn.Module):
    """Grows from 4x4 to 8x8 pictures; while it grows, the new block is faded in by alpha."""

    def __init__(self, lambda_=10.0):
        super().__init__()
        self.lambda_ = lambda_
        self.rgb_old, self.rgb_new = nn.Conv2d(1, 8, 1), nn.Conv2d(1, 8, 1)
        self.new_block = nn.Sequential(nn.LeakyReLU(0.2), nn.Conv2d(8, 8, 3, padding=1), nn.AvgPool2d(2))
        self.old_block = nn.Sequential(
            nn.LeakyReLU(0.2), nn.Conv2d(8, 32, 4), nn.LeakyReLU(0.2), nn.Flatten(), nn.Linear(32, 1)
        )

    def interpolate(self, x, alpha):
        old = self.rgb_old(F.avg_pool2d(x, 2))
        new = self.new_block(self.rgb_new(x))
        return self.old_block((1 - alpha) * old + alpha * new)

    def gradient_penalty(self, x_real, x_fake, alpha):
        n = x_real.size(0)
        alpha = torch.rand(n)
        alpha = alpha[:, None, None, None]
        interpolates = alpha * x_real.detach() + (1 - alpha) * x_fake.detach()
        interpolates.requires_grad = True
        score = self.interpolate(interpolates, alpha)
        grad = torch.autograd.grad(score, interpolates, torch.ones_like(score), create_graph=True)[0]
        grad = grad.view(n, -1)
        return ((grad.norm(2, dim=1) - 1) ** 2).mean()

    def loss(self, x_real, x_fake, alpha):
        d_real, d_fake = self.interpolate(x_real, alpha), self.interpolate(x_fake, alpha)
        penalty = self.gradient_penalty(x_real, x_fake, alpha)
        return d_fake.mean() - d_real.mean() + self.lambda_ * penalty, penalty


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 64), nn.Tanh())

    def forward(self, z):
        return self.net(z).view(-1, 1, 8, 8)


def real_pictures(n):
    at = torch.linspace(0, 3, 8)
    phase = 6.28 * torch.rand(n, 1)
    wave = torch.sin(2 * at + phase)
    return (wave[:, :, None] * torch.cos(at)[None, None, :])[:, None]


def slopes(disc, x, alpha):
    x = x.detach().requires_grad_()
    grad = torch.autograd.grad(disc.interpolate(x, alpha).sum(), x)[0]
    return grad.flatten(1).norm(dim=1).mean().item()


def main():
    torch.manual_seed(0)
    disc, gen = Discriminator(), Generator()
    d_opt = torch.optim.Adam(disc.parameters(), lr=5e-3, betas=(0.0, 0.9))
    g_opt = torch.optim.Adam(gen.parameters(), lr=5e-3, betas=(0.0, 0.9))
    steps = 110
    for step in range(steps):
        alpha = 0.3 * step / steps
        for _ in range(2):
            real, fake = real_pictures(16), gen(torch.randn(16, 8)).detach()
            d_loss, penalty = disc.loss(real, fake, alpha)
            d_opt.zero_grad()
            d_loss.backward()
            d_opt.step()
        g_loss = -disc.interpolate(gen(torch.randn(16, 8)), alpha).mean()
        g_opt.zero_grad()
        g_loss.backward()
        g_opt.step()
        if step % 22 == 21:
            mixed = 0.5 * real + 0.5 * fake
            print(
                f"step {step}: alpha {alpha:.2f}  d loss {d_loss.item():.3f}  penalty {penalty.item():.4f}  "
                f"slope of the critic at alpha {slopes(disc, mixed, alpha):.3f}"
            )


if __name__ == "__main__":
    main()
