import torch
import torch.nn as nn
from torch.optim.lr_scheduler import StepLR


class RNNVAE(nn.Module):
    def __init__(self, features, hidden, latent):
        super().__init__()
        self.encoder = nn.GRU(features, hidden, batch_first=True)
        self.mu = nn.Linear(hidden, latent)
        self.logvar = nn.Linear(hidden, latent)
        self.decoder = nn.GRU(latent, hidden, batch_first=True)
        self.out = nn.Linear(hidden, features)

    def forward(self, x):
        _, h = self.encoder(x)
        mu, logvar = self.mu(h[0]), self.logvar(h[0])
        z = mu + torch.randn_like(mu) * torch.exp(0.5 * logvar)
        decoded, _ = self.decoder(z.unsqueeze(1).expand(-1, x.shape[1], -1))
        return self.out(decoded), mu, logvar


def poses(n, length=10):
    g = torch.Generator().manual_seed(6)
    phase = 6 * torch.rand(n, 1, 1, generator=g)
    speed = 0.3 + 0.5 * torch.rand(n, 1, 1, generator=g)
    t = torch.arange(length).view(1, -1, 1)
    return torch.cat([torch.sin(speed * t + phase), torch.cos(speed * t + phase)], dim=2)


config = {"epochs": 60, "scheduler": False, "step_size": 10, "lr": 5e-3}
torch.manual_seed(0)
model = RNNVAE(2, 32, 4)
optimizer = torch.optim.Adam(model.parameters(), lr=config["lr"])
if config["scheduler"]:
    scheduler = StepLR(optimizer, step_size=config["step_size"], gamma=0.2, last_epoch=-1)
else:
    scheduler = StepLR(optimizer, step_size=config["step_size"], gamma=0, last_epoch=-1)

data = poses(128)
for epoch in range(config["epochs"]):
    total = 0.0
    for batch in data.split(32):
        recon, mu, logvar = model(batch)
        mse = (recon - batch).pow(2).sum((1, 2)).mean()
        kl = -0.5 * (1 + logvar - mu.pow(2) - logvar.exp()).sum(1).mean()
        loss = mse + 0.05 * kl
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    scheduler.step()
    if epoch % 6 == 0:
        print(f"epoch {epoch} loss {total / 4:.4f}")
