import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class VAE(nn.Module):
    def __init__(self, pixels=144, latent=6):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(pixels, 64), nn.ReLU())
        self.mean = nn.Linear(64, latent)
        self.log_var = nn.Linear(64, latent)
        self.decoder = nn.Sequential(nn.Linear(latent, 64), nn.ReLU(), nn.Linear(64, pixels))

    def forward(self, x):
        h = self.encoder(x)
        mean, log_var = self.mean(h), self.log_var(h)
        z = mean + torch.exp(0.5 * log_var) * torch.randn_like(mean)
        return torch.sigmoid(self.decoder(z)), mean, log_var


class KLDCriterion(nn.Module):
    def forward(self, mean, log_var):
        return -0.5 * torch.sum(1 + log_var - mean.pow(2) - log_var.exp())


def images(n):
    yy, xx = torch.meshgrid(torch.arange(12.0), torch.arange(12.0), indexing="ij")
    cy, cx = torch.rand(n, 1, 1) * 6 + 3, torch.rand(n, 1, 1) * 6 + 3
    r = torch.rand(n, 1, 1) * 4 + 4
    return ((yy - cy) ** 2 + (xx - cx) ** 2 < r).float().view(n, -1)


def train(epochs=6, batches=60, batch_size=50):
    model = VAE()
    criterion = nn.BCELoss(reduction="sum")
    kld = KLDCriterion()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for epoch in range(epochs):
        err_total, kld_total = 0.0, 0.0
        for _ in range(batches):
            x = images(batch_size)
            recon, mean, log_var = model(x)
            err = criterion(recon, x)
            kl = kld(mean, log_var)
            loss = err + kl
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            err_total += F.binary_cross_entropy(recon.detach(), x, reduction="sum").item()
            kld_total += kl.item()
        n = batches * batch_size
        print(f"epoch {epoch} reconstruction {err_total / n:.2f} KLD {kld_total / n:.4f}")
    return model


if __name__ == "__main__":
    model = train()
    with torch.no_grad():
        recon = model(images(200))[0]
    print("spread of the reconstructions", recon.std(dim=0).mean().item())
