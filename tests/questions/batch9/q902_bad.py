import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(16, 64), nn.LeakyReLU(0.2), nn.Linear(64, 16))

    def forward(self, x):
        return self.net(x)


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(16, 64), nn.LeakyReLU(0.2), nn.Linear(64, 1))

    def forward(self, x):
        return self.net(x)


E, D = Encoder(), Discriminator()
optimizer_E = torch.optim.Adam(E.parameters(), lr=1e-3)
optimizer_D = torch.optim.Adam(D.parameters(), lr=1e-3)
mix = torch.randn(16, 16) / 4

for step in range(300):
    real = torch.randn(64, 16) @ mix + 0.5
    x_rec = E(real)

    loss_rec = F.mse_loss(x_rec, real)
    loss_adv = F.softplus(-D(x_rec)).mean()
    loss_E = loss_rec + 0.1 * loss_adv
    optimizer_E.zero_grad()
    loss_E.backward()
    optimizer_E.step()

    loss_D = F.softplus(-D(real)).mean() + F.softplus(D(x_rec.detach())).mean()
    loss_D.backward()
    optimizer_D.step()

    if step % 50 == 0:
        norm = sum(p.grad.norm() ** 2 for p in D.parameters()) ** 0.5
        print(f"step {step} rec {loss_rec.item():.4f} D {loss_D.item():.4f} |grad D| {norm.item():.3f}")
