import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
torch.set_num_threads(1)

VOCAB, LENGTH, BATCH = 12, 8, 64


def sample_strings(n):
    start = torch.randint(0, VOCAB, (n, 1))
    step = torch.randint(0, VOCAB, (n, 1))
    return (start + step * torch.arange(LENGTH)) % VOCAB


class Encoder(nn.Module):
    def __init__(self, hidden=48, latent=24, layers=1):
        super().__init__()
        self.layers, self.hidden = layers, hidden
        self.emb = nn.Embedding(VOCAB, 24)
        self.gru = nn.GRU(24, hidden, layers, bidirectional=True, batch_first=True)
        self.mu = nn.Linear(2 * hidden, latent)
        self.logvar = nn.Linear(2 * hidden, latent)

    def forward(self, x):
        batch = x.size(0)
        _, h = self.gru(self.emb(x))
        h = h.view(self.layers, 2, batch, self.hidden)
        h = h[-1].permute(1, 0, 2)
        h = h.reshape(batch, 2 * self.hidden)
        return self.mu(h), self.logvar(h)


class Decoder(nn.Module):
    def __init__(self, hidden=64, latent=24):
        super().__init__()
        self.pos = nn.Parameter(torch.randn(1, LENGTH, 8) * 0.1)
        self.gru = nn.GRU(latent + 8, hidden, batch_first=True)
        self.out = nn.Linear(hidden, VOCAB)

    def forward(self, z):
        steps = z.unsqueeze(1).expand(-1, LENGTH, -1)
        y, _ = self.gru(torch.cat([steps, self.pos.expand(z.size(0), -1, -1)], -1))
        return self.out(y)


encoder, decoder = Encoder(), Decoder()
params = list(encoder.parameters()) + list(decoder.parameters())
optimizer = torch.optim.Adam(params, lr=4e-3)
data = sample_strings(2048)

for epoch in range(20):
    order = torch.randperm(len(data))
    total = 0.0
    for i in range(0, len(data), BATCH):
        x = data[order[i:i + BATCH]]
        mu, logvar = encoder(x)
        z = mu + torch.randn_like(mu) * torch.exp(0.5 * logvar)
        rec = F.cross_entropy(decoder(z).reshape(-1, VOCAB), x.reshape(-1))
        kl = -0.5 * (1 + logvar - mu.pow(2) - logvar.exp()).sum(1).mean()
        loss = rec + 0.002 * kl
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += rec.item()
    if epoch % 5 == 4:
        print(f"epoch {epoch + 1} reconstruction {total / (len(data) // BATCH):.3f}")

with torch.no_grad():
    x = sample_strings(512)
    acc = torch.cat([(decoder(encoder(c)[0]).argmax(-1) == c).float() for c in x.split(BATCH)]).mean().item()
print(f"token accuracy {acc:.3f}")
