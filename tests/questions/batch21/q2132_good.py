import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(5)


def make_data(n):
    z = torch.randn(n, 3)
    g = torch.Generator().manual_seed(99)
    a = torch.randn(3, 20, generator=g) * 0.7
    x = torch.tanh(z @ a) + 0.3 * torch.randn(n, 20)
    return x


class VAE(nn.Module):
    def __init__(self, x_dim=20, h=64, z_dim=8):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(x_dim, h), nn.Tanh(), nn.Linear(h, h), nn.Tanh())
        self.mu = nn.Linear(h, z_dim)
        self.logvar = nn.Linear(h, z_dim)
        self.dec = nn.Sequential(nn.Linear(z_dim, h), nn.Tanh(), nn.Linear(h, h), nn.Tanh(), nn.Linear(h, x_dim))

    def forward(self, x):
        h = self.enc(x)
        mu, logvar = self.mu(h), self.logvar(h)
        z = mu + torch.exp(0.5 * logvar) * torch.randn_like(mu)
        return self.dec(z), mu, logvar


def kl_divergence(mu, logvar):
    term = mu.pow(2) + logvar.exp() - logvar - 1
    return 0.5 * term.sum(1).mean()


def nll(x_hat, x, var=0.09):
    return 0.5 * ((x_hat - x).pow(2) / var).sum(1).mean()


train, test = make_data(6000), make_data(1500)
model = VAE()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

for epoch in range(30):
    perm = torch.randperm(len(train))
    for b in range(0, len(train), 100):
        x = train[perm[b:b + 100]]
        x_hat, mu, logvar = model(x)
        rec, kl = nll(x_hat, x), kl_divergence(mu, logvar)
        loss = rec + kl
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if epoch % 6 == 0:
        print(f"epoch {epoch} rec {rec.item():.3f} kl {kl.item():.3f}")

model.eval()
with torch.no_grad():
    x_hat, mu, logvar = model(test)
    q = torch.distributions.Normal(mu, torch.exp(0.5 * logvar))
    exact = torch.distributions.kl_divergence(q, torch.distributions.Normal(0.0, 1.0)).sum(1).mean()
    z_var = (mu.var(0) + logvar.exp().mean(0))
    sample = model.dec(torch.randn(4000, 8))
    cov_gap = (torch.cov(sample.T) - torch.cov(test.T) + 0.09 * torch.eye(20)).norm() / torch.cov(test.T).norm()
print(f"test negative elbo {(nll(x_hat, test) + exact).item():.3f} (kl part {exact.item():.3f})")
print("variance of each latent over the data", [round(v, 2) for v in z_var.tolist()])
print(f"relative covariance gap of generated samples {cov_gap.item():.3f}")
