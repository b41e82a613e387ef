import torch
from torch import autograd, nn

torch.manual_seed(0)

LAMBDA = 10.0


class Critic(nn.Module):
    def __init__(self, ch=8):
        super().__init__()
        self.main = nn.Sequential(
            nn.Conv2d(1, ch, 3, stride=2, padding=1),
            nn.LeakyReLU(0.2),
            nn.Conv2d(ch, ch * 2, 3, stride=2, padding=1),
            nn.LeakyReLU(0.2),
            nn.Conv2d(ch * 2, 1, 1),
        )

    def forward(self, x):
        return self.main(x).mean(dim=(1, 2, 3))


class Generator(nn.Module):
    def __init__(self, z=8):
        super().__init__()
        self.fc = nn.Sequential(nn.Linear(z, 64), nn.ReLU(), nn.Linear(64, 144), nn.Tanh())

    def forward(self, z):
        return self.fc(z).view(-1, 1, 12, 12)


def real_images(n):
    img = -torch.ones(n, 1, 12, 12)
    img[:, :, 3:9, 3:9] = 0.8
    return img + 0.05 * torch.randn(n, 1, 12, 12)


def calc_gradient_penalty(netD, real, fake):
    alpha = torch.rand(real.shape[0], 1, 1, 1)
    interpolates = (alpha * real + (1 - alpha) * fake).requires_grad_(True)
    disc = netD(interpolates)
    gradients = autograd.grad(
        outputs=disc, inputs=interpolates, grad_outputs=torch.ones_like(disc), create_graph=True, retain_graph=True
    )[0]
    return ((gradients.flatten(1).norm(2, dim=1) - 1) ** 2).mean() * LAMBDA


def main():
    netD, netG = Critic(), Generator()
    optD = torch.optim.Adam(netD.parameters(), lr=2e-3, betas=(0.5, 0.9))
    optG = torch.optim.Adam(netG.parameters(), lr=2e-3, betas=(0.5, 0.9))
    for step in range(80):
        for _ in range(2):
            real, fake = real_images(16), netG(torch.randn(16, 8)).detach()
            gp = calc_gradient_penalty(netD, real, fake)
            lossD = netD(fake).mean() - netD(real).mean() + gp
            optD.zero_grad()
            lossD.backward()
            optD.step()
        lossG = -netD(netG(torch.randn(16, 8))).mean()
        optG.zero_grad()
        lossG.backward()
        optG.step()
        if step % 20 == 0:
            print(f"step {step} D {lossD.item():.4f} penalty {gp.item():.4f} G {lossG.item():.4f}")
    with torch.no_grad():
        err = (netG(torch.randn(64, 8)).mean(0) - real_images(64).mean(0)).abs().mean().item()
    print(f"mean image error {err:.4f} penalty {gp.item():.4f}")


main()
