import torch
import torch.nn as nn
import torch.nn.functional as F


class Encoder(nn.Module):
    def __init__(self, n_features, n_latent, hidden=64):
        super().__init__()
        self.shared = nn.Sequential(nn.Linear(n_features, hidden), nn.LeakyReLU())
        self.mu_fc = nn.Linear(hidden, n_latent)
        self.logvar_fc = nn.Linear(hidden, n_latent)

    def forward(self, x):
        h = self.shared(x)
        return self.mu_fc(h), self.logvar_fc(h).clamp(-30, 20)


class Decoder(nn.Module):
    def __init__(self, n_latent, n_features, hidden=64):
        super().__init__()
        self.model = nn.Sequential(nn.Linear(n_latent, hidden), nn.LeakyReLU(), nn.Linear(hidden, n_features))

    def forward(self, z):
        return self.model(z)


class VAE(nn.Module):
    def __init__(self, n_features, n_latent=4):
        super().__init__()
        self.encoder = Encoder(n_features, n_latent)
        self.decoder = Decoder(n_latent, n_features)

    def reparameterize(self, mu, logvar):
        std = torch.exp(0.5 * logvar)
        return mu + std * torch.randn_like(std)

    def forward(self, x):
        mu, logvar = self.encoder(x)
        z = self.reparameterize(mu, logvar)
        return self.decoder(z), mu, logvar

    def loss(self, x):
        rec, mu, logvar = self(x)
        kl = -0.5 * torch.mean(torch.sum(1 + logvar - mu.pow(2) - logvar.exp(), dim=1))
        return F.mse_loss(rec, x) + 0.01 * kl


def load_table(n=512):
    age = torch.randint(18, 90, (n, 1)).float()
    income = torch.exp(6 + 1.5 * torch.randn(n, 1))
    children = torch.randint(0, 5, (n, 1)).float()
    return torch.cat([age, income, children], dim=1)


torch.manual_seed(0)
data = load_table()
model = VAE(data.shape[1])
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(10):
    total = 0.0
    for batch in data[torch.randperm(len(data))].split(64):
        loss = model.loss(batch)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() / 8
    print(f"epoch {epoch} loss {total:.5g}")
