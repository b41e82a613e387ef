import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)


class RasterVAE(nn.Module):
    def __init__(self, latent=6):
        super().__init__()
        self.encoder = nn.Sequential(nn.Flatten(), nn.Linear(144, 64), nn.ReLU())
        self.mu, self.log_var = nn.Linear(64, latent), nn.Linear(64, latent)
        self.decoder = nn.Sequential(nn.Linear(latent, 64), nn.ReLU(), nn.Linear(64, 144))

    def forward(self, raster):
        h = self.encoder(raster)
        mu, log_var = self.mu(h), self.log_var(h).clamp(-8, 4)
        z = mu + torch.randn_like(mu) * (0.5 * log_var).exp()
        return {"raster": self.decoder(z).view(-1, 1, 12, 12), "mu": mu, "log_var": log_var}


class VAEKLObjective:
    def __init__(self, weight):
        self.weight = weight

    def compute(self, predictions):
        mu, log_var = predictions["mu"], predictions["log_var"]
        return self.weight * -0.5 * (1 + log_var - mu.pow(2) - log_var.exp()).sum(1).mean()


class VAEBCEObjective:
    def __init__(self, weight):
        self.weight = weight

    def compute(self, predictions, target):
        logits = predictions["raster"]
        loss = F.binary_cross_entropy_with_logits(logits, target, reduction="none")
        return self.weight * loss.sum((1, 2, 3)).mean()


def make_rasters(n):
    rasters = torch.zeros(n, 1, 12, 12)
    for i in range(n):
        r, c = int(torch.randint(0, 12, ())), int(torch.randint(0, 12, ()))
        rasters[i, 0, r, :] = 1.0
        rasters[i, 0, :, c] = 1.0
    return rasters


rasters = make_rasters(512)
model = RasterVAE()
bce, kl = VAEBCEObjective(1.0), VAEKLObjective(0.1)
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(15):
    total = 0.0
    for batch in rasters[torch.randperm(512)].split(32):
        predictions = model(batch)
        loss = bce.compute(predictions, batch) + kl.compute(predictions)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    if epoch % 3 == 2:
        with torch.no_grad():
            wrong = ((model(rasters)["raster"] > 0).float() - rasters).abs().mean()
        print(f"epoch {epoch}: loss {total / 16:.3f}, wrong pixels {wrong.item():.3f}")
