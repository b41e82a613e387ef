import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(1)
torch.set_num_threads(1)


class AutoEncoder(nn.Module):
    def __init__(self, dim=24, latent=4):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(dim, 48), nn.SiLU(), nn.Linear(48, latent))
        self.decoder = nn.Sequential(nn.Linear(latent, 48), nn.SiLU(), nn.Linear(48, dim))

    def forward(self, x):
        return self.decoder(self.encoder(x))


class Discriminator(nn.Module):
    def __init__(self, dim=24):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(dim, 64), nn.LeakyReLU(0.2),
                                 nn.Linear(64, 64), nn.LeakyReLU(0.2), nn.Linear(64, 1))

    def forward(self, x):
        return self.net(x)


mixing = torch.randn(6, 24)


def get_batch(n=32):
    return torch.tanh(torch.randn(n, 6) @ mixing) + 0.15 * torch.randn(n, 24)


vae, disc = AutoEncoder(), Discriminator()
opt_ae = torch.optim.Adam(vae.parameters(), lr=1e-3, betas=(0.5, 0.9))
opt_disc = torch.optim.Adam(disc.parameters(), lr=1e-3, betas=(0.5, 0.9))
grad_accumulates = 4
disc_weight = 1.0

for it in range(1600):
    x = get_batch()

    disc.requires_grad_(False)
    x_rec = vae(x)
    rec_loss = F.l1_loss(x_rec, x)
    logits_fake = disc(x_rec)
    g_loss = -torch.mean(logits_fake)
    ae_loss = rec_loss + disc_weight * g_loss
    (ae_loss / grad_accumulates).backward()
    disc.requires_grad_(True)

    x_rec = vae(x).detach()
    logits_real = disc(x)
    logits_fake = disc(x_rec)
    d_loss = 0.5 * (F.relu(1.0 - logits_real).mean() + F.relu(1.0 + logits_fake).mean())
    (d_loss / grad_accumulates).backward()

    if (it + 1) % grad_accumulates == 0:
        opt_ae.step()
        opt_ae.zero_grad()
        opt_disc.step()
        opt_disc.zero_grad()

    if (it + 1) % 200 == 0:
        print(f"iter {it + 1:4d}  rec {rec_loss.item():.3f}  g {g_loss.item():.3f}  d {d_loss.item():.3f}  "
              f"logits real {logits_real.mean().item():.2f}  fake {logits_fake.mean().item():.2f}")
