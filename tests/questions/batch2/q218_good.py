import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.optim.lr_scheduler import StepLR


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, 5, padding=2)
        self.conv2 = nn.Conv2d(16, 4, 3, padding=1)
        self.shuffle = nn.PixelShuffle(2)

    def forward(self, x):
        base = F.interpolate(x, scale_factor=2, mode="nearest")
        return base + self.shuffle(self.conv2(F.relu(self.conv1(x))))


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(1, 8, 3, 2, 1),
            nn.LeakyReLU(0.2),
            nn.Conv2d(8, 16, 3, 2, 1),
            nn.LeakyReLU(0.2),
            nn.Flatten(),
        )
        self.fc = nn.Linear(16 * 4 * 4, 1)

    def forward(self, x):
        return self.fc(self.net(x))


def sample(n=8):
    t = torch.linspace(0, 1, 16)
    freq = 1 + 3 * torch.rand(n, 2, 1, 1)
    hr = torch.sin(6.28 * freq[:, :1] * t.view(1, 1, 16, 1)) * torch.sin(
        6.28 * freq[:, 1:] * t.view(1, 1, 1, 16)
    )
    return F.avg_pool2d(hr, 2), hr


epochs = 20
torch.manual_seed(0)
netG, netD = Generator(), Discriminator()
optimizerG = torch.optim.Adam(netG.parameters(), lr=2e-3)
optimizerD = torch.optim.Adam(netD.parameters(), lr=1e-3)
schedulerG = StepLR(optimizerG, step_size=epochs // 2, gamma=0.1)
schedulerD = StepLR(optimizerD, step_size=epochs // 2, gamma=0.1)
bce = nn.BCEWithLogitsLoss()

for epoch in range(epochs):
    for _ in range(25):
        lr, hr = sample()
        sr = netG(lr)
        real, fake = netD(hr), netD(sr.detach())
        lossD = bce(real, torch.ones_like(real)) + bce(fake, torch.zeros_like(fake))
        optimizerD.zero_grad()
        lossD.backward()
        optimizerD.step()

        out = netD(sr)
        lossG = F.mse_loss(sr, hr) + 1e-3 * bce(out, torch.ones_like(out))
        optimizerG.zero_grad()
        lossG.backward()
        optimizerG.step()
    schedulerD.step()
    schedulerG.step()
    if epoch % 4 == 3:
        psnr = -10 * torch.log10(F.mse_loss(sr, hr))
        print(f"epoch {epoch} lossG {lossG.item():.5f} lossD {lossD.item():.4f} psnr {psnr.item():.2f}")
