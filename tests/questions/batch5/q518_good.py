import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


class VAE(nn.Module):
    def __init__(self, n_in=12, n_latent=3):
        super().__init__()
        self.fc1 = nn.Linear(n_in, 64)
        self.fc21 = nn.Linear(64, n_latent)
        self.fc22 = nn.Linear(64, n_latent)
        self.fc3 = nn.Linear(n_latent, 64)
        self.fc4 = nn.Linear(64, n_in)
        self.fc5 = nn.Linear(64, n_in)

    def encode(self, x):
        h1 = F.relu(self.fc1(x))
        return self.fc21(h1), self.fc22(h1)

    def reparameterize(self, mu, logvar):
        std = torch.exp(0.5 * logvar)
        return mu + torch.randn_like(std) * std

    def decode(self, z):
        h3 = F.relu(self.fc3(z))
        mu = self.fc4(h3)
        logvar = self.fc5(h3)
        return (mu, logvar), mu

    def forward(self, x):
        mu, logvar = self.encode(x)
        recon, centre = self.decode(self.reparameterize(mu, logvar))
        return recon, centre, mu, logvar


def loss_function(recon_x, x, mu, logvar):
    mean, spread = recon_x
    NLL = 0.5 * torch.sum(spread + (x - mean).pow(2) / spread.exp())
    KLD = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
    return NLL + KLD


data = torch.randn(2000, 3) @ (0.4 * torch.randn(3, 12)) + 0.05 * torch.randn(2000, 12)
model = VAE()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(1, 16):
    total = error = 0.0
    for x in data[torch.randperm(2000)].split(50):
        recon, centre, mu, logvar = model(x)
        loss = loss_function(recon, x, mu, logvar)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
        error += (centre - x).pow(2).mean().item()
    if epoch % 3 == 0:
        print(f"epoch {epoch}: loss {total / 2000:.3f}, error of the mean {error / 40:.4f}")
