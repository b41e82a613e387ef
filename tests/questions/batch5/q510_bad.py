import torch
import torch.nn.functional as F
from torch import nn
from torch.distributions import Normal, kl_divergence

torch.manual_seed(0)


class VAE(nn.Module):
    def __init__(self, n_in=10, n_latent=3):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(n_in, 64), nn.ReLU())
        self.loc = nn.Linear(64, n_latent)
        self.raw_scale = nn.Linear(64, n_latent)
        self.decoder = nn.Sequential(nn.Linear(n_latent, 64), nn.ReLU(), nn.Linear(64, n_in))

    def forward(self, x):
        h = self.encoder(x)
        q = Normal(self.loc(h), F.softplus(self.raw_scale(h)) + 1e-4)
        z = q.sample()
        return self.decoder(z), q


def elbo_terms(x, x_hat, q):
    prior = Normal(torch.zeros_like(q.loc), torch.ones_like(q.scale))
    reconstruction = F.mse_loss(x_hat, x, reduction="none").sum(1).mean()
    kl = kl_divergence(q, prior).sum(1).mean()
    return reconstruction, kl


mixing = torch.randn(2, 10)
data = torch.randn(2000, 2) @ mixing + 0.1 * torch.randn(2000, 10)
vae = VAE()
optimizer = torch.optim.Adam(vae.parameters(), lr=2e-3)
for epoch in range(1, 13):
    sums = torch.zeros(2)
    for x in data[torch.randperm(2000)].split(64):
        x_hat, q = vae(x)
        reconstruction, kl = elbo_terms(x, x_hat, q)
        loss = reconstruction + 0.1 * kl
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        sums += torch.tensor([reconstruction.item(), kl.item()])
    if epoch % 3 == 0:
        print(f"epoch {epoch}: reconstruction {sums[0] / 32:.3f}, kl {sums[1] / 32:.4f}")
