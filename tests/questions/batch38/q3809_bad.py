import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class MinibatchStd(nn.Module):
    def forward(self, x):
        std = torch.std(x, dim=0)
        mean_std = std.mean().expand(x.size(0), 1)
        return torch.cat([x, mean_std], dim=1)


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(0.2), nn.Linear(32, 16), nn.LeakyReLU(0.2))
        self.std = MinibatchStd()
        self.out = nn.Linear(17, 1)

    def forward(self, x):
        return self.out(self.std(self.body(x)))


generator = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 2))
critic = Discriminator()
torch.manual_seed(0)
angle = torch.rand(257) * 6.28
samples = torch.stack([angle.cos(), angle.sin()], 1) + 0.05 * torch.randn(257, 2)
loader = DataLoader(TensorDataset(samples), batch_size=16, shuffle=True)

opt_g = torch.optim.Adam(generator.parameters(), lr=1e-3, betas=(0.5, 0.99))
opt_d = torch.optim.Adam(critic.parameters(), lr=1e-3, betas=(0.5, 0.99))
for epoch in range(5):
    d_sum = g_sum = 0.0
    for (real,) in loader:
        noise = torch.randn(real.size(0), 4)
        fake = generator(noise)
        d_loss = critic(fake.detach()).mean() - critic(real).mean() + 0.001 * critic(real).pow(2).mean()
        opt_d.zero_grad()
        d_loss.backward()
        opt_d.step()

        g_loss = -critic(generator(noise)).mean()
        opt_g.zero_grad()
        g_loss.backward()
        opt_g.step()
        d_sum += d_loss.item()
        g_sum += g_loss.item()
    print(f"epoch {epoch} d_loss {d_sum / len(loader):.4f} g_loss {g_sum / len(loader):.4f}")
print("radius of generated points", generator(torch.randn(200, 4)).norm(dim=1).mean().item())
