import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
torch.set_num_threads(1)


class VectorQuantizer(nn.Module):
    def __init__(self, k=16, dim=4):
        super().__init__()
        self.codebook = nn.Embedding(k, dim)
        nn.init.uniform_(self.codebook.weight, -1 / k, 1 / k)

    def forward(self, inputs):
        dist = torch.cdist(inputs, self.codebook.weight)
        indices = dist.argmin(-1)
        quantize = self.codebook(indices)
        encoding_loss = F.mse_loss(inputs, quantize.detach())
        commit_loss = F.mse_loss(quantize, inputs.detach())
        quantize = inputs + (quantize - inputs).detach()
        return quantize, encoding_loss, commit_loss, indices


class VQVAE(nn.Module):
    def __init__(self, n_in=16):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(n_in, 32), nn.ReLU(), nn.Linear(32, 4))
        self.vq = VectorQuantizer()
        self.decoder = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, n_in))

    def forward(self, x):
        q, enc, com, idx = self.vq(self.encoder(x))
        return self.decoder(q), enc, com, idx


centers = torch.randn(12, 16)
x = centers[torch.randint(0, 12, (768,))] + 0.1 * torch.randn(768, 16)
model = VQVAE()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

for epoch in range(30):
    total, com_total, used = 0.0, 0.0, set()
    for i in range(0, 768, 64):
        xb = x[i:i + 64]
        recon, enc, com, idx = model(xb)
        rec = F.mse_loss(recon, xb)
        loss = rec + 0.25 * enc + com
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += rec.item()
        com_total += com.item()
        used.update(idx.tolist())
    if epoch % 6 == 5:
        print(f"epoch {epoch + 1}: recon {total / 12:.4f} commit {com_total / 12:.4f} "
              f"codes used {len(used)} codebook norm {model.vq.codebook.weight.norm().item():.4f}")
