import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
SIDE, LATENT = 14, 8


def make_digits(n, gen):
    ys, xs = torch.meshgrid(torch.linspace(-1, 1, SIDE), torch.linspace(-1, 1, SIDE), indexing="ij")
    slope = 2 * torch.rand(n, 1, 1, generator=gen) - 1
    shift = torch.rand(n, 1, 1, generator=gen) - 0.5
    thick = 0.15 + 0.2 * torch.rand(n, 1, 1, generator=gen)
    stroke = torch.sigmoid(12 * (thick - (ys - slope * xs - shift).abs()))
    return stroke.reshape(n, -1)


class Encoder(nn.Module):
    def __init__(self, inputs, hidden, outputs):
        super().__init__()
        self.linear1 = nn.Linear(inputs, hidden)
        self.linear2 = nn.Linear(hidden, outputs)

    def forward(self, x):
        x = F.relu(self.linear1(x))
        return F.relu(self.linear2(x))


class Decoder(nn.Module):
    def __init__(self, inputs, hidden, outputs):
        super().__init__()
        self.linear1 = nn.Linear(inputs, hidden)
        self.linear2 = nn.Linear(hidden, outputs)

    def forward(self, z):
        z = F.relu(self.linear1(z))
        return F.relu(self.linear2(z))


class VAE(nn.Module):
    def __init__(self, encoder, decoder):
        super().__init__()
        self.encoder, self.decoder = encoder, decoder
        self.mu = nn.Linear(100, LATENT)
        self.log_sigma = nn.Linear(100, LATENT)

    def forward(self, x):
        h = self.encoder(x)
        mu, log_sigma = self.mu(h), self.log_sigma(h)
        z = mu + log_sigma.exp() * torch.randn_like(mu)
        return self.decoder(z), mu, log_sigma


def latent_loss(mu, log_sigma):
    return 0.5 * (mu.pow(2) + (2 * log_sigma).exp() - 2 * log_sigma - 1).sum(1).mean()


gen = torch.Generator().manual_seed(9)
raw = make_digits(2400, gen)
images = (raw - raw[:2000].mean()) / raw[:2000].std()
train, test = images[:2000], images[2000:]
vae = VAE(Encoder(SIDE * SIDE, 100, 100), Decoder(LATENT, 100, SIDE * SIDE))
optimizer = torch.optim.Adam(vae.parameters(), lr=1e-3)

for epoch in range(60):
    total = 0.0
    for idx in torch.randperm(len(train), generator=gen).split(32):
        x = train[idx]
        out, mu, log_sigma = vae(x)
        loss = (out - x).pow(2).sum(1).mean() + latent_loss(mu, log_sigma)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(idx)
    if epoch % 10 == 9:
        print(f"epoch {epoch} loss {total / len(train):.2f}")

with torch.no_grad():
    out, mu, log_sigma = vae(test)
print("test squared error per pixel", round((out - test).pow(2).mean().item(), 4), "of variance", round(test.var().item(), 4))
print("pixel range of images", round(test.min().item(), 2), round(test.max().item(), 2),
      "of outputs", round(out.min().item(), 2), round(out.max().item(), 2))
