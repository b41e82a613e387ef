import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(18)


class Generator(nn.Module):
    def __init__(self, dim_z=8):
        super().__init__()
        self.dim_z = dim_z
        self.net = nn.Sequential(
            nn.Linear(dim_z, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2)
        )
        self.optim = torch.optim.Adam(self.parameters(), lr=5e-4, betas=(0.5, 0.999))

    def forward(self, z):
        return self.net(z)


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(2, 64), nn.LeakyReLU(0.2), nn.Linear(64, 64), nn.LeakyReLU(0.2), nn.Linear(64, 1)
        )
        self.optim = torch.optim.Adam(self.parameters(), lr=5e-4, betas=(0.5, 0.999))

    def forward(self, x):
        return self.net(x)


def real_batch(size):
    angle = torch.rand(size) * 6.2832
    return torch.stack([angle.cos(), angle.sin()], dim=1) + 0.05 * torch.randn(size, 2)


def train(G, D, x, num_D_steps, batch_size):
    G.optim.zero_grad()
    for p in G.parameters():
        p.requires_grad = False
    for p in D.parameters():
        p.requires_grad = True
    for step in range(num_D_steps):
        real = x[step * batch_size : (step + 1) * batch_size]
        fake = G(torch.randn(batch_size, G.dim_z))
        D.optim.zero_grad()
        D_loss = F.relu(1.0 - D(real)).mean() + F.relu(1.0 + D(fake)).mean()
        D_loss.backward()
        D.optim.step()
    for p in D.parameters():
        p.requires_grad = False
    for p in G.parameters():
        p.requires_grad = True
    G.optim.zero_grad()
    G_loss = -D(G(torch.randn(batch_size, G.dim_z))).mean()
    G_loss.backward()
    G.optim.step()
    return {"G_loss": G_loss.item(), "D_loss": D_loss.item()}


G, D = Generator(), Discriminator()
batch_size, num_D_steps = 64, 3
for itr in range(250):
    metrics = train(G, D, real_batch(batch_size * num_D_steps), num_D_steps, batch_size)
    if itr % 50 == 0 or itr == 249:
        with torch.no_grad():
            radius = G(torch.randn(500, G.dim_z)).norm(dim=1)
        print(
            itr,
            {k: round(v, 4) for k, v in metrics.items()},
            f"radius {radius.mean():.3f} +- {radius.std():.3f}",
        )
