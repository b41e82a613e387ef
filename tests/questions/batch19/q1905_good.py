import itertools

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
GENES_A, GENES_B, HIDDEN, LATENT = 60, 80, 64, 6


def make_cells(n, gen):
    fixed = torch.Generator().manual_seed(99)
    to_a = torch.randn(LATENT, GENES_A, generator=fixed)
    to_b = torch.randn(LATENT, GENES_B, generator=fixed)
    z = torch.randn(n, LATENT, generator=gen)
    a = torch.tanh(z @ to_a * 0.6) + 0.1 * torch.randn(n, GENES_A, generator=gen)
    b = torch.tanh(z @ to_b * 0.6) + 0.1 * torch.randn(n, GENES_B, generator=gen)
    return a, b


class Expert(nn.Module):
    def __init__(self, genes):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(genes, HIDDEN), nn.ReLU())
        self.decoder = nn.Linear(HIDDEN, genes)


class SharedVAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(HIDDEN, HIDDEN), nn.ReLU())
        self.mean = nn.Linear(HIDDEN, LATENT)
        self.logvar = nn.Linear(HIDDEN, LATENT)
        self.decoder = nn.Sequential(
            nn.Linear(LATENT, HIDDEN), nn.LeakyReLU(),
            nn.Linear(HIDDEN, 8), nn.LeakyReLU(),
            nn.Linear(8, HIDDEN), nn.ReLU(),
        )

    def encode(self, h):
        h = self.encoder(h)
        return self.mean(h), self.logvar(h)

    def forward(self, h):
        mean, logvar = self.encode(h)
        z = mean + torch.randn_like(mean) * (0.5 * logvar).exp()
        return self.decoder(z), mean, logvar


gen = torch.Generator().manual_seed(11)
data = dict(zip("ab", make_cells(2000, gen)))
held_out = dict(zip("ab", make_cells(500, gen)))
experts = nn.ModuleDict({"a": Expert(GENES_A), "b": Expert(GENES_B)})
vae = SharedVAE()

shared_params = itertools.chain(vae.encoder.parameters(), vae.mean.parameters(), vae.logvar.parameters(),
                                vae.decoder.parameters())
shared_optimizer = torch.optim.Adam(shared_params, lr=2e-3)
expert_optimizers = {k: torch.optim.Adam(e.parameters(), lr=2e-3) for k, e in experts.items()}

for epoch in range(14):
    totals = {"a": 0.0, "b": 0.0}
    for idx in torch.randperm(2000, generator=gen).split(50):
        for name, expert in experts.items():
            x = data[name][idx]
            hidden, mean, logvar = vae(expert.encoder(x))
            recon = F.mse_loss(expert.decoder(hidden), x, reduction="sum") / len(x)
            kl = -0.5 * (1 + logvar - mean.pow(2) - logvar.exp()).sum(1).mean()
            loss = recon + 0.05 * kl
            shared_optimizer.zero_grad()
            expert_optimizers[name].zero_grad()
            loss.backward()
            shared_optimizer.step()
            expert_optimizers[name].step()
            totals[name] += loss.item()
    if epoch % 3 == 1:
        print(f"epoch {epoch} loss a {totals['a'] / 40:.3f} b {totals['b'] / 40:.3f}")

vae.eval()
with torch.no_grad():
    for name, expert in experts.items():
        x = held_out[name]
        out = expert.decoder(vae.decoder(vae.encode(expert.encoder(x))[0]))
        print(name, "held out explained", round((1 - F.mse_loss(out, x) / x.var()).item(), 3))
