import torch
import torch.nn as nn
import torch.nn.functional as F


class Generator(nn.Module):
    def __init__(self, z_dim=8):
        super().__init__()
        self.z_dim = z_dim
        self.net = nn.Sequential(nn.Linear(z_dim, 32), nn.ReLU(), nn.Linear(32, 2))

    def forward(self, z):
        return self.net(z)


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(2, 32), nn.LeakyReLU(0.2), nn.Linear(32, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1)
        )

    def forward(self, x):
        return self.net(x)


def loss_nonsaturating(d, g, x_real):
    z = torch.randn(x_real.shape[0], g.z_dim)
    gz = g(z)
    logits_real = d(x_real)
    d_loss = -F.logsigmoid(logits_real).mean() - F.logsigmoid(-d(gz.detach())).mean()
    return d_loss, gz


torch.manual_seed(0)
g, d = Generator(), Discriminator()
g_optimizer = torch.optim.Adam(g.parameters(), lr=1e-3, betas=(0.5, 0.999))
d_optimizer = torch.optim.Adam(d.parameters(), lr=1e-3, betas=(0.5, 0.999))

for step in range(300):
    x_real = torch.randn(64, 2) * 0.3 + torch.tensor([2.0, -1.0])
    d_loss, gz = loss_nonsaturating(d, g, x_real)

    d_optimizer.zero_grad()
    d_loss.backward()
    d_optimizer.step()

    g_optimizer.zero_grad()
    g_loss = -F.logsigmoid(d(gz)).mean()
    g_loss.backward()
    g_optimizer.step()
    if step % 50 == 0:
        print(f"step {step} d {d_loss.item():.3f} g {g_loss.item():.3f}")
print("mean of samples", g(torch.randn(500, 8)).mean(0))
