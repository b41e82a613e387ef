import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
SIZE, LATENT = 16, 8


def make_images(n, gen):
    ys, xs = torch.meshgrid(torch.arange(SIZE).float(), torch.arange(SIZE).float(), indexing="ij")
    cy, cx = 3 + (SIZE - 7) * torch.rand(2, n, 1, 1, generator=gen)
    r = 2.0 + 2.5 * torch.rand(n, 1, 1, generator=gen)
    dist = ((ys - cy) ** 2 + (xs - cx) ** 2).sqrt()
    return torch.sigmoid(2.0 * (r - dist))[:, None]


class ConvVAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv2d(1, 16, 4, stride=2, padding=1), nn.ReLU(),
            nn.Conv2d(16, 32, 4, stride=2, padding=1), nn.ReLU(),
            nn.Flatten(), nn.Linear(32 * 16, 64), nn.ReLU(),
        )
        self.to_mu = nn.Linear(64, LATENT)
        self.to_logvar = nn.Linear(64, LATENT)
        self.decoder = nn.Sequential(
            nn.Linear(LATENT, 64), nn.ReLU(), nn.Linear(64, 32 * 16), nn.ReLU(),
            nn.Unflatten(1, (32, 4, 4)),
            nn.ConvTranspose2d(32, 16, 4, stride=2, padding=1), nn.ReLU(),
            nn.ConvTranspose2d(16, 1, 4, stride=2, padding=1), nn.Sigmoid(),
        )

    def forward(self, x):
        h = self.encoder(x)
        mu, logvar = self.to_mu(h), self.to_logvar(h)
        z = mu + torch.randn_like(mu) * (0.5 * logvar).exp()
        return self.decoder(z), mu, logvar


def loss_terms(recon, x, mu, logvar):
    rec = F.mse_loss(recon, x, reduction="sum")
    kl = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
    return rec, kl


gen = torch.Generator().manual_seed(2)
train = make_images(1000, gen)
test = make_images(200, gen)
model = ConvVAE()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

for epoch in range(20):
    rec_sum = kl_sum = 0.0
    for idx in torch.randperm(len(train), generator=gen).split(25):
        x = train[idx]
        recon, mu, logvar = model(x)
        rec, kl = loss_terms(recon, x, mu, logvar)
        loss = rec + kl
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        rec_sum += rec.item()
        kl_sum += kl.item()
    if epoch % 4 == 3:
        print(f"epoch {epoch} rec {rec_sum / 40:.4f} kl {kl_sum / 40:.4f}")

model.eval()
with torch.no_grad():
    recon, mu, _ = model(test)
print("test mse per pixel", round(F.mse_loss(recon, test).item(), 4),
      "pixel variance around mean image", round((test - train.mean(0)).pow(2).mean().item(), 4))
print("std of reconstructions across images", round(recon.std(0).mean().item(), 4))
