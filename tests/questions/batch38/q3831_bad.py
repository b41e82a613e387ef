import torch
import torch.nn as nn

torch.manual_seed(12)


def real_batch(n):
    return 3.0 + 0.5 * torch.randn(n, 1)


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, z):
        return self.net(z)


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(1, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))

    def forward(self, x):
        return self.net(x)


netG, netD = Generator(), Discriminator()
optimG = torch.optim.Adam(netG.parameters(), lr=2e-3, betas=(0.5, 0.999))
optimD = torch.optim.Adam(netD.parameters(), lr=2e-3, betas=(0.5, 0.999))
criterion = nn.BCEWithLogitsLoss()
batch = 64
ones, zeros = torch.ones(batch, 1), torch.zeros(batch, 1)

for it in range(1, 901):
    real = real_batch(batch)
    fake = netG(torch.randn(batch, 4))

    netD.zero_grad()
    netG.zero_grad()
    loss_D = criterion(netD(real), ones) + criterion(netD(fake), zeros)
    loss_D.backward(retain_graph=True)
    loss_G = criterion(netD(fake), ones)
    loss_G.backward()
    optimD.step()
    optimG.step()

    if it % 180 == 0:
        with torch.no_grad():
            out = netG(torch.randn(2000, 4))
        print(f"{it:5d}  loss_D {loss_D.item():.3f}  loss_G {loss_G.item():.3f}  "
              f"fake mean {out.mean().item():.3f}  std {out.std().item():.3f}")

print("real mean 3.000  std 0.500")
