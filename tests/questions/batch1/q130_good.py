import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.optim.lr_scheduler import StepLR


class Generator(nn.Module):
    def __init__(self, width=12):
        super().__init__()
        self.conv1 = nn.Conv2d(1, width, 3, padding=1)
        self.conv2 = nn.Conv2d(width, 4, 3, padding=1)

    def forward(self, x):
        return F.pixel_shuffle(self.conv2(F.relu(self.conv1(x))), 2)


class Discriminator(nn.Module):
    def __init__(self, width=12):
        super().__init__()
        self.conv1 = nn.Conv2d(1, width, 3, stride=2, padding=1)
        self.conv2 = nn.Conv2d(width, 1, 3, stride=2, padding=1)

    def forward(self, x):
        return self.conv2(F.leaky_relu(self.conv1(x), 0.2)).mean(dim=(1, 2, 3))


def images(n):
    g = torch.Generator().manual_seed(4)
    return F.avg_pool2d(2 * torch.randn(n, 1, 18, 18, generator=g), 3, stride=1)


torch.manual_seed(0)
epochs = 6
netG, netD = Generator(), Discriminator()
optimizer_g = torch.optim.Adam(netG.parameters(), lr=2e-3)
optimizer_d = torch.optim.Adam(netD.parameters(), lr=1e-3)
scheduler_g = StepLR(optimizer_g, step_size=epochs // 2, gamma=0.1)
scheduler_d = StepLR(optimizer_d, step_size=epochs // 2, gamma=0.1)
high_res = images(320)

for epoch in range(epochs):
    for hr in high_res.split(16):
        lr_image = F.avg_pool2d(hr, 2)
        sr = netG(lr_image)

        real, fake = netD(hr), netD(sr.detach())
        d_loss = F.softplus(-real).mean() + F.softplus(fake).mean()
        optimizer_d.zero_grad()
        d_loss.backward()
        optimizer_d.step()

        content = F.mse_loss(sr, hr)
        g_loss = content + 1e-3 * F.softplus(-netD(sr)).mean()
        optimizer_g.zero_grad()
        g_loss.backward()
        optimizer_g.step()

    scheduler_d.step()
    scheduler_g.step()
    print(f"epoch {epoch} d {d_loss.item():.4f} content {content.item():.4f}")
