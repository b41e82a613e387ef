import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(10)
VOCAB, LENGTH, PAD, BOS = 16, 32, 0, 1


def molecules(count):
    rows = torch.full((count, LENGTH), PAD)
    rows[:, 0] = BOS
    sizes = torch.randint(3, 7, (count,))
    tokens = torch.randint(2, VOCAB, (count,))
    for i in range(count):
        for j in range(1, int(sizes[i])):
            rows[i, j] = 2 + (tokens[i] + 3 * j) % (VOCAB - 2)
    return rows


class VAE(nn.Module):
    def __init__(self, latent=8):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, 24, padding_idx=PAD)
        self.encoder = nn.GRU(24, 48, batch_first=True)
        self.mu = nn.Linear(48, latent)
        self.logvar = nn.Linear(48, latent)
        self.start = nn.Linear(latent, 48)
        self.decoder = nn.GRU(24, 48, batch_first=True)
        self.out = nn.Linear(48, VOCAB)

    def forward(self, tokens):
        _, h = self.encoder(self.embed(tokens))
        mu, logvar = self.mu(h[0]), self.logvar(h[0])
        z = mu + torch.randn_like(mu) * (0.5 * logvar).exp() if self.training else mu
        hidden, _ = self.decoder(self.embed(tokens[:, :-1]), torch.tanh(self.start(z)).unsqueeze(0))
        return self.out(hidden), mu, logvar


def loss_function(logits, target, mu, logvar, beta=0.01):
    recon = F.cross_entropy(logits.reshape(-1, VOCAB), target.reshape(-1), ignore_index=PAD)
    kl = -0.5 * (1 + logvar - mu.pow(2) - logvar.exp()).sum(1).mean()
    return recon + beta * kl


model = VAE()
optimizer = torch.optim.SGD(model.parameters(), lr=0.5, momentum=0.9)
train_rows, test_rows = molecules(512), molecules(128)
for epoch in range(1, 13):
    model.train()
    running = 0.0
    for rows in train_rows[torch.randperm(512)].split(64):
        optimizer.zero_grad()
        logits, mu, logvar = model(rows)
        loss = loss_function(logits, rows[:, 1:], mu, logvar)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        running += loss.item()
    model.eval()
    with torch.no_grad():
        predicted = model(test_rows)[0].argmax(-1)
    real = test_rows[:, 1:] != PAD
    acc = (predicted == test_rows[:, 1:])[real].float().mean().item()
    if epoch % 3 == 0:
        print(f"epoch {epoch} loss {running / 8:.4f} accuracy on atoms {acc:.3f}")
