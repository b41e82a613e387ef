import torch
import torch.nn as nn

torch.manual_seed(5)

Z = 8


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(Z, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))

    def forward(self, z):
        return self.net(z)


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 64), nn.LeakyReLU(0.2), nn.Linear(64, 64), nn.LeakyReLU(0.2),
                                 nn.Linear(64, 1))

    def forward(self, x):
        return self.net(x)


def real_points(n):
    a = torch.rand(n) * 6.2832
    r = 2.0 + 0.1 * torch.randn(n)
    return torch.stack([r * torch.cos(a), r * torch.sin(a)], dim=1)


G, D = Generator(), Discriminator()
bce = nn.BCEWithLogitsLoss()
optim_d = torch.optim.Adam(D.parameters(), lr=1e-3, betas=(0.5, 0.999))
optim_g = torch.optim.Adam(G.parameters(), lr=1e-3, betas=(0.5, 0.999))
ones, zeros = torch.ones(128, 1), torch.zeros(128, 1)

for step in range(200):
    real = real_points(128)
    noise = 3.0 * torch.randn(128, 2)
    loss = bce(D(real), ones) + bce(D(noise), zeros)
    optim_d.zero_grad()
    loss.backward()
    optim_d.step()
print("discriminator warm up loss %.4f" % loss.item())

for step in range(2500):
    real = real_points(128)
    g = G(torch.randn(128, Z))
    d_real = D(real)
    d_fake = D(g)

    loss_d = bce(d_real, ones) + bce(d_fake, zeros)
    optim_d.zero_grad()
    loss_d.backward(retain_graph=True)
    optim_d.step()

    loss_g = bce(d_fake, ones)
    optim_g.zero_grad()
    loss_g.backward()
    optim_g.step()
    if step % 500 == 499:
        print("step %d loss_d %.4f loss_g %.4f" % (step + 1, loss_d.item(), loss_g.item()))

with torch.no_grad():
    fake = G(torch.randn(2000, Z))
rad = fake.norm(dim=1)
print("radius of generated points: mean %.3f std %.3f" % (rad.mean().item(), rad.std().item()))
