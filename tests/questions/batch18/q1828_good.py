import torch
import torch.nn.functional as F
from torch import nn, optim

torch.manual_seed(0)
x_dim, z_dim = 16, 4
mixing = torch.randn(2, x_dim)
margin, alpha, beta = 6.0, 0.25, 2.0


def load_batch(n=128):
    angle = torch.rand(n, 1) * 2 * torch.pi
    ring = torch.cat([torch.cos(angle), torch.sin(angle)], dim=1) * 2
    return ring @ mixing / 2 + 0.05 * torch.randn(n, x_dim)


def distance_to_data(x, reference):
    return torch.cdist(x, reference).min(dim=1).values.mean().item()


class IntroVAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(x_dim, 64), nn.ReLU(), nn.Linear(64, 2 * z_dim))
        self.decoder = nn.Sequential(nn.Linear(z_dim, 64), nn.ReLU(), nn.Linear(64, x_dim))
        self.optim_encoder = optim.Adam(self.encoder.parameters(), lr=5e-4)
        self.optim_decoder = optim.Adam(self.decoder.parameters(), lr=5e-4)

    def encode(self, x):
        return self.encoder(x).chunk(2, dim=1)

    def reparametrization(self, mu, logvar):
        return mu + torch.exp(0.5 * logvar) * torch.randn_like(mu)

    def kld(self, mu, logvar):
        return 0.5 * (mu**2 + logvar.exp() - 1 - logvar).sum(dim=1).mean()

    def update_encoder(self, x):
        mu, logvar = self.encode(x)
        xr = self.decoder(self.reparametrization(mu, logvar))
        xp = self.decoder(torch.randn(x.shape[0], z_dim))
        mup, logvarp = self.encode(xp.detach())
        reg_ae, regpp = self.kld(mu, logvar), F.relu(margin - self.kld(mup, logvarp))
        loss = beta * F.mse_loss(xr, x, reduction="sum") / x.shape[0] + reg_ae + alpha * regpp
        self.optim_encoder.zero_grad()
        loss.backward()
        self.optim_encoder.step()

    def update_decoder(self, x):
        mu, logvar = self.encode(x)
        xr = self.decoder(self.reparametrization(mu, logvar).detach())
        xp = self.decoder(torch.randn(x.shape[0], z_dim))
        mupp, logvarpp = self.encode(xp)
        loss_ae = F.mse_loss(xr, x, reduction="sum") / x.shape[0]
        regpp = self.kld(mupp, logvarpp)
        loss = alpha * regpp + beta * loss_ae
        self.optim_decoder.zero_grad()
        loss.backward()
        self.optim_decoder.step()
        return loss_ae.item(), regpp.item()


vae = IntroVAE()
reference = load_batch(1000)
for epoch in range(1200):
    x = load_batch()
    vae.update_encoder(x)
    loss_ae, regpp = vae.update_decoder(x)
    if (epoch + 1) % 300 == 0:
        with torch.no_grad():
            samples = vae.decoder(torch.randn(512, z_dim))
        print(
            f"epoch {epoch + 1}: ae {loss_ae:.3f}  regpp {regpp:.3f}  "
            f"distance of samples to data {distance_to_data(samples, reference):.3f}"
        )
