import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
SIZE = 16


def camera_frames(n, seed):
    g = torch.Generator().manual_seed(seed)
    left, slope, height, shade = torch.rand(4, n, 1, 1, generator=g)
    rows = torch.linspace(0, 1, SIZE).view(1, SIZE, 1)
    cols = torch.linspace(0, 1, SIZE).view(1, 1, SIZE)
    centre = 0.2 + 0.6 * left + 0.5 * (slope - 0.5) * rows
    road = torch.sigmoid(30 * (0.12 + 0.15 * rows - (cols - centre).abs()))
    ground = torch.sigmoid(30 * (rows - 0.6 * height))
    frame = (0.2 + 0.5 * shade) * ground + 0.25 * road * ground
    return frame.unsqueeze(1).clamp(0, 1)


class VAE(nn.Module):
    def __init__(self, z_dim=8):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv2d(1, 16, 4, stride=2, padding=1), nn.ReLU(),
            nn.Conv2d(16, 32, 4, stride=2, padding=1), nn.ReLU(), nn.Flatten(),
        )
        self.fc1 = nn.Linear(512, z_dim)
        self.fc2 = nn.Linear(512, z_dim)
        self.fc3 = nn.Linear(z_dim, 512)
        self.decoder = nn.Sequential(
            nn.Unflatten(1, (32, 4, 4)),
            nn.ConvTranspose2d(32, 16, 4, stride=2, padding=1), nn.ReLU(),
            nn.ConvTranspose2d(16, 1, 4, stride=2, padding=1), nn.Sigmoid(),
        )

    def reparameterize(self, mu, logvar):
        std = logvar.mul(0.5).exp()
        return mu + std * torch.randn_like(std)

    def encode(self, x):
        h = self.encoder(x)
        mu, logvar = self.fc1(h), self.fc2(h)
        return self.reparameterize(mu, logvar), mu, logvar

    def decode(self, z):
        return self.decoder(self.fc3(z))

    def forward(self, x):
        z, mu, logvar = self.encode(x)
        return self.decode(z), mu, logvar


def loss_fn(recon, x, mu, logvar):
    rec = 50 * F.mse_loss(recon, x, reduction="sum") / len(x)
    kld = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp()) / len(x)
    return rec + kld, rec, kld


train = camera_frames(2000, seed=1)
test = camera_frames(400, seed=2)
loader = DataLoader(TensorDataset(train), batch_size=64, shuffle=True)
vae = VAE()
optimizer = torch.optim.Adam(vae.parameters(), lr=1e-3)

for epoch in range(20):
    sums = torch.zeros(3)
    for (x,) in loader:
        recon, mu, logvar = vae(x)
        loss, rec, kld = loss_fn(recon, x, mu, logvar)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        sums += torch.stack([loss, rec, kld]).detach()
    if epoch % 5 == 4:
        total, rec, kld = (sums / len(loader)).tolist()
        print(f"epoch {epoch + 1} loss {total:.3f} reconstruction {rec:.3f} kl {kld:.3f}")

with torch.no_grad():
    recon, mu, logvar = vae(test)
    sampled = (recon - test).abs().mean().item()
    print(f"test abs error {sampled:.4f} mean sigma {logvar.mul(0.5).exp().mean():.3f} spread of mu {mu.std(0).mean():.3f}")
