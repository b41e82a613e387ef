import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
n_q, bins, dim, frame = 4, 16, 8, 32


class EuclideanCodebook(nn.Module):
    def __init__(self, decay=0.97):
        super().__init__()
        self.decay = decay
        self.register_buffer("embed", torch.randn(bins, dim) * 0.3)
        self.register_buffer("cluster_size", torch.ones(bins))
        self.register_buffer("embed_avg", self.embed.clone())

    def forward(self, x):
        index = torch.cdist(x, self.embed).argmin(dim=-1)
        quantize = self.embed[index]
        if self.training:
            with torch.no_grad():
                onehot = F.one_hot(index, bins).float()
                self.cluster_size.mul_(self.decay).add_(onehot.sum(0), alpha=1 - self.decay)
                self.embed_avg.mul_(self.decay).add_(onehot.t() @ x, alpha=1 - self.decay)
                self.embed.copy_(self.embed_avg / (self.cluster_size.unsqueeze(1) + 1e-3))
        return quantize


class VectorQuantization(nn.Module):
    def __init__(self):
        super().__init__()
        self.codebook = EuclideanCodebook()

    def forward(self, x):
        quantize = self.codebook(x)
        commit_loss = F.mse_loss(quantize.detach(), x)
        return x + (quantize - x).detach(), commit_loss


class ResidualVectorQuantization(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([VectorQuantization() for _ in range(n_q)])

    def forward(self, x):
        quantized_out, residual, all_losses = 0.0, x, []
        for layer in self.layers:
            quantized, loss = layer(residual)
            residual = residual - quantized
            quantized_out = quantized_out + quantized
            all_losses.append(loss)
        return quantized_out, torch.stack(all_losses)


def load_batch(n=128):
    t = torch.arange(frame) / frame
    pitch, gain = 1 + 4 * torch.rand(n, 1), 0.5 + torch.rand(n, 1)
    return gain * torch.sin(2 * torch.pi * (pitch * t + torch.rand(n, 1))) + 0.02 * torch.randn(n, frame)


encoder = nn.Sequential(nn.Linear(frame, 64), nn.ELU(), nn.Linear(64, dim))
quantizer = ResidualVectorQuantization()
decoder = nn.Sequential(nn.Linear(dim, 64), nn.ELU(), nn.Linear(64, frame))
optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=2e-3)
for step in range(1200):
    wav = load_batch()
    emb = encoder(wav)
    emb_q, commit = quantizer(emb)
    l_t = F.mse_loss(decoder(emb_q), wav)
    loss = l_t + commit.sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if (step + 1) % 300 == 0:
        print(
            f"step {step + 1}: l_t {l_t.item():.4f}  commitment",
            " ".join(f"{c:.4f}" for c in commit.tolist()),
        )

emb = encoder(load_batch(512)).detach().requires_grad_()
_, commit = quantizer(emb)
norms = [torch.autograd.grad(c, emb, retain_graph=True)[0].norm().item() for c in commit]
print("gradient of each commitment loss at the encoder's output:", " ".join(f"{n:.5f}" for n in norms))
