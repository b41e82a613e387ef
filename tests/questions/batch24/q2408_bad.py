import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(3)
X_DIM, Z_DIM, C_DIM, N = 20, 6, 2, 3000
LAMBDA_C, LAMBDA_Z, KL_W = 1.0, 0.1, 0.1


def make_reviews(n):
    style = torch.randn(n, 5)
    label = (style[:, 0] * style[:, 1] > 0).long()
    mix = torch.Generator().manual_seed(11)
    a = torch.randn(5, X_DIM, generator=mix)
    x = torch.tanh(style @ a * 0.4) + 0.05 * torch.randn(n, X_DIM)
    return x, label


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(X_DIM, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU())
        self.mu = nn.Linear(64, Z_DIM)
        self.logvar = nn.Linear(64, Z_DIM)

    def forward(self, x):
        h = self.body(x)
        return self.mu(h), self.logvar(h)


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(Z_DIM + C_DIM, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(),
                                 nn.Linear(64, X_DIM))

    def forward(self, z, c):
        return self.net(torch.cat([z, c], 1))


def vae_loss(enc, gen, x, c):
    mu, logvar = enc(x)
    z = mu + torch.randn_like(mu) * (0.5 * logvar).exp()
    recon = F.mse_loss(gen(z, c), x, reduction="none").sum(1).mean()
    kl = 0.5 * (logvar.exp() + mu ** 2 - 1 - logvar).sum(1).mean()
    return recon + KL_W * kl, recon


def onehot(y):
    return F.one_hot(y, C_DIM).float()


x_all, y_all = make_reviews(N)
x_test, y_test = make_reviews(1000)
encoder, generator = Encoder(), Generator()
disc = nn.Sequential(nn.Linear(X_DIM, 64), nn.ReLU(), nn.Linear(64, C_DIM))

trainer_D = torch.optim.Adam(disc.parameters(), lr=1e-3)
trainer_G = torch.optim.Adam(encoder.parameters(), lr=1e-3)
trainer_E = torch.optim.Adam(generator.parameters(), lr=1e-3)

for it in range(2000):
    idx = torch.randint(0, N, (64,))
    x, y = x_all[idx], y_all[idx]

    loss_D = F.cross_entropy(disc(x), y)
    trainer_D.zero_grad()
    loss_D.backward()
    trainer_D.step()

    with torch.no_grad():
        c_x = onehot(disc(x).argmax(1))

    loss_vae, _ = vae_loss(encoder, generator, x, c_x)
    z = torch.randn(64, Z_DIM)
    c = torch.randint(0, C_DIM, (64,))
    x_gen = generator(z, onehot(c))
    loss_attr_c = F.cross_entropy(disc(x_gen), c)
    loss_attr_z = F.mse_loss(encoder(x_gen)[0], z)
    loss_G = loss_vae + LAMBDA_C * loss_attr_c + LAMBDA_Z * loss_attr_z
    trainer_G.zero_grad()
    loss_G.backward()
    nn.utils.clip_grad_norm_(generator.parameters(), 5.0)
    trainer_G.step()

    loss_E, recon = vae_loss(encoder, generator, x, c_x)
    trainer_E.zero_grad()
    loss_E.backward()
    nn.utils.clip_grad_norm_(encoder.parameters(), 5.0)
    trainer_E.step()

    if it % 400 == 399:
        print(f"iter {it + 1}  loss_D {loss_D.item():.3f}  loss_G {loss_G.item():.3f}  "
              f"attr_c {loss_attr_c.item():.3f}  recon {recon.item():.3f}")

with torch.no_grad():
    z = torch.randn(2000, Z_DIM)
    c = torch.randint(0, C_DIM, (2000,))
    attr_acc = (disc(generator(z, onehot(c))).argmax(1) == c).float().mean().item()
    real_acc = (disc(x_test).argmax(1) == y_test).float().mean().item()
    _, rec = vae_loss(encoder, generator, x_test, onehot(y_test))
print(f"discriminator accuracy on real {real_acc:.3f}")
print(f"asked attribute found in generated {attr_acc:.3f}  reconstruction {rec.item():.3f}")
