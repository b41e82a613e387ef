import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_num_threads(1)
torch.manual_seed(0)

SUB, TIME = 16, 32


def csi(n):
    t = torch.linspace(0, 1, TIME)
    act = torch.randint(0, 4, (n,))
    f = 1.0 + act[:, None, None].float()
    phase = torch.rand(n, 1, 1) * 6.28
    k = torch.arange(SUB)[None, :, None] / SUB
    x = torch.sin(6.28 * f * t[None, None, :] + phase + 3 * k)
    return x + 0.05 * torch.randn_like(x), act


class Quantize(nn.Module):
    def __init__(self, num_embeddings=64, dim=8, commitment_cost=0.25):
        super().__init__()
        self.embedding = nn.Embedding(num_embeddings, dim)
        self.embedding.weight.data.uniform_(-1 / num_embeddings, 1 / num_embeddings)
        self._commitment_cost = commitment_cost

    def forward(self, inputs):
        flat = inputs.reshape(-1, inputs.size(-1))
        distances = torch.cdist(flat, self.embedding.weight)
        indices = distances.argmin(1)
        quantized = self.embedding(indices).view_as(inputs)
        e_latent_loss = F.mse_loss(quantized.detach(), inputs)
        q_latent_loss = F.mse_loss(quantized, inputs.detach())
        loss = q_latent_loss + self._commitment_cost * e_latent_loss
        quantized = inputs + (quantized - inputs).detach()
        return quantized, loss, indices


class Net(nn.Module):
    def __init__(self, dim=8):
        super().__init__()
        self.encoder = nn.Sequential(nn.Conv1d(SUB, 32, 4, 2, 1), nn.ReLU(), nn.Conv1d(32, dim, 4, 2, 1))
        self.quantize = Quantize(dim=dim)
        self.decoder = nn.Sequential(nn.ConvTranspose1d(dim, 32, 4, 2, 1), nn.ReLU(), nn.ConvTranspose1d(32, SUB, 4, 2, 1))
        self.classifier = nn.Linear(dim * TIME // 4, 4)

    def forward(self, x):
        z = self.encoder(x).transpose(1, 2)
        q, vq_loss, indices = self.quantize(z)
        return self.decoder(q.transpose(1, 2)), self.classifier(q.flatten(1)), vq_loss, indices


model = Net()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

for step in range(601):
    x, act = csi(64)
    recon, logits, vq_loss, indices = model(x)
    recon_loss = F.mse_loss(recon, x)
    cls_loss = F.cross_entropy(logits, act)
    loss = recon_loss + vq_loss + 0.1 * cls_loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 100 == 0:
        acc = (logits.argmax(1) == act).float().mean().item()
        print(f"step {step}: reconstruction {recon_loss.item():.4f} vq {vq_loss.item():.5f} "
              f"accuracy {acc:.3f} codes used {indices.unique().numel()}")
