import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(8)


class VAE(nn.Module):
    def __init__(self, input_dim, latent_dim=4, kl_coeff=0.01):
        super().__init__()
        self.kl_coeff = kl_coeff
        self.encoder = nn.Sequential(nn.Linear(input_dim, 64), nn.ReLU())
        self.fc_mu = nn.Linear(64, latent_dim)
        self.fc_var = nn.Linear(64, latent_dim)
        self.decoder = nn.Sequential(nn.Linear(latent_dim, 64), nn.ReLU(), nn.Linear(64, input_dim))

    def sample(self, mu, log_var):
        p = torch.distributions.Normal(torch.zeros_like(mu), torch.ones_like(mu))
        q = torch.distributions.Normal(mu, torch.exp(log_var / 2))
        return p, q, q.rsample()

    def step(self, x):
        h = self.encoder(x)
        p, q, z = self.sample(self.fc_mu(h), self.fc_var(h))
        recon_loss = F.mse_loss(self.decoder(z), x)
        kl = torch.distributions.kl_divergence(q, p).sum(-1).mean()
        loss = kl + recon_loss
        return loss, {"recon_loss": recon_loss.item(), "kl_loss": kl.item()}


mixing = torch.randn(4, 24)
data = torch.tanh(torch.randn(2000, 4) @ mixing * 0.7)
model = VAE(24)
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(20):
    for batch in torch.randperm(len(data)).split(100):
        loss, logs = model.step(data[batch])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if epoch % 4 == 0:
        print(epoch, f"loss {loss.item():.4f}", logs)
