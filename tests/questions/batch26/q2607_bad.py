from typing import NamedTuple
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(6)


class Quantized(NamedTuple):
    embeddings: torch.Tensor
    ids: torch.Tensor


class Quantize(nn.Module):
    def __init__(self, embed_dim, n_embed):
        super().__init__()
        self.embedding = nn.Embedding(n_embed, embed_dim)
        nn.init.uniform_(self.embedding.weight, -0.5, 0.5)

    def forward(self, x):
        dist = torch.cdist(x, self.embedding.weight)
        ids = dist.argmin(1)
        emb = self.embedding(ids)
        out = x + (emb - x).detach()
        return Quantized(out, ids)


class ResidualVAE(nn.Module):
    def __init__(self, input_dim=32, embed_dim=8, n_embed=24, n_layers=3, beta=0.25):
        super().__init__()
        self.beta = beta
        self.encoder = nn.Sequential(nn.Linear(input_dim, 48), nn.SiLU(), nn.Linear(48, embed_dim))
        self.layers = nn.ModuleList([Quantize(embed_dim, n_embed) for _ in range(n_layers)])
        self.decoder = nn.Sequential(nn.Linear(embed_dim, 48), nn.SiLU(), nn.Linear(48, input_dim))

    def quantize(self, x):
        res = self.encoder(x)
        embs, residuals, ids = [], [], []
        for layer in self.layers:
            q = layer(res)
            residuals.append(res)
            embs.append(q.embeddings)
            ids.append(q.ids)
            res = res - q.embeddings.detach()
        return embs, residuals, ids

    def forward(self, x):
        embs, residuals, ids = self.quantize(x)
        x_hat = self.decoder(sum(embs))
        recon = (x_hat - x).pow(2).sum(-1).mean()
        vq = 0.0
        for emb, res in zip(embs, residuals):
            pull = (emb - res.detach()).pow(2).sum(-1)
            commit = (res - emb.detach()).pow(2).sum(-1)
            vq = vq + (pull + self.beta * commit).mean()
        return recon + vq, recon, vq


def make_items(n, centers):
    pick = torch.randint(0, len(centers), (n,))
    return centers[pick] + 0.1 * torch.randn(n, centers.size(1))


centers = torch.randn(60, 6) @ torch.randn(6, 32) * 0.5
train, valid = make_items(3000, centers), make_items(600, centers)
model = ResidualVAE()
start = [layer.embedding.weight.detach().clone() for layer in model.layers]
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.0)
for epoch in range(25):
    perm = torch.randperm(len(train))
    logs = []
    for i in range(0, len(train), 60):
        loss, recon, vq = model(train[perm[i:i + 60]])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        logs.append((recon.item(), vq.item()))
    if epoch % 5 == 4:
        r, v = torch.tensor(logs).mean(0).tolist()
        print(f"epoch {epoch + 1} reconstruction {r:.3f} rqvae {v:.3f}")
with torch.no_grad():
    _, recon, vq = model(valid)
    moved = [(a - layer.embedding.weight).abs().mean().item() for a, layer in zip(start, model.layers)]
print(f"valid reconstruction {recon.item():.3f} rqvae {vq.item():.3f}")
print("codebooks moved by", [round(m, 4) for m in moved])
