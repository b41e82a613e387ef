import torch
import torch.nn as nn
import torch.nn.functional as F


def reparametrize_gaussian(mu, logvar):
    noise = torch.randn_like(mu)
    return mu + noise * (0.5 * logvar).exp()


class VAE(nn.Module):
    def __init__(self, width=16, latent=3):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(width, 48), nn.Tanh())
        self.mu, self.logvar = nn.Linear(48, latent), nn.Linear(48, latent)
        self.decoder = nn.Sequential(nn.Linear(latent, 48), nn.Tanh(), nn.Linear(48, width))

    def forward(self, x):
        h = self.encoder(x)
        mu, logvar = self.mu(h), self.logvar(h)
        z = reparametrize_gaussian(mu, logvar)
        return self.decoder(z), z, mu, logvar


def make_data(n, seed):
    g = torch.Generator().manual_seed(seed)
    mix = torch.randn(3, 16, generator=torch.Generator().manual_seed(7))
    return torch.tanh(torch.randn(n, 3, generator=g) @ mix) + 0.3 * torch.randn(n, 16, generator=g)


def elbo(x, recon, mu, logvar, sigma=0.3):
    error = F.mse_loss(recon, x, reduction="none").sum(1) / (2 * sigma**2)
    kl = -0.5 * (1 + logvar - mu.pow(2) - logvar.exp()).sum(1)
    return -(error + kl)


def log_likelihood(model, x, samples=64, sigma=0.3):
    """Importance weighted bound with the posterior that the KL term names."""
    weights = []
    for _ in range(samples):
        recon, z, mu, logvar = model(x)
        log_p = -0.5 * z.pow(2).sum(1) - (recon - x).pow(2).sum(1) / (2 * sigma**2)
        log_q = (-0.5 * logvar - 0.5 * (z - mu).pow(2) / logvar.exp()).sum(1)
        weights.append(log_p - log_q)
    return (torch.stack(weights).logsumexp(0) - torch.tensor(float(samples)).log()).mean().item()


def main():
    torch.manual_seed(0)
    x, test = make_data(1500, 0), make_data(300, 1)
    model = VAE()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(20):
        total = 0.0
        for rows in torch.randperm(len(x)).split(100):
            recon, _, mu, logvar = model(x[rows])
            loss = -elbo(x[rows], recon, mu, logvar).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        if epoch % 5 == 4:
            print(f"epoch {epoch}: negative bound {total / 15:.3f}")
    with torch.no_grad():
        _, z, mu, logvar = model(test)
        ratio = ((z - mu).pow(2) / logvar.exp()).mean().item()
        print(f"variance of the samples / variance in the KL term: {ratio:.3f}")
        print(f"importance weighted bound on the test set {log_likelihood(model, test):.3f}")


if __name__ == "__main__":
    main()
