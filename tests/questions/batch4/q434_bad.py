import torch
from torch import nn

torch.manual_seed(0)


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU(), nn.Linear(48, 2))

    def forward(self, z):
        return self.net(z)


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 48), nn.LeakyReLU(0.2), nn.Linear(48, 1))

    def forward(self, x):
        return self.net(x).squeeze(1)


def sample_real(n):
    side = torch.randint(0, 2, (n, 1)).float() * 2 - 1
    return side * torch.tensor([1.5, 0.5]) + 0.2 * torch.randn(n, 2)


netG, netD = Generator(), Discriminator()
optim_g = torch.optim.Adam(netG.parameters(), lr=1e-3, betas=(0.5, 0.999))
optim_d = torch.optim.Adam(netD.parameters(), lr=1e-3, betas=(0.5, 0.999))
criterion = nn.BCEWithLogitsLoss()
ones, zeros = torch.ones(64), torch.zeros(64)

for it in range(400):
    real = sample_real(64)
    fake = netG(torch.randn(64, 4))

    pred_real = netD(real)
    pred_fake = netD(fake)
    loss_g = criterion(pred_fake, ones)
    loss_d = 0.5 * (criterion(pred_real, ones) + criterion(pred_fake, zeros))

    optim_g.zero_grad()
    loss_g.backward()
    optim_g.step()

    optim_d.zero_grad()
    loss_d.backward()
    optim_d.step()

    if it % 80 == 79:
        print(f"{it}: generator {loss_g.item():.4f}, discriminator {loss_d.item():.4f}")
