import torch
from torch import nn

NZ = 8


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Sequential(
            nn.Linear(NZ, 32),
            nn.BatchNorm1d(32),
            nn.ReLU(),
            nn.Linear(32, 2),
        )

    def forward(self, z):
        return self.main(z)


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1), nn.Sigmoid())

    def forward(self, x):
        return self.main(x).view(-1)


def real_batch(size):
    angle = 6.2832 * torch.rand(size)
    points = torch.stack([angle.cos(), angle.sin()], dim=1)
    return points + 0.05 * torch.randn(size, 2)


def main():
    torch.manual_seed(0)
    netG, netD = Generator(), Discriminator()
    criterion = nn.BCELoss()
    optimizerD = torch.optim.Adam(netD.parameters(), lr=2e-3, betas=(0.5, 0.999))
    optimizerG = torch.optim.Adam(netG.parameters(), lr=2e-3, betas=(0.5, 0.999))
    batch_size = 64
    for step in range(150):
        netD.zero_grad()
        label = torch.full((batch_size,), 1.0)
        errD_real = criterion(netD(real_batch(batch_size)), label)
        errD_real.backward()

        noise = torch.randn(batch_size, NZ)
        fake = netG(noise)
        label.fill_(0.0)
        errD_fake = criterion(netD(fake), label)
        errD_fake.backward()
        errD = errD_real + errD_fake
        optimizerD.step()

        netG.zero_grad()
        label.fill_(1.0)
        errG = criterion(netD(fake), label)
        errG.backward()
        optimizerG.step()
        if step % 50 == 0:
            print(f"step {step}: D {errD.item():.4f} G {errG.item():.4f}")
    with torch.no_grad():
        radius = netG(torch.randn(500, NZ)).norm(dim=1)
    print(f"radius {radius.mean().item():.3f} +- {radius.std().item():.3f}")


main()
