import torch
import torch.nn as nn
import torch.nn.functional as F


class VAE(nn.Module):
    def __init__(self, pixels=64, latent=4):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(pixels, 64), nn.ReLU())
        self.mu = nn.Linear(64, latent)
        self.log_var = nn.Linear(64, latent)
        self.decoder = nn.Sequential(nn.Linear(latent, 64), nn.ReLU(), nn.Linear(64, pixels), nn.Sigmoid())

    def forward(self, x):
        h = self.encoder(x)
        mu, log_var = self.mu(h), self.log_var(h)
        z = mu + torch.randn_like(mu) * torch.exp(0.5 * log_var)
        return self.decoder(z), mu, log_var


def load_images(n):
    g = torch.Generator().manual_seed(5)
    prototypes = (torch.rand(4, 64, generator=g) > 0.5).float()
    images = prototypes[torch.randint(0, 4, (n,), generator=g)]
    return (0.9 * images + 0.1 * torch.rand(n, 64, generator=g)).clamp(0, 1)


def prepare(images):
    return images


def vae_loss(recon, x, mu, log_var):
    recon_loss = F.mse_loss(recon, x, reduction="sum") / x.shape[0]
    kl = -0.5 * (1 + log_var - mu.pow(2) - log_var.exp()).sum(1).mean()
    return recon_loss, kl


torch.manual_seed(0)
data = prepare(load_images(1000))
model = VAE()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(20):
    for batch in data.split(50):
        recon, mu, log_var = model(batch)
        recon_loss, kl = vae_loss(recon, batch, mu, log_var)
        loss = recon_loss + 0.5 * kl
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if epoch % 4 == 0:
        print(f"epoch {epoch} reconstruction {recon_loss.item():.3f} kl {kl.item():.3f}")
with torch.no_grad():
    print("error of a pixel", (model(data)[0] - data).abs().mean().item())
