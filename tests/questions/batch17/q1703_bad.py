import math

import torch
import torch.nn.functional as F
from torch import nn, optim

torch.manual_seed(1)
latent_dim, categorical_dim, x_dim = 4, 6, 40


def gumbel_softmax_sample(logits, temperature):
    u = torch.rand_like(logits)
    gumbel = -torch.log(-torch.log(u + 1e-20) + 1e-20)
    return F.softmax((logits + gumbel) / temperature, dim=-1)


class VAEGumbel(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(x_dim, 64), nn.ReLU(), nn.Linear(64, latent_dim * categorical_dim))
        self.dec = nn.Sequential(nn.Linear(latent_dim * categorical_dim, 64), nn.ReLU(), nn.Linear(64, x_dim))

    def forward(self, x, temperature):
        logits = self.enc(x).view(-1, latent_dim, categorical_dim)
        z = gumbel_softmax_sample(logits, temperature)
        return self.dec(z.flatten(1)), F.softmax(logits, dim=-1)


def loss_function(recon_logits, x, qy):
    bce = F.binary_cross_entropy_with_logits(recon_logits, x, reduction="sum") / x.shape[0]
    log_qy = torch.log(qy + 1e-20)
    g = math.log(1.0 / categorical_dim)
    kld = -torch.sum(qy * (log_qy - g), dim=(1, 2)).mean()
    return bce + kld, bce, kld


prototypes = (torch.rand(24, x_dim) < 0.5).float()


def load_batch(n=128):
    x = prototypes[torch.randint(0, 24, (n,))]
    flip = (torch.rand(n, x_dim) < 0.03).float()
    return (x - flip).abs()


model = VAEGumbel()
optimizer = optim.Adam(model.parameters(), lr=2e-3)
temperature = 1.0
for step in range(1000):
    optimizer.zero_grad()
    x = load_batch()
    recon, qy = model(x, temperature)
    loss, bce, kld = loss_function(recon, x, qy)
    loss.backward()
    optimizer.step()
    temperature = max(temperature * math.exp(-0.0003), 0.5)
    if (step + 1) % 250 == 0:
        print(f"step {step + 1}: loss {loss.item():.3f}  BCE {bce.item():.3f}  KLD {kld.item():.3f}")

with torch.no_grad():
    index = torch.randint(0, categorical_dim, (512, latent_dim))
    sample = torch.sigmoid(model.dec(F.one_hot(index, categorical_dim).float().flatten(1)))
    distance = torch.cdist(sample, prototypes, p=1).min(dim=1).values
    _, qy = model(load_batch(512), temperature)
    entropy = -(qy * torch.log(qy + 1e-20)).sum(-1).mean()
print(f"entropy of q(y|x): {entropy.item():.3f} (uniform prior {math.log(categorical_dim):.3f})")
print(f"L1 distance of prior samples to the nearest pattern: {distance.mean().item():.2f}")
