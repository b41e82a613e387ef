import torch
from torch import autograd, nn

torch.manual_seed(0)

LAMBDA_GP = 10


class Generator(nn.Module):
    def __init__(self, latent_dim=8, img_shape=(1, 8, 8)):
        super().__init__()
        self.img_shape = img_shape
        self.model = nn.Sequential(nn.Linear(latent_dim, 64), nn.LeakyReLU(0.2), nn.Linear(64, 64), nn.Tanh())

    def forward(self, z):
        return self.model(z).view(z.size(0), *self.img_shape)


class Discriminator(nn.Module):
    def __init__(self, img_shape=(1, 8, 8)):
        super().__init__()
        self.model = nn.Sequential(
            nn.Linear(64, 96), nn.LeakyReLU(0.2), nn.Linear(96, 48), nn.LeakyReLU(0.2), nn.Linear(48, 1)
        )

    def forward(self, img):
        return self.model(img.flatten(1))


def slopes(D, points):
    points = points.detach().requires_grad_()
    gradients = autograd.grad(D(points).sum(), points, create_graph=True)[0]
    return gradients.flatten(1).norm(2, dim=1)


def compute_gradient_penalty(D, real_samples, fake_samples):
    alpha = torch.rand(real_samples.size(0), 1, 1, 1)
    interpolates = alpha * real_samples + (1 - alpha) * fake_samples
    return ((slopes(D, interpolates) - 1) ** 2).mean(), interpolates


def distance_from_lines(points, a, b):
    line, offset = (b - a).flatten(1), (points - a).flatten(1)
    share = (offset * line).sum(1, keepdim=True) / line.pow(2).sum(1, keepdim=True)
    return (offset - share * line).norm(dim=1).mean().item(), share.std().item()


def real_images(n):
    grid = torch.linspace(-1, 1, 8)
    angle = 2 * torch.pi * torch.rand(n, 1, 1)
    wave = torch.sin(4 * (angle.cos() * grid.view(1, 8, 1) + angle.sin() * grid.view(1, 1, 8)))
    return wave.unsqueeze(1)


def main():
    generator, discriminator = Generator(), Discriminator()
    optimizer_G = torch.optim.Adam(generator.parameters(), lr=1e-3, betas=(0.5, 0.9))
    optimizer_D = torch.optim.Adam(discriminator.parameters(), lr=1e-3, betas=(0.5, 0.9))
    for i in range(1, 201):
        real_imgs = real_images(64)
        fake_imgs = generator(torch.randn(64, 8)).detach()
        optimizer_D.zero_grad()
        gradient_penalty, used = compute_gradient_penalty(discriminator, real_imgs, fake_imgs)
        d_loss = (
            discriminator(fake_imgs).mean() - discriminator(real_imgs).mean() + LAMBDA_GP * gradient_penalty
        )
        d_loss.backward()
        optimizer_D.step()
        if i % 5 == 0:
            optimizer_G.zero_grad()
            g_loss = -discriminator(generator(torch.randn(64, 8))).mean()
            g_loss.backward()
            optimizer_G.step()
        if i % 50 == 0:
            away, spread = distance_from_lines(used, fake_imgs, real_imgs)
            print(
                f"batch {i}: d {d_loss.item():.3f} g {g_loss.item():.3f} penalized points: {away:.3f} off"
                f" the lines, spread along them {spread:.3f}"
            )


if __name__ == "__main__":
    main()
