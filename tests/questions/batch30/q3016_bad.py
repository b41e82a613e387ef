import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
torch.set_num_threads(1)

SIZE = 16


def make_images(n):
    centers = torch.randint(3, SIZE - 3, (n, 2)).float()
    axis = torch.arange(SIZE).float()
    dy = (axis[None, :] - centers[:, :1]) ** 2
    dx = (axis[None, :] - centers[:, 1:]) ** 2
    return torch.exp(-(dy[:, :, None] + dx[:, None, :]) / 6.0).clamp(0, 1)


class VAE(nn.Module):
    def __init__(self, latent=2, hidden=128):
        super().__init__()
        self.enc = nn.Sequential(nn.Flatten(), nn.Linear(SIZE * SIZE, hidden), nn.ReLU())
        self.mean = nn.Linear(hidden, latent)
        self.log_var = nn.Linear(hidden, latent)
        self.dec = nn.Sequential(
            nn.Linear(latent, hidden), nn.ReLU(),
            nn.Linear(hidden, SIZE * SIZE), nn.Sigmoid(),
        )

    def forward(self, x):
        h = self.enc(x)
        z_mean, z_log_var = self.mean(h), self.log_var(h)
        z = z_mean + torch.randn_like(z_mean) * torch.exp(0.5 * z_log_var)
        return self.dec(z), z_mean, z_log_var


loader = DataLoader(TensorDataset(make_images(2048)), batch_size=64, shuffle=True)
vae = VAE()
optimizer = torch.optim.Adam(vae.parameters(), lr=1e-3)

for epoch in range(20):
    sums = [0.0, 0.0]
    for (data,) in loader:
        reconstruction, z_mean, z_log_var = vae(data)
        target = data.flatten(1)
        reconstruction_loss = F.binary_cross_entropy(reconstruction, target)
        kl_loss = -0.5 * (1 + z_log_var - z_mean ** 2 - z_log_var.exp()).sum(dim=1).mean()
        total_loss = reconstruction_loss + kl_loss
        optimizer.zero_grad()
        total_loss.backward()
        optimizer.step()
        sums[0] += reconstruction_loss.item()
        sums[1] += kl_loss.item()
    if epoch % 5 == 4:
        print(f"epoch {epoch + 1}: reconstruction {sums[0] / len(loader):.4f} kl {sums[1] / len(loader):.4f}")

vae.eval()
with torch.no_grad():
    images = make_images(256)
    decoded = vae.dec(vae.mean(vae.enc(images)))
    print("mse of the reconstructions:", F.mse_loss(decoded, images.flatten(1)).item())
    print("std over the 256 reconstructions:", decoded.std(dim=0).mean().item(),
          "over the images:", images.flatten(1).std(dim=0).mean().item())
